// Replays the kept inputs of the fuzzer of sharded indices under any compiler.
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include <fuzz/safetensors_index_target.hpp>
#include <support/catch.hpp>
#include <support/temporary_folder.hpp>

TEST_CASE("the kept indices of sharded models are accepted or refused without a fault") {
  int accepted = 0, refused = 0;
  for (const auto& file : std::filesystem::directory_iterator(LLM_TEST_DATA "/../fuzz/corpus/safetensors_index")) {
    CAPTURE(file.path().string());
    const std::string content = llm_test::read_file(file.path().string());
    const bool good = llm_test::fuzz_safetensors_index(std::as_bytes(std::span(content)));
    // Names say what is expected; inputs that the fuzzer found have names of their own.
    const std::string name = file.path().filename().string();
    if (name.starts_with("good_")) CHECK(good);
    if (name.starts_with("bad_")) CHECK_FALSE(good);
    ++(good ? accepted : refused);
  }
  CHECK(accepted > 0);
  CHECK(refused > 0);
}
