// Replays the kept GGUF inputs of the fuzzer under any compiler.
#include <fuzz/gguf_target.hpp>
#include <fuzz/replay.hpp>
#include <support/catch.hpp>

TEST_CASE("the kept GGUF inputs are accepted or refused without a fault") { llm_test::replay_corpus("gguf", llm_test::fuzz_gguf); }
