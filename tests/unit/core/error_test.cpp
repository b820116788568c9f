// The exceptions and the text of messages.
#include <llm/core/error.hpp>
#include <support/catch.hpp>

static_assert(std::derived_from<llm::ShapeError, llm::Error> && std::derived_from<llm::ConfigError, llm::Error>);
static_assert(std::derived_from<llm::ValueError, llm::Error> && std::derived_from<llm::NumericError, llm::Error>);
static_assert(std::derived_from<llm::FileError, llm::Error> && std::derived_from<llm::Error, std::runtime_error>);

TEST_CASE("concat joins text, whole numbers, characters and truth values") {
  CHECK(llm::detail::concat("a ", std::string("b"), ' ', 12, ' ', INT64_MIN, ' ', UINT64_MAX, ' ', true) ==
        "a b 12 -9223372036854775808 18446744073709551615 true");
  CHECK(llm::detail::concat() == "");
}

TEST_CASE("concat shows small and large numbers") {
  CHECK(llm::detail::concat(0.5) == "0.5");
  CHECK(llm::detail::concat(1e-8f) == "1e-08");
  CHECK(llm::detail::concat(1e30) == "1e+30");
}
