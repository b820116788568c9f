// Perplexity of windows against Hugging Face transformers, and what is refused.
#include <cmath>
#include <vector>

#include <llm/generate/perplexity.hpp>
#include <llm/io/load.hpp>
#include <support/golden_directory.hpp>

using namespace llm_test;
using llm::PerplexityOptions;

namespace {

std::vector<llm::Token> text() {
  std::vector<llm::Token> ids;
  for (int i = 0; i < 61; ++i) ids.push_back((7 * i * i + 3 * i + 5) % 128);
  return ids;
}

/// Sums of nats by transformers 5.24 in f64, window by window.
template <const llm::Config& C>
void check_model(const char* directory, double sliding, double separate) {
  INFO(directory);
  const auto model = llm::load<C>(golden_path(directory));
  const auto ids = text();
  std::int64_t calls = 0;
  const auto a =
      llm::perplexity(model, ids, {.context = 16, .stride = 6}, [&](const llm::Perplexity& so_far) { CHECK(so_far.windows == ++calls); });
  CHECK(a.tokens == 60);
  CHECK(calls == 9);
  CHECK(a.nats == Approx(sliding).epsilon(1e-5));
  CHECK(a.mean() == Approx(sliding / 60).epsilon(1e-5));
  CHECK(a.perplexity() == Approx(std::exp(sliding / 60)).epsilon(1e-4));
  const auto b = llm::perplexity(model, ids, PerplexityOptions::separate(16, 1));
  CHECK(b.tokens == 21);
  CHECK(b.windows == 3);
  CHECK(b.nats == Approx(separate).epsilon(1e-5));
}

}  // namespace

TEST_CASE("perplexity is that of transformers, with windows that slide and with separate ones", "[golden]") {
  check_model<hf_llama>("hf/llama", 307.11694204466437, 106.92888725408886);
  check_model<hf_qwen3>("hf/qwen3", 315.2671013931492, 112.75917596530245);
}

TEST_CASE("one window that holds the whole text is the model's loss", "[golden]") {
  const auto model = llm::load<hf_llama>(golden_path("hf/llama"));
  const auto ids = text();
  const std::vector<llm::Token> few(ids.begin(), ids.begin() + 20);
  using Ids = llm::LLM<hf_llama, llm::Frozen>::Ids;
  const auto loss = model.loss(Ids::from(std::vector<llm::Token>(few.begin(), few.end() - 1), {1, 19}),
                               Ids::from(std::vector<llm::Token>(few.begin() + 1, few.end()), {1, 19}));
  const auto result = llm::perplexity(model, few, {.context = 32, .stride = 32});
  CHECK(result.tokens == 19);
  CHECK(result.mean() == Approx(loss.item()).epsilon(1e-6));
}

TEST_CASE("perplexity refuses windows that fit neither model nor text, and ids outside the vocabulary", "[golden]") {
  const auto model = llm::load<hf_llama>(golden_path("hf/llama"));
  auto ids = text();
  const auto refused = [&](const PerplexityOptions& options, const char* reason) {
    CHECK_THROWS_WITH(llm::perplexity(model, ids, options), Catch::Contains(reason));
  };
  refused({.context = hf_llama.max_seq_len + 1}, "max_seq_len");
  refused({.context = 1, .stride = 1}, "context 1");
  refused({.context = 16, .stride = 0}, "stride 0");
  refused({.context = 16, .stride = 17}, "stride 17");
  refused({.context = 16, .stride = 16, .given = 16}, "given 16");
  refused(PerplexityOptions::separate(62), "61 tokens, 62 are needed");
  ids[3] = 128;
  CHECK_THROWS_AS(llm::perplexity(model, ids, {.context = 16, .stride = 16}), llm::Error);
  ids.resize(1);
  refused({.context = 16, .stride = 16}, "1 tokens, 2 are needed");
}
