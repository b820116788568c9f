#include <llm/io/tensor_check.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <support/catch.hpp>

namespace {

using llm::Family;
using llm::TensorFault;
using llm::TensorNames;

llm::Config small() {
  return {.vocab_size = 11,
          .d_model = 8,
          .n_layers = 2,
          .n_heads = 4,
          .n_kv_heads = 2,
          .head_dim = 3,
          .ffn_dim = 20,
          .max_seq_len = 7,
          .tie_embeddings = true};
}

/// A file in memory: tensors that can be changed, and views of them.
struct File {
  struct Tensor {
    std::string name;
    std::string dtype = "F32";
    std::vector<std::int64_t> shape;
    std::vector<std::byte> bytes = {};
    std::string file = "a.safetensors";
  };
  llm::PublishedConfig model;
  llm::TensorLayout layout;
  std::vector<Tensor> tensors;

  /// What a config asks for, without the copies.
  explicit File(const llm::Config& config, Family family = Family::llama, llm::TensorLayout wanted = {}) : layout(wanted) {
    model = {.config = config, .family = family, .source = "test"};
    for (const auto& tensor : llm::expected_tensors(config, family, wanted))
      if (tensor.copy_of.empty()) add(tensor.name, tensor.shape);
  }
  void add(const std::string& name, const std::vector<std::int64_t>& shape) {
    tensors.push_back({.name = name, .shape = shape});
    tensors.back().bytes.resize(static_cast<std::size_t>(llm::detail::elements_of(shape)) * 4, std::byte{1});
  }
  Tensor& at(std::string_view name) {
    const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& t) { return t.name == name; });
    REQUIRE(found != tensors.end());
    return *found;
  }
  void remove(std::string_view name) { tensors.erase(tensors.begin() + (&at(name) - tensors.data())); }

  llm::TensorCheck check(const llm::TensorCheckOptions& options = {}) const {
    std::vector<llm::FoundTensor> found;
    for (const Tensor& t : tensors) found.push_back({t.name, t.dtype, t.shape, static_cast<std::int64_t>(t.bytes.size()), t.bytes, t.file});
    return llm::check_tensors(model, layout.names, found, options);
  }
};

const std::string q = "model.layers.1.self_attn.q_proj.weight";

/// One problem, of this kind, with this in its text.
void check_single(const llm::TensorCheck& check, TensorFault fault, const std::string& name, const std::string& text) {
  CHECK_FALSE(check.matches());
  REQUIRE(check.problems.size() == 1);
  CHECK(check.count(fault) == 1);
  CHECK(check.problems[0].fault == fault);
  CHECK(check.problems[0].name == name);
  CHECK_THAT(check.problems[0].text, Catch::Contains(name) && Catch::Contains(text));
}

}  // namespace

TEST_CASE("a file that has all and no more matches") {
  const File file(small());
  const llm::TensorCheck check = file.check();
  CHECK(check.matches());
  CHECK(check.problems.empty());
  CHECK(check.parameters == llm::parameter_count(small()).total);
  CHECK(check.expected_parameters == check.parameters);
  CHECK(check.tensors == static_cast<std::int64_t>(file.tensors.size()));
  CHECK(check.copies == 0);
  CHECK(check.hint.empty());
}

TEST_CASE("a tensor that is not there, or renamed [missing_tensors]") {
  File file(small());
  file.remove(q);
  check_single(file.check(), TensorFault::missing, q, "[12, 8]");
  File renamed(small());
  renamed.at(q).name = "model.layers.1.self_attn.q.weight";
  const llm::TensorCheck check = renamed.check();
  CHECK(check.count(TensorFault::missing) == 1);
  CHECK(check.count(TensorFault::extra) == 1);
}

TEST_CASE("tensors that nobody asked for [unused_tensors]") {
  File file(small());
  file.add("model.layers.0.self_attn.q_proj.bias", {12});
  const llm::TensorCheck check = file.check();
  check_single(check, TensorFault::extra, "model.layers.0.self_attn.q_proj.bias", "[12] F32 in a.safetensors");
  CHECK(check.parameters == check.expected_parameters + 12);
}

TEST_CASE("a tensor of another shape, above all the transposed one") {
  File file(small());
  file.at(q).shape = {8, 12};
  check_single(file.check(), TensorFault::misshaped, q, "is [8, 12], expected [12, 8]: transposed?");
  file.at(q).shape = {96};
  check_single(file.check(), TensorFault::misshaped, q, "is [96], expected [12, 8]");
  CHECK_FALSE(file.check().problems[0].text.ends_with("transposed?"));
  file.at(q).shape = {12, 8, 1};
  check_single(file.check(), TensorFault::misshaped, q, "is [12, 8, 1], expected [12, 8]");
}

TEST_CASE("a tensor in two shards") {
  File file(small());
  file.tensors.push_back(file.at(q));
  file.tensors.back().file = "b.safetensors";
  check_single(file.check(), TensorFault::duplicate, q, "safetensors and in ");
}

TEST_CASE("a tied head: absent, an equal copy, another one [tied_missing] [tied_redundant]") {
  File file(small());
  CHECK(file.check().matches());
  file.add("lm_head.weight", {11, 8});
  llm::TensorCheck check = file.check();
  CHECK(check.matches());
  CHECK(check.copies == 1);
  CHECK(check.parameters == check.expected_parameters);
  file.tensors.back().bytes.back() = std::byte{2};
  check = file.check();
  check_single(check, TensorFault::different_copy, "lm_head.weight", "differ, but the config says they are tied");
  CHECK(file.check({.compare_copies = false}).matches());
  file.tensors.back().bytes.back() = std::byte{1};
  file.tensors.back().dtype = "I32";
  check_single(file.check(), TensorFault::different_copy, "lm_head.weight", "tied");
  file.tensors.back().bytes.clear();  // as of an element type that the library does not read
  check_single(file.check(), TensorFault::different_copy, "lm_head.weight", "tied");
  file.tensors.back().shape = {8, 11};
  check_single(file.check(), TensorFault::misshaped, "lm_head.weight", "transposed?");
  llm::Config untied = small();
  untied.tie_embeddings = false;
  File missing(untied);
  missing.remove("lm_head.weight");
  check_single(missing.check(), TensorFault::missing, "lm_head.weight", "[11, 8]");
}

TEST_CASE("elements of a shape; an empty tensor may have absurd extents [st_overflow]") {
  using Shape = std::vector<std::int64_t>;
  CHECK(llm::detail::elements_of(Shape{}) == 1);
  CHECK(llm::detail::elements_of(Shape{3, 4}) == 12);
  CHECK(llm::detail::elements_of(Shape{INT64_MAX, INT64_MAX, 0}) == 0);
}

TEST_CASE("copies are compared to their last byte, also beyond the first chunk; tensors in plain memory stay as they are") {
  const std::size_t size = (std::size_t{2} << 20) + 5;
  std::vector<std::byte> a(size, std::byte{7}), b = a;
  const auto equal = [&] { return llm::detail::equal_bytes({.bytes = a}, {.bytes = b}); };
  CHECK(equal());
  CHECK(std::count(a.begin(), a.end(), std::byte{7}) == static_cast<std::ptrdiff_t>(size));
  CHECK(std::count(b.begin(), b.end(), std::byte{7}) == static_cast<std::ptrdiff_t>(size));
  b.back() = std::byte{8};
  CHECK_FALSE(equal());
  b.pop_back();
  CHECK_FALSE(equal());
}

TEST_CASE("masks and frequencies that old files carry are no part of the model") {
  File file(small());
  file.add("model.layers.0.self_attn.rotary_emb.inv_freq", {2});
  llm::TensorCheck check = file.check();
  CHECK(check.matches());
  CHECK(check.beside == 1);
  CHECK(check.parameters == check.expected_parameters);

  llm::Config gpt2 = small();
  gpt2.n_kv_heads = 4;
  gpt2.norm = llm::Norm::layer_norm;
  gpt2.position = llm::Position::learned;
  gpt2.mlp = llm::Mlp::gelu_tanh;
  gpt2.qkv_bias = gpt2.attention_out_bias = gpt2.mlp_bias = true;
  for (const bool bare : {false, true}) {
    File old(gpt2, Family::gpt2, {.bare = bare});
    CHECK(old.check().matches());
    old.add(bare ? "h.0.attn.bias" : "transformer.h.0.attn.bias", {1, 1, 7, 7});
    check = old.check();
    CHECK(check.matches());
    CHECK(check.beside == 1);
    old.add("h.0.attn.c_attn.bias2", {36});
    CHECK_FALSE(old.check().matches());
  }
  File not_gpt2(small());
  not_gpt2.add("model.layers.0.attn.bias", {7});
  CHECK_FALSE(not_gpt2.check().matches());

  File gguf(small(), Family::llama, {.names = TensorNames::gguf});
  gguf.add("rope_freqs.weight", {2});
  CHECK(gguf.check().matches());
  File checkpoint(small(), Family::llama, {.names = TensorNames::library});
  checkpoint.add("optimizer.m.model.norm.weight", {8});
  CHECK(checkpoint.check().matches());
  gguf.add("optimizer.m.model.norm.weight", {8});
  CHECK_FALSE(gguf.check().matches());
}

TEST_CASE("a wrapper's prefix is named, and taken away when asked [missing_tensors]") {
  File file(small());
  for (auto& tensor : file.tensors) tensor.name = "_orig_mod." + tensor.name;
  const llm::TensorCheck check = file.check();
  CHECK(check.count(TensorFault::missing) == check.count(TensorFault::extra));
  CHECK_THAT(check.hint, Catch::Contains("'_orig_mod.'"));
  CHECK(file.check({.prefix = "_orig_mod."}).matches());
}

TEST_CASE("experts in one tensor and keys of latent attention apart are recognised") {
  llm::Config config = small();
  config.experts = {.count = 2, .active = 1, .ffn_dim = 5};
  CHECK(File(config, Family::mixtral).check().matches());
  CHECK(File(config, Family::mixtral, {.stacked = true}).check().matches());
  CHECK(File(config, Family::qwen3_moe, {.names = TensorNames::gguf}).check().matches());
  config.n_kv_heads = config.head_dim = 0;
  config.mla = {.kv_rank = 5, .q_rank = 3, .nope_dim = 2, .rope_dim = 4, .v_dim = 7};
  CHECK(File(config, Family::deepseek_v3, {.names = TensorNames::gguf}).check().matches());
  CHECK(File(config, Family::deepseek_v3, {.names = TensorNames::gguf, .split_latent = true}).check().matches());
  File fp8(config, Family::deepseek_v3);
  fp8.add("model.layers.0.self_attn.o_proj.weight_scale_inv", {1, 1});
  fp8.add("model.layers.2.eh_proj.weight", {8, 16});  // predicts the token after the next
  const llm::TensorCheck check = fp8.check();
  CHECK(check.matches());
  CHECK(check.beside == 2);
  fp8.add("model.layers.20.eh_proj.weight", {8, 16});
  CHECK_FALSE(fp8.check().matches());
}

TEST_CASE("element types are summed, the most bytes first") {
  File file(small());
  file.at(q).dtype = "BF16";
  file.at(q).bytes.resize(2 * 96);
  const llm::TensorCheck check = file.check();
  REQUIRE(check.dtypes.size() == 2);
  CHECK(check.dtypes[0].dtype == "F32");
  CHECK(check.dtypes[1].dtype == "BF16");
  CHECK(check.dtypes[1].tensors == 1);
  CHECK(check.dtypes[1].elements == 96);
  CHECK(check.dtypes[1].bytes == 192);
  CHECK(check.dtypes[0].elements + 96 == check.parameters);
}

TEST_CASE("of many problems the first are listed and all are counted") {
  llm::Config config = small();
  config.n_layers = 1000;
  File file(config);
  file.tensors.clear();
  const llm::TensorCheck check = file.check();
  CHECK(check.problems.size() == llm::TensorCheck::listed);
  CHECK(check.count(TensorFault::missing) == 1000 * 9 + 2);
}
