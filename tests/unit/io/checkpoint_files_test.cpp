#include <llm/io/checkpoint_files.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <llm/io/json_fields.hpp>
#include <llm/io/tensor_check.hpp>
#include <support/catch.hpp>
#include <support/temporary_folder.hpp>

namespace {

namespace fs = std::filesystem;
using llm::CheckpointFiles;

const std::string goldens = std::string(LLM_TEST_DATA) + "/goldens/";

llm::TensorCheck check(const CheckpointFiles& files) {
  REQUIRE(files.model());
  return llm::check_tensors(*files.model(), files.names(), files.tensors());
}

/// A copy of a golden directory that a test can damage.
void copy_golden(const std::string& name, const llm_test::TemporaryFolder& folder) {
  for (const auto& entry : fs::directory_iterator(goldens + name)) fs::copy(entry.path(), folder.path());
}

std::vector<std::byte> zeros(std::size_t bytes) { return std::vector<std::byte>(bytes); }

}  // namespace

TEST_CASE("published directories: one file, several, none") {
  const auto whole = CheckpointFiles::open(goldens + "hf/llama");
  CHECK(whole.has_weights());
  CHECK(whole.names() == llm::TensorNames::hugging_face);
  CHECK(whole.model()->family == llm::Family::llama);
  CHECK(whole.paths().size() == 2);
  CHECK(check(whole).matches());
  CHECK(check(whole).parameters == 26784);

  auto opened = CheckpointFiles::open(goldens + "hf/llama_sharded");
  const CheckpointFiles shards = std::move(opened);  // views stay valid
  CHECK(shards.paths().size() == 5);
  CHECK(check(shards).matches());
  CHECK(check(shards).parameters == 26784);

  const auto config = CheckpointFiles::open(goldens + "hf/llama/config.json");
  CHECK_FALSE(config.has_weights());
  CHECK(config.tensors().empty());
  CHECK(config.model()->config == whole.model()->config);

  llm_test::TemporaryFolder folder;
  fs::copy(goldens + "hf/llama/config.json", folder.path());
  CHECK_FALSE(CheckpointFiles::open(folder.path()).has_weights());
}

TEST_CASE("one safetensors file, with its config beside it or without") {
  CHECK(check(CheckpointFiles::open(goldens + "hf/qwen2/model.safetensors")).matches());
  llm_test::TemporaryFolder folder;
  fs::copy(goldens + "hf/qwen2/model.safetensors", folder / "any.safetensors");
  const auto bare = CheckpointFiles::open(folder / "any.safetensors");
  CHECK_FALSE(bare.model());
  CHECK(bare.tensors().size() == 27);
}

TEST_CASE("a GGUF file, its element types by GGML's names") {
  const auto files = CheckpointFiles::open(goldens + "tiny.gguf");
  CHECK(files.names() == llm::TensorNames::gguf);
  const llm::TensorCheck result = check(files);
  CHECK(result.matches());
  CHECK(result.parameters == 87456);
  CHECK(result.dtypes.size() == 10);
  for (const auto& tensor : files.tensors())
    if (tensor.name == "blk.0.ffn_down.weight") {
      CHECK(tensor.dtype == "Q6_K");
      CHECK(tensor.shape[0] == 32);
      CHECK(tensor.size == 6720);
    }
}

TEST_CASE("a checkpoint of the library holds its config") {
  const llm::Config config{
      .vocab_size = 5, .d_model = 4, .n_layers = 1, .n_heads = 2, .ffn_dim = 3, .max_seq_len = 8, .tie_embeddings = true};
  const auto data = zeros(1024);
  llm_test::TemporaryFolder folder;
  std::vector<llm::TensorToWrite> tensors;
  const auto add = [&](const std::string& name, const std::vector<std::int64_t>& shape) {
    const auto bytes = static_cast<std::size_t>(llm::detail::elements_of(shape)) * 4;
    tensors.push_back({name, llm::DType::f32, shape, std::span(data).first(bytes)});
  };
  for (const auto& tensor : llm::expected_tensors(config, llm::Family::llama, {.names = llm::TensorNames::library}))
    if (tensor.copy_of.empty()) {
      add(tensor.name, tensor.shape);
      add("optimizer.m." + tensor.name, tensor.shape);
    }
  const auto write = [&] {
    llm::write_safetensors(folder / "checkpoint.safetensors", tensors,
                           {{"checkpoint_version", "1"}, {"config", llm::config_to_json(config)}});
  };
  write();
  for (const std::string& path : {folder.path(), folder / "checkpoint.safetensors"}) {
    const auto files = CheckpointFiles::open(path);
    CHECK(files.names() == llm::TensorNames::library);
    CHECK(files.model()->config == config);
    CHECK(check(files).matches());
    CHECK(check(files).parameters == llm::parameter_count(config).total);
  }
  add("model.layers.0.self_attn.q_proj.bias", {4});
  write();
  CHECK(check(CheckpointFiles::open(folder.path())).count(llm::TensorFault::extra) == 1);
}

TEST_CASE("a shard that is missing, or lacks what the index says [idx_missing]") {
  for (const char* shard : {"model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors", "model-00003-of-00003.safetensors"}) {
    llm_test::TemporaryFolder folder;
    copy_golden("hf/llama_sharded", folder);
    fs::remove(folder / shard);
    CHECK_THROWS_WITH(CheckpointFiles::open(folder.path()),
                      Catch::Contains("index.json") && Catch::Contains(shard) && Catch::Contains("missing"));
  }
  llm_test::TemporaryFolder folder;
  copy_golden("hf/llama_sharded", folder);
  const std::string index = folder / "model.safetensors.index.json";
  std::string text = llm_test::read_file(index);
  text.replace(text.find("model.norm.weight"), 17, "model.gorm.weight");
  llm_test::write_file(index, text);
  CHECK_THROWS_WITH(CheckpointFiles::open(folder.path()), Catch::Contains("'model.gorm.weight' in model-0000"));
  CHECK_THROWS_AS(CheckpointFiles::open(folder.path()), llm::FileError);
}

TEST_CASE("a tensor in two shards is found") {
  llm_test::TemporaryFolder folder;
  copy_golden("hf/llama_sharded", folder);
  std::vector<llm::TensorToWrite> tensors;
  const auto first = llm::SafetensorsFile::open(folder / "model-00001-of-00003.safetensors");
  const auto last = llm::SafetensorsFile::open(folder / "model-00003-of-00003.safetensors");
  for (const auto& entry : last.tensors()) tensors.push_back({entry.name, entry.dtype, entry.shape, entry.bytes});
  const auto& twice = first.tensors().front();
  tensors.push_back({twice.name, twice.dtype, twice.shape, twice.bytes});
  llm::write_safetensors(folder / "model-00003-of-00003.safetensors", tensors);
  const llm::TensorCheck result = check(CheckpointFiles::open(folder.path()));
  REQUIRE(result.problems.size() == 1);
  CHECK(result.problems[0].fault == llm::TensorFault::duplicate);
  CHECK(result.problems[0].name == twice.name);
}

TEST_CASE("a file that was cut is an error, wherever it was cut [st_trunc]") {
  const std::pair<std::string, std::string> files[] = {{"hf/llama", "model.safetensors"},
                                                       {"hf/llama_sharded", "model-00002-of-00003.safetensors"},
                                                       {"hf/llama_sharded", "model.safetensors.index.json"},
                                                       {"hf/llama", "config.json"}};
  for (const auto& [directory, name] : files) {
    llm_test::TemporaryFolder folder;
    copy_golden(directory, folder);
    const auto size = fs::file_size(folder / name);
    for (std::uintmax_t part = 15; part < 16; --part) {
      INFO(directory << "/" << name << " cut to " << part << "/16");
      fs::resize_file(folder / name, size * part / 16);
      CHECK_THROWS_AS(CheckpointFiles::open(folder.path()), llm::FileError);
    }
  }
  llm_test::TemporaryFolder folder;
  fs::copy(goldens + "tiny.gguf", folder.path());
  const auto size = fs::file_size(folder / "tiny.gguf");
  for (std::uintmax_t part = 15; part < 16; --part) {
    fs::resize_file(folder / "tiny.gguf", size * part / 16);
    CHECK_THROWS_AS(CheckpointFiles::open(folder / "tiny.gguf"), llm::FileError);
  }
}

TEST_CASE("paths that are no model are errors that say why") {
  llm_test::TemporaryFolder folder;
  CHECK_THROWS_WITH(CheckpointFiles::open(folder.path()), Catch::Contains("neither a config.json nor a checkpoint.safetensors"));
  CHECK_THROWS_WITH(CheckpointFiles::open(folder / "none"), Catch::Contains("no such file or folder"));
  llm_test::write_file(folder / "model.pt", "x");
  CHECK_THROWS_WITH(CheckpointFiles::open(folder / "model.pt"), Catch::Contains(".gguf, .safetensors, .bin and .json"));
  CHECK_THROWS_WITH(CheckpointFiles::open(goldens + "hf/llama_sharded/model.safetensors.index.json"), Catch::Contains("give the folder"));
  CHECK_THROWS_AS(CheckpointFiles::open(folder / "none.gguf"), llm::FileError);
  CHECK_THROWS_AS(CheckpointFiles::open(folder / "none.json"), llm::FileError);
  fs::copy(goldens + "hf/llama/config.json", folder.path());
  fs::copy(goldens + "hf/llama/model.safetensors", folder / "part.safetensors");
  CHECK_THROWS_WITH(CheckpointFiles::open(folder.path()), Catch::Contains("'part.safetensors'") && Catch::Contains("index.json"));
}
