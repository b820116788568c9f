// LLM: initialisation, parameters and their names, cloning, errors, recompute, bf16, the cache after an error.
#include <cmath>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <llm/autograd/tape.hpp>
#include <llm/model.hpp>
#include <support/catch.hpp>

namespace {

inline constexpr llm::Config small{.vocab_size = 97,
                                   .d_model = 48,
                                   .n_layers = 2,
                                   .n_heads = 6,
                                   .n_kv_heads = 2,
                                   .head_dim = 8,
                                   .ffn_dim = 128,
                                   .max_seq_len = 32,
                                   .tie_embeddings = true};
inline constexpr llm::Config untied = [] {
  llm::Config c = small;
  c.tie_embeddings = false;
  c.qk_norm = true;
  c.qkv_bias = true;
  return c;
}();

using Model = llm::LLM<small>;

Model::Ids ids(std::int64_t batch, std::int64_t length, llm::Token first = 3) {
  std::vector<llm::Token> values;
  for (std::int64_t i = 0; i < batch * length; ++i) values.push_back(static_cast<llm::Token>((first + i * 7) % 97));
  return Model::Ids::from(values, {batch, length});
}

template <class M>
std::vector<std::string> names(const M& model) {
  std::vector<std::string> all;
  model.for_each_parameter([&](const auto& p) { all.push_back(p.name()); });
  return all;
}

template <class M>
std::vector<std::vector<float>> weights(const M& model) {
  std::vector<std::vector<float>> all;
  model.for_each_parameter([&](const auto& p) { all.push_back(p.tensor().to_vector()); });
  return all;
}

}  // namespace

TEST_CASE("Parameters have the names of published Llama checkpoints, each once") {
  const auto all = names(Model::random(1));
  CHECK(all.front() == "model.embed_tokens.weight");
  CHECK(all.back() == "model.norm.weight");
  const std::set<std::string> unique(all.begin(), all.end());
  CHECK(unique.size() == all.size());
  for (const char* name :
       {"model.layers.1.input_layernorm.weight", "model.layers.1.self_attn.k_proj.weight", "model.layers.0.self_attn.o_proj.weight",
        "model.layers.0.post_attention_layernorm.weight", "model.layers.1.mlp.down_proj.weight"})
    CHECK(unique.count(name) == 1);
  const auto more = names(llm::LLM<untied>::random(1));
  CHECK(more.back() == "lm_head.weight");
  const std::set<std::string> with_bias(more.begin(), more.end());
  for (const char* name : {"model.layers.0.self_attn.q_norm.weight", "model.layers.1.self_attn.v_proj.bias"})
    CHECK(with_bias.count(name) == 1);
}

TEST_CASE("The count is the sum over the parameters, tied and untied [count]") {
  const auto sum = [](const auto& model) {
    std::int64_t total = 0;
    model.for_each_parameter([&](const auto& p) { total += p.numel(); });
    return total;
  };
  CHECK(sum(Model::random(1)) == Model::parameter_count);
  CHECK(sum(llm::LLM<untied>::random(1)) == llm::LLM<untied>::parameter_count);
  CHECK(llm::LLM<untied>::parameter_count - Model::parameter_count == 97 * 48 + 2 * 2 * 8 + 2 * (48 + 2 * 16));
}

TEST_CASE("Initialisation: the same for a seed, of the stated spread, residual outputs narrower") {
  CHECK(weights(Model::random(7)) == weights(Model::random(7)));
  CHECK(weights(Model::random(7)) != weights(Model::random(8)));
  Model::random(7).for_each_parameter([&](const auto& p) {
    INFO(p.name());
    const auto values = p.tensor().to_vector();
    double squares = 0;
    for (const float v : values) squares += static_cast<double>(v) * static_cast<double>(v);
    const double spread = std::sqrt(squares / static_cast<double>(values.size()));
    const bool residual = p.kind() == llm::ParameterKind::residual_output;
    if (p.is_matrix())
      CHECK(spread == Approx(residual ? 0.02 / std::sqrt(4.0) : 0.02).epsilon(0.1));
    else
      CHECK(spread == 1.0);
  });
}

TEST_CASE("A clone is equal and independent; a moved model keeps its elements") {
  Model model = Model::random(1);
  Model copy = model.clone();
  CHECK(weights(copy) == weights(model));
  copy.for_each_parameter([](auto& p) { llm::Cpu::fill<float>(p.tensor().data(), p.numel(), 0.5); });
  CHECK(weights(copy) != weights(model));
  const auto before = weights(model);
  const Model moved = std::move(model);
  CHECK(weights(moved) == before);
}

TEST_CASE("The initial loss is close to that of guessing") {
  const Model model = Model::random(1);
  CHECK(model.loss(ids(4, 32), ids(4, 32, 50)).item() == Approx(std::log(97.0)).epsilon(0.02));
}

TEST_CASE("Errors name what was found and what was allowed [oov]") {
  const Model model = Model::random(1);
  CHECK_THROWS_WITH(model(ids(1, 33)), Catch::Contains("33 positions exceed max_seq_len 32"));
  CHECK_THROWS_AS(model(Model::Ids::empty({0, 4})), llm::ShapeError);
  for (const llm::Token bad : {97, -1}) {
    const auto wrong = Model::Ids::from(std::vector<llm::Token>{1, bad}, {1, 2});
    CHECK_THROWS_WITH(model(wrong), Catch::Contains("id " + std::to_string(bad) + " at position 1 is outside [0, 97)"));
    CHECK_THROWS_AS(model.loss(ids(1, 2), wrong), llm::ValueError);
  }
  CHECK_THROWS_WITH(model.loss(ids(2, 8), ids(2, 7)), Catch::Contains("T of inputs is 8 but T of targets is 7"));
}

TEST_CASE("A loss of ignored targets alone is 0, with gradients of 0 [ignore_all]") {
  Model model = Model::random(1);
  llm::Tape tape;
  const auto loss = model.loss(ids(1, 4), Model::Ids::from(std::vector<llm::Token>(4, -100), {1, 4}));
  CHECK(loss.item() == 0.0f);
  tape.backward(loss);
  model.for_each_parameter([](auto& p) {
    for (const float g : p.tensor().grad().to_vector()) REQUIRE(g == 0.0f);
  });
}

TEST_CASE("Batch and time are run-time numbers, widths are part of the type [dyn_T]") {
  const Model model = Model::random(1);
  Model::Cache cache(2);
  static_assert(std::is_same_v<decltype(model(ids(1, 1))), llm::Tensor<float, llm::Shape<llm::dyn, llm::dyn, 97>>>);
  static_assert(std::is_same_v<decltype(model(ids(1, 1), cache)), decltype(model(ids(1, 1)))>);
  for (const std::int64_t time : {5, 1, 3})  // prefill and decode are one type, whatever the past
    CHECK(model(ids(2, time), cache).shape() == llm::Shape<llm::dyn, llm::dyn, 97>(2, time));
  CHECK(cache.length() == 9);
}

TEST_CASE("Options of a loss stand in one list") {
  const Model model = Model::random(1);
  const auto inputs = Model::Ids::from({1, 2, 3}, {1, 3}), targets = Model::Ids::from({2, 3, -1}, {1, 3});
  const double mean = model.loss(inputs, targets, {.ignore_index = -1}).item();
  const double part = model.loss(inputs, targets, {.ignore_index = -1, .denominator = 8, .chunk_bytes = 1, .recompute = true}).item();
  CHECK(part == Approx(mean * 2 / 8));
}

TEST_CASE("The cache: lengths, limits, rows, and what an error leaves [ctx]") {
  const Model model = Model::random(1);
  Model::Cache cache(2, 10);
  CHECK(cache.bytes() == 2 * 2 * 2 * 10 * 2 * 8 * 4);
  model(ids(2, 6), cache);
  CHECK(cache.length(1) == 6);
  CHECK_THROWS_WITH(model(ids(2, 5), cache), Catch::Contains("6 cached + 5 new positions exceed the capacity 10"));
  CHECK_THROWS_AS(model(ids(1, 1), cache, 2), llm::ShapeError);
  CHECK_THROWS_AS(model(Model::Ids::from(std::vector<llm::Token>{1, 97}, {2, 1}), cache), llm::ValueError);
  CHECK(cache.length(0) == 6);
  const auto after_errors = model.last_logits(ids(2, 4), cache).to_vector();
  cache.reset();
  model(ids(2, 6), cache);
  CHECK(model.last_logits(ids(2, 4), cache).to_vector() == after_errors);
  CHECK(cache.length(0) == 10);
  cache.truncate(1, 3);
  CHECK(cache.length(1) == 3);
  CHECK_THROWS_AS(cache.truncate(1, 4), llm::ValueError);
  CHECK_THROWS_AS(Model::Cache(1, 33), llm::ShapeError);
  Model::Cache full;
  model(ids(1, 32), full);
  CHECK_THROWS_WITH(model(ids(1, 1), full), Catch::Contains("32 cached + 1 new positions exceed max_seq_len 32"));
}

namespace {
/// Logits [1, T, V] of a text that is read in passes which end at the given positions.
template <class M>
std::vector<float> in_passes(const M& model, const std::vector<llm::Token>& text, const std::vector<std::int64_t>& ends) {
  typename M::Cache cache;
  std::vector<float> all;
  std::int64_t from = 0;
  for (const std::int64_t end : ends) {
    const std::vector<llm::Token> part(text.begin() + from, text.begin() + end);
    const auto logits = model(M::Ids::from(part, {1, end - from}), cache).to_vector();
    all.insert(all.end(), logits.begin(), logits.end());
    from = end;
  }
  return all;
}

template <class M>
void check_cache_changes_nothing() {
  const M model = M::random(1);
  const std::vector<llm::Token> text = ids(1, 12).to_vector();
  const auto full = model(M::Ids::from(text, {1, 12})).to_vector();
  for (const auto& ends : std::vector<std::vector<std::int64_t>>{{12}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {5, 6, 11, 12}}) {
    const auto cached = in_passes(model, text, ends);
    REQUIRE(cached.size() == full.size());
    for (std::size_t i = 0; i < full.size(); ++i) REQUIRE(std::abs(cached[i] - full[i]) <= 1e-5f);
  }
}
}  // namespace

// Every kind of model: tests/regression/kv_equal_test.cpp.
TEST_CASE("Prefill, single steps and a full pass give the same logits [kv_equal]") {
  check_cache_changes_nothing<Model>();
  check_cache_changes_nothing<llm::LLM<untied>>();
  check_cache_changes_nothing<llm::LLM<small, llm::Trainable<float>, llm::Reference>>();
}

namespace {
/// Fails in the output head, after all layers have run.
struct FailingHead : llm::Reference {
  static inline bool fails = false;
  template <class T>
  static void linear_forward(const T* x, const T* w, const T* bias, T* y, std::int64_t m, std::int64_t n, std::int64_t k) {
    if (fails && n == small.vocab_size) throw llm::Error("no memory");
    llm::Reference::linear_forward<T>(x, w, bias, y, m, n, k);
  }
};
}  // namespace

TEST_CASE("An error after the last layer leaves the cache as it was, and so do rows beyond 63 bits") {
  using Fragile = llm::LLM<small, llm::Trainable<float>, FailingHead>;
  const Fragile model = Fragile::random(1);
  const auto ids = Fragile::Ids::from(std::vector<llm::Token>{1, 2, 3}, {1, 3});
  Fragile::Cache cache;
  FailingHead::fails = true;
  CHECK_THROWS_AS(model(ids, cache), llm::Error);
  CHECK_THROWS_AS(model.last_logits(ids, cache), llm::Error);
  CHECK(cache.length() == 0);
  FailingHead::fails = false;
  CHECK_THROWS_AS(model(ids, cache, INT64_MAX), llm::ShapeError);
  model(ids, cache);
  CHECK(cache.length() == 3);
}

TEST_CASE("Rows of different lengths decode as each alone [batch_pad]") {
  const Model model = Model::random(1);
  Model::Cache both(2), first, second;
  model.last_logits(ids(1, 9), both, 0);
  model.last_logits(ids(1, 4, 20), both, 1);
  model.last_logits(ids(1, 9), first);
  model.last_logits(ids(1, 4, 20), second);
  const auto next = ids(2, 1, 40).to_vector();
  const auto together = model.last_logits(ids(2, 1, 40), both).to_vector();
  auto alone = model.last_logits(Model::Ids::from({&next[0], 1}, {1, 1}), first).to_vector();
  const auto other = model.last_logits(Model::Ids::from({&next[1], 1}, {1, 1}), second).to_vector();
  alone.insert(alone.end(), other.begin(), other.end());
  for (std::size_t i = 0; i < alone.size(); ++i) REQUIRE(std::abs(alone[i] - together[i]) < 1e-5);
}

TEST_CASE("Recompute changes nothing but memory") {
  Model model = Model::random(1);
  std::vector<std::vector<std::vector<float>>> gradients;
  std::vector<std::int64_t> peaks;
  for (const bool again : {false, true}) {
    llm::TrainingOptions options;
    options.recompute = again;
    {
      llm::reset_pool_high_water<llm::Cpu>();
      llm::Tape tape;
      tape.backward(model.loss(ids(4, 32), ids(4, 32, 5), options));
      peaks.push_back(llm::pool_statistics<llm::Cpu>().high_water);
    }
    gradients.emplace_back();
    model.for_each_parameter([&](auto& p) {
      gradients.back().push_back(p.tensor().grad().to_vector());
      p.tensor().clear_grad();
    });
  }
  CHECK(gradients[0] == gradients[1]);
  CHECK(peaks[1] < peaks[0]);
}

TEST_CASE("bf16 models: close to f32, both rounding orders run") {
  using Narrow = llm::LLM<small, llm::Trainable<llm::bf16>>;
  const Model wide = Model::random(3);
  const Narrow narrow = Narrow::random(3);
  const auto loss = wide.loss(ids(4, 32), ids(4, 32, 5)).item();
  CHECK(narrow.loss(ids(4, 32), ids(4, 32, 5)).item() == Approx(loss).epsilon(0.01));
}

TEST_CASE("A sliding window forgets what is older") {
  static constexpr llm::Config windowed = [] {
    llm::Config c = small;
    c.sliding_window = 3;
    c.n_layers = 1;
    return c;
  }();
  using Windowed = llm::LLM<windowed>;
  const Windowed model = Windowed::random(2);
  const auto last = [&](llm::Token first) {
    const auto logits = model(Windowed::Ids::from(std::vector<llm::Token>{first, 5, 6, 7}, {1, 4})).to_vector();
    return std::vector<float>(logits.end() - 97, logits.end());
  };
  CHECK(last(1) == last(2));
}
