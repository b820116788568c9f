// Replays the kept inputs of the chat template fuzzer under any compiler.
#include <fuzz/chat_template_target.hpp>
#include <fuzz/replay.hpp>
#include <support/catch.hpp>

TEST_CASE("the kept chat templates are accepted or refused without a fault") {
  llm_test::replay_corpus("chat_template", llm_test::fuzz_chat_template);
}
