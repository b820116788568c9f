// A training step and a decode step make no heap allocation after the first.
#include <cstdlib>
#include <span>
#include <vector>

#include <llm/autograd/tape.hpp>
#include <llm/model.hpp>
#include <llm/train/adamw.hpp>
#include <support/catch.hpp>
#include <support/malloc_counter.hpp>

namespace {

inline constexpr llm::Config modern{.vocab_size = 300,
                                    .d_model = 128,
                                    .n_layers = 3,
                                    .n_heads = 4,
                                    .n_kv_heads = 2,
                                    .ffn_dim = 352,
                                    .max_seq_len = 64,
                                    .norm_eps = 1e-6,
                                    .position = llm::Position::rope_interleaved,
                                    .qk_norm = true};
inline constexpr llm::Config gpt2{.vocab_size = 300,
                                  .d_model = 128,
                                  .n_layers = 3,
                                  .n_heads = 4,
                                  .ffn_dim = 512,
                                  .max_seq_len = 64,
                                  .tie_embeddings = true,
                                  .norm = llm::Norm::layer_norm,
                                  .position = llm::Position::learned,
                                  .mlp = llm::Mlp::gelu_tanh,
                                  .qkv_bias = true,
                                  .attention_out_bias = true,
                                  .mlp_bias = true};
inline constexpr llm::Config wide{
    .vocab_size = 3000, .d_model = 768, .n_layers = 1, .n_heads = 12, .n_kv_heads = 4, .ffn_dim = 2048, .max_seq_len = 256};

inline constexpr llm::Config sparse = [] {
  llm::Config c = modern;
  c.experts = {
      .count = 8, .active = 2, .ffn_dim = 96, .shared_ffn_dim = 64, .shared_gate = true, .first_dense = 1, .router_aux_loss_coef = 0.01};
  return c;
}();

template <class Model>
typename Model::Ids some_ids(std::int64_t batch, std::int64_t length) {
  std::vector<llm::Token> ids;
  for (std::int64_t i = 0; i < batch * length; ++i) ids.push_back(static_cast<llm::Token>(i * 37 % Model::V));
  return Model::Ids::from(ids, {batch, length});
}

template <class Model>
void check_training(std::int64_t batch, std::int64_t length, const llm::TrainingOptions& options) {
  auto model = Model::random(1);
  llm::AdamW optimizer(model, {.weight_decay = 0.1});
  const auto ids = some_ids<Model>(batch, length);
  const auto step = [&] {
    llm::Tape tape;
    const auto loss = model.loss(ids, ids, options);
    tape.backward(loss);
    optimizer.step(1e-3, 1.0);
  };
  CHECK(llm_test::allocations_in(step) > 0);
  step();
  for (int i = 0; i < 3; ++i) CHECK(llm_test::allocations_in(step) == 0);
}

template <class Model>
void check_decoding(std::int64_t batch) {
  const auto model = Model::random(1);
  typename Model::Cache cache(batch);
  model.last_logits(some_ids<Model>(batch, 20), cache);
  const auto next = some_ids<Model>(batch, 1);
  const auto step = [&] { model.last_logits(next, cache); };
  step();
  for (int i = 0; i < 20; ++i) CHECK(llm_test::allocations_in(step) == 0);
}

/// Tokens after the first `warm` of a stream.
template <class Source>
void check_stream(Source& source, int warm, const llm::GenerateOptions& options) {
  auto stream = llm::generate(source, std::vector<llm::Token>{1, 2, 3, 1, 2, 3, 1, 2}, options);
  auto it = stream.begin();
  for (int i = 0; i < warm; ++i) ++it;
  for (int i = 0; i < 20; ++i) CHECK(llm_test::allocations_in([&] { ++it; }) == 0);
  CHECK(it != stream.end());
}

}  // namespace

TEST_CASE("Training steps allocate nothing after the first") {
  if (!LLM_COUNTS_MALLOC) {
    WARN("skipped: allocations cannot be counted in this build");
    return;
  }
  llm::TrainingOptions recompute, chunked;
  recompute.recompute = true;
  chunked.chunk_bytes = 40 * 300 * 4;
  check_training<llm::LLM<modern>>(16, 64, {});
  check_training<llm::LLM<modern>>(3, 33, recompute);
  check_training<llm::LLM<modern>>(16, 64, chunked);
  check_training<llm::LLM<gpt2>>(16, 64, {});
  check_training<llm::LLM<sparse>>(16, 64, {});
  check_training<llm::LLM<sparse>>(3, 33, recompute);
  check_training<llm::LLM<wide>>(2, 200, {});
  check_training<llm::LLM<modern, llm::Trainable<llm::bf16>>>(4, 64, {});
}

TEST_CASE("Decode steps allocate nothing after the first") {
  if (!LLM_COUNTS_MALLOC) {
    WARN("skipped: allocations cannot be counted in this build");
    return;
  }
  check_decoding<llm::LLM<modern>>(1);
  check_decoding<llm::LLM<modern>>(5);
  check_decoding<llm::LLM<gpt2>>(2);
  check_decoding<llm::LLM<sparse>>(1);
  check_decoding<llm::LLM<sparse>>(5);
  check_decoding<llm::LLM<wide>>(1);
  check_decoding<llm::LLM<modern, llm::Trainable<llm::bf16>>>(2);
}

TEST_CASE("Drawing a token allocates nothing after the first ones") {
  if (!LLM_COUNTS_MALLOC) {
    WARN("skipped: allocations cannot be counted in this build");
    return;
  }
  const auto model = llm::LLM<modern>::random(1);
  const auto draft = llm::LLM<gpt2>::random(2);
  const auto hook = [](std::span<float> logits, std::span<const llm::Token>) { logits[0] = 0; };
  const llm::GenerateOptions greedy{.temperature = 0};
  check_stream(model, 1, {.top_k = 5, .top_p = 0.9f, .repetition_penalty = 1.1f, .logprobs = 4, .logits_hook = hook});
  llm::Session session(model);
  check_stream(session, 1, greedy);
  llm::Session lookup(model, llm::PromptLookup());  // passes have as many rows as there are drafts
  check_stream(lookup, 24, greedy);
  llm::Session drafted(model, llm::DraftModel(draft, {.max_tokens = 3}));
  check_stream(drafted, 3, greedy);
  check_stream(drafted, 3, {.seed = 1});
}
