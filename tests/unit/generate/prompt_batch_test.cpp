// Several prompts at once give what each gives alone.
#include <llm/model.hpp>

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include <llm/core/rng.hpp>
#include <llm/model/freeze.hpp>
#include <support/catch.hpp>
#include <support/generation.hpp>

namespace {

using Tokens = std::vector<llm::Token>;

inline constexpr llm::Config grouped{
    .vocab_size = 29, .d_model = 32, .n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .ffn_dim = 48, .max_seq_len = 40};
inline constexpr llm::Config learned{.vocab_size = 29,
                                     .d_model = 32,
                                     .n_layers = 2,
                                     .n_heads = 4,
                                     .ffn_dim = 48,
                                     .max_seq_len = 40,
                                     .norm = llm::Norm::layer_norm,
                                     .position = llm::Position::learned,
                                     .mlp = llm::Mlp::gelu_tanh};
inline constexpr llm::Config window{.vocab_size = 29,
                                    .d_model = 32,
                                    .n_layers = 2,
                                    .n_heads = 4,
                                    .n_kv_heads = 1,
                                    .ffn_dim = 48,
                                    .max_seq_len = 40,
                                    .position = llm::Position::rope_interleaved,
                                    .sliding_window = 5};

inline constexpr llm::Config mixed = [] {
  llm::Config c = grouped;
  c.experts = {.count = 6, .active = 2, .ffn_dim = 24, .shared_ffn_dim = 16};
  return c;
}();

template <const llm::Config& C, class W = llm::Trainable<float>>
struct Case {
  using Model = llm::LLM<C, W>;
};

/// Prompts of uneven lengths.
std::vector<Tokens> prompts() {
  std::vector<Tokens> out;
  llm::Rng rng(3);
  for (const std::size_t length : {3u, 11u, 1u, 7u, 1u}) {
    Tokens& prompt = out.emplace_back();
    while (prompt.size() < length) prompt.push_back(static_cast<llm::Token>(rng.below(29)));
  }
  return out;
}

using llm_test::strong;
using Bf16 = llm::Trainable<llm::bf16>;

template <class Model>
Model make(std::uint64_t seed) {
  if constexpr (llm::detail::is_frozen_model<Model>)
    return llm::freeze(strong<llm::LLM<Model::config>>(seed));
  else
    return strong<Model>(seed);
}

template <class Model>
std::vector<float> last_row(const Model& model, const Tokens& ids) {
  const auto logits = model(Model::Ids::from(ids, {1, static_cast<std::int64_t>(ids.size())})).to_vector();
  return {logits.end() - Model::V, logits.end()};
}

}  // namespace

TEMPLATE_TEST_CASE("A batch of uneven prompts equals each alone: tokens [batch_pad]", "", Case<grouped>, Case<learned>, Case<window>,
                   Case<mixed>, (Case<mixed, llm::Frozen>), (Case<grouped, Bf16>)) {
  const auto model = make<typename TestType::Model>(11);
  const auto all = prompts();
  for (const float temperature : {0.0f, 1.0f}) {
    const auto together = llm::generate_batch(model, all, {.max_new_tokens = 20, .temperature = temperature, .seed = 4, .stream = 10});
    REQUIRE(together.size() == all.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      CHECK(together[i] ==
            llm::generate_tokens(model, all[i], {.max_new_tokens = 20, .temperature = temperature, .seed = 4, .stream = 10 + i}));
  }
}

TEMPLATE_TEST_CASE("A batch of uneven prompts equals each alone: logits to 1e-5 [batch_pad]", "", Case<grouped>, Case<learned>,
                   Case<window>) {
  using Model = typename TestType::Model;
  const auto model = strong<Model>(12);
  auto rows = prompts();
  typename Model::Cache cache(static_cast<std::int64_t>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i)
    model.last_logits(Model::Ids::from(rows[i], {1, static_cast<std::int64_t>(rows[i].size())}), cache, static_cast<std::int64_t>(i));
  for (int step = 0; step < 6; ++step) {
    Tokens next;
    for (auto& row : rows) {
      next.push_back((row.back() * 7 + step) % 29);
      row.push_back(next.back());
    }
    const auto logits = model.last_logits(Model::Ids::from(next, {static_cast<std::int64_t>(rows.size()), 1}), cache).to_vector();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto alone = last_row(model, rows[i]);
      for (std::size_t v = 0; v < alone.size(); ++v)
        REQUIRE(std::abs(logits[i * alone.size() + v] - alone[v]) <= 1e-5f * (1 + std::abs(alone[v])));
    }
  }
}

TEST_CASE("Rows that a stop token ends leave the others as they are") {
  const auto model = strong<llm::LLM<grouped>>(13);
  const auto all = prompts();
  // Stop tokens taken from the middle of what is drawn, so that rows end at different steps.
  const auto free = llm::generate_batch(model, all, {.max_new_tokens = 20, .seed = 8});
  const llm::GenerateOptions stopping{
      .max_new_tokens = 20, .seed = 8, .stop = {.token_ids = {free[1][11 + 4], free[3][7 + 9], free[0][3]}}};
  const auto together = llm::generate_batch(model, all, stopping);
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto alone = stopping;
    alone.stream = i;
    CHECK(together[i] == llm::generate_tokens(model, all[i], alone));
    lengths.push_back(together[i].size() - all[i].size());
  }
  CHECK(lengths[0] == 0);
  CHECK(lengths[1] <= 4);
  CHECK(lengths[3] <= 9);
}

TEST_CASE("Each row fills its own context, and a wrong prompt is refused before any computation") {
  const auto model = llm::LLM<grouped>::random(1);
  for (const auto& row : llm::generate_batch(model, prompts(), {.temperature = 0})) CHECK(row.size() == 40);
  CHECK(llm::generate_batch(model, std::vector<Tokens>{}).empty());
  CHECK(llm::generate_batch(model, prompts(), {.max_new_tokens = 0}) == prompts());
  auto wrong = prompts();
  wrong[3].push_back(29);
  CHECK_THROWS_AS(llm::generate_batch(model, wrong), llm::ValueError);
  CHECK_THROWS_AS(llm::generate_batch(model, prompts(), {.max_new_tokens = 30}), llm::ShapeError);
  wrong[3].clear();
  CHECK_THROWS_AS(llm::generate_batch(model, wrong), llm::ShapeError);
}

namespace {

/// What is drawn for a prompt, with the log-probabilities of all ids at each place, whose bits are those of the logits.
struct Drawn {
  Tokens tokens;
  std::vector<llm::TokenLogprob> all;

  void add(llm::Token token, const llm::Logprobs& logprobs) {
    tokens.push_back(token);
    all.insert(all.end(), logprobs.top.begin(), logprobs.top.end());
  }
  /// Eigen's products depend on the number of rows, so that beginnings in common are equal to rounding there.
  friend bool operator==(const Drawn& a, const Drawn& b) {
    return a.tokens == b.tokens && (a.all == b.all || llm::cpu::current_isa() == llm::cpu::Isa::portable);
  }
};

template <class Model>
Drawn alone(const Model& model, const Tokens& prompt, const llm::GenerateOptions& options) {
  Drawn out;
  auto stream = llm::generate(model, prompt, options);
  for (const llm::Token token : stream) out.add(token, stream.logprobs());
  return out;
}

/// Prompts with beginnings in common: the same several times, one that goes on, one that ends sooner.
std::vector<Tokens> related() {
  const Tokens base = llm_test::words(18, 1, 29);
  std::vector<Tokens> out{base, base, llm_test::words(5, 2, 29), base, {base.begin(), base.begin() + 17}};
  for (const std::int64_t more : {2, 6, 9}) {  // behind 18 in common, 9 let them be copied in part
    out.push_back(base);
    for (const llm::Token token : llm_test::words(more, static_cast<std::uint64_t>(more), 29)) out.back().push_back(token);
  }
  out.push_back(out[5]);
  return out;
}

}  // namespace

TEMPLATE_TEST_CASE("Prompts that take free rows one after another have the bits of each alone", "", Case<grouped>, Case<learned>,
                   Case<window>, Case<mixed>, (Case<mixed, llm::Frozen>), (Case<grouped, llm::Frozen>), (Case<grouped, Bf16>),
                   (Case<mixed, Bf16>)) {
  const auto model = make<typename TestType::Model>(14);
  for (const std::int64_t rows : {1, 2, 3, 8}) {
    llm::PromptBatch batch(model, {.rows = rows});
    std::vector<Tokens> prompts;
    std::vector<llm::GenerateOptions> options;
    const auto add = [&](const Tokens& prompt, std::uint64_t stream) {
      prompts.push_back(prompt);
      options.push_back({.max_new_tokens = 3 + static_cast<std::int64_t>(stream * 7 % 10),
                         .temperature = stream % 3 == 0 ? 0.0f : 1.0f,
                         .seed = 6,
                         .stream = stream,
                         .stop = {.token_ids = {4, 9}},
                         .logprobs = 29});
      CHECK(batch.add(prompts.back(), options.back()) == prompts.size() - 1);
    };
    std::uint64_t stream = 0;
    for (const auto& prompt : related()) add(prompt, stream++);
    std::vector<Drawn> seen(40);
    for (const auto [prompt, token] : batch) {
      seen[prompt].add(token, batch.logprobs(prompt));
      CHECK(batch.sequence(prompt).back() == token);
      if (prompts.size() < 20) add(llm_test::words(static_cast<std::int64_t>(stream % 20) + 1, stream, 29), stream), ++stream;
    }
    for (const auto& prompt : related()) add(prompt, stream++);  // after all have ended
    for (const auto [prompt, token] : batch) seen[prompt].add(token, batch.logprobs(prompt));
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      CHECK(seen[i] == alone(model, prompts[i], options[i]));
      CHECK(batch.finish_reason(i) != llm::FinishReason::none);
      CHECK(batch.sequence(i).size() == prompts[i].size() + seen[i].tokens.size());
    }
    CHECK(batch.reused() >= 2 * 18);
  }
}

TEST_CASE("One prompt many times is read once, for different samples") {
  const auto model = strong<llm::LLM<grouped>>(15);
  const Tokens prompt = llm_test::words(20, 1, 29);
  llm::PromptBatch batch(model, {.rows = 8, .capacity = 30});
  for (std::uint64_t stream = 0; stream < 12; ++stream) batch.add(prompt, {.max_new_tokens = 10, .stream = stream});
  for ([[maybe_unused]] const auto item : batch) {
  }
  CHECK(batch.reused() == 11 * 20);
  bool differ = false;
  for (std::uint64_t stream = 0; stream < 12; ++stream) {
    CHECK(batch.sequence(stream) == llm::generate_tokens(model, prompt, {.max_new_tokens = 10, .stream = stream}));
    differ = differ || batch.sequence(stream) != batch.sequence(0);
  }
  CHECK(differ);
}

TEST_CASE("More than 8 rows: the same tokens but for rounding") {
  const auto model = strong<llm::LLM<grouped>>(16);
  std::vector<Tokens> prompts;
  for (std::uint64_t i = 0; i < 20; ++i) prompts.push_back(llm_test::words(static_cast<std::int64_t>(i) + 1, i, 29));
  const auto few = llm::generate_batch(model, prompts, {.max_new_tokens = 10, .temperature = 0});
  CHECK(llm::generate_batch(model, prompts, {.max_new_tokens = 10, .temperature = 0}, 20) == few);
  CHECK_THROWS_AS(llm::generate_batch(model, prompts, {}, 0), llm::ValueError);
}

TEST_CASE("A prompt of a batch can be cancelled, and an error of one leaves the others") {
  const auto model = strong<llm::LLM<grouped>>(17);
  llm::PromptBatch batch(model, {.rows = 2, .capacity = 30});
  const Tokens a = llm_test::words(4, 1, 29), b = llm_test::words(6, 2, 29), c = llm_test::words(5, 3, 29);
  const auto failing = [](std::span<float>, std::span<const llm::Token> ids) {
    if (ids.size() == 8) throw llm::ValueError("no more");
  };
  batch.add(a, {.max_new_tokens = 9, .temperature = 0});
  batch.add(b, {.max_new_tokens = 9, .temperature = 0, .logits_hook = failing});
  batch.add(c, {.max_new_tokens = 9, .temperature = 0});
  batch.add(a, {.max_new_tokens = 9});
  int errors = 0;
  const auto run = [&] {
    for (const auto [prompt, token] : batch) {
      if (prompt == 2 && batch.sequence(2).size() == 8) batch.cancel(2);
      if (prompt == 0) batch.cancel(3);
    }
  };
  for (;;) {
    try {
      run();
      break;
    } catch (const llm::ValueError&) {
      if (++errors == 3) batch.cancel(1);
    }
  }
  CHECK(errors == 3);
  CHECK(batch.sequence(0) == llm::generate_tokens(model, a, {.max_new_tokens = 9, .temperature = 0}));
  CHECK(batch.sequence(1) == llm::generate_tokens(model, b, {.max_new_tokens = 2, .temperature = 0}));
  CHECK(batch.sequence(2) == llm::generate_tokens(model, c, {.max_new_tokens = 3, .temperature = 0}));
  CHECK(batch.sequence(3) == a);
  CHECK(batch.finish_reason(0) == llm::FinishReason::length);
  for (const std::size_t prompt : {1u, 2u, 3u}) CHECK(batch.finish_reason(prompt) == llm::FinishReason::cancelled);
  CHECK(batch.take(0).size() == 13);
}

TEST_CASE("Beginnings in common are copied in part, but for a mixture of experts, which shares few rows out") {
  Tokens longer = llm_test::words(18, 1, 29);
  const Tokens base = longer;
  for (const llm::Token token : llm_test::words(9, 9, 29)) longer.push_back(token);
  const auto reused = [&](const auto& model) {
    llm::PromptBatch batch(model, {.rows = 2});
    for (const auto& prompt : {base, longer, base}) batch.add(prompt, {.max_new_tokens = 3, .temperature = 0});
    for (auto it = batch.begin(); it != batch.end(); ++it) {
    }
    return batch.reused();
  };
  CHECK(reused(strong<llm::LLM<grouped>>(18)) == 18 + 18);
  CHECK(reused(strong<llm::LLM<mixed>>(18)) == 18);
}

TEST_CASE("A prompt may be cancelled by its own hook, which may use the batch in other ways too") {
  const auto model = strong<llm::LLM<grouped>>(19);
  const Tokens prompt = llm_test::words(4, 1, 29), other = llm_test::words(6, 2, 29);
  for (const bool throws : {false, true}) {
    llm::PromptBatch batch(model, {.rows = 2, .capacity = 30});
    const auto gone = [&batch, &other, throws, many = std::vector<int>(1000, 1)](std::span<float>, std::span<const llm::Token> ids) {
      if (ids.size() < 7) return;
      batch.cancel(0);
      CHECK_THROWS_AS(batch.take(0), llm::ValueError);  // it is still at work
      for (int i = 0; i < 20; ++i) batch.cancel(batch.add(other));
      CHECK(many.back() == 1);
      if (throws) throw llm::ValueError("the client has gone");
    };
    batch.add(prompt, {.max_new_tokens = 9, .temperature = 0, .logprobs = 2, .logits_hook = gone});
    batch.add(other, {.max_new_tokens = 9, .temperature = 0});
    const auto run = [&] {
      for (auto it = batch.begin(); it != batch.end(); ++it) {
      }
    };
    if (throws) CHECK_THROWS_AS(run(), llm::ValueError);
    run();
    CHECK(batch.finish_reason(0) == llm::FinishReason::cancelled);
    CHECK(batch.sequence(0) == llm::generate_tokens(model, prompt, {.max_new_tokens = throws ? 3 : 4, .temperature = 0}));
    CHECK(batch.logprobs(0).drawn.id == batch.sequence(0).back());
    CHECK(batch.sequence(1) == llm::generate_tokens(model, other, {.max_new_tokens = 9, .temperature = 0}));
    CHECK(batch.finish_reason(21) == llm::FinishReason::cancelled);
  }
}

TEST_CASE("What a batch says of a prompt stays where it is, and taking it gives its memory back") {
  const auto model = strong<llm::LLM<grouped>>(20);
  llm::PromptBatch batch(model, {.rows = 1});
  const auto held = std::make_shared<int>(0);
  const auto hook = [held](std::span<float>, std::span<const llm::Token>) {};
  const Tokens prompt = llm_test::words(4, 1, 29);
  batch.add(prompt, {.max_new_tokens = 2, .logprobs = 3, .logits_hook = hook});
  CHECK(held.use_count() > 2);
  const Tokens& waiting = batch.sequence(0);
  for (int i = 0; i < 100; ++i) batch.add(prompt, {.max_new_tokens = 1});
  CHECK(waiting == prompt);
  for (auto it = batch.begin(); it != batch.end(); ++it) {
  }
  CHECK(held.use_count() == 2);  // the one here, and the hook's
  const Tokens& ended = batch.sequence(0);
  const llm::Logprobs& logprobs = batch.logprobs(0);
  for (int i = 0; i < 500; ++i) batch.add(prompt, {.max_new_tokens = 1});
  CHECK(ended.size() == 6);
  CHECK(logprobs.drawn.id == ended.back());
  CHECK(batch.take(0).size() == 6);
  CHECK(batch.finish_reason(0) == llm::FinishReason::length);
  CHECK(llm_test::message_of([&] { batch.take(0); }) == "llm::PromptBatch: prompt 0 was taken");
  CHECK_THROWS_AS(batch.sequence(0), llm::ValueError);
  CHECK_THROWS_AS(batch.logprobs(0), llm::ValueError);
  batch.cancel(0);
  CHECK(batch.finish_reason(0) == llm::FinishReason::length);
}

TEST_CASE("Each prompt has a hook of its own, whose state begins anew") {
  const auto model = strong<llm::LLM<grouped>>(21);
  const auto all = prompts();
  const llm::GenerateOptions options{
      .max_new_tokens = 6, .temperature = 0, .logits_hook = [at = 0](std::span<float> logits, std::span<const llm::Token>) mutable {
        logits[static_cast<std::size_t>(at++ * 5 % 29)] += 1e4f;
      }};
  const auto together = llm::generate_batch(model, all, options);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(together[i] == llm::generate_tokens(model, all[i], options));
    CHECK(Tokens(together[i].end() - 6, together[i].end()) == Tokens{0, 5, 10, 15, 20, 25});
  }
  void (*null)(std::span<float>, std::span<const llm::Token>) = nullptr;
  CHECK(llm_test::message_of([&] { llm::generate(model, all[0], {.logits_hook = null}); }) ==
        "llm::LogitsHook: the pointer to a function is null");
}

TEST_CASE("Wrong requests of a batch are refused, and change nothing") {
  const auto model = llm::LLM<grouped>::random(1);
  llm::PromptBatch batch(model, {.rows = 2, .capacity = 10});
  CHECK(llm_test::message_of([&] { batch.add(llm_test::words(8, 1, 29), {.max_new_tokens = 3}); }) ==
        "llm::generate: 8 prompt + 3 new tokens exceed the batch's capacity 10 (hint: at most 2 new tokens fit; make a batch of larger "
        "capacity)");
  CHECK_THROWS_AS(batch.add(Tokens{29}), llm::ValueError);
  CHECK_THROWS_AS(batch.add(Tokens{}), llm::ShapeError);
  CHECK_THROWS_AS(batch.sequence(0), llm::ValueError);
  CHECK_THROWS_AS(batch.cancel(0), llm::ValueError);
  CHECK(batch.begin() == batch.end());
  CHECK(batch.add(Tokens{1}, {.max_new_tokens = 0}) == 0);
  CHECK(batch.finish_reason(0) == llm::FinishReason::length);
  CHECK(batch.add(Tokens{1}, {.max_new_tokens = 1}) == 1);
  CHECK_THROWS_AS(batch.take(1), llm::ValueError);
  CHECK_THROWS_AS(batch.logprobs(1), llm::ValueError);
  CHECK(batch.begin() != batch.end());
  CHECK(batch.take(1).size() == 2);
  CHECK_THROWS_AS(llm::PromptBatch(model, {.rows = 0}), llm::ShapeError);
  CHECK_THROWS_AS(llm::PromptBatch(model, {.capacity = 41}), llm::ShapeError);
}
