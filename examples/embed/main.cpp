// The library inside another project: a model as a type, its size checked while compiling, one forward pass.
#include <cstdio>

#include <llm/model.hpp>

inline constexpr llm::Config tiny{.vocab_size = 512,
                                  .d_model = 64,
                                  .n_layers = 2,
                                  .n_heads = 4,
                                  .n_kv_heads = 2,
                                  .ffn_dim = 176,
                                  .max_seq_len = 128,
                                  .tie_embeddings = true};

using Model = llm::LLM<tiny>;
static_assert(Model::parameter_count == 125'248);

int main() {
  const Model model = Model::random(/*seed=*/1);
  const auto ids = Model::Ids::full({1, 16}, 7.0);  // [B, T]
  const auto logits = model(ids);                   // [B, T, V]
  std::printf("%lld parameters, logits [%lld, %lld, %lld]\n", static_cast<long long>(Model::parameter_count),
              static_cast<long long>(logits.extent(0)), static_cast<long long>(logits.extent(1)), static_cast<long long>(logits.extent(2)));
}
