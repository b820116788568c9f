// Speculative decoding: the same tokens at temperature 0, the same distribution above, and drafts where they can be had.
#include <llm/model.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <support/catch.hpp>
#include <support/generation.hpp>

namespace {

using llm_test::modern_words;
using llm_test::Tokens;

inline constexpr llm::Config small_words{
    .vocab_size = 40, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 24, .max_seq_len = 100, .tie_embeddings = true};
inline constexpr llm::Config gpt2_words{.vocab_size = 40,
                                        .d_model = 24,
                                        .n_layers = 2,
                                        .n_heads = 3,
                                        .ffn_dim = 40,
                                        .max_seq_len = 160,
                                        .tie_embeddings = true,
                                        .norm = llm::Norm::layer_norm,
                                        .position = llm::Position::learned,
                                        .mlp = llm::Mlp::gelu_tanh};
inline constexpr llm::Config windowed_words = [] {
  llm::Config c = modern_words;
  c.sliding_window = 11;
  return c;
}();
inline constexpr llm::Config five{
    .vocab_size = 5, .d_model = 8, .n_layers = 1, .n_heads = 1, .ffn_dim = 8, .max_seq_len = 16, .tie_embeddings = true};

inline constexpr llm::Config narrow_words = [] {
  llm::Config c = small_words;
  c.vocab_size = 37;
  return c;
}();
inline constexpr llm::Config wide_words = [] {
  llm::Config c = small_words;
  c.vocab_size = 48;
  return c;
}();

using Modern = llm::LLM<modern_words>;
using Small = llm::LLM<small_words>;

template <const llm::Config& C, class W = llm::Trainable<float>>
struct Case {
  using Model = llm::LLM<C, W>;
};

template <class Session>
constexpr bool streams_from_model =
    std::is_constructible_v<llm::TokenStream<Session>, const Modern&, std::span<const llm::Token>, const llm::GenerateOptions&>;
static_assert(streams_from_model<llm::Session<Modern>>);
static_assert(!streams_from_model<llm::Session<Modern, llm::PromptLookup>>, "it has no drafter");

struct Result {
  Tokens tokens;
  llm::FinishReason reason;
  llm::SpeculationCounts counts;
};

template <class Session>
Result run(Session& session, const Tokens& prompt, const llm::GenerateOptions& options) {
  auto stream = llm::generate(session, prompt, options);
  for (auto it = stream.begin(); it != stream.end(); ++it) {
  }
  return {stream.sequence(), stream.finish_reason(), stream.speculation()};
}

/// Prompts that repeat, and some that do not.
std::vector<Tokens> prompts() {
  std::vector<Tokens> out{{3}, llm_test::words(17, 1, 35), {1, 2, 3, 1, 2, 3, 1}, llm_test::words(5, 2, 35)};
  out.push_back(out[3]);
  for (int i = 0; i < 4; ++i) out.back().insert(out.back().end(), out[3].begin(), out[3].end());
  return out;
}

/// Options whose tokens at one seed must not depend on drafts that are certain.
std::vector<llm::GenerateOptions> settings(float temperature) {
  std::vector<llm::GenerateOptions> out{{.max_new_tokens = 40}, {.max_new_tokens = 1}, {.max_new_tokens = 2}, {}};
  out.push_back({.max_new_tokens = 60, .repetition_penalty = 1.3f});
  out.push_back({.max_new_tokens = 60, .stop = {.token_ids = {7, 12, 30}}, .vocab_limit = 35});
  out.push_back({.max_new_tokens = 30, .top_k = 10, .logits_hook = [](std::span<float> logits, std::span<const llm::Token> ids) {
                   logits[static_cast<std::size_t>(ids.back())] = -1e30f;
                   logits[ids.size() % logits.size()] += 3;
                 }});
  for (auto& options : out) options.temperature = temperature;
  return out;
}

template <class Model, class MakeSession>
void check_same_tokens(const Model& model, float temperature, const MakeSession& make_session) {
  std::int64_t accepted = 0;
  auto session = make_session();
  for (const auto& prompt : prompts())
    for (auto options : settings(temperature))
      for (options.seed = 1; options.seed <= (temperature > 0 ? 3u : 1u); ++options.seed) {
        auto plain = llm::generate(model, prompt, options);
        for (auto it = plain.begin(); it != plain.end(); ++it) {
        }
        const Result drafted = run(session, prompt, options);
        CHECK(drafted.tokens == plain.sequence());
        CHECK(drafted.reason == plain.finish_reason());
        const auto drawn =
            static_cast<std::int64_t>(drafted.tokens.size() - prompt.size()) + (drafted.reason == llm::FinishReason::stop_token ? 1 : 0);
        CHECK(drafted.counts.accepted <= drafted.counts.drafted);
        CHECK(drawn <= drafted.counts.passes + drafted.counts.accepted);
        CHECK(drawn >= drafted.counts.passes);
        accepted += drafted.counts.accepted;
      }
  CHECK(accepted > 0);
}

}  // namespace

TEMPLATE_TEST_CASE("Greedy tokens do not depend on a drafter", "", Case<modern_words>, Case<windowed_words>, Case<gpt2_words>,
                   (Case<modern_words, llm::Trainable<llm::bf16>>)) {
  using Model = typename TestType::Model;
  const auto model = llm_test::strong<Model>(31);
  const auto small = llm_test::strong<Small>(32);
  for (const std::int64_t max_tokens : {1, 4, 7}) {
    check_same_tokens(model, 0, [&] { return llm::Session(model, llm::PromptLookup({.max_tokens = max_tokens})); });
    check_same_tokens(model, 0, [&] { return llm::Session(model, llm::DraftModel(small, {.max_tokens = max_tokens})); });
  }
  check_same_tokens(model, 0, [&] { return llm::Session(model, llm::PromptLookup({.max_ngram = 2, .min_ngram = 2})); });
  check_same_tokens(model, 0, [&] { return llm::Session(model, llm::DraftModel(model)); });
}

TEST_CASE("Certain drafts leave the tokens of a seed as they are, at any temperature") {
  const auto model = llm_test::strong<Modern>(33);
  for (const float temperature : {0.3f, 1.0f})
    check_same_tokens(model, temperature, [&] { return llm::Session(model, llm::PromptLookup()); });
}

TEST_CASE("A model that drafts for itself is always right") {
  const auto model = llm_test::strong<Modern>(34);
  llm::Session session(model, llm::DraftModel(model, {.max_tokens = 5}));
  const Result greedy = run(session, llm_test::words(9, 1), {.max_new_tokens = 61, .temperature = 0});
  CHECK(greedy.counts.accepted == greedy.counts.drafted);
  CHECK(greedy.counts.passes == 1 + 10);  // the prompt, then 6 tokens a pass
  // Above temperature 0 too, save for rounding: both draw from the same distribution.
  const Result drawn = run(session, llm_test::words(9, 2), {.max_new_tokens = 61, .temperature = 1.3f, .top_p = 0.9f, .seed = 5});
  CHECK(drawn.counts.accepted >= drawn.counts.drafted - 2);
}

TEST_CASE("Log-probabilities and turns in a session are those without drafts") {
  const auto model = llm_test::strong<Modern>(35);
  const auto small = llm_test::strong<Small>(36);
  llm::Session plain(model);
  llm::Session drafted(model, llm::DraftModel(small));
  Tokens text = llm_test::words(8, 3);
  for (int turn = 0; turn < 4; ++turn) {
    auto a = llm::generate(plain, text, {.max_new_tokens = 12, .temperature = 0, .logprobs = 3});
    auto b = llm::generate(drafted, text, {.max_new_tokens = 12, .temperature = 0, .logprobs = 3});
    auto j = b.begin();
    for (const llm::Token token : a) {
      REQUIRE(*j == token);
      CHECK(b.logprobs().drawn.id == a.logprobs().drawn.id);
      CHECK(std::abs(b.logprobs().drawn.logprob - a.logprobs().drawn.logprob) < 1e-4f);
      ++j;
    }
    CHECK(j == b.end());
    text = a.sequence();
    text.push_back(static_cast<llm::Token>(turn));
  }
}

TEST_CASE("A drafter that ends before the model drafts as far as it reads") {
  const auto model = llm_test::strong<Modern>(37);
  const auto small = llm_test::strong<Small>(38);
  llm::Session session(model, llm::DraftModel(small, {.max_tokens = 7, .capacity = 20}));
  const Tokens prompt = llm_test::words(10, 4);
  const Result far = run(session, prompt, {.temperature = 0});
  CHECK(far.tokens.size() == 160);
  CHECK(far.tokens == llm::generate_tokens(model, prompt, {.temperature = 0}));
  CHECK(far.counts.drafted > 0);
  CHECK(far.counts.passes >= 160 - 30);
}

TEST_CASE("Drafted tokens leave the distribution as it is, whatever the drafter thinks") {
  // All texts of three tokens of five, against their exact probabilities: Pearson's statistic, 124 degrees of freedom.
  const auto model = llm_test::strong<llm::LLM<five>>(41);
  const auto other = llm_test::strong<llm::LLM<five>>(42);
  const Tokens prompt{2};
  for (const llm::GenerateOptions& base : {llm::GenerateOptions{.max_new_tokens = 3, .temperature = 1.2f},
                                           llm::GenerateOptions{.max_new_tokens = 3, .temperature = 0.7f, .top_p = 0.9f}}) {
    llm::Sampler sampler(base.sampling(), 5);
    llm::Session exact(model);
    std::vector<double> expected(125);
    const auto next = [&](const Tokens& text) {
      exact.truncate(0);
      const auto p = sampler.probabilities(exact.last_logits(text).to_vector());
      return std::vector<double>(p.begin(), p.end());
    };
    const auto a = next({2});
    for (int i = 0; i < 5; ++i) {
      const auto b = next({2, i});
      for (int j = 0; j < 5; ++j) {
        const auto c = next({2, i, j});
        for (int k = 0; k < 5; ++k)
          expected[static_cast<std::size_t>(25 * i + 5 * j + k)] =
              a[static_cast<std::size_t>(i)] * b[static_cast<std::size_t>(j)] * c[static_cast<std::size_t>(k)];
      }
    }
    llm::Session session(model, llm::DraftModel(other, {.max_tokens = 2}));
    constexpr int runs = 20000;
    std::vector<int> seen(125);
    std::int64_t drafted = 0, accepted = 0;
    auto options = base;
    for (options.stream = 0; options.stream < runs; ++options.stream) {
      const Result result = run(session, prompt, options);
      ++seen[static_cast<std::size_t>(25 * result.tokens[1] + 5 * result.tokens[2] + result.tokens[3])];
      drafted += result.counts.drafted;
      accepted += result.counts.accepted;
    }
    double statistic = 0, freedom = -1;
    for (std::size_t i = 0; i < 125; ++i) {
      if (expected[i] == 0) {
        CHECK(seen[i] == 0);
        continue;
      }
      const double mean = runs * expected[i], off = seen[i] - mean;
      statistic += off * off / mean;
      freedom += 1;
    }
    // Five standard deviations of the statistic above its mean.
    CHECK(statistic < freedom + 5 * std::sqrt(2 * freedom));
    CHECK(accepted > drafted / 20);
    CHECK(accepted < drafted * 19 / 20);
  }
}

TEST_CASE("The acceptance rule: its distribution is the model's, and it accepts as often as can be") {
  const std::vector<float> p_logits{0.0f, 1.0f, -1.0f, 0.5f, -30.0f}, q_logits{1.0f, -0.5f, 0.3f, 0.5f, 0.0f};
  llm::Sampler target({.seed = 1}, 5), drafter({.seed = 2}, 5);
  const auto p_span = target.probabilities(p_logits), q_span = drafter.probabilities(q_logits);
  const std::vector<float> p(p_span.begin(), p_span.end()), q(q_span.begin(), q_span.end());
  constexpr int runs = 100000;
  std::vector<int> seen(5), proposed(5);
  int accepted = 0;
  std::vector<float> drawn_with(5);
  for (int i = 0; i < runs; ++i) {
    const llm::Token draft = drafter.sample(q_logits, {}, drawn_with);
    ++proposed[static_cast<std::size_t>(draft)];
    const llm::Token token = target.sample_near(p_logits, {}, draft, drawn_with);
    ++seen[static_cast<std::size_t>(token)];
    accepted += token == draft;
  }
  CHECK(drawn_with == q);
  double overlap = 0;
  const auto check = [](int count, float probability) {
    const double mean = runs * static_cast<double>(probability);
    CHECK(std::abs(count - mean) <= 5 * std::sqrt(mean) + 1);
  };
  for (std::size_t i = 0; i < 5; ++i) {
    check(seen[i], p[i]);
    check(proposed[i], q[i]);
    overlap += static_cast<double>((std::min)(p[i], q[i]));
  }
  check(accepted, static_cast<float>(overlap));
  CHECK_THROWS_AS(target.sample_near(p_logits, {}, 5, q), llm::ValueError);
  CHECK_THROWS_AS(target.sample_near(p_logits, {}, 0, std::span<const float>(q).first(4)), llm::ValueError);
}

TEST_CASE("Lookup proposes what followed the longest and latest earlier match") {
  using Found = std::vector<std::int32_t>;
  const auto lookup = [](const Tokens& ids, const llm::PromptLookupOptions& options, std::int64_t count = 100) {
    llm::PromptLookup drafter(options);
    auto run = drafter.start({}, 100);
    const auto draft = drafter.draft(run, ids, count);
    CHECK(draft.probabilities.empty());
    return Found(draft.tokens.begin(), draft.tokens.end());
  };
  CHECK(lookup({1, 2, 3, 4, 9, 2, 3, 5, 1, 2, 3}, {.max_tokens = 3}) == Found{4, 9, 2});                  // three match, not two
  CHECK(lookup({1, 2, 3, 4, 9, 2, 3, 5, 1, 2, 3}, {.max_tokens = 3, .max_ngram = 2}) == Found{5, 1, 2});  // the latest of two
  CHECK(lookup({1, 2, 3, 4, 9, 2, 3, 5, 1, 2, 3}, {.max_tokens = 5}, 2) == Found{4, 9});
  CHECK(lookup({7, 8, 7, 8}, {.max_tokens = 5}) == Found{7, 8, 7, 8, 7});  // goes round
  CHECK(lookup({6, 6}, {.max_tokens = 4}) == Found{6, 6, 6, 6});
  CHECK(lookup({1, 2, 3}, {}).empty());
  CHECK(lookup({1}, {}).empty());
  CHECK(lookup({5, 1, 2, 3, 5}, {.min_ngram = 2}).empty());
  CHECK(lookup({5, 1, 5}, {.max_ngram = 2, .min_ngram = 2}).empty());
}

TEST_CASE("What is proposed without being possible is not drawn, also where the two differ by rounding alone") {
  // 1e-8 is lost in the sum of q, so that q is nowhere below p.
  const std::vector<float> q{1.0f, 1e-8f};
  constexpr float removed = -std::numeric_limits<float>::infinity();
  llm::Sampler sampler({.seed = 3}, 2), greedy({.temperature = 0}, 2);
  for (int i = 0; i < 100; ++i) {
    REQUIRE(sampler.sample_near(std::vector<float>{2, removed}, {}, 1, q) == 0);
    REQUIRE(greedy.sample_near(std::vector<float>{2, 1}, {}, 1, q) == 0);
  }
}

namespace {

/// What a session holds is the beginning of a text, and it goes on from there as one that has read nothing else.
template <class Session>
void check_holds(Session& session, const Tokens& text) {
  REQUIRE(session.length() <= static_cast<std::int64_t>(text.size()));
  REQUIRE(std::equal(session.tokens().begin(), session.tokens().end(), text.begin()));
  const auto rest = std::span(text).subspan(session.tokens().size());
  const Tokens more = rest.empty() ? Tokens{1} : Tokens(rest.begin(), rest.end());
  Tokens whole(session.tokens().begin(), session.tokens().end());
  whole.insert(whole.end(), more.begin(), more.end());
  llm::Session fresh(session.model());
  const auto expected = fresh.last_logits(whole).to_vector();
  llm::Session saved(session.model());
  saved.restore({{session.tokens().begin(), session.tokens().end()}, session.save().cached});
  for (const auto& logits : {session.last_logits(more).to_vector(), saved.last_logits(more).to_vector()})
    for (std::size_t v = 0; v < logits.size(); ++v) REQUIRE(std::abs(logits[v] - expected[v]) < 2e-4f);
}

/// 40 ids, a letter or digit each.
struct Letters {
  std::int64_t vocab_size() const { return 40; }
  Tokens encode(std::string_view text) const {
    Tokens ids;
    for (const char c : text) ids.push_back(static_cast<llm::Token>(c - '0'));
    return ids;
  }
  std::string decode_one(llm::Token id) const { return std::string(1, static_cast<char>('0' + id)); }
};

}  // namespace

TEST_CASE("However a text ends, a session with a drafter holds nothing that was only drafted") {
  const auto model = llm_test::strong<Modern>(39);
  const auto small = llm_test::strong<Small>(40);
  int in_drafts = 0;
  const auto check = [&](const auto& make_drafter) {
    for (const Tokens& prompt : prompts()) {
      const Tokens free = llm::generate_tokens(model, prompt, {.max_new_tokens = 30, .temperature = 0});
      for (std::size_t end = prompt.size(); end < free.size(); ++end) {
        llm::Session session(model, make_drafter());
        auto stream = llm::generate(session, prompt, {.max_new_tokens = 30, .temperature = 0, .stop = {.token_ids = {free[end]}}});
        for (auto it = stream.begin(); it != stream.end(); ++it) {
        }
        in_drafts += stream.speculation().accepted > 0;
        CHECK(session.length() == static_cast<std::int64_t>(stream.sequence().size()));
        check_holds(session, stream.sequence());
      }
      llm::Session session(model, make_drafter());
      const Tokens all = llm::generate_tokens(session, prompt, {.max_new_tokens = 30, .temperature = 0});
      CHECK(session.length() == static_cast<std::int64_t>(all.size()) - 1);
      check_holds(session, all);
    }
  };
  check([] { return llm::PromptLookup(); });
  check([&] { return llm::DraftModel(small); });
  check([&] { return llm::DraftModel(model, {.max_tokens = 7}); });
  CHECK(in_drafts > 100);
}

TEST_CASE("Text from a session with a drafter is that of one without, and its stop strings leave no drafts behind") {
  const auto model = llm_test::strong<Modern>(39);
  const Letters letters;
  const std::string prompt = "0120120120";
  const llm::GenerateOptions greedy{.max_new_tokens = 40, .temperature = 0};
  const std::string free = llm::generate_text(model, letters, prompt, greedy).substr(prompt.size());
  for (std::size_t at = 0; at + 3 <= free.size(); ++at)
    for (const std::size_t length : {1u, 2u, 3u}) {
      auto options = greedy;
      options.stop.strings = {free.substr(at, length)};
      llm::Session session(model, llm::DraftModel(model, {.max_tokens = 7}));
      auto stream = llm::generate(session, letters, prompt, options);
      std::string text;
      for (const auto piece : stream) text += piece;
      CHECK(text == free.substr(0, free.find(options.stop.strings[0])));
      CHECK(stream.finish_reason() == llm::FinishReason::stop_string);
      check_holds(session, stream.tokens().sequence());
    }
  // One that is left early: what was drafted is cut off by the text itself.
  llm::Session session(model, llm::DraftModel(model, {.max_tokens = 7}));
  auto stream = llm::generate(session, letters.encode(prompt), greedy);
  auto it = ++stream.begin();
  ++it;
  CHECK(session.length() > static_cast<std::int64_t>(stream.sequence().size()));
  session.keep_common(stream.sequence());
  check_holds(session, stream.sequence());
}

TEST_CASE("A model that drafts needs the ids that can be drawn, not all of the larger one's") {
  const auto model = llm_test::strong<Modern>(43);
  const auto narrow = llm_test::strong<llm::LLM<narrow_words>>(44);
  const auto wide = llm_test::strong<llm::LLM<wide_words>>(45);
  llm::Session session(model, llm::DraftModel(narrow));
  llm::Session from_wide(model, llm::DraftModel(wide));
  const Tokens prompt = llm_test::words(9, 5, 37);
  for (const float temperature : {0.0f, 0.8f}) {
    const llm::GenerateOptions options{.max_new_tokens = 40, .temperature = temperature, .vocab_limit = 37};
    for (const Result& result : {run(session, prompt, options), run(from_wide, prompt, options)}) {
      CHECK(result.counts.drafted > 0);
      CHECK(result.tokens.size() == 49);
      CHECK(*std::max_element(result.tokens.begin(), result.tokens.end()) < 37);
      if (temperature == 0) CHECK(result.tokens == llm::generate_tokens(model, prompt, options));
    }
  }
  CHECK(run(from_wide, prompt, {.max_new_tokens = 40, .temperature = 0}).tokens ==
        llm::generate_tokens(model, prompt, {.max_new_tokens = 40, .temperature = 0}));
  CHECK(llm_test::message_of([&] { llm::generate(session, prompt, {}); }) ==
        "llm::DraftModel: 40 ids can be drawn, but the model that drafts has 37 (hint: .vocab_limit = 37, when there is text for no more)");
}

TEST_CASE("Wrong options of drafters are errors that name them") {
  const auto small = Small::random(1);
  CHECK(llm_test::message_of([] { llm::PromptLookup({.max_tokens = 0}); }) == "llm::PromptLookup: max_tokens is 0, expected 1 to 64");
  CHECK(llm_test::message_of([] { llm::PromptLookup({.max_ngram = 65}); }) == "llm::PromptLookup: max_ngram is 65, expected 1 to 64");
  CHECK(llm_test::message_of([] { llm::PromptLookup({.min_ngram = 5}); }) == "llm::PromptLookup: min_ngram is 5, expected 1 to 4");
  CHECK(llm_test::message_of([&] { llm::DraftModel(small, {.max_tokens = 65}); }) == "llm::DraftModel: max_tokens is 65, expected 1 to 64");
  CHECK_THROWS_AS(llm::DraftModel(small, {.capacity = 101}), llm::ShapeError);
}
