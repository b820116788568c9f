// [baseline] One training step and one decoding step in a program built without any flag for the machine.
#include <cstdio>
#include <string>

#include <llm/model.hpp>
#include <llm/train/adamw.hpp>

inline constexpr llm::Config tiny{.vocab_size = 64,
                                  .d_model = 64,
                                  .n_layers = 2,
                                  .n_heads = 4,
                                  .n_kv_heads = 2,
                                  .ffn_dim = 128,
                                  .max_seq_len = 32,
                                  .tie_embeddings = true};
using Model = llm::LLM<tiny>;

namespace {

/// Trains one step and returns the loss before it.
float step(Model& model, llm::AdamW<float, llm::Cpu>& optimizer, const Model::Ids& ids) {
  llm::Tape tape;
  const auto loss = model.loss(ids, ids);
  tape.backward(loss);
  optimizer.step(1e-3);
  return loss.data()[0];
}

}  // namespace

int main() {
  Model model = Model::random(1);
  llm::AdamW<float, llm::Cpu> optimizer(model);
  const auto ids = Model::Ids::full({2, 16}, 3.0);
  const float first = step(model, optimizer, ids), second = step(model, optimizer, ids);
  Model::Cache cache(2, 17);
  const auto logits = model.last_logits(ids, cache);
  const bool right = first > 3.0f && first < 5.5f && second < first && logits.data()[3] > logits.data()[4];
  std::printf("%s: loss %.4f, then lower: %s\n", std::string(llm::cpu::to_string(llm::cpu::current_isa())).c_str(),
              static_cast<double>(first), right ? "right" : "wrong");
  return right ? 0 : 1;
}
