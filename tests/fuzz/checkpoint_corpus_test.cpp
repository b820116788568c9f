// Replays the kept checkpoints of the fuzzer under any compiler.
#include <fuzz/checkpoint_target.hpp>
#include <fuzz/replay.hpp>
#include <support/catch.hpp>

TEST_CASE("the kept checkpoints are accepted or refused without a fault") {
  llm_test::replay_corpus("checkpoint", llm_test::fuzz_checkpoint);
}
