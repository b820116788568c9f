// What drafts by lookup in the prompt gain on a published model, beside plain decoding: 64 tokens at temperature 0 behind a prompt that is
// read already. LLM_BENCH_GGUF names a file of SmolLM2-135M-Instruct; without it there is nothing to measure.
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <llm/configs/smollm2.hpp>
#include <llm/io.hpp>
#include <llm/model.hpp>
#include <llm/tokenizer.hpp>

#include "support/benchmark.hpp"

namespace {

using Model = llm::LLM<llm::configs::smollm2_135m, llm::Frozen>;

struct Text {
  const char* name;
  std::string prompt;
};

/// In ChatML, as the model was tuned.
std::string question(const std::string& text) { return "<|im_start|>user\n" + text + "<|im_end|>\n<|im_start|>assistant\n"; }

/// A program of 15 lines twice, and the beginning of a third.
std::string program() {
  const std::string text =
      "```python\ndef mean(values):\n    total = 0.0\n    for value in values:\n        total += value\n    return total / "
      "len(values)\n\n\n"
      "def variance(values):\n    center = mean(values)\n    total = 0.0\n    for value in values:\n        total += (value - center) ** "
      "2\n"
      "    return total / len(values)\n\n\nprint(mean([1, 2, 3]), variance([1, 2, 3]))\n```\n\n";
  return text + text + "```python\ndef mean(values):\n";
}

std::vector<Text> texts() {
  const std::string paragraph =
      "The lighthouse stands on a narrow rock two miles from the harbour. It was built by fishermen in the year after the great storm, "
      "with stones that they carried over in their own boats, and its lamp has burned every night since then.";
  return {{"program", program()},
          {"paragraph", question("Quote this paragraph, word for word:\n\n" + paragraph)},
          {"story", question("Tell me a story about a fox and a river.")}};
}

struct Loaded {
  Model model;
  llm::Tokenizer tokenizer;

  explicit Loaded(const std::string& path)
      : model(llm::load<llm::configs::smollm2_135m>(path)), tokenizer(llm::Tokenizer::from_file(path)) {}
};

const llm::GenerateOptions greedy{.max_new_tokens = 64, .temperature = 0};

/// The tokens of a session that has read the prompt: what it computes again is the prompt's last token alone.
template <class Session>
std::vector<llm::Token> after_reading(Session& session, const std::vector<llm::Token>& ids) {
  llm::generate_tokens(session, ids, greedy);
  return llm::generate_tokens(session, ids, greedy);
}

/// Times 64 tokens that a session draws; says how many drafts were right, and whether the tokens are those of plain decoding.
template <class Session>
void time_session(bench::State& state, Loaded& loaded, Session session, const std::string& prompt) {
  const auto ids = loaded.tokenizer.encode(prompt);
  llm::Session plain(loaded.model, 512);
  const auto expected = after_reading(plain, ids);
  bool same = after_reading(session, ids) == expected;
  llm::SpeculationCounts counts;
  bench::time_calls(state, [&] {
    auto stream = llm::generate(session, ids, greedy);
    for (auto it = stream.begin(); it != stream.end(); ++it) {
    }
    same = same && stream.sequence() == expected;
    if constexpr (requires { stream.speculation(); }) counts = stream.speculation();
  });
  state.counters["same"] = same;
  state.counters["tokens"] = static_cast<double>(expected.size() - ids.size());
  state.counters["drafted"] = static_cast<double>(counts.drafted);
  state.counters["accepted"] = static_cast<double>(counts.accepted);
}

void add_all() {
  const char* const file = std::getenv("LLM_BENCH_GGUF");
  if (file == nullptr) return;
  const std::string path = file;
  const auto loaded = [=]() -> Loaded& { return bench::fixture<Loaded>(path, [=] { return std::make_unique<Loaded>(path); }); };
  for (const Text& text : texts()) {
    bench::add(std::string("lookup/") + text.name + "/plain",
               [=](bench::State& state) { time_session(state, loaded(), llm::Session(loaded().model, 512), text.prompt); });
    bench::add(std::string("lookup/") + text.name + "/drafts", [=](bench::State& state) {
      time_session(state, loaded(), llm::Session(loaded().model, llm::PromptLookup(), 512), text.prompt);
    });
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_all); }
