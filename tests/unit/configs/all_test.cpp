// Finding a compiled-in config by name, and what is said of each at run time.
#include <string>

#include <llm/configs/all.hpp>
#include <llm/model/rules.hpp>
#include <support/catch.hpp>

TEST_CASE("configs are found by name, and names are unique") {
  for (const auto& entry : llm::configs::all) CHECK(llm::configs::find(entry.name) == entry.config);
  CHECK(llm::configs::find("seed") == nullptr);
  CHECK(llm::configs::find("") == nullptr);
}

TEST_CASE("every config is valid, and one that LLM does not build has a reason") {
  for (const auto& [name, config] : llm::configs::all) {
    INFO(std::string(name));
    CHECK(llm::validate(*config).empty());
    CHECK(llm::unbuilt_features(*config).empty() == llm::buildable(*config));
  }
  CHECK(llm::unbuilt_features(llm::configs::mixtral_8x7b).empty());
  CHECK(llm::unbuilt_features(llm::configs::deepseek_v3).size() == 1);
  CHECK(llm::unbuilt_features(llm::configs::gemma2_2b).size() == 2);
}
