// Reads the header of a GGUF file and checks it completely before any of the data is used.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/io/gguf_cursor.hpp>
#include <llm/io/gguf_format.hpp>
#include <llm/io/gguf_parts.hpp>
#include <llm/io/gguf_value.hpp>

namespace llm {

/// One tensor of a GGUF file. `shape` is row-major, as everywhere in the library: a matrix is [out, in]. The file itself names the
/// extents the other way round, the contiguous one first. `bytes` live as long as the file they come from.
struct GgufEntry {
  std::string name;
  DType dtype = DType::u8;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
  std::uint64_t offset = 0;  // of the bytes, from the start of the file
};

/// A tensor in an element type that GGML knows and the library does not (IQ4_XS, Q8_K, I8, ...). Its size is checked all the same.
struct UnsupportedGgufEntry {
  std::string name;
  std::string type;  // GGML's name
  std::vector<std::int64_t> shape;
  std::uint64_t offset = 0, size = 0;  // of the bytes, from the start of the file
};

/// What a GGUF file holds, in the order of the file.
struct GgufIndex {
  std::uint32_t version = 0;
  std::uint64_t alignment = detail::gguf::default_alignment;
  std::vector<GgufPair> metadata;
  std::vector<GgufEntry> tensors;
  std::vector<UnsupportedGgufEntry> unsupported;
};

namespace detail::gguf {

/// Names, kept apart from the file so that comparing them touches none of its pages; their sum is limited.
class NameList {
 public:
  explicit NameList(std::string_view what) : what_(what) {}
  void add(const Cursor& cursor, std::string_view name) {
    if (text_.size() + name.size() > max_names_bytes)
      cursor.fail(concat("its ", what_, "s take more than the limit of ", max_names_bytes, " bytes"));
    text_ += name;
    ends_.push_back(static_cast<std::uint32_t>(text_.size()));
  }
  void check_unique(const Cursor& cursor) const {
    std::vector<std::string_view> names;
    names.reserve(ends_.size());
    std::size_t begin = 0;
    for (const std::uint32_t end : ends_) {
      names.push_back(std::string_view(text_).substr(begin, end - begin));
      begin = end;
    }
    std::sort(names.begin(), names.end());
    if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
      cursor.fail(concat("the ", what_, " ", in_quotes(*twice), " occurs twice"));
  }

 private:
  std::string_view what_;
  std::string text_;
  std::vector<std::uint32_t> ends_;
};

/// Where a tensor's bytes lie, and its number among the tensors.
struct Place {
  std::uint64_t begin, end;
  std::uint32_t number;
};

/// The name of a tensor, read again: for messages.
inline std::string_view name_of_tensor(Cursor& cursor, std::uint32_t number) {
  cursor.restart();
  for (std::uint64_t pairs = read_counts(cursor).pairs; pairs > 0; --pairs) read_pair(cursor);
  constexpr std::uint64_t any_alignment = 1;
  for (std::uint32_t i = 0; i < number; ++i) read_tensor(cursor, any_alignment);
  return read_tensor(cursor, any_alignment).name;
}

/// Tensors must lie in the data, whose size this is, and must not overlap.
inline void check_places(Cursor& cursor, std::vector<Place>& places, std::uint64_t data_size) {
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  std::uint64_t taken = 0;
  for (const Place& place : places) {
    const auto fail = [&](const std::string& reason) {
      const std::string_view name = name_of_tensor(cursor, place.number);
      cursor.fail(concat("tensor ", in_quotes(name), ": its ", place.end - place.begin, " bytes at offset ", place.begin, reason));
    };
    if (place.end > data_size) fail(concat(" do not lie in the file's ", data_size, " bytes of data"));
    if (place.begin < taken && place.end > place.begin) fail(concat(" overlap a tensor that ends at ", taken));
    taken = (std::max)(taken, place.end);
  }
}

/// The part of the file after the header and its padding; empty when the file ends before.
inline std::span<const std::byte> data_after(const Cursor& cursor, std::span<const std::byte> file, std::uint64_t alignment) {
  const std::uint64_t begin = (cursor.position() + alignment - 1) / alignment * alignment;
  return begin < file.size() ? file.subspan(static_cast<std::size_t>(begin)) : std::span<const std::byte>();
}

/// The first reading: checks everything and keeps no more than names and positions. `cut`: data may be missing.
inline void check_header(Cursor& cursor, std::span<const std::byte> file, bool cut) {
  const Counts counts = read_counts(cursor);
  std::uint64_t alignment = default_alignment;
  {
    NameList keys("metadata key");
    for (std::uint64_t i = 0; i < counts.pairs; ++i) {
      const GgufPair pair = read_pair(cursor);
      keys.add(cursor, pair.key);
      if (pair.key == alignment_key) alignment = alignment_of(cursor, pair.value);
    }
    keys.check_unique(cursor);
  }
  std::vector<Place> places;
  {
    NameList names("tensor name");
    for (std::uint64_t i = 0; i < counts.tensors; ++i) {
      const TensorInfo info = read_tensor(cursor, alignment);
      names.add(cursor, info.name);
      if (info.offset > INT64_MAX) cursor.fail(concat("tensor ", in_quotes(info.name), ": the offset ", info.offset, " exceeds 2^63"));
      places.push_back({info.offset, info.offset + info.size, static_cast<std::uint32_t>(i)});
    }
    names.check_unique(cursor);
  }
  check_places(cursor, places, cut ? UINT64_MAX : data_after(cursor, file, alignment).size());
}

/// The second reading, of a header that is known to be good.
inline GgufIndex keep_header(Cursor& cursor, std::span<const std::byte> file) {
  GgufIndex index;
  const Counts counts = read_counts(cursor);
  index.version = counts.version;
  for (std::uint64_t i = 0; i < counts.pairs; ++i) {
    index.metadata.push_back(read_pair(cursor));
    if (index.metadata.back().key == alignment_key) index.alignment = alignment_of(cursor, index.metadata.back().value);
  }
  std::vector<TensorInfo> infos;
  for (std::uint64_t i = 0; i < counts.tensors; ++i) infos.push_back(read_tensor(cursor, index.alignment));
  const auto data = data_after(cursor, file, index.alignment);
  for (const TensorInfo& info : infos) {
    const std::uint64_t offset = info.offset + (file.size() - data.size());
    if (info.type->dtype) {
      const bool there = info.offset <= data.size() && info.size <= data.size() - info.offset;
      const auto bytes =
          there ? data.subspan(static_cast<std::size_t>(info.offset), static_cast<std::size_t>(info.size)) : std::span<const std::byte>();
      index.tensors.push_back({std::string(info.name), *info.type->dtype, info.shape(), bytes, offset});
    } else {
      index.unsupported.push_back({std::string(info.name), std::string(info.type->name), info.shape(), offset, info.size});
    }
  }
  return index;
}

}  // namespace detail::gguf

/// Reads and checks the header of a file that lies in memory; keys, values and the entries' bytes point into `file`. `path` is for
/// messages. Throws FileError. The header is read twice, the first time keeping next to nothing: a bad file costs little memory.
/// `cut`: the file may end before its data does; what is not there whole has no bytes.
inline GgufIndex parse_gguf(std::span<const std::byte> file, const std::string& path, detail::ReleasePages release = nullptr,
                            bool cut = false) {
  detail::gguf::Cursor checking(file, path, release);
  detail::gguf::check_header(checking, file, cut);
  detail::gguf::Cursor keeping(file, path, release);
  return detail::gguf::keep_header(keeping, file);
}

}  // namespace llm
