// The pool: blocks are used again, and unused ones go back to the system when it has no more.
#include <llm/tensor/storage.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <llm/tensor/host_memory.hpp>
#include <support/catch.hpp>

namespace {

/// A memory space that counts its blocks.
struct Counted : llm::HostMemory {
  static inline int blocks = 0;
  static void* allocate(std::size_t bytes) {
    void* const memory = llm::HostMemory::allocate(bytes);
    ++blocks;
    return memory;
  }
  static void release(void* memory, std::size_t bytes) noexcept {
    --blocks;
    llm::HostMemory::release(memory, bytes);
  }
};
struct CountedBackend {
  using memory = Counted;
};

/// A memory space of `room` bytes.
struct Small : llm::HostMemory {
  static inline std::size_t room = 4096;
  static void* allocate(std::size_t bytes) {
    if (bytes > room) throw llm::Error("no room");
    room -= bytes;
    return llm::HostMemory::allocate(bytes);
  }
  static void release(void* memory, std::size_t bytes) noexcept {
    room += bytes;
    llm::HostMemory::release(memory, bytes);
  }
};
struct SmallBackend {
  using memory = Small;
};

}  // namespace

TEST_CASE("size classes: at most an eighth more than asked for, and a class's capacity is of that class") {
  using llm::detail::SizeClass;
  for (std::size_t bytes = 1; bytes < (std::size_t{1} << 40); bytes += bytes / 7 + 1) {
    const SizeClass of = SizeClass::of(bytes);
    REQUIRE(of.capacity >= bytes);
    REQUIRE((of.capacity <= bytes + bytes / 8 || of.capacity - bytes < 64));
    REQUIRE(of.index < SizeClass::count);
    REQUIRE(SizeClass::of(of.capacity).index == of.index);
    REQUIRE(SizeClass::of(of.capacity).capacity == of.capacity);
    REQUIRE(SizeClass::of(of.capacity + 1).index != of.index);
  }
  CHECK_THROWS_AS(SizeClass::of(SIZE_MAX), llm::ShapeError);
}

TEST_CASE("unused blocks of other sizes make room before memory runs out") {
  auto& pool = llm::detail::Pool<Small>::instance();
  { const auto large = pool.allocate(3072); }  // stays in the pool
  CHECK(Small::room == 1024);
  {
    const auto other = pool.allocate(2048);
    CHECK(Small::room == 2048);
    const void* const data = other->data;
    CHECK_THROWS_AS(pool.allocate(4096), llm::Error);  // really too much
    CHECK(other->data == data);
    CHECK(llm::pool_statistics<SmallBackend>().in_use == 2048);
  }
  llm::trim_pool<SmallBackend>();
  CHECK(Small::room == 4096);
  CHECK(llm::pool_statistics<SmallBackend>().reserved == 0);
}

TEST_CASE("lasting blocks lie side by side in big pages, and the system gets them back together") {
  auto& pool = llm::detail::Pool<Counted>::instance();
  std::vector<llm::detail::BufferRef> blocks;
  for (int i = 0; i < 40; ++i) {
    blocks.push_back(pool.allocate_lasting(1000001));
    CHECK(reinterpret_cast<std::uintptr_t>(blocks.back()->data) % llm::HostMemory::alignment == 0);
    std::memset(blocks.back()->data, i, 1000001);
  }
  for (int i = 0; i < 40; ++i) {
    const auto* const bytes = static_cast<const unsigned char*>(blocks[static_cast<std::size_t>(i)]->data);
    CHECK((bytes[0] == i && bytes[1000000] == i));  // none lies on another one
  }
  CHECK(llm::pool_statistics<CountedBackend>().in_use == 40 * 1000001);
  if (!llm::detail::checks_every_block) CHECK(Counted::blocks == 3);  // 16 MiB each

  blocks.push_back(pool.allocate_lasting(5 << 20));  // has big pages of its own
  CHECK(llm::pool_statistics<CountedBackend>().in_use == 40 * 1000001 + (5 << 20));
  blocks.clear();
  CHECK(llm::pool_statistics<CountedBackend>().in_use == 0);
  llm::trim_pool<CountedBackend>();
  CHECK(Counted::blocks == 0);
  CHECK(llm::pool_statistics<CountedBackend>().reserved == 0);
}

TEST_CASE("a lasting block takes the room that others left") {
  auto& pool = llm::detail::Pool<Counted>::instance();
  const auto first = pool.allocate_lasting(100);
  std::vector<llm::detail::BufferRef> blocks;
  for (int i = 0; i < 15; ++i) blocks.push_back(pool.allocate_lasting(2 << 20));  // 7 beside the first, 8 fill the block after it
  const int before = Counted::blocks;
  const auto last = pool.allocate_lasting(64);
  CHECK(Counted::blocks == before + (llm::detail::checks_every_block ? 1 : 0));
  if (llm::detail::checks_every_block) return;
  const auto apart = static_cast<const std::byte*>(last->data) - static_cast<const std::byte*>(first->data);
  CHECK((apart > 0 && apart < 16 << 20));
}

TEST_CASE("slabs go back in any order, each with its last part, and until then their room is not used again") {
  if (llm::detail::checks_every_block) return;
  auto& pool = llm::detail::Pool<Counted>::instance();
  const int none = Counted::blocks;
  constexpr std::size_t part = llm::detail::Slab::largest_part;
  constexpr int parts = static_cast<int>(llm::detail::Slab::capacity / part);
  std::vector<std::vector<llm::detail::BufferRef>> slabs(3);
  for (auto& slab : slabs)
    while (slab.size() < parts) slab.push_back(pool.allocate_lasting(part));
  CHECK(Counted::blocks == none + 3);
  const std::int64_t reserved = llm::pool_statistics<CountedBackend>().reserved;

  llm::detail::BufferRef shared = slabs[1].back();
  slabs[1].clear();
  CHECK(Counted::blocks == none + 3);
  auto other = pool.allocate_lasting(part);  // not in the room that the others have left
  CHECK(Counted::blocks == none + 4);
  shared.reset();  // the middle one of the list
  CHECK(Counted::blocks == none + 3);
  CHECK(llm::pool_statistics<CountedBackend>().reserved == reserved);
  slabs[0].clear();
  CHECK(Counted::blocks == none + 2);
  other.reset();
  slabs[2].clear();
  CHECK(Counted::blocks == none);
}

TEST_CASE("without memory for a slab nothing is counted") {
  CHECK_THROWS_AS(llm::detail::Pool<Small>::instance().allocate_lasting(5000), llm::Error);
  CHECK(llm::pool_statistics<SmallBackend>().in_use == 0);
  CHECK(llm::pool_statistics<SmallBackend>().reserved == 0);
}
