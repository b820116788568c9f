// The accountant's memory of a step and of generation: counted by hand, how it grows, and what it refuses.
#include <cstdint>
#include <string>

#include <llm/configs/all.hpp>
#include <llm/model/account_activations.hpp>
#include <support/catch.hpp>

using llm::Config, llm::DType, llm::TrainingStep, llm::training_memory, llm::decode_memory;

namespace {

// Everything of one element: V 1, D 1, one layer, one head of width 1, F 1; no positions. So a tensor [R, D] has R elements.
constexpr Config unit{.vocab_size = 1,
                      .d_model = 1,
                      .n_layers = 1,
                      .n_heads = 1,
                      .ffn_dim = 1,
                      .max_seq_len = 64,
                      .tie_embeddings = true,
                      .position = llm::Position::none};

constexpr std::int64_t total(TrainingStep step) { return training_memory(llm::configs::seed_502m, step).total; }

}  // namespace

// Parameters: embedding, q, k, v, o, gate, up, down, three gains: 11.
static_assert(training_memory(unit, {}).weights == 11 * 4);
static_assert(training_memory(unit, {}).optimizer == 11 * 8);
static_assert(training_memory(unit, {.type = DType::bf16}).weights == 11 * 2);
static_assert(training_memory(unit, {.type = DType::bf16}).optimizer == 11 * 12);
static_assert(training_memory(unit, {.type = DType::f64}).weights == 11 * 8);
static_assert(training_memory(unit, {.type = DType::f64}).optimizer == 11 * 16);

// Generation of one token; most lives in down_proj: ids, x, the first sum, norm, gate, up, product, result.
static_assert(decode_memory(unit, {}).decode == 8 * 4);
static_assert(decode_memory(unit, {.batch = 2, .prompt = 3}).prefill == 6 * 8 * 4);
static_assert(decode_memory(unit, {.batch = 2, .capacity = 10}).cache == 2 * 10 * 2 * 4 + 2 * 2 * 8);
static_assert(decode_memory(unit, {.cache_type = DType::bf16}).cache == 64 * 2 * 2 + 2 * 8);

// Kept of a block for each row: norm(x) and its statistic, q, k, v, the heads' result and its log-sum-exp, the sum, norm of that and its
// statistic, gate and up of F. With inputs, targets and the embedding's x:
constexpr std::int64_t kept(std::int64_t f) { return 2 + 1 + 2 + 3 + 2 + 1 + 2 + 2 * f; }
constexpr std::int64_t batch = 7;

// Of narrow layers most lives in the backward of the head: the block's result, the final norm and its statistic, log-sum-exp, logits, the
// gradient of the norm; the loss, its gradient and the tape's copy of that. The embedding has its gradient by then.
static_assert(training_memory(unit, {.batch = batch}).activations == 4 * (batch * (kept(1) + 6) + 3));
static_assert(training_memory(unit, {.batch = batch}).gradients == 4);

// Of a wide MLP in its backward: besides gate and up there are their product, where its gradient was, and the gradient of the sum; the loss
// and its gradient. Embedding, final norm and down_proj have their gradients. (Those of gate and up are written over their values.)
constexpr Config wide = [] {
  Config c = unit;
  c.ffn_dim = 10;
  return c;
}();
static_assert(training_memory(wide, {.batch = batch}).activations == 4 * (batch * (kept(10) + 10 + 1) + 2));
static_assert(training_memory(wide, {.batch = batch}).gradients == 4 * (1 + 1 + 10));

// Of the logits only a chunk: 2 rows of 4000 bytes in place of all 7.
constexpr Config words = [] {
  Config c = unit;
  c.vocab_size = 1000;
  return c;
}();
static_assert(training_memory(words, {.batch = batch}).total - training_memory(words, {.batch = batch, .chunk_bytes = 8000}).total ==
              5 * 4000);
static_assert(training_memory(words, {.batch = batch, .chunk_bytes = -1}) == training_memory(words, {.batch = batch, .chunk_bytes = 1}));

// With accumulation all gradients are there from the beginning.
static_assert(training_memory(unit, {.batch = batch, .accumulate = true}).gradients == 11 * 4);
static_assert(training_memory(unit, {.batch = batch, .accumulate = true}).activations ==
              training_memory(unit, {.batch = batch}).activations);

// Rotary tables: cos and sin of half a head's width for each position, in f32.
static_assert(training_memory(llm::configs::seed_502m, {}).tables == 2048 * 128 * 4);

// The weights, moments and gradients of a short step are the training state; the rest is small.
static_assert(training_memory(llm::configs::seed_502m, {}).weights == 2'008'774'656);
static_assert(training_memory(llm::configs::seed_502m, {}).optimizer == 4'017'549'312);
static_assert(total({}) < 8'100'000'000 && total({}) > 8'035'098'624);

// Recompute saves memory; so does bf16, on long steps.
static_assert(total({.batch = 4, .length = 2048, .recompute = true}) < total({.batch = 4, .length = 2048}));
static_assert(total({.batch = 4, .length = 2048, .type = DType::bf16}) < total({.batch = 4, .length = 2048}));

namespace {

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const llm::Error& e) {
    return e.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("memory grows with batch, length, layers and precision, at run time as at compile time") {
  Config config = llm::configs::llama3_8b;
  const TrainingStep step{.batch = 64, .length = 512, .type = DType::bf16, .recompute = true};
  constexpr auto constant = training_memory(llm::configs::llama3_8b, {.batch = 64, .length = 512, .type = DType::bf16, .recompute = true});
  CHECK(training_memory(config, step) == constant);
  const auto with = [&](void (*change)(TrainingStep&)) {
    TrainingStep other = step;
    change(other);
    return training_memory(config, other).total;
  };
  CHECK(with([](TrainingStep& s) { s.batch = 65; }) > constant.total);
  CHECK(with([](TrainingStep& s) { s.length = 513; }) > constant.total);
  CHECK(with([](TrainingStep& s) { s.type = DType::f64; }) > constant.total);
  CHECK(with([](TrainingStep& s) { s.recompute = false; }) > constant.total);
  CHECK(with([](TrainingStep& s) { s.accumulate = true; }) >= constant.total);
  config.n_layers = 33;
  CHECK(training_memory(config, step).total > constant.total);
}

TEST_CASE("a step that cannot be is refused in a sentence") {
  const Config& c = llm::configs::seed_502m;
  CHECK(error_of([&] { training_memory(c, {.batch = 0}); }) ==
        "llm::training_memory(config, step): batch 0 is not in 1 .. 9223372036854775807");
  CHECK(error_of([&] { training_memory(c, {.length = 2049}); }) == "llm::training_memory(config, step): length 2049 is not in 1 .. 2048");
  CHECK(error_of([&] { training_memory(c, {.type = DType::q8_0}); }) ==
        "llm::training_memory(config, step): models are trained and run in f32, bf16 or f64, not in q8_0");
  CHECK(error_of([&] { decode_memory(c, {.type = DType::f16}); }) ==
        "llm::decode_memory(config, decoding): models are trained and run in f32, bf16 or f64, not in f16");
  CHECK(error_of([&] { decode_memory(c, {.prompt = 11, .capacity = 10}); }) ==
        "llm::decode_memory(config, decoding): prompt 11 is not in 1 .. 10");
  CHECK(error_of([&] { decode_memory(c, {.capacity = -1}); }) == "llm::decode_memory(config, decoding): capacity -1 is not in 1 .. 2048");
}

TEST_CASE("a config that LLM cannot build, or that is none, has no memory to tell") {
  const auto refusal = [](const Config& c) { return error_of([&] { training_memory(c, {}); }); };
  CHECK_THAT(refusal(llm::configs::deepseek_v2_lite),
             Catch::Contains("llm::training_memory(config, step): there is no model of this config") &&
                 Catch::Contains("multi-head latent attention is counted but not built yet"));
  CHECK_THROWS_AS(decode_memory(llm::configs::deepseek_v2_lite, {}), llm::ConfigError);
  Config broken = llm::configs::seed_502m;
  broken.n_kv_heads = 5;
  CHECK_THAT(refusal(broken), Catch::Contains("n_kv_heads"));
  CHECK_THROWS_AS(training_memory(broken, {}), llm::ConfigError);
}

TEST_CASE("sizes beyond 62 bits are an error and not a small number [int64]") {
  const Config& c = llm::configs::seed_502m;
  for (const std::int64_t sequences : {std::int64_t{1} << 40, std::int64_t{1} << 52, INT64_MAX}) {
    CHECK_THROWS_AS(training_memory(c, {.batch = sequences, .length = 2048}), llm::ConfigError);
    CHECK_THROWS_AS(decode_memory(c, {.batch = sequences, .prompt = 2048}), llm::ConfigError);
  }
  CHECK(training_memory(c, {.batch = std::int64_t{1} << 30, .length = 2048}).total > INT64_MAX / 100);
}
