// Reads SentencePiece's own files (tokenizer.model, spm.model) of the kind that language models have: BPE on the text as it is.
// Source: google/sentencepiece, src/sentencepiece_model.proto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/detail/os_file.hpp>
#include <llm/io/mapped_file.hpp>
#include <llm/io/page_release.hpp>
#include <llm/io/protobuf.hpp>
#include <llm/text/bpe/bpe_tokenizer.hpp>
#include <llm/text/bpe/gguf_vocabulary.hpp>
#include <llm/text/bpe/vocabulary.hpp>
#include <llm/text/utf8.hpp>

namespace llm {

namespace detail::sentencepiece_file {

using protobuf::Field, protobuf::Message;

/// Calls f(field) for those of a message. `release` lets the pages of a mapped file go that have been read.
template <class F>
void for_each_field(std::span<const std::byte> bytes, const std::string& where, F&& f, ReleasePages release = nullptr) {
  PageRelease pages(bytes.data(), release, std::size_t{1} << 18);
  for (Message message(bytes, where); !message.at_end();) {
    f(message.next());
    pages.passed(bytes.size() - message.left().size());
  }
  if (release != nullptr) release(bytes.data(), bytes.size());
}

/// A token of the model and what kind it is: kinds have the numbers that GGUF gives them.
struct Piece {
  std::string_view text = {};
  std::int64_t type = GgufVocabulary::normal;
  float score = 0;
};

/// The pieces, for bpe::GgufTokenizer: read as they are walked, but for their types.
class Pieces {
 public:
  Pieces(std::span<const std::byte> bytes, const std::string& where, ReleasePages release)
      : bytes_(bytes), where_(where), release_(release) {}

  std::size_t tokens() const { return types_.size(); }
  std::size_t types() const { return types_.size(); }
  std::size_t scores() const { return types_.size(); }
  std::size_t merges() const { return 0; }
  std::int64_t type(std::size_t id) const { return types_[id]; }
  template <class F>
  void for_each_token(const F& f) const {
    for_each([&](std::size_t id, const Piece& piece) { f(id, piece.text); });
  }
  template <class F>
  void for_each_score(const F& f) const {
    for_each([&](std::size_t id, const Piece& piece) { f(id, piece.score); });
  }
  template <class F>
  void for_each_merge(const F&) const {}

  /// f(id, piece)
  template <class F>
  void for_each(const F& f) const {
    std::size_t id = 0;
    for_each_field(
        bytes_, where_,
        [&](const Field& field) {
          if (field.number() == 1) f(id++, read(field));
        },
        release_);
  }
  /// Of the next piece; it has been checked.
  void add_type(std::int64_t type) { types_.push_back(static_cast<std::uint8_t>(type)); }

 private:
  Piece read(const Field& field) const {
    Piece piece;
    for_each_field(field.bytes(), where_, [&](const Field& inner) {
      if (inner.number() == 1) piece.text = inner.text();
      if (inner.number() == 2) piece.score = inner.f32();
      if (inner.number() == 3) piece.type = inner.integer();
    });
    return piece;
  }

  std::span<const std::byte> bytes_;
  const std::string& where_;
  ReleasePages release_;
  std::vector<std::uint8_t> types_;
};

/// Reads one file.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& source, ReleasePages release)
      : bytes_(bytes),
        source_(source),
        where_(concat("llm::Tokenizer: ", source, ": no SentencePiece model")),
        release_(release),
        list_(bytes, where_, release) {}

  BpeParts parts(const std::function<void(BpeParts&)>& complete) {
    read_settings();
    check_settings();
    check_pieces();
    keys_.model = "llama";  // GGUF's name of this kind
    keys_.add_bos = keys_.bos_id.has_value();
    return bpe::GgufTokenizer(keys_, list_).parts(complete);
  }

 private:
  enum ModelType : std::int64_t { unigram = 1, bpe_model = 2 };
  static constexpr std::size_t bytes_of_fallback = 256;

  [[noreturn]] void fail(std::string_view reason) const { throw FileError(concat("llm::Tokenizer: ", source_, ": ", reason)); }
  [[noreturn]] void fail_unknown(std::string_view reason) const {
    fail(concat(reason, " (hint: llm::SentencePieceTokenizer reads every SentencePiece model)"));
  }

  /// All but the pieces, which are counted.
  void read_settings() {
    const auto each = [&](const Field& field, const auto& f) { for_each_field(field.bytes(), where_, f); };
    for_each_field(
        bytes_, where_,
        [&](const Field& field) {
          if (field.number() == 1) ++pieces_;
          if (field.number() == 2) each(field, [&](const Field& inner) { read_trainer(inner); });
          if (field.number() == 3) each(field, [&](const Field& inner) { read_normalizer(inner); });
          if (field.number() == 5)
            each(field, [&](const Field& inner) { changes_decoded_ |= inner.number() == 2 && !inner.bytes().empty(); });
        },
        release_);
  }
  void read_trainer(const Field& field) {
    if (field.number() == 3) type_ = field.integer();
    if (field.number() == 24) suffix_ = field.flag();
    if (field.number() == 35) byte_fallback_ = field.flag();
    if (field.number() == 46) bos_ = field.text();
    if (field.number() == 47) eos_ = field.text();
    if (field.number() == 53) splits_ = !field.bytes().empty();
  }
  void read_normalizer(const Field& field) {
    if (field.number() == 2) changes_text_ = !field.bytes().empty();
    if (field.number() == 3) keys_.add_space_prefix = field.flag();
    if (field.number() == 4) removes_spaces_ = field.flag();
    if (field.number() == 5) escapes_spaces_ = field.flag();
  }

  void check_settings() const {
    if (pieces_ == 0) fail("no SentencePiece model: it has no pieces");
    if (pieces_ > static_cast<std::size_t>(Vocabulary::max_ids))
      fail(concat("has ", pieces_, " pieces, the limit is ", Vocabulary::max_ids));
    if (type_ != bpe_model)
      fail_unknown(concat("trainer_spec.model_type is ", type_, type_ == unigram ? " (unigram)" : "", ", expected 2 (BPE)"));
    if (changes_text_) fail_unknown("normalizer_spec changes letters");
    if (removes_spaces_) fail_unknown("normalizer_spec removes spaces");
    if (!escapes_spaces_) fail_unknown("normalizer_spec leaves spaces as they are");
    if (suffix_) fail_unknown("trainer_spec puts spaces after words");
    if (splits_) fail_unknown("trainer_spec has a delimiter of its own between pieces");
    if (changes_decoded_) fail_unknown("denormalizer_spec changes letters");
  }

  void check_pieces() {
    std::size_t byte_pieces = 0;
    list_.for_each([&](std::size_t id, const Piece& piece) {
      check_piece(static_cast<std::int64_t>(id), piece);
      byte_pieces += piece.type == GgufVocabulary::byte ? 1 : 0;
      list_.add_type(piece.type);
    });
    if (!keys_.unknown_id) fail("no SentencePiece model: no piece is for what is unknown");
    const std::size_t expected = byte_fallback_ ? bytes_of_fallback : 0;
    if (byte_pieces != expected)
      fail(concat("has ", byte_pieces, " pieces for bytes, expected ", expected, " since byte_fallback is ", byte_fallback_));
  }
  void check_piece(std::int64_t id, const Piece& piece) {
    if (piece.text.empty()) fail(concat("piece ", id, " is empty"));
    if (find_invalid_utf8(piece.text) != std::string_view::npos) fail(concat("piece ", id, " is not valid UTF-8"));
    if (piece.type < GgufVocabulary::normal || piece.type > GgufVocabulary::byte)
      fail(concat("piece ", in_quotes(piece.text), " has the unknown type ", piece.type));
    if (piece.type == GgufVocabulary::unknown) {
      if (keys_.unknown_id) fail(concat("pieces ", *keys_.unknown_id, " and ", id, " are both for what is unknown"));
      keys_.unknown_id = id;
    }
    if (piece.type != GgufVocabulary::control) return;
    if (piece.text == bos_ && !keys_.bos_id) keys_.bos_id = id;
    if (piece.text == eos_ && keys_.eos_ids.empty()) keys_.eos_ids = {id};
  }

  std::span<const std::byte> bytes_;
  const std::string& source_;
  std::string where_;
  ReleasePages release_;
  Pieces list_;
  GgufVocabulary keys_;  // without lists
  std::size_t pieces_ = 0;
  // What the fields are when they are missing.
  std::int64_t type_ = unigram;
  bool byte_fallback_ = false, suffix_ = false, splits_ = false;
  bool changes_text_ = false, removes_spaces_ = true, escapes_spaces_ = true, changes_decoded_ = false;
  std::string_view bos_ = "<s>", eos_ = "</s>";
};

}  // namespace detail::sentencepiece_file

/// The parts of the tokenizer in a SentencePiece model of type BPE that takes texts as they are, as those of Llama 2, Mistral and Gemma do.
/// A BOS begins a text where the model has one. `complete` may change the parts before what is large is made of them. `source` names the
/// bytes in errors. Throws FileError for every other model and for what contradicts itself.
inline BpeParts parse_sentencepiece(std::span<const std::byte> bytes, const std::string& source,
                                    const std::function<void(BpeParts&)>& complete = {}, detail::ReleasePages release = nullptr) {
  try {
    return detail::sentencepiece_file::Reader(bytes, source, release).parts(complete);
  } catch (const ValueError& error) {
    throw FileError(detail::concat("llm::Tokenizer: ", source, ": ", error.what()));
  }
}

/// The same of a file.
inline BpeParts read_sentencepiece(const std::string& path, const std::function<void(BpeParts&)>& complete = {}) {
  const MappedFile file = MappedFile::open_to_read_once(path);
  return parse_sentencepiece(file.bytes(), path, complete, detail::os::release_pages);
}

}  // namespace llm
