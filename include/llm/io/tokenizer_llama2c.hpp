// Reads the tokenizer files of llama2.c (tokenizer.bin): the pieces of a SentencePiece model and their scores, and nothing else.
// Source: tokenizer.py and run.c of github.com/karpathy/llama2.c.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <llm/core/dtype.hpp>
#include <llm/core/error.hpp>
#include <llm/detail/os_file.hpp>
#include <llm/io/little_endian.hpp>
#include <llm/io/mapped_file.hpp>
#include <llm/io/page_release.hpp>
#include <llm/text/bpe/bpe_tokenizer.hpp>
#include <llm/text/bpe/byte_tokens.hpp>
#include <llm/text/bpe/gguf_vocabulary.hpp>
#include <llm/text/bpe/pattern.hpp>
#include <llm/text/bpe/vocabulary.hpp>

namespace llm {

namespace detail::llama2c {

/// The pieces of a file, for bpe::GgufTokenizer: read as they are walked. Behind the length of the longest piece stands of each its score,
/// its length and its letters.
class Pieces {
 public:
  /// Throws ValueError when the bytes are no such file.
  Pieces(std::span<const std::byte> bytes, ReleasePages release) : bytes_(bytes), release_(release) {
    for_each([&](std::size_t id, std::string_view text, float) {
      if (id >= first_byte && id < after_bytes && text != bpe::byte_token(static_cast<unsigned>(id - first_byte)))
        fail(concat("piece ", id, " is ", in_quotes(text), ", expected ", bpe::byte_token(static_cast<unsigned>(id - first_byte))));
      ++count_;
    });
    if (count_ < after_bytes) fail(concat("has ", count_, " pieces, fewer than bytes and ends of texts"));
  }

  static constexpr std::size_t unknown = 0, bos = 1, eos = 2, first_byte = 3, after_bytes = first_byte + 256;

  std::size_t tokens() const { return count_; }
  std::size_t types() const { return count_; }
  std::size_t scores() const { return count_; }
  std::size_t merges() const { return 0; }
  std::int64_t type(std::size_t id) const {
    if (id == unknown) return GgufVocabulary::unknown;
    if (id == bos || id == eos) return GgufVocabulary::control;
    return id < after_bytes ? GgufVocabulary::byte : GgufVocabulary::normal;
  }
  /// In the files a space is a space, and the ends have lines of their own.
  template <class F>
  void for_each_token(const F& f) const {
    for_each([&](std::size_t id, std::string_view text, float) {
      if ((id == bos || id == eos) && text.size() > 2 && text.starts_with('\n') && text.ends_with('\n'))
        text = text.substr(1, text.size() - 2);
      const std::string marked = bpe::with_space_marks(text);
      f(id, std::string_view(marked));
    });
  }
  template <class F>
  void for_each_score(const F& f) const {
    for_each([&](std::size_t id, std::string_view, float score) { f(id, score); });
  }
  template <class F>
  void for_each_merge(const F&) const {}

 private:
  static constexpr std::size_t header = 4, before_text = 8;

  [[noreturn]] static void fail(std::string_view reason) { throw ValueError(concat("no tokenizer of llama2.c: ", reason)); }

  template <class F>
  void for_each(const F& f) const {
    PageRelease pages(bytes_.data(), release_, std::size_t{1} << 18);
    if (bytes_.size() < header) fail("is cut short");
    const std::size_t longest = little_endian_u32(bytes_, 0);
    std::size_t id = 0;
    for (std::size_t at = header; at < bytes_.size(); ++id) {
      if (id == static_cast<std::size_t>(Vocabulary::max_ids)) fail(concat("has more than ", id, " pieces"));
      if (bytes_.size() - at < before_text) fail(concat("piece ", id, " is cut short"));
      const auto score = bit_cast<float>(little_endian_u32(bytes_, at));
      const std::size_t size = little_endian_u32(bytes_, at + 4);
      at += before_text;
      if (size > longest) fail(concat("piece ", id, " has ", size, " bytes, the longest has ", longest));
      if (size > bytes_.size() - at) fail(concat("piece ", id, " is cut short"));
      f(id, std::string_view(reinterpret_cast<const char*>(bytes_.data()) + at, size), score);
      pages.passed(at += size);
    }
  }

  std::span<const std::byte> bytes_;
  ReleasePages release_;
  std::size_t count_ = 0;
};

}  // namespace detail::llama2c

/// The parts of the tokenizer in a tokenizer.bin that lies in memory; `source` names it in errors. Its first three pieces are for what is
/// unknown, a BOS, which begins every text, and an EOS; then come the bytes. Throws FileError when it is no such file or contradicts
/// itself.
inline BpeParts parse_llama2c_tokenizer(std::span<const std::byte> bytes, const std::string& source,
                                        detail::ReleasePages release = nullptr) {
  using detail::llama2c::Pieces;
  try {
    const Pieces pieces(bytes, release);
    GgufVocabulary keys;
    keys.model = "llama";  // GGUF's name of this kind
    keys.unknown_id = Pieces::unknown;
    keys.bos_id = Pieces::bos;
    keys.eos_ids = {Pieces::eos};
    keys.add_bos = true;
    return detail::bpe::GgufTokenizer(keys, pieces).parts();
  } catch (const ValueError& error) {
    throw FileError(detail::concat("llm::Tokenizer: ", source, ": ", error.what()));
  }
}

/// The same of a file.
inline BpeParts read_llama2c_tokenizer(const std::string& path) {
  const MappedFile file = MappedFile::open_to_read_once(path);
  return parse_llama2c_tokenizer(file.bytes(), path, detail::os::release_pages);
}

}  // namespace llm
