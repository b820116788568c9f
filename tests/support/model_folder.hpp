// Directories of small models that tests can change before they are loaded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <llm/io/safetensors.hpp>

#include <support/catch.hpp>
#include <support/temporary_folder.hpp>

namespace llm_test {

/// A tensor with its bytes.
struct OwnedTensor {
  llm::DType dtype = llm::DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  std::size_t rows() const { return static_cast<std::size_t>(shape.front()); }
  std::size_t row_bytes() const { return bytes.size() / rows(); }
};

/// A golden directory's config.json and tensors, which a test may change; path() writes them to a folder of the test's.
class ModelFolder {
 public:
  explicit ModelFolder(const std::string& golden) {
    const std::filesystem::path from = std::filesystem::path(LLM_TEST_DATA) / "goldens" / golden;
    config = nlohmann::json::parse(std::ifstream(from / "config.json"));
    const auto file = llm::SafetensorsFile::open((from / "model.safetensors").string());
    for (const auto& t : file.tensors()) tensors[t.name] = {t.dtype, t.shape, {t.bytes.begin(), t.bytes.end()}};
  }

  /// Takes a tensor out.
  OwnedTensor take(const std::string& name) {
    const auto at = tensors.find(name);
    REQUIRE(at != tensors.end());
    OwnedTensor out = std::move(at->second);
    tensors.erase(at);
    return out;
  }
  /// Converts an f32 tensor to another element type.
  template <class T>
  void convert(const std::string& name) {
    OwnedTensor& t = tensors.at(name);
    REQUIRE(t.dtype == llm::DType::f32);
    std::vector<T> values(t.bytes.size() / sizeof(float));
    for (std::size_t i = 0; i < values.size(); ++i) {
      float value;
      std::memcpy(&value, t.bytes.data() + i * sizeof value, sizeof value);
      values[i] = static_cast<T>(value);
    }
    t.dtype = llm::dtype_of<T>;
    t.bytes.resize(values.size() * sizeof(T));
    std::memcpy(t.bytes.data(), values.data(), t.bytes.size());
  }
  void add_prefix(const std::string& prefix) {
    std::map<std::string, OwnedTensor> renamed;
    for (auto& [name, tensor] : tensors) renamed[prefix + name] = std::move(tensor);
    tensors = std::move(renamed);
  }

  /// The folder with the files as they are now.
  std::string path() const {
    std::vector<llm::TensorToWrite> list;
    for (const auto& [name, t] : tensors) list.push_back({name, t.dtype, t.shape, t.bytes});
    llm::write_safetensors(folder_ / "model.safetensors", list);
    write_file(folder_ / "config.json", config.dump());
    return folder_.path();
  }

  nlohmann::json config;
  std::map<std::string, OwnedTensor> tensors;

 private:
  TemporaryFolder folder_;
};

/// The tensors one behind the other, by rows.
inline OwnedTensor joined(std::vector<OwnedTensor> parts) {
  OwnedTensor out = std::move(parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i) {
    out.shape.front() += parts[i].shape.front();
    out.bytes.insert(out.bytes.end(), parts[i].bytes.begin(), parts[i].bytes.end());
  }
  return out;
}

}  // namespace llm_test
