// Models of published directories as GGUF files: metadata, names, order of rows, formats, and what cannot be written.
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <llm/io.hpp>
#include <support/catch.hpp>
#include <support/gguf_model.hpp>
#include <support/model_folder.hpp>
#include <support/temporary_folder.hpp>
#include <support/watchdog.hpp>

using llm::CheckpointFiles;
using llm::DType;
using llm::GgufFile;
using llm_test::TemporaryFolder;

namespace {

std::string golden(const std::string& name) { return LLM_TEST_DATA "/goldens/hf/" + name; }

const llm::FoundTensor& find(const CheckpointFiles& files, std::string_view name) {
  for (const llm::FoundTensor& tensor : files.tensors())
    if (tensor.name == name) return tensor;
  FAIL("no tensor " << name);
  return files.tensors().front();
}

/// All elements as floats.
std::vector<float> values(const llm::FoundTensor& tensor) {
  std::vector<float> out(static_cast<std::size_t>(llm::detail::elements_of(tensor.shape)));
  llm::dequantize_row(*tensor.format, tensor.bytes.data(), out.data(), static_cast<std::int64_t>(out.size()));
  return out;
}

void write(const CheckpointFiles& files, const std::string& path, const llm::GgufWriteOptions& options = {}) {
  llm::write_gguf(path, *files.model(), files.names(), files.tensors(), {}, options);
}

}  // namespace

TEST_CASE("published directories become GGUF files with the same Config and all tensors") {
  const TemporaryFolder folder;
  for (const char* name : {"llama", "llama_tied", "llama_bf16", "llama_sharded", "qwen2", "qwen3", "qwen3_moe", "gpt2"}) {
    INFO(name);
    const auto files = CheckpointFiles::open(golden(name));
    write(files, folder / "m.gguf");
    const auto out = CheckpointFiles::open(folder / "m.gguf");
    llm::Config expected = files.model()->config;
    if (std::string(name).starts_with("llama")) expected.position = llm::Position::rope_interleaved;
    CHECK(llm::config_differences(expected, "the directory", out.model()->config, "the GGUF file").empty());
    const auto check = llm::check_tensors(*out.model(), out.names(), out.tensors());
    for (const auto& problem : check.problems) UNSCOPED_INFO(problem.text);
    CHECK(check.matches());
    CHECK(check.parameters == llm::parameter_count(files.model()->config).total);
  }
}

TEST_CASE("rows of q and k go from the halves of a head to pairs side by side, all others stay") {
  const TemporaryFolder folder;
  const auto files = CheckpointFiles::open(golden("llama"));
  write(files, folder / "m.gguf");
  const auto out = CheckpointFiles::open(folder / "m.gguf");
  const llm::Config& c = files.model()->config;
  const auto D = static_cast<std::size_t>(c.d_model), E = static_cast<std::size_t>(c.head_width());
  const std::pair<const char*, const char*> rotated[] = {{"model.layers.1.self_attn.q_proj.weight", "blk.1.attn_q.weight"},
                                                         {"model.layers.0.self_attn.k_proj.weight", "blk.0.attn_k.weight"}};
  for (const auto& [theirs, ours] : rotated) {
    const auto from = values(find(files, theirs)), to = values(find(out, ours));
    REQUIRE(from.size() == to.size());
    for (std::size_t row = 0; row < from.size() / D; ++row) {
      const std::size_t head = row / E * E, i = row % E;
      const std::size_t target = i < E / 2 ? head + 2 * i : head + 2 * (i - E / 2) + 1;
      REQUIRE(std::memcmp(&from[row * D], &to[target * D], D * sizeof(float)) == 0);
    }
  }
  CHECK(values(find(files, "model.layers.1.self_attn.v_proj.weight")) == values(find(out, "blk.1.attn_v.weight")));
  CHECK(values(find(files, "model.layers.1.mlp.down_proj.weight")) == values(find(out, "blk.1.ffn_down.weight")));
  CHECK(values(find(files, "lm_head.weight")) == values(find(out, "output.weight")));
}

TEST_CASE("GPT-2's matrices are turned, experts stand in one tensor") {
  const TemporaryFolder folder;
  {
    const auto files = CheckpointFiles::open(golden("gpt2"));
    write(files, folder / "m.gguf");
    const auto out = CheckpointFiles::open(folder / "m.gguf");
    const auto from = values(find(files, "transformer.h.1.mlp.c_fc.weight")), to = values(find(out, "blk.1.ffn_up.weight"));
    const auto in = static_cast<std::size_t>(files.model()->config.d_model),
               width = static_cast<std::size_t>(files.model()->config.ffn_dim);
    REQUIRE(from.size() == in * width);
    for (std::size_t i = 0; i < in; ++i)
      for (std::size_t j = 0; j < width; ++j) REQUIRE(from[i * width + j] == to[j * in + i]);
    CHECK(values(find(files, "transformer.h.1.mlp.c_fc.bias")) == values(find(out, "blk.1.ffn_up.bias")));
  }
  const auto files = CheckpointFiles::open(golden("qwen3_moe"));
  write(files, folder / "m.gguf");
  const auto out = CheckpointFiles::open(folder / "m.gguf");
  for (const auto& [theirs, ours] : {std::pair{"gate_proj", "gate"}, {"up_proj", "up"}, {"down_proj", "down"}}) {
    std::vector<float> all;
    for (int expert = 0; expert < 4; ++expert) {
      const auto one = values(find(files, "model.layers.1.mlp.experts." + std::to_string(expert) + "." + theirs + ".weight"));
      all.insert(all.end(), one.begin(), one.end());
    }
    CHECK(all == values(find(out, std::string("blk.1.ffn_") + ours + "_exps.weight")));
  }
}

TEST_CASE("matrices are encoded in the format asked for, vectors are f32, on any number of threads") {
  const TemporaryFolder folder;
  const auto files = CheckpointFiles::open(golden("llama_bf16"));
  double worst = 0;
  std::int64_t tensors = 0;
  llm::GgufWriteOptions options{.format = [](const llm::PlannedTensor&, DType stored) {
    CHECK(stored == DType::bf16);
    return DType::q8_0;
  }};
  options.progress = [&](const llm::WrittenTensor& tensor) {
    if (tensor.to == DType::q8_0) worst = std::max(worst, std::sqrt(tensor.squared_error / tensor.squared_sum));
    ++tensors;
  };
  write(files, folder / "one.gguf", options);
  CHECK(worst > 0);
  CHECK(worst < 0.01);
  const auto file = GgufFile::open(folder / "one.gguf");
  CHECK(tensors == static_cast<std::int64_t>(file.tensors().size()));
  for (const auto& tensor : file.tensors()) CHECK(tensor.dtype == (tensor.shape.size() == 1 ? DType::f32 : DType::q8_0));
  CHECK(file.find_metadata("general.file_type")->integer() == 7);
  options.threads = 3;
  write(files, folder / "three.gguf", options);
  CHECK(llm_test::read_file(folder / "one.gguf") == llm_test::read_file(folder / "three.gguf"));
}

TEST_CASE("a GGUF file is written again in another format, with all its metadata") {
  const TemporaryFolder folder;
  const auto source = GgufFile::open(LLM_TEST_DATA "/goldens/tiny.gguf");
  llm::write_gguf(folder / "m.gguf", source,
                  {.format = [](const llm::PlannedTensor& tensor, DType) { return llm::format_for_rows(DType::q4_k, tensor.columns()); }});
  const auto out = GgufFile::open(folder / "m.gguf");
  REQUIRE(out.tensors().size() == source.tensors().size());
  for (const auto& tensor : out.tensors()) {
    INFO(tensor.name);
    CHECK(source.at(tensor.name).shape == tensor.shape);
    if (tensor.shape.size() == 2) CHECK(tensor.dtype == (tensor.shape[1] == 256 ? DType::q4_k : DType::q5_0));
  }
  CHECK(out.find_metadata("tokenizer.ggml.tokens")->array()->strings() ==
        source.find_metadata("tokenizer.ggml.tokens")->array()->strings());
  CHECK(llm::read_gguf_config(out).config == llm::read_gguf_config(source).config);
}

TEST_CASE("what GGUF cannot say, and what does not fit, is refused, and no file is left") {
  const TemporaryFolder folder;
  const auto mistral = CheckpointFiles::open(golden("mistral"));  // its window would be forgotten
  CHECK_THROWS_WITH(write(mistral, folder / "m.gguf"), Catch::Contains("sliding_window is 5"));
  const auto llama = CheckpointFiles::open(golden("llama"));
  llm::PublishedConfig other = *llama.model();
  other.config.ffn_dim += 1;
  CHECK_THROWS_WITH(llm::write_gguf(folder / "m.gguf", other, llama.names(), llama.tensors()), Catch::Contains("misshaped"));
  other = *llama.model();
  other.family = llm::Family::gemma2;
  CHECK_THROWS_AS(llm::write_gguf(folder / "m.gguf", other, llama.names(), llama.tensors()), llm::ValueError);
  CHECK_THROWS_WITH(write(llama, folder / "m.gguf", {.format = [](const llm::PlannedTensor&, DType) { return DType::q4_k; }}),
                    Catch::Contains("blocks of 256"));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a tensor without elements is written again, however many rows it says it has") {
  const TemporaryFolder folder;
  const llm_test::Watchdog watchdog;
  llm_test::GgufModel model("llama");
  model.builder.entry("none", {0, std::uint64_t{1} << 60}, 0, model.builder.data.size());
  model.builder.entry("nothing", {0}, 0, model.builder.data.size());
  llm_test::write_file(folder / "in.gguf", model.builder.str());
  const auto source = GgufFile::open(folder / "in.gguf");
  std::int64_t tensors = 0;
  const auto count = [&](const llm::WrittenTensor&) { ++tensors; };
  llm::write_gguf(folder / "as_it_is.gguf", source, {.progress = count});
  llm::write_gguf(folder / "f16.gguf", source, {.format = [](const llm::PlannedTensor&, DType) { return DType::f16; }, .progress = count});
  CHECK(tensors == 6);
  CHECK(GgufFile::open(folder / "f16.gguf").at("none").shape == std::vector<std::int64_t>{std::int64_t{1} << 60, 0});
}

TEST_CASE("integers are no weights: what holds them is refused by name, whatever the files' format") {
  const TemporaryFolder folder;
  const auto to_f16 = [](const llm::PlannedTensor&, DType) { return DType::f16; };
  const auto refused = [](const auto& run, const std::string& tensor, const std::string& type, const std::string& file) {
    CHECK_THROWS_AS(run(), llm::FileError);
    CHECK_THROWS_WITH(run(), Catch::Contains(llm::detail::in_quotes(tensor) + " holds " + type) && Catch::Contains(file));
  };
  for (const std::uint32_t type : {26u, 27u}) {  // I32, I64
    for (const std::vector<std::uint64_t>& extents : {std::vector<std::uint64_t>{2, 2}, {4}}) {
      llm_test::GgufModel model("llama");
      model.builder.tensor("ids", extents, type, std::string(type == 26 ? 16 : 32, '\1'));
      llm_test::write_file(folder / "in.gguf", model.builder.str());
      const auto source = GgufFile::open(folder / "in.gguf");
      refused([&] { llm::write_gguf(folder / "m.gguf", source); }, "ids", type == 26 ? "I32" : "I64", "in.gguf");
      refused([&] { llm::write_gguf(folder / "m.gguf", source, {.format = to_f16}); }, "ids", type == 26 ? "I32" : "I64", "in.gguf");
    }
  }
  llm_test::ModelFolder model("hf/llama");
  model.convert<std::int64_t>("model.layers.1.mlp.up_proj.weight");
  const auto files = CheckpointFiles::open(model.path());
  refused([&] { write(files, folder / "m.gguf"); }, "model.layers.1.mlp.up_proj.weight", "I64", "model.safetensors");
  CHECK_FALSE(std::filesystem::exists(folder / "m.gguf"));
}

TEST_CASE("a vector in blocks has no rows: it is refused by name") {
  const TemporaryFolder folder;
  llm_test::GgufModel model("llama");
  model.builder.tensor("gain", {32}, 8, std::string(34, '\0'));
  llm_test::write_file(folder / "in.gguf", model.builder.str());
  const auto source = GgufFile::open(folder / "in.gguf");
  CHECK_THROWS_WITH(llm::write_gguf(folder / "m.gguf", source), Catch::Contains("'gain'") && Catch::Contains("in.gguf"));
}

TEST_CASE("the mixture of formats spends more bits where published files do") {
  const auto format = [](const char* name, std::int64_t columns, DType base, bool pure = false) {
    return llm::mixed_format({.name = name, .shape = {8, columns}, .parts = {{.tensor = "x"}}}, base, 32, pure);
  };
  CHECK(format("blk.7.attn_q.weight", 4096, DType::q4_k) == DType::q4_k);
  CHECK(format("blk.7.attn_q.weight", 576, DType::q4_k) == DType::q5_0);
  CHECK(format("blk.7.attn_q.weight", 576, DType::q6_k) == DType::q8_0);
  CHECK(format("blk.7.attn_q.weight", 40, DType::q4_0) == DType::f16);
  CHECK(format("blk.0.attn_v.weight", 4096, DType::q4_k) == DType::q6_k);
  CHECK(format("blk.0.attn_v.weight", 4096, DType::q4_k, true) == DType::q4_k);
  CHECK(format("blk.5.ffn_down.weight", 4096, DType::q4_k) == DType::q4_k);
  CHECK(format("blk.6.ffn_down.weight", 4096, DType::q4_k) == DType::q6_k);
  CHECK(format("blk.31.ffn_down.weight", 4096, DType::q2_k) == DType::q3_k);
  CHECK(format("blk.31.ffn_down.weight", 4096, DType::q4_0) == DType::q4_0);
  CHECK(format("token_embd.weight", 4096, DType::q4_0) == DType::q6_k);
  CHECK(format("output.weight", 576, DType::q4_0) == DType::q8_0);
  CHECK(format("token_embd.weight", 576, DType::q4_0, true) == DType::q4_0);
  CHECK(format("token_embd.weight", 576, DType::bf16) == DType::bf16);
  CHECK(format("blk.3.ffn_gate_inp.weight", 4096, DType::q4_k, true) == DType::f32);
}
