// The configs of compiled headers equal those that the headers were written from, to the last bit.
#include "written_configs.hpp"

#include <cstddef>
#include <iterator>
#include <set>
#include <string>

#include <llm/io/json_fields.hpp>
#include <support/catch.hpp>

#include "cases.hpp"

TEST_CASE("a compiled config header is the config it was written from") {
  std::size_t at = 0;
  header_cases::for_each([&](const std::string& name, const llm::Config& config) {
    INFO(name);
    REQUIRE(at < std::size(written));
    CHECK(written[at].first == name);
    CHECK(*written[at].second == config);
    CHECK(llm::config_to_json(*written[at].second) == llm::config_to_json(config));
    ++at;
  });
  CHECK(at == std::size(written));
}

TEST_CASE("the cases leave no field of Config at its default everywhere") {
  std::set<std::string> never;
  const llm::Config plain;
  llm::for_each_field(plain, [&](const char* field, const auto&) { never.insert(field); });
  header_cases::for_each([&](const std::string&, const llm::Config& config) {
    llm::for_each_field(config, [&](const char* field, const auto& value) {
      llm::for_each_field(plain, [&](const char* other, const auto& standard) {
        if (std::string(field) != other) return;
        if (llm::detail::field_text(value) != llm::detail::field_text(standard)) never.erase(field);
      });
    });
  });
  CHECK(never == std::set<std::string>{});
}
