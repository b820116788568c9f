// Finding a compiled-in config: by name, and by the size of a text's vocabulary.
#include <llm/configs/all.hpp>
#include <llm/core/error.hpp>
#include <support/catch.hpp>

TEST_CASE("the vocabulary of a training config is the smallest that holds the text's") {
  CHECK(llm::configs::train_vocabulary(1) == 128);
  CHECK(llm::configs::train_vocabulary(512) == 512);
  CHECK(llm::configs::train_vocabulary(513) == 4096);
  CHECK(llm::configs::train_vocabulary(8192) == 8192);
  CHECK_THROWS_AS(llm::configs::train_vocabulary(8193), llm::ValueError);
}

TEST_CASE("configs are found by name, and names are unique") {
  for (const auto& entry : llm::configs::all) CHECK(llm::configs::find(entry.name) == entry.config);
  CHECK(llm::configs::find("seed") == nullptr);
  CHECK(llm::configs::find("") == nullptr);
}
