// Writes GGUF files of version 3, each in one atomic step, the tensors' data piece by piece.
// Source: docs/gguf.md of github.com/ggml-org/ggml.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/core/shape.hpp>
#include <llm/io/atomic_file.hpp>
#include <llm/io/gguf_format.hpp>
#include <llm/io/gguf_metadata.hpp>

namespace llm {

/// A tensor of a GGUF file to be written: what its header says. `shape` is row-major, a matrix is [out, in].
struct GgufTensorToWrite {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
};

namespace detail::gguf {

/// GGML's number of an element type. Throws ValueError when it has none.
inline std::uint32_t element_type_number(DType dtype) {
  for (std::uint32_t i = 0; i < element_types.size(); ++i)
    if (element_types[i].dtype == dtype) return i;
  throw ValueError(concat("llm::GgufWriter: GGUF has no element type for ", to_string(dtype)));
}

[[noreturn]] inline void refuse(std::string_view what, std::string_view name, std::string_view reason) {
  throw ValueError(concat("llm::GgufWriter: ", what, " ", in_quotes(name), ": ", reason));
}

/// What the reader would refuse is not written.
inline void check_name(std::string_view what, std::string_view name, std::uint64_t limit) {
  if (name.empty() || name.size() > limit) refuse(what, name, concat("has ", name.size(), " bytes, expected 1 to ", limit));
  for (const char c : name)
    if (c < 0x20 || c > 0x7e) refuse(what, name, "has characters other than printable ASCII");
}

/// Names of one kind: each by itself, none twice, and not too many.
template <class List, class NameOf>
void check_names(std::string_view what, const List& list, std::uint64_t most, std::uint64_t limit, const NameOf& name_of) {
  if (list.size() > most) throw ValueError(concat("llm::GgufWriter: ", list.size(), " of kind ", what, ", more than the limit of ", most));
  std::vector<std::string_view> names;
  std::uint64_t bytes = 0;
  for (const auto& entry : list) {
    check_name(what, name_of(entry), limit);
    names.push_back(name_of(entry));
    bytes += names.back().size();
  }
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) refuse(what, *twice, "occurs twice");
  if (bytes > max_names_bytes)
    throw ValueError(concat("llm::GgufWriter: names of kind ", what, " take ", bytes, " bytes, more than the limit of ", max_names_bytes));
}

/// Bytes of a tensor's data, once its shape is known to be one of the format.
inline std::uint64_t checked_bytes(const GgufTensorToWrite& tensor) {
  const auto fail = [&](const std::string& reason) { refuse("tensor", tensor.name, reason); };
  element_type_number(tensor.dtype);
  if (tensor.shape.size() > max_dimensions)
    fail(concat("has ", tensor.shape.size(), " dimensions, the format's limit is ", max_dimensions));
  for (const std::int64_t extent : tensor.shape)
    if (extent < 0) fail(concat("extent ", extent, " is negative"));
  const std::int64_t count = checked_elements(tensor.shape, block_format(tensor.dtype).bytes);
  const std::int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back(), block = block_format(tensor.dtype).elements;
  if (row % block != 0)
    fail(concat("a row of ", row, " elements is not a whole number of ", to_string(tensor.dtype), " blocks of ", block));
  return static_cast<std::uint64_t>(storage_bytes(tensor.dtype, count));
}

/// The value of general.alignment, or the format's default.
inline std::uint64_t alignment_of(const GgufMetadata& metadata) {
  const OwnedGgufValue* value = metadata.find(alignment_key);
  if (value == nullptr) return default_alignment;
  const auto number = value->type() == GgufType::u32 ? static_cast<std::uint64_t>(*value->view().integer()) : 0;
  if (!std::has_single_bit(number) || number < min_alignment || number > max_alignment)
    refuse("key", alignment_key, concat("must be a u32, and a power of two from ", min_alignment, " to ", max_alignment));
  return number;
}

inline std::uint64_t padded(std::uint64_t size, std::uint64_t alignment) { return (size + alignment - 1) / alignment * alignment; }

/// Everything before the data, padding included. Throws ValueError or ShapeError for what the format or its reader does not allow.
inline std::string header(const GgufMetadata& metadata, std::span<const GgufTensorToWrite> tensors) {
  check_names("key", metadata.pairs(), max_pairs, max_key_bytes, [](const auto& pair) { return std::string_view(pair.key); });
  check_names("tensor", tensors, max_tensors, max_name_bytes, [](const auto& tensor) { return std::string_view(tensor.name); });
  const std::uint64_t alignment = alignment_of(metadata);
  std::string out = "GGUF";
  append_number(out, std::uint32_t{3});
  append_number(out, std::uint64_t{tensors.size()});
  append_number(out, std::uint64_t{metadata.pairs().size()});
  for (const GgufMetadata::Pair& pair : metadata.pairs()) {
    append_text(out, pair.key);
    append_number(out, static_cast<std::uint32_t>(pair.value.type()));
    out += pair.value.bytes();
  }
  std::uint64_t offset = 0;
  for (const GgufTensorToWrite& tensor : tensors) {
    const std::uint64_t bytes = checked_bytes(tensor);
    append_text(out, tensor.name);
    append_number(out, static_cast<std::uint32_t>(tensor.shape.size()));
    for (std::size_t i = tensor.shape.size(); i-- > 0;) append_number(out, static_cast<std::uint64_t>(tensor.shape[i]));
    append_number(out, element_type_number(tensor.dtype));
    append_number(out, offset);
    if (bytes > INT64_MAX - offset - alignment) refuse("tensor", tensor.name, "ends beyond 2^63 bytes");
    offset = padded(offset + bytes, alignment);
  }
  out.resize(padded(out.size(), alignment), '\0');
  return out;
}

}  // namespace detail::gguf

/// A GGUF file that is being written. The header comes first, so all names, formats and shapes are given at the start; then the tensors'
/// data, in the same order and in pieces of any size, so that no model is held in memory. Nothing is at `path` before commit(); on any
/// error, and without commit(), what was there before is untouched (see AtomicFile). Move-only.
class GgufWriter {
 public:
  /// Checks everything and writes the header. Throws ValueError or ShapeError, before a file is made, for what the format or its reader
  /// does not allow: a name, a shape, an alignment, an element type, a key or a tensor twice; FileError when the system fails.
  GgufWriter(const std::string& path, const GgufMetadata& metadata, std::vector<GgufTensorToWrite> tensors)
      : GgufWriter(path, detail::gguf::header(metadata, tensors), detail::gguf::alignment_of(metadata), std::move(tensors)) {}

  /// Appends to the data of the tensor whose turn it is; one call may end a tensor and begin the next. Throws ValueError for more than
  /// all tensors take, FileError when the system fails.
  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      if (at_ == tensors_.size()) throw ValueError("llm::GgufWriter::write: more bytes than the tensors take");
      const auto piece = static_cast<std::size_t>((std::min)(left_, std::uint64_t{bytes.size()}));
      file_.write(bytes.first(piece));
      bytes = bytes.subspan(piece);
      left_ -= piece;
      if (left_ == 0) end_tensor();
    }
  }

  /// Makes the file appear at its path. Throws ValueError when data is missing, FileError when the system fails.
  void commit() {
    if (at_ != tensors_.size())
      throw ValueError(
          detail::concat("llm::GgufWriter::commit: tensor ", detail::in_quotes(tensors_[at_].name), " lacks ", left_, " bytes"));
    file_.commit();
  }

 private:
  GgufWriter(const std::string& path, const std::string& header, std::uint64_t alignment, std::vector<GgufTensorToWrite>&& tensors)
      : tensors_(std::move(tensors)), alignment_(alignment), file_(path) {
    file_.write(header);
    start_next();
  }

  /// Takes the next tensor that has data.
  void start_next() {
    while (at_ < tensors_.size() && (left_ = detail::gguf::checked_bytes(tensors_[at_])) == 0) ++at_;
  }
  void end_tensor() {
    const std::uint64_t bytes = detail::gguf::checked_bytes(tensors_[at_]);
    file_.write(std::string(static_cast<std::size_t>(detail::gguf::padded(bytes, alignment_) - bytes), '\0'));
    ++at_;
    start_next();
  }

  std::vector<GgufTensorToWrite> tensors_;
  std::uint64_t alignment_;
  AtomicFile file_;
  std::size_t at_ = 0;      // the tensor whose turn it is
  std::uint64_t left_ = 0;  // bytes that it lacks
};

}  // namespace llm
