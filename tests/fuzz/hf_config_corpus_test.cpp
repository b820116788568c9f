// Replays the kept inputs of the config.json fuzzer under any compiler.
#include <fuzz/hf_config_target.hpp>
#include <fuzz/replay.hpp>
#include <support/catch.hpp>

TEST_CASE("the kept config.json inputs are accepted or refused without a fault") {
  llm_test::replay_corpus("hf_config", llm_test::fuzz_hf_config);
}
