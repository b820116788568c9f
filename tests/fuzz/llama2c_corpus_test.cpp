// Replays the kept inputs of the fuzzer of files of llama2.c under any compiler.
#include <fuzz/llama2c_target.hpp>
#include <fuzz/replay.hpp>
#include <support/catch.hpp>

TEST_CASE("the kept files of llama2.c are accepted or refused without a fault") {
  llm_test::replay_corpus("llama2c", llm_test::fuzz_llama2c);
}
