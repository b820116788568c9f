// The pool: blocks are used again, and unused ones go back to the system when it has no more.
#include <llm/tensor/storage.hpp>

#include <cstddef>
#include <cstdint>

#include <llm/tensor/host_memory.hpp>
#include <support/catch.hpp>

namespace {

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
