// Replays the kept inputs of the fuzzers under any compiler.
#include <fuzz/replay.hpp>
#include <fuzz/safetensors_target.hpp>
#include <support/catch.hpp>

TEST_CASE("the kept safetensors inputs are accepted or refused without a fault") {
  llm_test::replay_corpus("safetensors", llm_test::fuzz_safetensors);
}
