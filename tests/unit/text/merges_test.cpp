// Byte-pair merging against the definition: again and again the best pair, of equal ones the leftmost.
#include <llm/text/bpe/merge_table.hpp>
#include <llm/text/bpe/symbols.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <llm/core/rng.hpp>

#include <support/catch.hpp>
#include <utility>

using llm::detail::bpe::Merge, llm::detail::bpe::MergeTable, llm::detail::bpe::Symbol, llm::detail::bpe::Symbols;
using Ids = std::vector<std::int32_t>;

static Ids merged(const Ids& word, const MergeTable& merges) {
  Symbols symbols;
  for (std::size_t i = 0; i < word.size(); ++i) symbols.add(static_cast<std::uint32_t>(i), 1, word[i]);
  symbols.merge_all([&](const Symbol& left, const Symbol& right) { return merges.find(left.id, right.id); });
  Ids ids;
  std::uint32_t at = 0;
  symbols.for_each([&](const Symbol& symbol) {
    CHECK(symbol.begin == at);
    at += symbol.size;
    ids.push_back(symbol.id);
  });
  CHECK(at == word.size());
  return ids;
}

static Ids merged_by_definition(Ids word, const MergeTable& merges) {
  for (;;) {
    std::size_t best = word.size();
    for (std::size_t i = 0; i + 1 < word.size(); ++i) {
      const auto rank = merges.find(word[i], word[i + 1]).rank;
      if (rank != Merge::never && (best == word.size() || rank < merges.find(word[best], word[best + 1]).rank)) best = i;
    }
    if (best == word.size()) return word;
    word[best] = merges.find(word[best], word[best + 1]).id;
    word.erase(word.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST_CASE("a merge table finds what was inserted, the last of a pair, and nothing else") {
  MergeTable merges;
  CHECK(merges.find(1, 2).rank == Merge::never);
  for (std::int32_t a = 0; a < 60; ++a)
    for (std::int32_t b = 0; b < 60; ++b) merges.insert(a, b, {static_cast<std::uint32_t>(a * 100 + b), a + b});
  merges.insert(3, 4, {9, 77});
  CHECK(merges.size() == 3600);
  CHECK(merges.find(3, 4).id == 77);
  CHECK(merges.find(4, 3).rank == 403);
  CHECK(merges.find(59, 59).id == 118);
  CHECK(merges.find(60, 0).rank == Merge::never);
  CHECK(merges.find(-1, 0).rank == Merge::never);
}

TEST_CASE("merging follows ranks, not the order in the word") {
  MergeTable merges;
  merges.insert(1, 2, {5, 12});
  merges.insert(2, 3, {1, 23});
  merges.insert(1, 23, {7, 123});
  CHECK(merged({1, 2, 3}, merges) == Ids{123});
  CHECK(merged({1, 2, 1, 2, 3}, merges) == Ids{12, 123});
  CHECK(merged({}, merges).empty());
  CHECK(merged({3}, merges) == Ids{3});
}

TEST_CASE("merging equals its definition on random words and merges, also when a result's merge comes before its own") {
  llm::Rng rng(5);
  for (int round = 0; round < 400; ++round) {
    MergeTable merges;
    for (int i = 0; i < 40; ++i)
      merges.insert(static_cast<std::int32_t>(rng.below(12)), static_cast<std::int32_t>(rng.below(12)),
                    {static_cast<std::uint32_t>(rng.below(15)), static_cast<std::int32_t>(rng.below(12))});
    Ids word;
    for (std::uint64_t i = rng.below(30); i > 0; --i) word.push_back(static_cast<std::int32_t>(rng.below(4)));
    CHECK(merged(word, merges) == merged_by_definition(word, merges));
  }
}

TEST_CASE("pairs that were made to collide are refused; a few that collide are found") {
  // The pairs that splitmix64's finisher sends to the same 4096th of all places.
  const auto collides = [](std::uint64_t h) {
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    return ((h ^ h >> 31) & 0xfff) == 0;
  };
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  for (std::int32_t left = 0; pairs.size() < 2000; ++left)
    for (std::int32_t right = 0; right < 1000; ++right)
      if (collides(static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint64_t>(right))) pairs.emplace_back(left, right);
  llm::detail::bpe::MergeTable table;
  for (std::uint32_t i = 0; i < 500; ++i) table.insert(pairs[i].first, pairs[i].second, {i, 7});
  for (std::uint32_t i = 0; i < 500; ++i) CHECK(table.find(pairs[i].first, pairs[i].second).rank == i);
  CHECK(table.find(pairs[500].first, pairs[500].second).id == -1);
  const auto insert_all = [&] {
    for (const auto& [left, right] : pairs) table.insert(left, right, {1, 7});
  };
  CHECK_THROWS_WITH(insert_all(), Catch::Contains("made to be slow"));
}
