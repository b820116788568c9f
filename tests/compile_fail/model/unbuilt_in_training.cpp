// A whole program that trains a model which is not built yet: one error, wherever else the model is named.
// expect: llm::LLM: multi-head latent attention is counted but not built yet
#include <vector>

#include <llm/backend/reference/reference.hpp>
#include <llm/model.hpp>
#include <llm/model/instantiate.hpp>
#include <llm/model/verify.hpp>
#include <llm/train.hpp>

#ifdef LLM_MUST_FAIL
inline constexpr llm::Config config{.vocab_size = 97,
                                    .d_model = 48,
                                    .n_layers = 2,
                                    .n_heads = 6,
                                    .ffn_dim = 128,
                                    .max_seq_len = 32,
                                    .mla = {.kv_rank = 16, .nope_dim = 8, .rope_dim = 4, .v_dim = 8}};
#else
inline constexpr llm::Config config{
    .vocab_size = 97, .d_model = 48, .n_layers = 2, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32};
#endif

using Model = llm::LLM<config, llm::Trainable<float>, llm::Reference>;
LLM_DECLARE(config, llm::Trainable<float>, llm::Reference)
static_assert(Model::parameter_count == 58'704);
static_assert(Model::config.d_model == 48);

double train(const std::vector<llm::Token>& tokens) {
  auto model = Model::random(1);
  llm::verify(model, [](const llm::Check&) {});
  llm::AdamW optimizer(model);
  auto batches = llm::random_windows<llm::Reference>(tokens, {.batch = 4, .length = 16, .steps = 3, .seed = 1});
  batches.restore(llm::load_checkpoint("run", model, optimizer).data);
  for (const auto& batch : batches) {
    llm::Tape tape;
    const Model::Loss loss = model.loss(batch.inputs, batch.targets, {.recompute = true});
    llm::finite_loss(loss);
    tape.backward(loss);
    llm::clip_grad_norm(model, 1.0);
    optimizer.step(1e-3);
  }
  llm::save_checkpoint("run", model, optimizer, batches.state());
  return llm::evaluate(model, llm::sequential_windows<llm::Reference>(tokens, {.batch = 2, .length = 8}));
}
