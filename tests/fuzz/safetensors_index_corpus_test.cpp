// Replays the kept inputs of the fuzzer of sharded indices under any compiler.
#include <fuzz/replay.hpp>
#include <fuzz/safetensors_index_target.hpp>
#include <support/catch.hpp>

TEST_CASE("the kept indices of sharded models are accepted or refused without a fault") {
  llm_test::replay_corpus("safetensors_index", llm_test::fuzz_safetensors_index);
}
