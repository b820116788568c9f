// A vocabulary: strings to ids and back, in flat arrays, since published ones have hundreds of thousands of tokens.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/text/bpe/probe_length.hpp>

namespace llm {

/// Tokens by id and by spelling. Ids need not be dense: one without a token is a hole.
class Vocabulary {
 public:
  static constexpr std::int64_t max_ids = 320'000;                      ///< ids lie below this; Gemma 3 has 262,208
  static constexpr std::size_t max_token_bytes = std::size_t{1} << 16;  ///< longest token
  static constexpr std::size_t max_bytes = std::size_t{35} << 18;       ///< of memory for all: 4 MiB of text with as many ids as may be

  /// Adds a token. Throws ValueError, saying what is wrong, when the id is out of range or taken, or the spelling is taken or too long.
  void add(std::int64_t id, std::string_view token) {
    const auto fail = [&](const auto&... reason) {
      throw ValueError(detail::concat("token ", detail::in_quotes(token), " of id ", id, " ", reason...));
    };
    if (id < 0 || id >= max_ids) fail("lies outside 0 .. ", max_ids - 1);
    if (contains(id)) fail("has the id of ", detail::in_quotes(text(static_cast<std::int32_t>(id))));
    if (const auto other = find(token)) fail("is already the token of id ", *other);
    if (token.size() > max_token_bytes) fail("is ", token.size(), " bytes long, the limit is ", max_token_bytes);
    if (8 * (count_ + 1) > 5 * slots_.size()) grow();
    const std::size_t ids = (std::max)(by_id_.size(), static_cast<std::size_t>(id) + 1), bytes = texts_.size() + token.size();
    if (bytes + sizeof(Range) * ids + sizeof(std::int32_t) * slots_.size() > max_bytes)
      fail("makes the vocabulary larger than the limit of ", max_bytes, " bytes");
    reserve(ids, bytes);
    if (static_cast<std::size_t>(id) >= by_id_.size()) by_id_.resize(static_cast<std::size_t>(id) + 1);
    by_id_[static_cast<std::size_t>(id)] = {static_cast<std::uint32_t>(texts_.size()), static_cast<std::uint32_t>(token.size()) + 1};
    texts_ += token;
    ++count_;
    if (token.size() > longest_) longest_ = token.size();
    place(static_cast<std::int32_t>(id));
  }

  /// So many bytes of text will be added: takes room for no more of it.
  void expect_bytes(std::size_t bytes) { texts_.reserve((std::min)(bytes, max_bytes)); }

  /// One more than the largest id.
  std::int64_t size() const { return static_cast<std::int64_t>(by_id_.size()); }
  /// Tokens, holes apart.
  std::size_t count() const { return count_; }
  /// Bytes of the longest token.
  std::size_t longest() const { return longest_; }

  bool contains(std::int64_t id) const { return id >= 0 && id < size() && by_id_[static_cast<std::size_t>(id)].size_and_one > 0; }
  /// The token of an id below size(); empty for a hole. The view is valid until the next add().
  std::string_view text(std::int32_t id) const {
    const Range& range = by_id_[static_cast<std::size_t>(id)];
    return range.size_and_one == 0 ? std::string_view() : std::string_view(texts_).substr(range.begin, range.size_and_one - 1);
  }

  std::optional<std::int32_t> find(std::string_view token) const {
    if (slots_.empty() || token.size() > longest_) return {};
    std::size_t at = home_of(token);
    for (std::size_t steps = 0; steps <= walk_.longest() && slots_[at] != none; ++steps, at = next(at))
      if (text(slots_[at]) == token) return slots_[at];
    return {};
  }

 private:
  struct Range {
    std::uint32_t begin = 0, size_and_one = 0;  // 0: a hole
  };
  static constexpr std::int32_t none = -1;

  static std::size_t hash(std::string_view token) {
    std::uint64_t h = 0xcbf29ce484222325u;  // FNV-1a, then mixed so that the low bits depend on all
    for (const char c : token) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return static_cast<std::size_t>(h ^ h >> 32);
  }

  std::size_t home_of(std::string_view token) const { return hash(token) & (slots_.size() - 1); }
  std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }
  void place(std::int32_t id) {
    std::size_t at = home_of(text(id)), steps = 0;
    for (; slots_[at] != none; at = next(at)) walk_.check(++steps);
    walk_.add(steps);
    slots_[at] = id;
  }
  /// A large vocabulary gets the room of the largest at once: pages that are not touched cost nothing, copies while growing would.
  void reserve(std::size_t ids, std::size_t bytes) {
    constexpr std::size_t large_ids = 1 << 12, large_bytes = 1 << 15;
    if (ids > large_ids) {
      by_id_.reserve(max_ids);
      slots_.reserve(std::bit_ceil(static_cast<std::size_t>(8 * max_ids / 5)));
    }
    if (bytes > large_bytes && bytes > texts_.capacity()) texts_.reserve(max_bytes);
  }
  void grow() {
    slots_.assign(slots_.empty() ? 64 : 2 * slots_.size(), none);
    walk_ = {};
    for (std::int64_t id = 0; id < size(); ++id)
      if (contains(id)) place(static_cast<std::int32_t>(id));
  }

  std::string texts_;
  std::vector<Range> by_id_;
  std::vector<std::int32_t> slots_;  // open addressing, at most five eighths full
  std::size_t count_ = 0, longest_ = 0;
  detail::bpe::ProbeLength walk_;
};

}  // namespace llm
