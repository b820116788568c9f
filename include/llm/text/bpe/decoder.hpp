// From tokens back to text, in steps as tokenizer.json names them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <llm/text/bpe/byte_alphabet.hpp>
#include <llm/text/bpe/byte_tokens.hpp>
#include <llm/text/bpe/pattern.hpp>
#include <llm/text/stream.hpp>
#include <llm/text/utf8.hpp>

namespace llm {

/// A token on its way to text.
struct DecodePiece {
  std::string text;
  bool verbatim = false;  ///< is text already, in which nothing has a meaning
};

/// Steps from tokens to text, one after the other.
class Decoder {
 public:
  struct Replace {
    TextPattern pattern;
    std::string by;
  };
  /// The byte alphabet back to bytes; joins all tokens.
  struct ByteLevel {};
  /// <0x0A> and the like back to bytes; what bytes are no UTF-8 becomes U+FFFD.
  struct ByteFallback {
    bool whole_runs = true;  ///< one wrong byte spoils all of a run of byte tokens, as in tokenizer.json; false: only itself
  };
  /// Joins all tokens.
  struct Fuse {};
  /// Takes up to `start` of a character from the front of each token and `stop` from its end.
  struct Strip {
    char32_t character = U' ';
    std::int64_t start = 0, stop = 0;
  };
  /// `replacement` back to spaces, but for those of the first token where one was put before the text.
  struct Metaspace {
    std::string replacement;
    bool prefixed = true;
  };
  using Step = std::variant<Replace, ByteLevel, ByteFallback, Fuse, Strip, Metaspace>;

  Decoder() = default;
  explicit Decoder(std::vector<Step> steps) : steps_(std::move(steps)) {}

  /// The text of a whole sequence, valid UTF-8. Throws ValueError when the steps make it very much longer than its tokens.
  std::string decode(std::vector<DecodePiece> pieces) const {
    const std::size_t before = size_of(pieces);
    for (const Step& step : steps_) {
      std::visit([&](const auto& s) { pieces = apply(s, std::move(pieces)); }, step);
      detail::bpe::check_growth(before, size_of(pieces));
    }
    return joined(pieces);
  }

  /// The bytes of one token inside a text: without what depends on where it stands.
  std::string decode_one(DecodePiece piece) const {
    const std::size_t before = piece.text.size();
    bool fused = false;
    for (const Step& step : steps_) {
      detail::bpe::check_growth(before, piece.text.size());
      if (const auto* replace = std::get_if<Replace>(&step)) {
        piece = change(*replace, std::move(piece));
      } else if (std::holds_alternative<ByteLevel>(step)) {
        piece = {bytes_of(piece), true};
        fused = true;
      } else if (std::holds_alternative<ByteFallback>(step)) {
        if (const auto byte = byte_of(piece)) piece = {std::string(1, static_cast<char>(*byte)), true};
      } else if (std::holds_alternative<Fuse>(step)) {
        fused = true;
      } else if (const auto* strip = std::get_if<Strip>(&step)) {
        if (!fused) piece = change(*strip, std::move(piece));
      } else if (const auto* metaspace = std::get_if<Metaspace>(&step)) {
        piece = change(*metaspace, std::move(piece), false);
      }
    }
    return std::move(piece.text);
  }

 private:
  using Pieces = std::vector<DecodePiece>;

  static std::size_t size_of(const Pieces& pieces) {
    std::size_t size = 0;
    for (const DecodePiece& piece : pieces) size += piece.text.size();
    return size;
  }
  static std::string joined(const Pieces& pieces) {
    std::string text;
    for (const DecodePiece& piece : pieces) text += piece.text;
    return text;
  }
  static std::string valid_utf8(std::string_view bytes) {
    Utf8Stream stream;
    std::string text = stream.push(bytes);
    return text += stream.flush();
  }
  static std::string bytes_of(const DecodePiece& piece) {
    if (piece.verbatim) return piece.text;
    std::string bytes;
    detail::bpe::append_bytes(bytes, piece.text);
    return bytes;
  }
  static std::optional<unsigned char> byte_of(const DecodePiece& piece) {
    if (piece.verbatim) return {};
    return detail::bpe::byte_of_token(piece.text);
  }

  static DecodePiece change(const Replace& step, DecodePiece piece) {
    if (!piece.verbatim) piece.text = step.pattern.replace(piece.text, step.by);
    return piece;
  }
  static DecodePiece change(const Strip& step, DecodePiece piece) {
    const std::string character = encode_utf8(step.character);
    std::string_view text = piece.text;
    for (std::int64_t i = 0; i < step.start && text.starts_with(character); ++i) text.remove_prefix(character.size());
    for (std::int64_t i = 0; i < step.stop && text.ends_with(character); ++i) text.remove_suffix(character.size());
    return {std::string(text), piece.verbatim};
  }
  static DecodePiece change(const Metaspace& step, DecodePiece piece, bool first) {
    if (!piece.verbatim) piece.text = TextPattern(step.replacement).replace(piece.text, first && step.prefixed ? "" : " ");
    return piece;
  }

  template <class EachPiece>
  static Pieces apply(const EachPiece& step, Pieces pieces) {
    for (DecodePiece& piece : pieces) piece = change(step, std::move(piece));
    return pieces;
  }
  static Pieces apply(const Metaspace& step, Pieces pieces) {
    bool first = true;
    for (DecodePiece& piece : pieces) piece = change(step, std::move(piece), std::exchange(first, false));
    return pieces;
  }
  static Pieces apply(const Fuse&, const Pieces& pieces) { return {{joined(pieces), false}}; }
  static Pieces apply(const ByteLevel&, const Pieces& pieces) {
    std::string bytes;
    for (const DecodePiece& piece : pieces) bytes += bytes_of(piece);
    return {{valid_utf8(bytes), false}};
  }
  static Pieces apply(const ByteFallback& step, Pieces pieces) {
    Pieces out;
    std::string run;
    const auto end_run = [&] {
      if (!run.empty()) out.push_back({text_of_run(run, step.whole_runs), false});
      run.clear();
    };
    for (DecodePiece& piece : pieces) {
      if (const auto byte = byte_of(piece)) {
        run += static_cast<char>(*byte);
      } else {
        end_run();
        out.push_back(std::move(piece));
      }
    }
    end_run();
    return out;
  }
  /// Each wrong byte becomes one U+FFFD.
  static std::string text_of_run(std::string_view run, bool whole) {
    const bool spoilt = whole && find_invalid_utf8(run) != std::string_view::npos;
    std::string text;
    for (std::size_t at = 0; at < run.size();) {
      const Utf8Step step = read_utf8(run, at);
      const bool good = !spoilt && step.kind == Utf8Step::Kind::character;
      text += good ? run.substr(at, step.length) : replacement_utf8;
      at += good ? step.length : 1;
    }
    return text;
  }

  std::vector<Step> steps_;
};

}  // namespace llm
