// Replays the kept inputs of the fuzzer of SentencePiece models under any compiler.
#include <fuzz/replay.hpp>
#include <fuzz/sentencepiece_target.hpp>
#include <support/catch.hpp>

TEST_CASE("the kept SentencePiece models are accepted or refused without a fault") {
  llm_test::replay_corpus("sentencepiece", llm_test::fuzz_sentencepiece);
}
