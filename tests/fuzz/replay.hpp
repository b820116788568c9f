// Replays the kept inputs of a fuzzer under any compiler.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include <support/catch.hpp>
#include <support/temporary_folder.hpp>

namespace llm_test {

/// Gives every kept input of this name to the target, which says whether it was accepted.
template <class Target>
void replay_corpus(const std::string& corpus, const Target& target) {
  int accepted = 0, refused = 0;
  for (const auto& file : std::filesystem::directory_iterator(LLM_TEST_DATA "/../fuzz/corpus/" + corpus)) {
    CAPTURE(file.path().string());
    const std::string content = read_file(file.path().string());
    const bool good = target(std::as_bytes(std::span(content)));
    // Names say what is expected; inputs that the fuzzer found have names of their own.
    const std::string name = file.path().filename().string();
    if (name.starts_with("good_")) CHECK(good);
    if (name.starts_with("bad_")) CHECK_FALSE(good);
    ++(good ? accepted : refused);
  }
  CHECK(accepted > 0);
  CHECK(refused > 0);
}

}  // namespace llm_test
