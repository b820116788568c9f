// Many strings looked for at one place of a text, by their order alone: a tree of them would take more memory than they do.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace llm::detail::bpe {

/// Numbers of strings in the order of the strings, which lie elsewhere: `text_of(number)` gives one, always the same.
class PrefixOrder {
 public:
  PrefixOrder() = default;
  /// None of the strings is empty. Of equal ones that with the highest number stands.
  template <class TextOf>
  PrefixOrder(std::vector<std::uint32_t> numbers, const TextOf& text_of) : order_(std::move(numbers)) {
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      const int compared = std::string_view(text_of(a)).compare(text_of(b));
      return compared < 0 || (compared == 0 && a > b);
    });
    const auto equal = [&](std::uint32_t a, std::uint32_t b) { return text_of(a) == text_of(b); };
    order_.erase(std::unique(order_.begin(), order_.end(), equal), order_.end());
    for (const std::uint32_t number : order_) ++first_[static_cast<unsigned char>(text_of(number)[0]) + std::size_t{1}];
    for (std::size_t byte = 1; byte < first_.size(); ++byte) first_[byte] += first_[byte - 1];
  }

  std::size_t size() const { return order_.size(); }

  /// Calls f(number, length) for each string that stands at `at` in the text, the shortest first. Returns how many bytes from there on
  /// begin a string. Adds what it took to `steps`.
  template <class TextOf, class F>
  std::size_t for_each_at(std::string_view text, std::size_t at, std::size_t& steps, const TextOf& text_of, F&& f) const {
    // Strings low .. high - 1 begin with the `size` bytes that have been read.
    std::size_t size = 1, low = first_[byte_of(text[at])], high = first_[byte_of(text[at]) + std::size_t{1}];
    for (; low < high; ++size) {
      ++steps;
      const std::string_view least = text_of(order_[low]);
      if (least.size() == size) {
        f(order_[low], size);
        if (++low == high) return size;
      }
      if (at + size == text.size()) return size;
      narrow(byte_of(text[at + size]), size, low, high, steps, text_of);
    }
    return size - 1;
  }

 private:
  static std::uint8_t byte_of(char c) { return static_cast<std::uint8_t>(c); }

  /// Leaves the strings whose byte at `size` is `byte`. Many alike stay many alike at little cost.
  template <class TextOf>
  void narrow(std::uint8_t byte, std::size_t size, std::size_t& low, std::size_t& high, std::size_t& steps, const TextOf& text_of) const {
    const auto byte_at = [&](std::uint32_t number) { return byte_of(text_of(number)[size]); };
    if (byte_at(order_[low]) == byte && byte_at(order_[high - 1]) == byte) return;
    steps += static_cast<std::size_t>(std::bit_width(high - low));
    const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(low), end = order_.begin() + static_cast<std::ptrdiff_t>(high);
    const auto first = std::partition_point(begin, end, [&](std::uint32_t number) { return byte_at(number) < byte; });
    const auto last = std::partition_point(first, end, [&](std::uint32_t number) { return byte_at(number) == byte; });
    low = static_cast<std::size_t>(first - order_.begin());
    high = static_cast<std::size_t>(last - order_.begin());
  }

  std::vector<std::uint32_t> order_;
  std::array<std::uint32_t, 257> first_{};  // of the strings that begin with each byte
};

}  // namespace llm::detail::bpe
