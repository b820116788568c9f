// What a waiting helper thread expects to read next.
#include <array>
#include <cstddef>
#include <cstdint>

#include <llm/backend/cpu/read_ahead.hpp>

#include <support/catch.hpp>

namespace {

using llm::cpu::ReadAhead;

struct Blocks {
  std::array<std::byte, 4096> first{}, second{};

  void read(ReadAhead& reads, const std::array<std::byte, 4096>& block, std::size_t from = 0) const {
    reads.begin_loop();
    reads.reads(block.data() + from, block.data() + block.size());
  }
};

std::uintptr_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

}  // namespace

TEST_CASE("a thread that reads blocks in the same order again knows the next one") {
  const Blocks blocks;
  ReadAhead reads;
  CHECK_FALSE(reads.fetch_some());
  blocks.read(reads, blocks.first);
  blocks.read(reads, blocks.second);
  CHECK(reads.bytes_left() == 0);
  blocks.read(reads, blocks.first);
  CHECK(reads.next() == address(blocks.second.data()));
  CHECK(reads.bytes_left() == blocks.second.size());
  blocks.read(reads, blocks.second);
  CHECK(reads.next() == address(blocks.first.data()));
}

TEST_CASE("the first piece of a loop counts, and what was read last time") {
  const Blocks blocks;
  ReadAhead reads;
  for (const std::size_t from : {std::size_t{0}, std::size_t{1024}}) {
    blocks.read(reads, blocks.first);
    blocks.read(reads, blocks.second, from);
    reads.reads(blocks.first.data(), blocks.first.data() + 64);
  }
  blocks.read(reads, blocks.first);
  CHECK(reads.next() == address(blocks.second.data() + 1024));
  CHECK(reads.bytes_left() == blocks.second.size() - 1024);
}

TEST_CASE("fetching ends with the block, or with what a cache holds") {
  const Blocks blocks;
  ReadAhead reads;
  for (int step = 0; step < 2; ++step) {
    blocks.read(reads, blocks.first);
    blocks.read(reads, blocks.second);
  }
  std::size_t calls = 1;
  while (reads.fetch_some()) ++calls;
  CHECK(calls == blocks.first.size() / 64 / 8);
  CHECK(reads.bytes_left() == 0);

  // Memory that is not there: an address is all that fetching needs.
  const auto* const far = reinterpret_cast<const std::byte*>(std::uintptr_t{1} << 30);
  for (int step = 0; step < 2; ++step) {
    reads.begin_loop();
    reads.reads(far, far + (std::size_t{1} << 24));
    blocks.read(reads, blocks.second);
  }
  CHECK(reads.next() == address(far));
  CHECK(reads.bytes_left() == ReadAhead::most_bytes);
  CHECK(reads.fetch_some());
}
