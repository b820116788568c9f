// Replays the kept inputs of the tokenizer.json fuzzer under any compiler.
#include <fuzz/replay.hpp>
#include <fuzz/tokenizer_json_target.hpp>
#include <support/catch.hpp>

TEST_CASE("the kept tokenizer.json inputs are accepted or refused without a fault") {
  llm_test::replay_corpus("tokenizer_json", llm_test::fuzz_tokenizer_json);
}
