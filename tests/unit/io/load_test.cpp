// Loading models: what is translated, what is refused, and that refusing changes and costs nothing.
#include <llm/io/load.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include <llm/model.hpp>
#include <llm/train/checkpoint.hpp>
#include <support/golden_directory.hpp>
#include <support/model_folder.hpp>
#include <support/resident_memory.hpp>

using namespace llm_test;
using Catch::Contains;

namespace {

namespace fs = std::filesystem;

template <const llm::Config& C>
std::vector<float> logits(const llm::LLM<C, llm::Frozen>& model, std::vector<llm::Token> ids = {3, 1, 4, 1, 5, 9, 2, 6}) {
  using Ids = typename llm::LLM<C, llm::Frozen>::Ids;
  return model(Ids::from(ids, {1, static_cast<std::int64_t>(ids.size())})).to_vector();
}

/// Whether the logits of positions first .. last - 1 are equal to a tolerance.
bool near(const std::vector<float>& a, const std::vector<float>& b, std::ptrdiff_t first, std::ptrdiff_t last, float tolerance) {
  const std::ptrdiff_t v = hf_llama.vocab_size;
  return std::equal(a.begin() + first * v, a.begin() + last * v, b.begin() + first * v,
                    [tolerance](float x, float y) { return std::abs(x - y) <= tolerance; });
}

constexpr llm::Config shorter = [] {
  llm::Config c = hf_llama;
  c.max_seq_len = 16;
  return c;
}();
constexpr llm::Config hf_gpt2_untied = [] {
  llm::Config c = hf_gpt2;
  c.tie_embeddings = false;
  return c;
}();
constexpr llm::Config longer = [] {
  llm::Config c = hf_llama;
  c.max_seq_len = 65;
  return c;
}();
constexpr llm::Config other_eps = [] {
  llm::Config c = hf_llama;
  c.norm_eps = 1e-6;
  return c;
}();
constexpr llm::Config gpt2_shorter = [] {
  llm::Config c = hf_gpt2;
  c.max_seq_len = 16;
  return c;
}();

}  // namespace

TEST_CASE("A file fits when every field of its config is equal [eps]") {
  const std::string path = golden_path("hf/llama");
  CHECK_THROWS_AS(llm::load<other_eps>(path), llm::ConfigError);
  CHECK_THROWS_WITH(llm::load<other_eps>(path), Contains("norm_eps is 1e-05 in the file, 1e-06 in the model") && Contains(path));
  CHECK_THROWS_WITH(llm::load<hf_qwen3>(path), Contains("head_dim is 8 in the file, 16 in the model") && Contains("qk_norm"));
  CHECK_THROWS_WITH(llm::load<hf_mistral>(path), Contains("sliding_window is 0 in the file, 5 in the model"));
  CHECK_THROWS_WITH(llm::load_trainable<hf_llama_tied>(path), Contains("tie_embeddings is false in the file, true in the model"));
}

TEST_CASE("A model may have fewer positions than its file, also learned ones, but not more") {
  CHECK(logits(llm::load<shorter>(golden_path("hf/llama"))) == logits(llm::load<hf_llama>(golden_path("hf/llama"))));
  CHECK(logits(llm::load<gpt2_shorter>(golden_path("hf/gpt2"))) == logits(llm::load<hf_gpt2>(golden_path("hf/gpt2"))));
  CHECK_THROWS_WITH(llm::load<longer>(golden_path("hf/llama")), Contains("max_seq_len is 64 in the file, 65 in the model"));
}

TEST_CASE("Tensors that the config does not know are named [unused_tensors]") {
  ModelFolder folder("hf/qwen2");
  folder.config = ModelFolder("hf/llama").config;
  CHECK_THROWS_AS(llm::load<hf_llama>(folder.path()), llm::FileError);
  CHECK_THROWS_WITH(llm::load<hf_llama>(folder.path()),
                    Contains("extra: 'model.layers.0.self_attn.k_proj.bias'") && Contains("extra: 'model.layers.1.self_attn.q_proj.bias'"));
}

TEST_CASE("Missing and misshaped tensors are named") {
  ModelFolder folder("hf/llama");
  folder.take("model.layers.1.mlp.up_proj.weight");
  auto& norm = folder.tensors.at("model.norm.weight");
  norm.shape = {16}, norm.bytes.resize(64);
  CHECK_THROWS_AS(llm::load<hf_llama>(folder.path()), llm::FileError);
  CHECK_THROWS_WITH(llm::load<hf_llama>(folder.path()), Contains("missing: 'model.layers.1.mlp.up_proj.weight' [64, 32]") &&
                                                            Contains("misshaped: 'model.norm.weight' is [16], expected [32]"));
}

TEST_CASE("A prefix before all names is an error that tells of it, and an option [missing_tensors]") {
  for (const std::string prefix : {"_orig_mod.", "module."}) {
    ModelFolder folder("hf/llama");
    folder.add_prefix(prefix);
    CHECK_THROWS_WITH(llm::load<hf_llama>(folder.path()), Contains("missing: 'model.embed_tokens.weight'") && Contains(prefix));
    CHECK(logits(llm::load<hf_llama>(folder.path(), {.prefix = prefix})) == logits(llm::load<hf_llama>(golden_path("hf/llama"))));
  }
}

TEST_CASE("A tied head: the flag, the file and the model together [tied_missing] [tied_redundant]") {
  const auto expected = logits(llm::load<hf_llama_tied>(golden_path("hf/llama_tied")));  // the flag says tied, no head in the file
  const auto with_head = [](bool flag, bool equal) {
    auto folder = std::make_unique<ModelFolder>("hf/llama_tied");
    folder->config["tie_word_embeddings"] = flag;
    OwnedTensor& head = folder->tensors["lm_head.weight"] = folder->tensors.at("model.embed_tokens.weight");
    if (!equal) head.bytes[5] ^= std::byte{1};
    return folder;
  };
  CHECK(logits(llm::load<hf_llama_tied>(with_head(true, true)->path())) == expected);
  CHECK_THROWS_WITH(llm::load<hf_llama_tied>(with_head(true, false)->path()), Contains("different copy: 'lm_head.weight'"));
  CHECK(logits(llm::load<hf_llama>(with_head(false, true)->path())) == expected);       // untied: two equal matrices
  CHECK(logits(llm::load<hf_llama>(with_head(false, false)->path())) != expected);      // untied
  CHECK(logits(llm::load<hf_llama_tied>(with_head(false, true)->path())) == expected);  // nothing is lost
  CHECK_THROWS_WITH(llm::load<hf_llama_tied>(with_head(false, false)->path()), Contains("tie_embeddings is false in the file"));
  CHECK_THROWS_WITH(llm::load<hf_llama>(golden_path("hf/llama_tied")), Contains("tie_embeddings is true in the file"));
  ModelFolder headless("hf/llama_tied");
  headless.config["tie_word_embeddings"] = false;
  CHECK_THROWS_WITH(llm::load<hf_llama>(headless.path()), Contains("missing: 'lm_head.weight'"));
}

TEST_CASE("What loads is found among configs: a head that is an equal copy makes a tied model, in every layout") {
  const auto check = [](const std::string& path, const llm::Config& tied, const llm::Config& untied, bool equal) {
    const auto files = llm::CheckpointFiles::open(path);
    CHECK(llm::loads_as(tied, files) == equal);
    CHECK(llm::loads_as(untied, files));
    CHECK_FALSE(llm::loads_as(hf_qwen3, files));
  };
  for (const bool equal : {true, false}) {
    ModelFolder llama("hf/llama_tied");
    llama.config["tie_word_embeddings"] = false;
    llama.tensors["lm_head.weight"] = llama.tensors.at("model.embed_tokens.weight");
    if (!equal) llama.tensors.at("lm_head.weight").bytes[5] ^= std::byte{1};
    check(llama.path(), hf_llama_tied, hf_llama, equal);

    ModelFolder gpt2("hf/gpt2");  // saved without "transformer."
    gpt2.config["tie_word_embeddings"] = false;
    for (auto& [name, tensor] : std::exchange(gpt2.tensors, {}))
      gpt2.tensors[name.starts_with("transformer.") ? name.substr(12) : name] = std::move(tensor);
    gpt2.tensors["lm_head.weight"] = gpt2.tensors.at("wte.weight");
    if (!equal) gpt2.tensors.at("lm_head.weight").bytes[5] ^= std::byte{1};
    check(gpt2.path(), hf_gpt2, hf_gpt2_untied, equal);
    if (equal) CHECK(logits(llm::load<hf_gpt2>(gpt2.path())) == logits(llm::load<hf_gpt2>(golden_path("hf/gpt2"))));
  }
  TemporaryFolder folder;
  fs::copy(golden_path("hf/llama/model.safetensors"), folder.path());
  CHECK_FALSE(llm::loads_as(hf_llama, llm::CheckpointFiles::open(folder / "model.safetensors")));  // nothing says what it is
}

TEST_CASE("A shard that is missing or cut is an error [idx_missing] [st_trunc]") {
  TemporaryFolder folder;
  const auto copy = [&] {
    for (const auto& entry : fs::directory_iterator(golden_path("hf/llama_sharded")))
      fs::copy(entry.path(), folder.path(), fs::copy_options::overwrite_existing);
  };
  copy();
  REQUIRE_NOTHROW(llm::load<hf_llama>(folder.path()));
  const std::string shard = folder / "model-00002-of-00003.safetensors";
  const auto size = fs::file_size(shard);
  for (std::uintmax_t part = 0; part < 16; ++part) {
    fs::resize_file(shard, size * part / 16);
    CHECK_THROWS_AS(llm::load<hf_llama>(folder.path()), llm::FileError);
    copy();
  }
  fs::remove(shard);
  CHECK_THROWS_WITH(llm::load<hf_llama>(folder.path()), Contains("model-00002-of-00003.safetensors") && Contains("missing"));
}

TEST_CASE("A GGUF file that is cut is an error") {
  TemporaryFolder folder;
  const std::string file = folder / "cut.gguf";
  fs::copy(golden_path("tiny.gguf"), file);
  const auto size = fs::file_size(file);
  for (std::uintmax_t part = 15; part > 0; --part) {
    fs::resize_file(file, size * part / 16);
    CHECK_THROWS_AS(llm::load<tiny_gguf>(file), llm::FileError);
  }
}

TEST_CASE("Element types: floating ones load, others are refused by name") {
  const auto expected = logits(llm::load<hf_llama>(golden_path("hf/llama_bf16")));
  ModelFolder folder("hf/llama");
  for (const char* name : {"model.layers.0.self_attn.q_proj.weight", "model.layers.1.mlp.down_proj.weight", "model.norm.weight"})
    folder.convert<double>(name);
  CHECK(logits(llm::load<hf_llama>(folder.path())) == logits(llm::load<hf_llama>(golden_path("hf/llama"))));
  const auto model = llm::load<hf_llama>(golden_path("hf/llama_bf16"));
  model.for_each_parameter([](const auto& p) { CHECK(p.format() == (p.is_matrix() ? llm::DType::bf16 : llm::DType::f32)); });
  ModelFolder half("hf/llama");
  half.convert<llm::f16>("model.embed_tokens.weight");
  CHECK(logits(llm::load<hf_llama>(half.path())).size() == expected.size());
  llm::load_trainable<hf_llama, llm::bf16>(half.path());
  ModelFolder integers("hf/llama");
  integers.tensors.at("model.norm.weight").dtype = llm::DType::i32;
  CHECK_THROWS_WITH(llm::load<hf_llama>(integers.path()), Contains("'model.norm.weight'") && Contains("I32"));
}

TEST_CASE("Joined matrices are taken apart: Phi-3's names for a Llama's weights") {
  ModelFolder folder("hf/llama");
  for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
    const auto take = [&](const std::string& name) { return folder.take(layer + name + ".weight"); };
    std::vector<OwnedTensor> qkv{take("self_attn.q_proj"), take("self_attn.k_proj"), take("self_attn.v_proj")};
    folder.tensors[layer + "self_attn.qkv_proj.weight"] = joined(std::move(qkv));
    std::vector<OwnedTensor> gate_up{take("mlp.gate_proj"), take("mlp.up_proj")};
    folder.tensors[layer + "mlp.gate_up_proj.weight"] = joined(std::move(gate_up));
  }
  folder.config["model_type"] = "phi3";
  folder.config["architectures"] = {"Phi3ForCausalLM"};
  const auto expected = logits(llm::load<hf_llama>(golden_path("hf/llama")));
  CHECK(logits(llm::load<hf_llama>(folder.path())) == expected);
  CHECK(logits(llm::load<other_rope<hf_llama>>(folder.path())) == logits(llm::load<other_rope<hf_llama>>(golden_path("hf/llama"))));
}

TEST_CASE("Rows and the convention of RoPE change together [rope_conv]") {
  const std::string path = golden_path("hf/llama");
  const auto half = llm::load<hf_llama>(path);
  const auto interleaved = llm::load<other_rope<hf_llama>>(path);
  const auto expected = logits(half);
  CHECK(near(logits(interleaved), expected, 0, 8, 1e-5f));
  // `to` with the weights of `from` as they are: one of the two changes is missing.
  const auto only_one = [&](auto to, const auto& from) {
    std::vector<typename decltype(to)::ConstView> views;
    from.for_each_parameter([&](const auto& p) { views.push_back(p); });
    std::size_t at = 0;
    to.for_each_parameter([&](auto& p) { p.assign(views[at++]); });
    return logits(to);
  };
  for (const auto& wrong : {only_one(interleaved.clone(), half), only_one(half.clone(), interleaved)}) {
    CHECK(near(wrong, expected, 0, 1, 1e-5f));  // position 0 is not rotated
    for (std::ptrdiff_t position = 1; position < 8; ++position) CHECK_FALSE(near(wrong, expected, position, position + 1, 1e-3f));
  }
}

TEST_CASE("A safetensors file needs a config beside it or named") {
  TemporaryFolder folder;
  fs::copy(golden_path("hf/llama/model.safetensors"), folder.path());
  const std::string file = folder / "model.safetensors";
  CHECK_THROWS_WITH(llm::load<hf_llama>(file), Contains("nothing says what model it is") && Contains(file));
  const auto expected = logits(llm::load<hf_llama>(golden_path("hf/llama")));
  CHECK(logits(llm::load<hf_llama>(file, {.config = golden_path("hf/llama/config.json")})) == expected);
  CHECK(logits(llm::load<hf_llama>(golden_path("hf/llama/model.safetensors"))) == expected);
  CHECK_THROWS_WITH(llm::load<hf_llama>(golden_path("hf/llama"), {.config = golden_path("hf/llama/config.json")}),
                    Contains("already says what model it is"));
  CHECK_THROWS_WITH(llm::load<hf_llama>(golden_path("hf/llama/config.json")), Contains("holds no weights"));
}

TEST_CASE("A checkpoint of training becomes a frozen model") {
  TemporaryFolder folder;
  const auto trained = llm::load_trainable<hf_llama>(golden_path("hf/llama"));
  auto model = trained.clone();
  const llm::AdamW optimizer(model);
  llm::save_checkpoint(folder.path(), model, optimizer, {});
  CHECK(logits(llm::load<hf_llama>(folder.path())) == logits(llm::load<hf_llama>(golden_path("hf/llama"))));
}

#if defined(LLM_TEST_MEASURES_MEMORY)
namespace {
constexpr llm::Config wide = [] {
  llm::Config c = hf_llama;
  c.vocab_size = 20'000, c.d_model = 320, c.head_dim = 80;
  return c;
}();
constexpr llm::Config many_words = [] {
  llm::Config c = hf_llama;
  c.vocab_size = 200'000;
  return c;
}();
}  // namespace

TEST_CASE("Refusing a large file of another config costs little memory [hostile]") {
  ModelFolder folder("hf/llama");
  folder.config["vocab_size"] = 20'000, folder.config["hidden_size"] = 320, folder.config["head_dim"] = 80;
  for (const char* name : {"model.embed_tokens.weight", "lm_head.weight"}) {
    auto& table = folder.tensors.at(name);
    table.shape = {20'000, 320}, table.bytes.assign(std::size_t{20'000} * 320 * 4, std::byte{1});
  }
  const std::string path = folder.path();
  CHECK(refusal_is_cheap([&] { llm::load_trainable<wide>(path); }, "misshaped"));
}

TEST_CASE("Refusing a large file with integers in it costs little memory [hostile]") {
  ModelFolder folder("hf/llama");
  folder.config["vocab_size"] = 200'000;
  for (const char* name : {"model.embed_tokens.weight", "lm_head.weight"}) {
    auto& table = folder.tensors.at(name);
    table.shape = {200'000, 32}, table.bytes.assign(std::size_t{200'000} * 32 * 4, std::byte{0});
  }
  folder.convert<std::int64_t>("model.layers.1.mlp.up_proj.weight");
  const std::string path = folder.path();
  CHECK(refusal_is_cheap([&] { llm::load_trainable<many_words>(path); }, "holds I64"));
}
#endif
