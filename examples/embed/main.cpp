// The library inside another project: defines a model, checks its size while compiling and prints what it costs.
#include <cstdio>

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

inline constexpr llm::Config tiny{.vocab_size = 512,
                                  .d_model = 64,
                                  .n_layers = 2,
                                  .n_heads = 4,
                                  .n_kv_heads = 2,
                                  .ffn_dim = 176,
                                  .max_seq_len = 128,
                                  .tie_embeddings = true};

static_assert(llm::parameter_count(tiny).total == 125'248);

int main() {
  std::printf("%lld parameters, %lld bytes of KV cache for a token\n", static_cast<long long>(llm::parameter_count(tiny).total),
              static_cast<long long>(llm::kv_cache_bytes_per_token(tiny, llm::DType::f32)));
}
