// One interface for every tokenizer: what a program needs of it, whichever kind a model came with.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <llm/text/stream.hpp>
#include <llm/text/text_range.hpp>

namespace llm {

/// What encode() does beside the text itself.
struct EncodeOptions {
  bool add_special = true;    ///< adds the tokens that the model expects around a text, such as a BOS; never one that stands there already
  bool parse_special = true;  ///< a special token spelled out in the text becomes its id; false: its letters are text like any other
  /// Parts of the text, ascending and apart, in which nothing is special whatever it spells: what somebody else wrote. A special token
  /// that only partly lies in one is none.
  std::span<const TextRange> plain = {};
  bool open = false;  ///< the text is to go on: add_special adds nothing behind it, such as an EOS
};

/// The least a tokenizer has: ids for a text, and the bytes of ids, which need not be whole characters for a single one.
template <class T>
concept BasicTokenizer = requires(const T& tokenizer, std::string_view text, std::span<const std::int32_t> ids, std::int32_t id) {
  { tokenizer.vocab_size() } -> std::convertible_to<std::int64_t>;
  { tokenizer.encode(text) } -> std::convertible_to<std::vector<std::int32_t>>;
  { tokenizer.decode(ids) } -> std::convertible_to<std::string>;
  { tokenizer.decode_one(id) } -> std::convertible_to<std::string>;
};

/// A tokenizer that has special tokens, as those of published models do.
template <class T>
concept SpecialTokenizer = BasicTokenizer<T> &&
    requires(const T& tokenizer, std::string_view text, std::span<const std::int32_t> ids, std::int32_t id) {
  { tokenizer.encode(text, EncodeOptions{}) } -> std::convertible_to<std::vector<std::int32_t>>;
  { tokenizer.decode(ids, bool{}) } -> std::convertible_to<std::string>;
  { tokenizer.token_id(text) } -> std::convertible_to<std::optional<std::int32_t>>;
  { tokenizer.token(id) } -> std::convertible_to<std::string>;
  { tokenizer.is_special(id) } -> std::convertible_to<bool>;
  { tokenizer.bos_id() } -> std::convertible_to<std::optional<std::int32_t>>;
  { tokenizer.eos_ids() } -> std::convertible_to<std::vector<std::int32_t>>;
};

/// Any tokenizer. Copies are cheap and share what they hold, which never changes: many threads may use one.
/// Ids are 0 .. vocab_size() - 1. Functions that take an id throw ValueError for one outside of that.
class Tokenizer {
 public:
  template <BasicTokenizer T>
  requires(!std::same_as<T, Tokenizer>) Tokenizer(T tokenizer)
      : held_(std::make_shared<const Held<T>>(std::move(tokenizer))) {}  // NOLINT: a tokenizer is a Tokenizer

  /// Of a model's folder, a .safetensors file in it, a tokenizer.json, a SentencePiece .model or a .gguf file. Defined by
  /// <llm/tokenizer.hpp>, which a program that calls it includes. Throws FileError naming the file and the field, also for every kind of
  /// tokenizer that is not known.
  static inline Tokenizer from_file(const std::string& path);

  std::int64_t vocab_size() const { return held_->vocab_size(); }

  /// The ids of a text. Throws ValueError for what the tokenizer has no ids for, and for invalid UTF-8, with the byte offset
  /// (hint: llm::Utf8Stream replaces what is no UTF-8).
  std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const { return held_->encode(text, options); }

  /// The text of ids, valid UTF-8: bytes that are none become U+FFFD. `skip_special` leaves special tokens out.
  std::string decode(std::span<const std::int32_t> ids, bool skip_special = false) const { return held_->decode(ids, skip_special); }

  /// The bytes of one id inside a text, which need not be whole characters.
  std::string decode_one(std::int32_t id) const { return held_->decode_one(id); }

  /// The id whose token is spelled so in the vocabulary; none when there is none.
  std::optional<std::int32_t> token_id(std::string_view token) const { return held_->token_id(token); }

  /// How the vocabulary spells the token of an id; empty where an id stands for nothing.
  std::string token(std::int32_t id) const { return held_->token(id); }

  /// Whether the id stands for a special token, which is no text: a BOS, an EOS, a turn of a chat.
  bool is_special(std::int32_t id) const { return held_->is_special(id); }

  /// The token before a text, and those any of which ends one. A tokenizer may have none.
  std::optional<std::int32_t> bos_id() const { return held_->bos_id(); }
  const std::vector<std::int32_t>& eos_ids() const { return held_->eos_ids(); }

  /// The tokenizer inside when it is a T, else null.
  template <class T>
  const T* get_if() const {
    const auto* held = dynamic_cast<const Held<T>*>(held_.get());
    return held == nullptr ? nullptr : &held->tokenizer;
  }

 private:
  struct Interface {
    Interface() = default;
    Interface(const Interface&) = delete;
    Interface& operator=(const Interface&) = delete;
    virtual ~Interface() = default;
    virtual std::int64_t vocab_size() const = 0;
    virtual std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options) const = 0;
    virtual std::string decode(std::span<const std::int32_t> ids, bool skip_special) const = 0;
    virtual std::string decode_one(std::int32_t id) const = 0;
    virtual std::optional<std::int32_t> token_id(std::string_view token) const = 0;
    virtual std::string token(std::int32_t id) const = 0;
    virtual bool is_special(std::int32_t id) const = 0;
    virtual std::optional<std::int32_t> bos_id() const = 0;
    virtual const std::vector<std::int32_t>& eos_ids() const = 0;
  };

  template <class T>
  struct Held final : Interface {
    explicit Held(T held) : tokenizer(std::move(held)) {
      if constexpr (SpecialTokenizer<T>) eos = tokenizer.eos_ids();
    }
    std::int64_t vocab_size() const override { return tokenizer.vocab_size(); }
    std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options) const override {
      if constexpr (SpecialTokenizer<T>)
        return tokenizer.encode(text, options);
      else
        return tokenizer.encode(text);
    }
    std::string decode(std::span<const std::int32_t> ids, bool skip_special) const override {
      if constexpr (SpecialTokenizer<T>)
        return tokenizer.decode(ids, skip_special);
      else
        return tokenizer.decode(ids);
    }
    std::string decode_one(std::int32_t id) const override { return tokenizer.decode_one(id); }
    std::optional<std::int32_t> token_id(std::string_view token) const override {
      if constexpr (SpecialTokenizer<T>) {
        return tokenizer.token_id(token);
      } else {
        for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id)
          if (tokenizer.decode_one(id) == token) return id;
        return {};
      }
    }
    std::string token(std::int32_t id) const override {
      if constexpr (SpecialTokenizer<T>)
        return tokenizer.token(id);
      else
        return tokenizer.decode_one(id);
    }
    bool is_special(std::int32_t id) const override {
      if constexpr (SpecialTokenizer<T>)
        return tokenizer.is_special(id);
      else
        return (void)tokenizer.decode_one(id), false;
    }
    std::optional<std::int32_t> bos_id() const override {
      if constexpr (SpecialTokenizer<T>)
        return tokenizer.bos_id();
      else
        return {};
    }
    const std::vector<std::int32_t>& eos_ids() const override { return eos; }

    T tokenizer;
    std::vector<std::int32_t> eos;
  };

  std::shared_ptr<const Interface> held_;
};

/// Ids that come one by one, as text: whole characters only. The pieces joined are the text inside of which the ids stand: unlike
/// Tokenizer::decode it keeps a space before the first word, which a continuation needs.
class DecodeStream {
 public:
  explicit DecodeStream(Tokenizer tokenizer, bool skip_special = false) : tokenizer_(std::move(tokenizer)), skip_special_(skip_special) {}

  /// Takes an id and returns every character that is complete by now. Throws ValueError for an id outside the vocabulary.
  std::string push(std::int32_t id) {
    const std::string bytes = tokenizer_.decode_one(id);
    return skip_special_ && tokenizer_.is_special(id) ? std::string() : utf8_.push(bytes);
  }

  /// Ends the text: U+FFFD for a character that never became whole, else nothing. The stream can be used again.
  std::string flush() { return utf8_.flush(); }

 private:
  Tokenizer tokenizer_;
  Utf8Stream utf8_;
  bool skip_special_;
};

}  // namespace llm
