#include <llm/io/page_release.hpp>

#include <cstddef>
#include <vector>

#include <support/catch.hpp>

namespace {
std::vector<std::size_t> released;
}

TEST_CASE("pages are released from the start, once for every MiB, and again after a restart") {
  constexpr std::size_t mib = std::size_t{1} << 20;
  const std::byte start{};
  llm::detail::PageRelease release(&start, [](const std::byte*, std::size_t size) noexcept { released.push_back(size); });
  for (const std::size_t position : {std::size_t{0}, mib - 1, mib, mib + 1, 2 * mib - 1, 2 * mib + 7}) release.passed(position);
  CHECK(released == std::vector<std::size_t>{mib, 2 * mib + 7});
  release.restart();
  release.passed(mib);
  CHECK(released.size() == 3);
  llm::detail::PageRelease(&start, nullptr).passed(9 * mib);
  CHECK(released.size() == 3);
}
