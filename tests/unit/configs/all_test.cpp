// Finding a compiled-in config by name.
#include <llm/configs/all.hpp>
#include <support/catch.hpp>

TEST_CASE("configs are found by name, and names are unique") {
  for (const auto& entry : llm::configs::all) CHECK(llm::configs::find(entry.name) == entry.config);
  CHECK(llm::configs::find("seed") == nullptr);
  CHECK(llm::configs::find("") == nullptr);
}
