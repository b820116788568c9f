// Opens GGUF files: metadata, and names, shapes and bytes of tensors, without copying vocabulary or data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/io/gguf_header.hpp>
#include <llm/io/mapped_file.hpp>
#include <llm/io/name_order.hpp>

namespace llm {

/// A GGUF file of version 2 or 3, mapped into memory. Everything about its structure is checked by open(); keys, values and bytes
/// live as long as this object. Move-only; a const one may be used by many threads.
class GgufFile {
 public:
  using Entry = GgufEntry;

  /// Throws FileError, naming the file, when it cannot be read or breaks the format in any way.
  static GgufFile open(const std::string& path) {
    MappedFile mapped = MappedFile::open(path);
    GgufFile file(parse_gguf(mapped.bytes(), path, detail::os::release_pages), path);
    file.file_ = std::move(mapped);
    return file;
  }

  /// The same for a file that lies in memory; `bytes` must outlive the object. `path` is for messages.
  static GgufFile view(std::span<const std::byte> bytes, const std::string& path) { return {parse_gguf(bytes, path), path}; }

  /// The same for the beginning of a file, at least its header: tensors whose data is not there whole have no bytes.
  static GgufFile view_beginning(std::span<const std::byte> bytes, const std::string& path) {
    return {parse_gguf(bytes, path, nullptr, /*cut=*/true), path};
  }

  const std::string& path() const { return path_; }
  std::uint32_t version() const { return index_.version; }
  /// Whether the bytes are pages of a mapped file, and not somebody else's.
  bool mapped() const { return !file_.bytes().empty(); }

  /// All keys and values, in the order of the file.
  const std::vector<GgufPair>& metadata() const { return index_.metadata; }
  /// The value of this key, or null when the file has none.
  const GgufValue* find_metadata(std::string_view key) const {
    const GgufPair* pair = detail::find_by_name(metadata(), by_key_, key, key_of);
    return pair == nullptr ? nullptr : &pair->value;
  }

  /// All tensors of supported element types, in the order of the header. Shapes are row-major, [out, in]: see GgufEntry.
  const std::vector<Entry>& tensors() const { return index_.tensors; }
  /// Tensors that the file has in element types the library does not read; only asking for their data is an error.
  const std::vector<UnsupportedGgufEntry>& unsupported() const { return index_.unsupported; }

  /// The tensor of this name, or null when the file has none. Throws FileError when its element type is not supported.
  const Entry* find(std::string_view name) const {
    if (const Entry* entry = find_supported(name)) return entry;
    if (const UnsupportedGgufEntry* other = find_unsupported(name))
      detail::gguf::fail(path(), detail::concat("tensor ", detail::in_quotes(name), " has the unsupported type ", other->type));
    return nullptr;
  }

  /// The tensor of this name. Throws FileError when the file has none, or has it in an unsupported element type.
  const Entry& at(std::string_view name) const {
    const Entry* entry = find(name);
    if (entry == nullptr) detail::gguf::fail(path(), detail::concat("has no tensor ", detail::in_quotes(name)));
    return *entry;
  }

  /// The shape of the tensor of this name, whatever its element type; null when the file has none.
  const std::vector<std::int64_t>* find_shape(std::string_view name) const {
    if (const Entry* entry = find_supported(name)) return &entry->shape;
    const UnsupportedGgufEntry* other = find_unsupported(name);
    return other == nullptr ? nullptr : &other->shape;
  }

 private:
  GgufFile(GgufIndex index, const std::string& path) : index_(std::move(index)), path_(path) {
    by_key_ = detail::order_by_name(metadata(), key_of);
    by_name_ = detail::order_by_name(tensors());
    by_unsupported_name_ = detail::order_by_name(unsupported());
  }

  static std::string_view key_of(const GgufPair& pair) { return pair.key; }
  const Entry* find_supported(std::string_view name) const { return detail::find_by_name(tensors(), by_name_, name); }
  const UnsupportedGgufEntry* find_unsupported(std::string_view name) const {
    return detail::find_by_name(unsupported(), by_unsupported_name_, name);
  }

  MappedFile file_;  // holds no file when the bytes are somebody else's
  GgufIndex index_;
  std::string path_;
  std::vector<std::size_t> by_key_, by_name_, by_unsupported_name_;
};

}  // namespace llm
