// Replays the kept inputs of the fuzzer of encodings under any compiler.
#include <fuzz/quantize_target.hpp>
#include <fuzz/replay.hpp>
#include <support/catch.hpp>

TEST_CASE("the kept inputs of encoding are accepted or refused without a fault") {
  llm_test::replay_corpus("quantize", llm_test::fuzz_quantize);
}
