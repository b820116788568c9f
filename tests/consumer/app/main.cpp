// A program of a user: what each way of consuming the library builds and runs.
#include <cstdio>

#include <Eigen/Core>

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>
#include <llm/model/rules.hpp>

inline constexpr llm::Config seed_502m{.vocab_size = 32000,
                                       .d_model = 1536,
                                       .n_layers = 18,
                                       .n_heads = 12,
                                       .n_kv_heads = 4,
                                       .head_dim = 128,
                                       .ffn_dim = 4096,
                                       .max_seq_len = 2048,
                                       .tie_embeddings = true};

static_assert(llm::parameter_count(seed_502m).total == 502'193'664);

int main() {
  const Eigen::Vector2d both(static_cast<double>(llm::parameter_count(seed_502m).total),
                             static_cast<double>(llm::kv_cache_bytes_per_token(seed_502m, llm::DType::bf16)));
  std::printf("%.0f parameters, %.0f bytes a token, %zu broken rules\n", both[0], both[1], llm::validate(seed_502m).size());
}
