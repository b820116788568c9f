// Writes an accepted GGUF file again, in memory, and ends the program unless a reader finds the same in it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include <llm/io/gguf.hpp>
#include <llm/io/gguf_model_writer.hpp>
#include <llm/model/config_fields.hpp>
#include <support/temporary_folder.hpp>

namespace llm_test {

/// What GgufWriter would write for this file.
inline std::string written_again(const llm::GgufFile& file) {
  const llm::GgufMetadata metadata(file);
  std::vector<llm::GgufTensorToWrite> tensors;
  for (const llm::GgufEntry& tensor : file.tensors()) tensors.push_back({tensor.name, tensor.dtype, tensor.shape});
  std::string out = llm::detail::gguf::header(metadata, tensors);
  for (const llm::GgufEntry& tensor : file.tensors()) {
    out.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
    out.resize(llm::detail::gguf::padded(out.size(), llm::detail::gguf::alignment_of(metadata)), '\0');
  }
  return out;
}

inline bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

inline void check_round_trip(const llm::GgufFile& file) {
  const std::string bytes = written_again(file);
  const auto again = llm::GgufFile::view(std::as_bytes(std::span(bytes)), "written again");
  if (again.metadata().size() != file.metadata().size() || again.tensors().size() != file.tensors().size()) std::abort();
  for (std::size_t i = 0; i < file.metadata().size(); ++i) {
    const llm::GgufPair &a = file.metadata()[i], &b = again.metadata()[i];
    if (a.key != b.key || a.value.type() != b.value.type() || !same_bytes(a.value.bytes(), b.value.bytes())) std::abort();
  }
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    const llm::GgufEntry &a = file.tensors()[i], &b = again.tensors()[i];
    if (a.name != b.name || a.dtype != b.dtype || a.shape != b.shape || !same_bytes(a.bytes, b.bytes)) std::abort();
  }
}

/// Writes the file's model again, as it is and in q8_0 where rows allow it, and ends the program unless a reader finds the same tensors.
inline void check_quantized(const llm::GgufFile& file) {
  static const TemporaryFolder folder;
  llm::GgufWriteOptions encoded;
  encoded.format = [](const llm::PlannedTensor& tensor, llm::DType) {
    return tensor.columns() % 32 == 0 ? llm::DType::q8_0 : llm::DType::f32;
  };
  for (const llm::GgufWriteOptions& options : {llm::GgufWriteOptions{}, encoded}) {
    const std::string path = folder / "written.gguf";
    try {
      llm::write_gguf(path, file, options);
    } catch (const llm::Error&) {  // types that are not read, integers, numbers that are not finite, sizes beyond a format's
      continue;
    }
    const auto again = llm::GgufFile::open(path);
    if (again.tensors().size() != file.tensors().size()) std::abort();
    for (std::size_t i = 0; i < file.tensors().size(); ++i)
      if (again.tensors()[i].name != file.tensors()[i].name || again.tensors()[i].shape != file.tensors()[i].shape) std::abort();
  }
}

/// Says the Config of an accepted file in keys of our own, and ends the program unless a reader finds the same Config in them.
inline void check_config_round_trip(const llm::GgufFile& file, const llm::PublishedConfig& model) {
  if (model.config.rope_scaling.kind == llm::RopeScalingKind::llama3) return;  // a tensor's data says it
  std::vector<llm::GgufTensorToWrite> tensors;
  for (const llm::GgufEntry& tensor : file.tensors()) tensors.push_back({tensor.name, tensor.dtype, tensor.shape});
  for (const llm::UnsupportedGgufEntry& tensor : file.unsupported()) tensors.push_back({tensor.name, llm::DType::f32, tensor.shape});
  std::string bytes;
  try {
    bytes = llm::detail::gguf::header(llm::gguf_metadata(model), tensors);
  } catch (const llm::ValueError&) {  // a family that is not written
    return;
  } catch (const llm::ShapeError&) {  // a tensor of a smaller type is too large as f32
    return;
  }
  const auto again = llm::read_gguf_config(llm::GgufFile::view_beginning(std::as_bytes(std::span(bytes)), "said again"));
  if (!llm::config_differences(model.config, "", again.config, "").empty()) std::abort();
}

}  // namespace llm_test
