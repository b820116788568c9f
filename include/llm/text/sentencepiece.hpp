// SentencePiece models (tokenizer.model, spm.model) through the sentencepiece library: the only file that knows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sentencepiece_processor.h>

#include <llm/core/error.hpp>
#include <llm/text/bpe/added_tokens.hpp>
#include <llm/text/bpe/byte_tokens.hpp>
#include <llm/text/tokenizer.hpp>
#include <llm/text/utf8.hpp>

namespace llm {

/// What a model file does not say.
struct SentencePieceOptions {
  bool add_bos = true;   ///< a BOS begins a text, where the model has one: as Llama 2 and its kin expect
  bool add_eos = false;  ///< an EOS ends a text
};

/// A SentencePiece model of any type. See Tokenizer for what its functions do. Control tokens have no text: decode() leaves them out
/// always, and an unknown token is " \u2047 ", as the library has it. The library checks its own files: give it those of a source you
/// trust. Tokenizer::from_file reads those of type BPE with our own checks.
class SentencePieceTokenizer {
 public:
  static constexpr std::size_t max_text_bytes = std::size_t{1} << 30;

  /// Throws FileError, naming the file, when it cannot be read or the library refuses it.
  static SentencePieceTokenizer from_file(const std::string& path, const SentencePieceOptions& options = {}) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file) throw FileError(detail::concat("llm::SentencePieceTokenizer: ", path, ": cannot be read"));
    return from_bytes(bytes, path, options);
  }

  /// The same of a file that lies in memory; `source` names it in errors.
  static SentencePieceTokenizer from_bytes(std::string_view bytes, const std::string& source, const SentencePieceOptions& options = {}) {
    auto processor = std::make_shared<sentencepiece::SentencePieceProcessor>();
    const auto status = processor->LoadFromSerializedProto(bytes);
    if (!status.ok() || processor->GetPieceSize() == 0)
      throw FileError(detail::concat("llm::SentencePieceTokenizer: ", source, ": is no SentencePiece model: ", status.ToString()));
    try {
      return SentencePieceTokenizer(std::move(processor), options, source);
    } catch (const ValueError& error) {
      throw FileError(detail::concat("llm::SentencePieceTokenizer: ", source, ": ", error.what()));
    }
  }

  std::int64_t vocab_size() const { return processor_->GetPieceSize(); }

  std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const {
    if (text.size() >= max_text_bytes)
      throw ValueError(detail::concat("llm::Tokenizer::encode: a text of ", text.size(), " bytes is too long (hint: encode it in parts)"));
    if (const std::size_t at = find_invalid_utf8(text); at != std::string_view::npos)
      throw ValueError(detail::concat("llm::Tokenizer::encode: the text is not valid UTF-8 at byte ", at,
                                      " (hint: llm::Utf8Stream replaces what is no UTF-8)"));
    std::vector<std::int32_t> ids;
    special_.cut(
        text, false, SpecialPlaces(options.parse_special, options.plain),
        [&](std::size_t begin, std::size_t end) {
          std::vector<int> part;
          const auto status = processor_->Encode(text.substr(begin, end - begin), &part);
          if (!status.ok()) throw ValueError(detail::concat("llm::Tokenizer::encode: ", status.ToString()));
          ids.insert(ids.end(), part.begin(), part.end());
        },
        [&](std::int32_t id) { ids.push_back(id); });
    if (options.add_special) add_ends(ids, options.open);
    return ids;
  }

  std::string decode(std::span<const std::int32_t> ids, bool /*skip_special*/ = false) const {
    for (const std::int32_t id : ids) check(id, "llm::Tokenizer::decode");
    std::string text;
    const auto status = processor_->Decode(std::vector<int>(ids.begin(), ids.end()), &text);
    if (!status.ok()) throw ValueError(detail::concat("llm::Tokenizer::decode: ", status.ToString()));
    return text;
  }

  std::string decode_one(std::int32_t id) const {
    check(id, "llm::Tokenizer::decode_one");
    if (processor_->IsControl(id)) return {};
    if (processor_->IsUnknown(id)) return " \xE2\x81\x87 ";
    const std::string& piece = processor_->IdToPiece(id);
    if (processor_->IsByte(id)) return std::string(1, static_cast<char>(detail::bpe::byte_of_token(piece).value_or(0)));
    return detail::bpe::with_spaces(piece);
  }

  std::optional<std::int32_t> token_id(std::string_view token) const {
    const int id = processor_->PieceToId(token);
    if (id < 0 || id >= vocab_size() || processor_->IdToPiece(id) != token) return {};
    return id;
  }
  std::string token(std::int32_t id) const {
    check(id, "llm::Tokenizer::token");
    return processor_->IdToPiece(id);
  }
  bool is_special(std::int32_t id) const {
    check(id, "llm::Tokenizer::is_special");
    return processor_->IsControl(id) || processor_->IsUnknown(id);
  }
  std::optional<std::int32_t> bos_id() const { return known(processor_->bos_id()); }
  std::vector<std::int32_t> eos_ids() const {
    const auto eos = known(processor_->eos_id());
    return eos ? std::vector<std::int32_t>{*eos} : std::vector<std::int32_t>();
  }

  /// The library's own object, for what else it can do.
  const sentencepiece::SentencePieceProcessor& processor() const { return *processor_; }

 private:
  SentencePieceTokenizer(std::shared_ptr<sentencepiece::SentencePieceProcessor> processor, const SentencePieceOptions& options,
                         const std::string& source)
      : processor_(std::move(processor)), options_(options) {
    AddedTokenList special;
    for (int id = 0; id < processor_->GetPieceSize(); ++id) {
      if (find_invalid_utf8(processor_->IdToPiece(id)) != std::string_view::npos)
        throw FileError(detail::concat("llm::SentencePieceTokenizer: ", source, ": piece ", id, " is not valid UTF-8"));
      if (is_special(id) && !processor_->IdToPiece(id).empty())
        special.push_back({.id = id, .content = processor_->IdToPiece(id), .special = true});
    }
    special_ = AddedTokens(std::move(special), Normalizer());
  }

  static std::optional<std::int32_t> known(int id) {
    if (id < 0) return {};
    return id;
  }
  void check(std::int32_t id, std::string_view function) const {
    if (id < 0 || id >= vocab_size()) throw ValueError(detail::concat(function, ": id ", id, " is outside 0 .. ", vocab_size() - 1));
  }
  void add_ends(std::vector<std::int32_t>& ids, bool open) const {
    const auto bos = bos_id(), eos = known(processor_->eos_id());
    if (options_.add_bos && bos && (ids.empty() || ids.front() != *bos)) ids.insert(ids.begin(), *bos);
    if (options_.add_eos && !open && eos && (ids.empty() || ids.back() != *eos)) ids.push_back(*eos);
  }

  std::shared_ptr<const sentencepiece::SentencePieceProcessor> processor_;
  SentencePieceOptions options_;
  AddedTokens special_;
};

static_assert(SpecialTokenizer<SentencePieceTokenizer>);

}  // namespace llm
