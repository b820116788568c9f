// Models as Hugging Face directories: read back they are the same, and nothing that was there is lost.
#include <llm/io/load.hpp>
#include <llm/io/save_hf.hpp>

#include <cmath>
#include <filesystem>

#include <llm/autograd/tape.hpp>
#include <llm/model.hpp>
#include <llm/train/adamw.hpp>
#include <support/exact_activations.hpp>
#include <support/golden_directory.hpp>
#include <support/temporary_folder.hpp>

using namespace llm_test;
using Catch::Contains;

namespace {

namespace fs = std::filesystem;

/// Every parameter of both models has the same elements.
template <class A, class B>
void check_same_parameters(const A& a, const B& b) {
  std::vector<std::vector<double>> values;
  const auto read = [](const auto& p) {
    std::vector<double> out(static_cast<std::size_t>(p.numel()));
    p.copy_rows(0, p.shape()[0], out.data());
    return out;
  };
  a.for_each_parameter([&](const auto& p) { values.push_back(read(p)); });
  std::size_t at = 0;
  b.for_each_parameter([&](const auto& p) {
    INFO(p.name());
    CHECK(read(p) == values.at(at++));
  });
}

template <const llm::Config& C>
void check_round_trip(llm::Family family) {
  TemporaryFolder folder;
  const std::string path = folder / "model";
  const auto model = llm::LLM<C>::random(3);
  llm::save_hf_directory(path, model);
  CHECK(llm::hf_family_of(C) == family);
  check_same_parameters(model, llm::load_trainable<C>(path));
  check_same_parameters(model, llm::load<C>(path));
}

constexpr llm::Config wide_heads{
    .vocab_size = 31, .d_model = 64, .n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .head_dim = 32, .ffn_dim = 48, .max_seq_len = 32};
constexpr llm::Config biased = [] {
  llm::Config c = hf_llama;
  c.qkv_bias = c.attention_out_bias = c.mlp_bias = true;
  c.rope_scaling = {.kind = llm::RopeScalingKind::yarn, .factor = 4.0, .original_max_seq_len = 16};
  return c;
}();
constexpr llm::Config partly_rotated = [] {
  llm::Config c = other_rope<hf_llama>;
  c.rope_dim = 4;
  return c;
}();
constexpr llm::Config starcoder = [] {
  llm::Config c = hf_gpt2;
  c.position = llm::Position::rope_half;
  c.n_kv_heads = 2;
  return c;
}();
constexpr llm::Config post_norm = [] {
  llm::Config c = hf_gpt2;
  c.norm_position = llm::NormPosition::post;
  return c;
}();

}  // namespace

TEST_CASE("The loss that balances experts is written") {
  for (const double coefficient : {0.0, 0.02}) {
    llm::Config c = hf_qwen3_moe;
    c.experts.router_aux_loss_coef = coefficient;
    CHECK(llm::hf_family_of(c) == llm::Family::qwen3_moe);
    CHECK(llm::parse_hf_config(llm::hf_config_text(c, llm::Family::qwen3_moe), "config.json").config.experts.router_aux_loss_coef ==
          coefficient);
  }
}

TEST_CASE("What is written is read back the same, in every family") {
  check_round_trip<hf_llama>(llm::Family::llama);
  check_round_trip<hf_llama_tied>(llm::Family::llama);
  check_round_trip<hf_llama_rope3>(llm::Family::llama);
  check_round_trip<other_rope<hf_qwen3>>(llm::Family::qwen3);
  check_round_trip<biased>(llm::Family::llama);
  check_round_trip<hf_mistral>(llm::Family::mistral);
  check_round_trip<hf_qwen2>(llm::Family::qwen2);
  check_round_trip<hf_qwen3_moe>(llm::Family::qwen3_moe);
  check_round_trip<hf_gpt2>(llm::Family::gpt2);
  check_round_trip<partly_rotated>(llm::Family::phi3);
  check_round_trip<starcoder>(llm::Family::starcoder2);
}

TEST_CASE("A model that no family has is refused with what differs") {
  TemporaryFolder folder;
  CHECK_THROWS_WITH(llm::save_hf_directory(folder / "model", llm::LLM<post_norm>::random(1)), Contains("norm_position is post"));
  CHECK_FALSE(fs::exists(folder / "model"));
}

TEST_CASE("Heads wider than d_model / n_heads are trained, saved and loaded [head_dim]") {
  TemporaryFolder folder;
  using Model = llm::LLM<wide_heads>;
  auto model = Model::random(1);
  llm::AdamW optimizer(model);
  const auto ids = Model::Ids::from({1, 2, 3, 4, 5, 6}, {2, 3});
  for (int step = 0; step < 2; ++step) {
    llm::Tape tape;
    tape.backward(model.loss(ids, ids));
    optimizer.step(0.01);
  }
  llm::save_hf_directory(folder / "model", model);
  const auto again = llm::load<wide_heads>(folder / "model");
  CHECK(again(ids).to_vector() == model(ids).to_vector());
}

TEST_CASE("Quantised matrices are decoded; the element type is the model's own or the one asked for") {
  TemporaryFolder folder;
  const auto model = llm::load<tiny_gguf>(golden_path("tiny.gguf"));
  llm::save_hf_directory(folder / "f32", model);
  const auto again = llm::load<tiny_gguf>(folder / "f32");
  check_same_parameters(model, again);
  const auto ids = decltype(model)::Ids::from({1, 2, 3}, {1, 3});
  const llm_test::ExactActivations exact;
  const auto a = model(ids).to_vector(), b = again(ids).to_vector();
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 1e-4f);

  const auto format_of = [](const auto& m) {
    llm::DType format{};
    m.for_each_parameter([&](const auto& p) { format = p.is_matrix() ? p.format() : format; });
    return format;
  };
  CHECK(format_of(again) == llm::DType::f32);
  llm::save_hf_directory(folder / "bf16", model, {.dtype = llm::DType::bf16});
  CHECK(format_of(llm::load<tiny_gguf>(folder / "bf16")) == llm::DType::bf16);
  llm::save_hf_directory(folder / "own", llm::load<tiny_gguf>(folder / "bf16"));
  CHECK(format_of(llm::load<tiny_gguf>(folder / "own")) == llm::DType::bf16);
  CHECK_THROWS_AS(llm::save_hf_directory(folder / "q8", model, {.dtype = llm::DType::q8_0}), llm::ValueError);
  CHECK_FALSE(fs::exists(folder / "q8"));
}

TEST_CASE("A weight that the element type cannot hold is an error that names the tensor, and nothing is written") {
  TemporaryFolder folder;
  // a matrix that is written as it lies, one whose rows change places, a vector
  for (const char* const name : {"model.layers.1.mlp.down_proj.weight", "model.layers.0.self_attn.q_proj.weight", "model.norm.weight"}) {
    INFO(name);
    for (const auto& unfit : {std::pair(1e6, llm::DType::f16), std::pair(-3.4e38, llm::DType::bf16),
                              std::pair(std::nan(""), llm::DType::f32), std::pair(double{INFINITY}, llm::DType::f64)}) {
      auto model = llm::LLM<other_rope<hf_llama>>::random(1);
      model.for_each_parameter([&](auto& p) {
        if (p.name() != name) return;
        std::vector<double> values(static_cast<std::size_t>(p.numel()));
        p.copy_rows(0, p.shape()[0], values.data());
        values[3] = unfit.first;
        p.assign(llm::DType::f64, std::as_bytes(std::span<const double>(values)));
      });
      CHECK_THROWS_AS(llm::save_hf_directory(folder / "model", model, {.dtype = unfit.second}), llm::NumericError);
      CHECK_THROWS_WITH(llm::save_hf_directory(folder / "model", model, {.dtype = unfit.second}), Contains(name));
    }
  }
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("Large models are written in shards") {
  TemporaryFolder folder;
  const auto model = llm::LLM<hf_llama>::random(1);
  llm::save_hf_directory(folder / "model", model, {.shard_bytes = 30'000});
  CHECK(fs::exists(folder / "model/model-00001-of-00004.safetensors"));
  CHECK(fs::exists(folder / "model/model.safetensors.index.json"));
  CHECK_FALSE(fs::exists(folder / "model/model.safetensors"));
  check_same_parameters(model, llm::load<hf_llama>(folder / "model"));
}

TEST_CASE("A folder that holds something is left as it is, and a refused export leaves nothing") {
  TemporaryFolder folder;
  const auto model = llm::LLM<hf_llama>::random(1);
  fs::create_directory(folder / "model");
  llm::save_hf_directory(folder / "model", model);  // an empty folder will do
  const auto before = read_file(folder / "model/config.json");
  CHECK_THROWS_WITH(llm::save_hf_directory(folder / "model", model), Contains("not empty"));
  CHECK(read_file(folder / "model/config.json") == before);
  write_file(folder / "file", "x");
  CHECK_THROWS_AS(llm::save_hf_directory(folder / "file", model), llm::FileError);
  CHECK(read_file(folder / "file") == "x");
  CHECK_THROWS_AS(llm::save_hf_directory(folder / "file/inside", model), llm::FileError);
  CHECK_THROWS_AS(llm::save_hf_directory(folder / "empty", llm::LLM<hf_llama, llm::Frozen>::uninitialised()), llm::ShapeError);
  CHECK_FALSE(fs::exists(folder / "empty"));
  CHECK_FALSE(fs::exists(folder / "empty.tmp"));
  llm::save_hf_directory(folder / "a/b/c/", model);
  CHECK(fs::exists(folder / "a/b/c/model.safetensors"));
  fs::create_directory(folder / "target");
  fs::create_directory_symlink(folder / "target", folder / "link");
  llm::save_hf_directory(folder / "link", model);
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(fs::exists(folder / "target/config.json"));
  CHECK_THROWS_WITH(llm::save_hf_directory(folder / "link", model), Contains("not empty"));
  const fs::path before_this = fs::current_path();
  fs::current_path(folder.path());
  CHECK_NOTHROW(llm::save_hf_directory("here", model));
  fs::current_path(before_this);
  CHECK(fs::exists(folder / "here/config.json"));
}

TEST_CASE("How tokens are drawn is written where it is given, and read back the same") {
  TemporaryFolder folder;
  const auto model = llm::LLM<wide_heads>::random(3);
  llm::save_hf_directory(folder / "plain", model);
  CHECK_FALSE(llm::read_generation_config(folder / "plain"));
  llm::GenerationConfig drawn{.do_sample = true, .temperature = 0.6f, .top_p = 0.95f, .top_k = 20, .max_new_tokens = 100};
  llm::save_hf_directory(folder / "model", model, {.bos_token_id = 1, .eos_token_ids = {2, 7}, .generation = drawn});
  const auto back = llm::read_generation_config(folder / "model");
  REQUIRE(back);
  CHECK((back->do_sample == true && back->temperature == 0.6f && back->top_p == 0.95f && !back->min_p && !back->repetition_penalty));
  CHECK((back->top_k == 20 && back->max_new_tokens == 100));
  const auto json = nlohmann::json::parse(read_file(folder / "model/generation_config.json"));
  CHECK(json.dump() ==
        R"({"bos_token_id":1,"do_sample":true,"eos_token_id":[2,7],"max_new_tokens":100,"temperature":0.6,"top_k":20,"top_p":0.95})");
  drawn.min_p = std::nanf("");
  CHECK_THROWS_WITH(llm::save_hf_directory(folder / "nan", model, {.generation = drawn}), Contains("min_p is nan"));
  CHECK_FALSE(fs::exists(folder / "nan"));
}
