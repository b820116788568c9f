// Host memory: alignment, empty allocations, and the message when there is none.
#include <llm/backend/concept.hpp>
#include <llm/tensor/host_memory.hpp>
#include <support/catch.hpp>

using llm::HostMemory;

static_assert(llm::memory_space<HostMemory>);

TEST_CASE("host memory is 64-byte aligned and writable to its end") {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{65}, std::size_t{100001}}) {
    void* memory = HostMemory::allocate(bytes);
    REQUIRE(memory != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(memory) % 64 == 0);
    std::memset(memory, 1, bytes);
    HostMemory::release(memory, bytes);
  }
  HostMemory::release(nullptr, 0);
}

TEST_CASE("big blocks begin at a big page, so that all of one can lie in such pages") {
  for (const std::size_t bytes : {HostMemory::big_block, HostMemory::big_block + 1, 3 * HostMemory::big_block - 1}) {
    void* memory = HostMemory::allocate(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(memory) % llm::detail::big_page == 0);
    std::memset(memory, 1, bytes);
    HostMemory::release(memory, bytes);
  }
}

TEST_CASE("host memory that cannot be had is an llm::Error naming the bytes") {
  const volatile std::size_t half = SIZE_MAX / 2 + 1;  // volatile: compilers warn of a constant this large
  CHECK_THROWS_AS(HostMemory::allocate(half), llm::Error);
  CHECK_THROWS_WITH(HostMemory::allocate(half), Catch::Contains("9223372036854775808 bytes"));
  CHECK_THROWS_WITH(HostMemory::allocate(SIZE_MAX), Catch::Contains("18446744073709551615 bytes"));  // rounding up must not wrap
}

TEST_CASE("host memory copies both ways, and nothing from null") {
  const float from[3] = {1, 2, 3};
  float there[3] = {}, back[3] = {};
  HostMemory::copy_from_host(there, from, sizeof(from));
  HostMemory::copy_to_host(back, there, sizeof(back));
  CHECK(back[2] == 3);
  HostMemory::copy_to_host(nullptr, nullptr, 0);
}
