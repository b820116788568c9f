// The accountant's memory against the storage pool's high-water mark of real training steps and of real generation, to the byte.
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <llm/configs/train.hpp>
#include <llm/model.hpp>
#include <llm/model/account_activations.hpp>
#include <llm/model/freeze.hpp>
#include <llm/train/adamw.hpp>
#include <support/catch.hpp>

namespace {

using llm::Config, llm::configs::gpt2_small, llm::configs::llama_small, llm::configs::modern_small;

constexpr Config changed(Config c, void (*change)(Config&)) {
  change(c);
  return c;
}

// Each config has its peak elsewhere: in the MLP, in attention, at the head, with the embedding's gradients.
constexpr Config llama = llama_small<64>, modern = modern_small<64>, gpt2 = gpt2_small<64>;
constexpr Config gpt2_post = changed(gpt2, [](Config& c) { c.norm_position = llm::NormPosition::post; });
constexpr Config wide_heads{.vocab_size = 32,
                            .d_model = 16,
                            .n_layers = 3,
                            .n_heads = 6,
                            .n_kv_heads = 1,
                            .head_dim = 32,
                            .ffn_dim = 8,
                            .max_seq_len = 32,
                            .tie_embeddings = true,
                            .rope_dim = 16,
                            .qkv_bias = true,
                            .sliding_window = 8};
constexpr Config wide_heads_normed = changed(wide_heads, [](Config& c) { c.qk_norm = true, c.qkv_bias = false; });
constexpr Config many_words{.vocab_size = 3000,
                            .d_model = 8,
                            .n_layers = 1,
                            .n_heads = 2,
                            .ffn_dim = 16,
                            .max_seq_len = 64,
                            .norm_position = llm::NormPosition::post,
                            .mlp_bias = true};
constexpr Config long_table{.vocab_size = 2000,
                            .d_model = 24,
                            .n_layers = 2,
                            .n_heads = 3,
                            .ffn_dim = 24,
                            .max_seq_len = 4000,
                            .norm = llm::Norm::layer_norm,
                            .position = llm::Position::learned,
                            .mlp = llm::Mlp::gelu_erf};
constexpr Config no_positions = changed(many_words, [](Config& c) {
  c.position = llm::Position::none, c.norm_position = llm::NormPosition::pre, c.tie_embeddings = true, c.vocab_size = 50;
});

constexpr Config sparse{.vocab_size = 64,
                        .d_model = 16,
                        .n_layers = 3,
                        .n_heads = 4,
                        .n_kv_heads = 2,
                        .ffn_dim = 24,
                        .max_seq_len = 32,
                        .experts = {.count = 6, .active = 2}};
/// Dense layers first, in between and at the end; shared experts behind a gate.
constexpr Config sparse_and_dense = changed(sparse, [](Config& c) {
  c.n_layers = 7, c.qk_norm = true, c.tie_embeddings = true;
  c.experts = {.count = 5, .active = 3, .ffn_dim = 40, .shared_ffn_dim = 56, .shared_gate = true, .first_dense = 2, .every = 2};
});
constexpr Config sparse_shared = changed(sparse, [](Config& c) {
  c.norm_position = llm::NormPosition::post, c.mlp = llm::Mlp::geglu_tanh;
  c.experts = {.count = 8, .active = 1, .ffn_dim = 8, .shared_ffn_dim = 20, .first_dense = 1, .score_bias = true};
});
constexpr Config sparse_shared_pre = changed(sparse_shared, [](Config& c) { c.norm_position = llm::NormPosition::pre; });
constexpr Config sparse_gated_post = changed(sparse_and_dense, [](Config& c) { c.norm_position = llm::NormPosition::post; });
constexpr Config sparse_balanced = changed(sparse_and_dense, [](Config& c) { c.experts.router_aux_loss_coef = 0.01; });
constexpr Config many_balanced = changed(sparse, [](Config& c) {  // the routers' notes are large beside the rest
  c.vocab_size = 8, c.experts = {.count = 48, .active = 1, .ffn_dim = 1, .router_z_loss_coef = 0.1};
});
constexpr Config two_windows = changed(modern, [](Config& c) {
  c.n_layers = 5, c.sliding_window = 4, c.full_attention_every = 2, c.rope_theta_window = 100.0, c.mlp = llm::Mlp::geglu_tanh;
  c.scale_embeddings = true;
});

constexpr Config branches = changed(modern, [](Config& c) { c.norm_position = llm::NormPosition::branch, c.qk_norm_joint = true; });
constexpr Config sandwich = changed(wide_heads, [](Config& c) { c.norm_position = llm::NormPosition::sandwich; });
constexpr Config parallel =
    changed(gpt2, [](Config& c) { c.parallel_residual = true, c.position = llm::Position::rope_half, c.rope_dim = 8; });
constexpr Config parallel_wide = changed(wide_heads, [](Config& c) { c.parallel_residual = true; });
constexpr Config sparse_branches = changed(sparse_and_dense, [](Config& c) { c.norm_position = llm::NormPosition::branch; });
constexpr Config sparse_sandwich = changed(sparse_shared, [](Config& c) { c.norm_position = llm::NormPosition::sandwich; });
constexpr Config sparse_parallel = changed(sparse_and_dense, [](Config& c) { c.parallel_residual = true; });

template <const Config& C, class T>
struct Case {
  static constexpr const Config& config = C;
  using Element = T;
  using Model = llm::LLM<C, llm::Trainable<T>>;
};

/// Memory does not depend on the threads, and tiny steps are fastest on one.
struct OneThread {
  OneThread() { llm::set_num_threads(1); }
  ~OneThread() { llm::set_num_threads(0); }
};

std::int64_t in_use() { return llm::pool_statistics<llm::Cpu>().in_use; }
std::int64_t high_water() { return llm::pool_statistics<llm::Cpu>().high_water; }

template <class Model>
typename Model::Ids some_ids(std::int64_t batch, std::int64_t length) {
  std::vector<llm::Token> tokens;
  for (std::int64_t i = 0; i < batch * length; ++i) tokens.push_back(static_cast<llm::Token>(i * 7 % Model::V));
  return Model::Ids::from(tokens, {batch, length});
}

template <class Model>
void backward(const Model& model, const typename Model::Ids& ids, const typename Model::Ids& targets, const llm::TrainingStep& step) {
  llm::TrainingOptions options;
  options.recompute = step.recompute;
  options.chunk_bytes = step.chunk_bytes;
  llm::Tape tape;
  const auto loss = model.loss(ids, targets, options);
  tape.backward(loss);
}

/// Steps of one model and optimizer.
template <class Model>
struct Trainer {
  std::int64_t before = in_use();
  Model model = Model::random(1);
  llm::AdamW<typename Model::T, llm::Cpu> optimizer{model};

  /// What the pool handed out at most in a step, model and optimizer included.
  std::int64_t measured(const llm::TrainingStep& step) {
    const auto ids = some_ids<Model>(step.batch, step.length), targets = some_ids<Model>(step.batch, step.length);
    if (step.accumulate) backward(model, ids, targets, step);
    llm::reset_pool_high_water<llm::Cpu>();
    backward(model, ids, targets, step);
    optimizer.step(1e-3, 1.0);
    return high_water() - before;
  }
};

}  // namespace

static_assert(llm::TrainingStep{}.chunk_bytes == llm::TrainingOptions{}.chunk_bytes);
static_assert(llm::TrainingStep{}.recompute == llm::TrainingOptions{}.recompute);

TEMPLATE_TEST_CASE("training_memory is the pool's high-water mark of a step", "", (Case<llama, float>), (Case<llama, llm::bf16>),
                   (Case<modern, float>), (Case<modern, llm::bf16>), (Case<gpt2, float>), (Case<gpt2, llm::bf16>), (Case<gpt2_post, float>),
                   (Case<gpt2_post, llm::bf16>), (Case<wide_heads, float>), (Case<wide_heads, llm::bf16>), (Case<wide_heads_normed, float>),
                   (Case<many_words, float>), (Case<many_words, llm::bf16>), (Case<long_table, float>), (Case<long_table, double>),
                   (Case<no_positions, float>), (Case<sparse, float>), (Case<sparse, llm::bf16>), (Case<sparse_and_dense, float>),
                   (Case<sparse_and_dense, llm::bf16>), (Case<sparse_shared, float>), (Case<sparse_shared_pre, float>),
                   (Case<sparse_gated_post, float>), (Case<two_windows, float>), (Case<branches, float>), (Case<branches, llm::bf16>),
                   (Case<sandwich, float>), (Case<parallel, float>), (Case<parallel_wide, llm::bf16>), (Case<sparse_branches, float>),
                   (Case<sparse_sandwich, float>), (Case<sparse_parallel, float>), (Case<sparse_balanced, llm::bf16>),
                   (Case<many_balanced, float>)) {
  const OneThread quick;
  Trainer<typename TestType::Model> trainer;
  trainer.measured({});  // the first step
  for (const std::int64_t batch : {1, 3})
    for (const std::int64_t length : {1, 24})
      for (const bool recompute : {false, true})
        for (const std::int64_t chunk_bytes : {llm::TrainingStep{}.chunk_bytes, std::int64_t{20'000}})
          for (const bool accumulate : {false, true}) {
            const llm::TrainingStep step{.batch = batch,
                                         .length = length,
                                         .type = llm::dtype_of<typename TestType::Element>,
                                         .recompute = recompute,
                                         .chunk_bytes = chunk_bytes,
                                         .accumulate = accumulate};
            const llm::TrainingMemory m = llm::training_memory(TestType::config, step);
            INFO("batch " << batch << " length " << length << " recompute " << recompute << " chunk " << chunk_bytes << " accumulate "
                          << accumulate << ": gradients " << m.gradients << ", activations " << m.activations);
            CHECK(trainer.measured(step) == m.total);
            CHECK(m.weights + m.optimizer + m.tables + m.gradients + m.activations == m.total);
          }
}

TEMPLATE_TEST_CASE("decode_memory is the pool's high-water mark of prefill and decoding", "", (Case<llama, float>),
                   (Case<modern, llm::bf16>), (Case<gpt2, float>), (Case<gpt2_post, llm::bf16>), (Case<wide_heads, float>),
                   (Case<many_words, float>), (Case<no_positions, float>), (Case<sparse, float>), (Case<sparse_and_dense, llm::bf16>),
                   (Case<sparse_shared, float>), (Case<two_windows, float>), (Case<branches, float>), (Case<branches, llm::bf16>),
                   (Case<sandwich, float>), (Case<parallel, float>), (Case<parallel_wide, llm::bf16>), (Case<sparse_branches, float>),
                   (Case<sparse_sandwich, float>), (Case<sparse_parallel, float>)) {
  const OneThread quick;
  using Model = typename TestType::Model;
  for (const std::int64_t batch : {1, 3})
    for (const std::int64_t prompt : {1, 17}) {
      const std::int64_t before = in_use(), capacity = 20;
      const auto model = Model::random(1);
      llm::KvCache<TestType::config, llm::bf16> cache(batch, capacity);
      const llm::DecodeMemory m = llm::decode_memory(TestType::config, {.batch = batch,
                                                                        .prompt = prompt,
                                                                        .capacity = capacity,
                                                                        .type = llm::dtype_of<typename TestType::Element>,
                                                                        .cache_type = llm::DType::bf16});
      const std::int64_t held = in_use();
      CHECK(held - before == m.weights + m.tables + m.cache);
      const auto peak = [&](std::int64_t length) {
        llm::reset_pool_high_water<llm::Cpu>();
        model.last_logits(some_ids<Model>(batch, length), cache);
        return high_water() - held;
      };
      INFO("batch " << batch << " prompt " << prompt);
      CHECK(peak(prompt) == m.prefill);
      CHECK(peak(1) == m.decode);
      CHECK(m.total == held - before + (std::max)(m.prefill, m.decode));
    }
}

TEMPLATE_TEST_CASE("a frozen model's pass takes no more than that of the model it was made of", "", (Case<llama, float>),
                   (Case<modern, float>), (Case<gpt2, float>), (Case<wide_heads, float>), (Case<sparse, float>), (Case<branches, float>)) {
  const OneThread quick;
  const auto model = llm::freeze(TestType::Model::random(1));
  llm::KvCache<TestType::config> cache(1, 20);
  const llm::DecodeMemory m = llm::decode_memory(TestType::config, {.prompt = 17, .capacity = 20});
  const std::int64_t held = in_use();
  const auto peak = [&](std::int64_t length) {
    llm::reset_pool_high_water<llm::Cpu>();
    model.last_logits(some_ids<std::remove_const_t<decltype(model)>>(1, length), cache);
    return high_water() - held;
  };
  CHECK(peak(17) <= m.prefill);
  CHECK(peak(1) <= m.decode);
}
