// Prints the page docs/models.md: what each config of the library weighs, by the accountant.
#include <cstdint>
#include <cstdio>
#include <string>

#include <llm/configs/all.hpp>
#include <llm/model/account.hpp>
#include <llm/model/rules.hpp>

#include "support/plain_count.hpp"

namespace {

using examples::grouped;

constexpr const char* introduction = R"(# The models that come with the library

<!-- Written by examples/model_table.cpp: build/bin/model_table > docs/models.md -->

`<llm/configs/all.hpp>` has these configs. Each stands beside a `static_assert` of its published parameter count, so a wrong field of one does
not compile; `build/bin/count_params NAME` counts it a second time by plain formulas. Which models `LLM` builds is in the last column; it
counts the others too.

- **Parameters**: a head that shares the embedding's matrix counts once. **Active**: those that one token passes; of a mixture of experts only
  the chosen experts. The embedding is in both.
- **KV cache**: keys and values in bf16, for one token and for one sequence of the full context. Layers with a sliding window keep all
  positions of a sequence; latent attention (DeepSeek-V2 and V3) keeps a latent vector in their place.
- **Weights**: all parameters in bf16, 2 bytes each.
- **Training**: weights in bf16, their gradients, master weights and AdamW's two moments in f32, 18 bytes a parameter; without activations.

1 GB is 10^9 bytes. The last three are the small models for training on a text, here with 128 tokens.

)";

std::string gigabytes(std::int64_t bytes) {
  char text[40];
  const double gb = static_cast<double>(bytes) / 1e9;
  std::snprintf(text, sizeof text, gb < 0.01 ? "%.6f" : gb < 0.1 ? "%.3f" : gb < 1000 ? "%.2f" : "%.0f", gb);
  return text;
}

void print_row(const std::string& name, const llm::Config& c) {
  const llm::ParameterCount n = llm::parameter_count(c);
  const auto bf16 = llm::DType::bf16;
  std::printf("| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", name.c_str(), grouped(n.total).c_str(),
              n.active == n.total ? "all" : grouped(n.active).c_str(), grouped(c.max_seq_len).c_str(),
              grouped(llm::kv_cache_bytes_per_token(c, bf16)).c_str(), gigabytes(llm::kv_cache_bytes(c, bf16, c.max_seq_len)).c_str(),
              gigabytes(llm::weight_bytes(c, bf16)).c_str(),
              gigabytes(llm::training_state(c, llm::TrainingPolicy::bf16_mixed).total).c_str(), llm::buildable(c) ? "yes" : "no");
}

}  // namespace

int main() {
  std::printf("%s", introduction);
  std::printf("| Config | Parameters | Active | Context | KV cache, B per token | KV cache, GB | Weights, GB | Training, GB | Built |\n");
  std::printf("| --- | --: | --: | --: | --: | --: | --: | --: | --- |\n");
  for (const auto& [name, config] : llm::configs::all) print_row(std::string(name), *config);
}
