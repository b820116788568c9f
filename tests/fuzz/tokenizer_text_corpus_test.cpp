// Replays the kept inputs of the text fuzzer under any compiler.
#include <fuzz/replay.hpp>
#include <fuzz/tokenizer_text_target.hpp>
#include <support/catch.hpp>

TEST_CASE("the kept texts are encoded or refused without a fault [bad_utf8]") {
  llm_test::replay_corpus("tokenizer_text", llm_test::fuzz_tokenizer_text);
}
