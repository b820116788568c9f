// Reads SentencePiece's own files (tokenizer.model, spm.model) of the kind that language models have: BPE on the text as it is.
// Source: google/sentencepiece, src/sentencepiece_model.proto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <llm/core/error.hpp>
#include <llm/io/mapped_file.hpp>
#include <llm/io/protobuf.hpp>
#include <llm/text/bpe/bpe_tokenizer.hpp>
#include <llm/text/bpe/gguf_vocabulary.hpp>
#include <llm/text/bpe/vocabulary.hpp>
#include <llm/text/utf8.hpp>

namespace llm {

namespace detail::sentencepiece_file {

using protobuf::Field, protobuf::Message;

/// Reads one file. The vocabulary's views are of its bytes.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& source) : bytes_(bytes), source_(source) {}

  GgufVocabulary vocabulary() {
    read_settings();
    check_settings();
    read_pieces();
    vocabulary_.model = "llama";  // GGUF's name of this kind
    vocabulary_.bos_id = control(bos_);
    if (const auto eos = control(eos_)) vocabulary_.eos_ids = {*eos};
    vocabulary_.add_bos = vocabulary_.bos_id.has_value();
    return std::move(vocabulary_);
  }

 private:
  enum ModelType : std::int64_t { unigram = 1, bpe = 2 };
  static constexpr std::size_t bytes_of_fallback = 256;

  [[noreturn]] void fail(std::string_view reason) const { throw FileError(concat("llm::Tokenizer: ", source_, ": ", reason)); }
  [[noreturn]] void fail_unknown(std::string_view reason) const {
    fail(concat(reason, " (hint: llm::SentencePieceTokenizer reads every SentencePiece model)"));
  }
  template <class F>
  void each_field(std::span<const std::byte> bytes, F&& f) const {
    const std::string where = concat("llm::Tokenizer: ", source_, ": no SentencePiece model");
    for (Message message(bytes, where); !message.at_end();) f(message.next());
  }

  /// All but the pieces, which are counted.
  void read_settings() {
    each_field(bytes_, [&](const Field& field) {
      if (field.number() == 1) ++pieces_;
      if (field.number() == 2) each_field(field.bytes(), [&](const Field& inner) { read_trainer(inner); });
      if (field.number() == 3) each_field(field.bytes(), [&](const Field& inner) { read_normalizer(inner); });
      if (field.number() == 5)
        each_field(field.bytes(), [&](const Field& inner) { changes_decoded_ |= inner.number() == 2 && !inner.bytes().empty(); });
    });
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
    if (field.number() == 3) vocabulary_.add_space_prefix = field.flag();
    if (field.number() == 4) removes_spaces_ = field.flag();
    if (field.number() == 5) escapes_spaces_ = field.flag();
  }

  void check_settings() const {
    if (pieces_ == 0) fail("no SentencePiece model: it has no pieces");
    if (pieces_ > static_cast<std::size_t>(Vocabulary::max_ids))
      fail(concat("has ", pieces_, " pieces, the limit is ", Vocabulary::max_ids));
    if (type_ != bpe)
      fail_unknown(concat("trainer_spec.model_type is ", type_, type_ == unigram ? " (unigram)" : "", ", expected 2 (BPE)"));
    if (changes_text_) fail_unknown("normalizer_spec changes letters");
    if (removes_spaces_) fail_unknown("normalizer_spec removes spaces");
    if (!escapes_spaces_) fail_unknown("normalizer_spec leaves spaces as they are");
    if (suffix_) fail_unknown("trainer_spec puts spaces after words");
    if (splits_) fail_unknown("trainer_spec has a delimiter of its own between pieces");
    if (changes_decoded_) fail_unknown("denormalizer_spec changes letters");
  }

  void read_pieces() {
    vocabulary_.tokens.reserve(pieces_);
    vocabulary_.types.reserve(pieces_);
    vocabulary_.scores.reserve(pieces_);
    std::size_t byte_pieces = 0;
    each_field(bytes_, [&](const Field& field) {
      if (field.number() != 1) return;
      read_piece(field);
      byte_pieces += vocabulary_.types.back() == GgufVocabulary::byte ? 1 : 0;
    });
    if (!vocabulary_.unknown_id) fail("no SentencePiece model: no piece is for what is unknown");
    const std::size_t expected = byte_fallback_ ? bytes_of_fallback : 0;
    if (byte_pieces != expected)
      fail(concat("has ", byte_pieces, " pieces for bytes, expected ", expected, " since byte_fallback is ", byte_fallback_));
  }
  void read_piece(const Field& field) {
    std::string_view text;
    std::int64_t type = GgufVocabulary::normal;  // the types have the same numbers
    float score = 0;
    each_field(field.bytes(), [&](const Field& inner) {
      if (inner.number() == 1) text = inner.text();
      if (inner.number() == 2) score = inner.f32();
      if (inner.number() == 3) type = inner.integer();
    });
    const auto id = static_cast<std::int64_t>(vocabulary_.tokens.size());
    if (text.empty()) fail(concat("piece ", id, " is empty"));
    if (find_invalid_utf8(text) != std::string_view::npos) fail(concat("piece ", id, " is not valid UTF-8"));
    if (type < GgufVocabulary::normal || type > GgufVocabulary::byte)
      fail(concat("piece ", in_quotes(text), " has the unknown type ", type));
    if (type == GgufVocabulary::unknown) {
      if (vocabulary_.unknown_id) fail(concat("pieces ", *vocabulary_.unknown_id, " and ", id, " are both for what is unknown"));
      vocabulary_.unknown_id = id;
    }
    vocabulary_.tokens.push_back(text);
    vocabulary_.types.push_back(type);
    vocabulary_.scores.push_back(score);
  }

  std::optional<std::int64_t> control(std::string_view name) const {
    for (std::size_t id = 0; id < vocabulary_.tokens.size(); ++id)
      if (vocabulary_.types[id] == GgufVocabulary::control && vocabulary_.tokens[id] == name) return static_cast<std::int64_t>(id);
    return {};
  }

  std::span<const std::byte> bytes_;
  const std::string& source_;
  GgufVocabulary vocabulary_;
  std::size_t pieces_ = 0;
  // What the fields are when they are missing.
  std::int64_t type_ = unigram;
  bool byte_fallback_ = false, suffix_ = false, splits_ = false;
  bool changes_text_ = false, removes_spaces_ = true, escapes_spaces_ = true, changes_decoded_ = false;
  std::string_view bos_ = "<s>", eos_ = "</s>";
};

}  // namespace detail::sentencepiece_file

/// The parts of the tokenizer in a SentencePiece model of type BPE that takes texts as they are, as those of Llama 2, Mistral and Gemma do.
/// A BOS begins a text where the model has one. `source` names the bytes in errors. Throws FileError for every other model and for what
/// contradicts itself.
inline BpeParts parse_sentencepiece(std::span<const std::byte> bytes, const std::string& source) {
  const GgufVocabulary vocabulary = detail::sentencepiece_file::Reader(bytes, source).vocabulary();
  try {
    return detail::bpe::parts_of(vocabulary);
  } catch (const ValueError& error) {
    throw FileError(detail::concat("llm::Tokenizer: ", source, ": ", error.what()));
  }
}

/// The same of a file.
inline BpeParts read_sentencepiece(const std::string& path) { return parse_sentencepiece(MappedFile::open(path).bytes(), path); }

}  // namespace llm
