// A Llama whose rotary frequencies are stretched, against Hugging Face transformers: every layer, the logits and the greedy tokens.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <llm/generate/generate.hpp>
#include <support/model.hpp>

using namespace llm_test;

namespace {

/// tests/data/goldens/hf/llama_rope3/config.json.
constexpr llm::Config llama_rope3{
    .vocab_size = 128,
    .d_model = 32,
    .n_layers = 2,
    .n_heads = 2,
    .n_kv_heads = 1,
    .head_dim = 16,
    .ffn_dim = 64,
    .max_seq_len = 256,
    .rope_theta = 500000.0,
    .rope_scaling = {
        .kind = llm::RopeScalingKind::llama3, .factor = 8.0, .original_max_seq_len = 64, .low_freq_factor = 1.0, .high_freq_factor = 4.0}};

constexpr llm::Config unscaled = [] {
  llm::Config c = llama_rope3;
  c.rope_scaling = {};
  return c;
}();

/// The library's names are those of published Llama files.
template <class Model>
Model load() {
  const Golden file("hf/llama_rope3/model.safetensors");
  Model model = Model::uninitialised();
  model.for_each_parameter([&](auto& p) {
    const auto values = file.tensor<typename Model::T>(p.name());
    REQUIRE(std::vector<std::int64_t>(p.shape().begin(), p.shape().end()) == values.shape);
    p.tensor().assign(values.values);
  });
  return model;
}

constexpr double tolerance = 1e-4;  // as the file's metadata says

}  // namespace

TEMPLATE_TEST_CASE("Llama with llama3 scaling, layer by layer and token by token [rope_llama3]", "[golden]", ReferenceFloat, CpuFloat) {
  using Model = typename TestType::template Model<llama_rope3>;
  const Golden file("hf/llama_rope3/expected.safetensors");
  const auto model = load<Model>();
  const auto ids = golden_ids<Model>(file, "input_ids");

  const auto states = model.hidden_states(ids);
  REQUIRE(states.size() == 4);
  check_equal("embedding", states[0], file, "hidden.0", tolerance);
  check_equal("layer 0", states[1], file, "layer.0", tolerance);
  check_equal("layer 1", states[2], file, "layer.1", tolerance);
  check_equal("final norm", states[3], file, "hidden.2", tolerance);
  check_equal("logits", model(ids), file, "logits", tolerance);

  const auto greedy = file.tensor<llm::Token>("greedy").values;
  std::vector<llm::Token> seen(greedy.begin(), greedy.begin() + 5);
  for (const llm::Token token : llm::generate(model, seen, {.max_new_tokens = 8, .temperature = 0})) seen.push_back(token);
  CHECK(seen == greedy);
}

TEMPLATE_TEST_CASE("The same weights without the scaling give other logits, from the second position on [rope_llama3]", "[golden]",
                   ReferenceFloat, CpuFloat) {
  using Model = typename TestType::template Model<unscaled>;
  const Golden file("hf/llama_rope3/expected.safetensors");
  const auto logits = load<Model>()(golden_ids<Model>(file, "input_ids")).to_vector();
  const auto expected = file.tensor<double>("logits").values;
  REQUIRE(logits.size() == expected.size());
  double first = 0, others = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    double& worst = i < static_cast<std::size_t>(Model::V) ? first : others;
    worst = (std::max)(worst, std::abs(static_cast<double>(logits[i]) - expected[i]));
  }
  CHECK(first <= tolerance);
  CHECK(others > 100 * tolerance);
}
