// Counts the parameters, cache and training memory of a model twice, by plain formulas and by the library, and compares.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include <llm/configs/all.hpp>
#include <llm/model/account.hpp>

#include "support/plain_count.hpp"

namespace {

using examples::grouped;
using examples::PlainCount;

bool all_equal = true;

/// Remembers a difference and marks its line.
const char* compare(std::int64_t plain, std::int64_t library) {
  if (plain == library) return "";
  all_equal = false;
  return "   DIFFERENT";
}

/// One line: the two figures, which must agree, and the share of the whole.
void line(const char* part, std::int64_t plain, std::int64_t library, std::int64_t whole) {
  const double share = 100.0 * static_cast<double>(plain) / static_cast<double>(whole);
  std::printf("  %-32s %18s %18s %7.1f %%%s\n", part, grouped(plain).c_str(), grouped(library).c_str(), share, compare(plain, library));
}

void print_parameters(const llm::Config& c, const PlainCount& plain, const PlainCount& mha) {
  const llm::ParameterCount library = llm::parameter_count(c);
  std::printf("%-34s %18s %18s %9s\n", "One block", "plain formulas", "library", "share");
  line("attention (q, k, v, o)", plain.attention, library.attention_per_layer, plain.block);
  line(c.gated() ? "SwiGLU MLP" : "GELU MLP", plain.mlp, library.mlp_per_layer, plain.block);
  const std::string norms =
      std::string(c.norm == llm::Norm::layer_norm ? "2 LayerNorm" : "2 RMSNorm") + (c.qk_norm ? ", q and k norm" : "");
  line(norms.c_str(), plain.norms, library.norms_per_layer, plain.block);
  line("block", plain.block, library.block, plain.block);
  if (c.kv_heads() != c.n_heads) std::printf("  attention, were it MHA           %18s\n", grouped(mha.attention).c_str());

  std::printf("\n%-34s %18s %18s %9s\n", "Whole model", "plain formulas", "library", "share");
  line(c.tie_embeddings ? "embedding, shared with the head" : "embedding", plain.embedding, library.embedding, plain.total);
  if (plain.positions != 0) line("learned positions", plain.positions, library.positions, plain.total);
  line((std::to_string(c.n_layers) + " blocks").c_str(), plain.blocks, library.blocks, plain.total);
  line("final norm", plain.final_norm, library.final_norm, plain.total);
  if (!c.tie_embeddings) line("head", plain.head, library.head, plain.total);
  line("total", plain.total, library.total, plain.total);
}

void print_cache(const llm::Config& c, std::int64_t n_kv_heads, const PlainCount& plain) {
  llm::Config variant = c;
  variant.n_kv_heads = n_kv_heads;
  const std::int64_t bytes = 2 * plain.kv_numbers_per_token;
  const std::int64_t sequence = bytes * c.max_seq_len;
  const char* kind = n_kv_heads == c.n_heads ? "MHA" : n_kv_heads == 1 ? "MQA" : "GQA";
  std::printf("  %-4s %3lld KV heads %12s B per token = %7.1f KB, %10.1f MB for %lld tokens%s%s\n", kind,
              static_cast<long long>(n_kv_heads), grouped(bytes).c_str(), static_cast<double>(bytes) / 1024.0,
              static_cast<double>(sequence) / 1e6, static_cast<long long>(c.max_seq_len),
              compare(bytes, llm::kv_cache_bytes_per_token(variant, llm::DType::bf16)),
              compare(sequence, llm::kv_cache_bytes(variant, llm::DType::bf16, c.max_seq_len)));
}

void print_training_state(const llm::Config& c, const PlainCount& plain) {
  const llm::TrainingState library = llm::training_state(c, llm::TrainingPolicy::bf16_mixed);
  const struct {
    const char* part;
    std::int64_t bytes_per_parameter, library;
  } rows[] = {{"bf16 weights", 2, library.weights}, {"bf16 gradients", 2, library.gradients}, {"f32 master weights", 4, library.master},
              {"AdamW first moment", 4, library.m}, {"AdamW second moment", 4, library.v},    {"total", 16, library.total}};
  for (const auto& row : rows) {
    const std::int64_t bytes = row.bytes_per_parameter * plain.total;
    std::printf("  %-22s %10.2f GB%s\n", row.part, static_cast<double>(bytes) / 1e9, compare(bytes, row.library));
  }
}

void print_report(const char* name, const llm::Config& c) {
  const PlainCount plain(c, c.kv_heads());
  const PlainCount mha(c, c.n_heads);
  std::printf("%s: vocab_size=%lld d_model=%lld n_layers=%lld n_heads=%lld n_kv_heads=%lld head_dim=%lld ffn_dim=%lld\n", name,
              static_cast<long long>(c.vocab_size), static_cast<long long>(c.d_model), static_cast<long long>(c.n_layers),
              static_cast<long long>(c.n_heads), static_cast<long long>(c.kv_heads()), static_cast<long long>(c.head_width()),
              static_cast<long long>(c.ffn_dim));
  std::printf("ffn_dim / d_model = %.4f\n\n", static_cast<double>(c.ffn_dim) / static_cast<double>(c.d_model));
  print_parameters(c, plain, mha);

  std::printf("\nKV cache (bf16)\n");
  print_cache(c, c.kv_heads(), plain);
  if (c.kv_heads() != c.n_heads) {
    print_cache(c, c.n_heads, mha);
    std::printf("  %.1f times smaller than MHA\n", static_cast<double>(c.n_heads) / static_cast<double>(c.kv_heads()));
  }

  std::printf("\nTraining state (bf16 mixed precision, AdamW)\n");
  print_training_state(c, plain);
  std::printf("\n%s\n", all_equal ? "Both counts agree." : "The two counts DIFFER.");
}

void print_names(std::FILE* out) {
  for (const auto& entry : llm::configs::all) std::fprintf(out, "  %s\n", std::string(entry.name).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "seed_502m";
  if (argc > 2 || std::strcmp(name, "--help") == 0) {
    std::printf("usage: count_params [name | --list]\nWithout a name it counts seed_502m. Exit status 1 when the two counts differ.\n");
    return argc > 2 ? 2 : 0;
  }
  if (std::strcmp(name, "--list") == 0) {
    print_names(stdout);
    return 0;
  }
  const llm::Config* config = llm::configs::find(name);
  if (config == nullptr) {
    std::fprintf(stderr, "count_params: no config is named %s; there are\n", name);
    print_names(stderr);
    return 2;
  }
  print_report(name, *config);
  return all_equal ? 0 : 1;
}
