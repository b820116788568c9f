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
void line(const std::string& part, std::int64_t plain, std::int64_t library, std::int64_t whole) {
  const double share = 100.0 * static_cast<double>(plain) / static_cast<double>(whole);
  std::printf("  %-32s %18s %18s %7.1f %%%s\n", part.c_str(), grouped(plain).c_str(), grouped(library).c_str(), share,
              compare(plain, library));
}

void print_head(const std::string& title) { std::printf("%-34s %18s %18s %9s\n", title.c_str(), "plain formulas", "library", "share"); }

const char* mlp_name(const llm::Config& c) {
  if (c.mlp == llm::Mlp::swiglu) return "SwiGLU MLP";
  return c.mlp == llm::Mlp::geglu_tanh ? "GeGLU MLP" : "GELU MLP";
}

std::string norms_name(const llm::Config& c) {
  std::string name = c.norm_position == llm::NormPosition::sandwich ? "4 " : "2 ";
  name += c.norm == llm::Norm::layer_norm ? "LayerNorm" : "RMSNorm";
  if (c.qk_norm) name += ", q and k norm";
  if (c.mla.kv_rank > 0) name += ", latent norms";
  return name;
}

const char* attention_name(const llm::Config& c) { return c.mla.kv_rank > 0 ? "latent attention" : "attention (q, k, v, o)"; }

void print_dense_block(const llm::Config& c, const PlainCount& plain, const llm::ParameterCount& library) {
  print_head(plain.moe_layers == 0 ? "One block" : "One block with a dense MLP");
  line(attention_name(c), plain.attention, library.attention_per_layer, plain.block);
  line(mlp_name(c), plain.mlp, library.mlp_per_layer, plain.block);
  line(norms_name(c), plain.norms, library.norms_per_layer, plain.block);
  line("block", plain.block, library.block, plain.block);
}

void print_moe_block(const llm::Config& c, const PlainCount& plain, const llm::ParameterCount& library) {
  print_head("One block with experts");
  line(attention_name(c), plain.attention, library.attention_per_layer, plain.moe_block);
  line("router", plain.router, library.router_per_layer, plain.moe_block);
  line("one expert", plain.expert, library.expert, plain.moe_block);
  line("all " + std::to_string(c.experts.count) + " experts", c.experts.count * plain.expert, c.experts.count * library.expert,
       plain.moe_block);
  if (plain.shared_experts != 0) line("shared experts", plain.shared_experts, library.shared_experts_per_layer, plain.moe_block);
  line(norms_name(c), plain.norms, library.norms_per_layer, plain.moe_block);
  line("block", plain.moe_block, library.moe_block, plain.moe_block);
}

void print_parameters(const llm::Config& c, const PlainCount& plain, const PlainCount& mha) {
  const llm::ParameterCount library = llm::parameter_count(c);
  if (plain.dense_layers > 0) print_dense_block(c, plain, library);
  if (plain.dense_layers > 0 && plain.moe_layers > 0) std::printf("\n");
  if (plain.moe_layers > 0) print_moe_block(c, plain, library);
  if (c.kv_heads() != c.n_heads) std::printf("  attention, were it MHA           %18s\n", grouped(mha.attention).c_str());

  std::printf("\n");
  print_head("Whole model");
  line(c.tie_embeddings ? "embedding, shared with the head" : "embedding", plain.embedding, library.embedding, plain.total);
  if (plain.positions != 0) line("learned positions", plain.positions, library.positions, plain.total);
  if (plain.dense_layers > 0 && plain.moe_layers > 0) {
    line(std::to_string(plain.dense_layers) + " dense blocks", plain.dense_layers * plain.block, library.dense_layers * library.block,
         plain.total);
    line(std::to_string(plain.moe_layers) + " blocks with experts", plain.moe_layers * plain.moe_block,
         library.moe_layers * library.moe_block, plain.total);
  }
  line(std::to_string(c.n_layers) + " blocks", plain.blocks, library.blocks, plain.total);
  line("final norm", plain.final_norm, library.final_norm, plain.total);
  if (!c.tie_embeddings) line("head", plain.head, library.head, plain.total);
  line("total", plain.total, library.total, plain.total);
  if (plain.moe_layers > 0) line("active for a token", plain.active, library.active, plain.total);
}

/// `what`: how the cache is made; the two figures in it must be the library's for the config.
void print_cache(const char* what, const llm::Config& c, const PlainCount& plain) {
  const std::int64_t bytes = 2 * plain.kv_numbers_per_token;
  const std::int64_t sequence = bytes * c.max_seq_len;
  std::printf("  %s %12s B per token = %7.1f KB, %10.1f MB for %lld tokens%s%s\n", what, grouped(bytes).c_str(),
              static_cast<double>(bytes) / 1024.0, static_cast<double>(sequence) / 1e6, static_cast<long long>(c.max_seq_len),
              compare(bytes, llm::kv_cache_bytes_per_token(c, llm::DType::bf16)),
              compare(sequence, llm::kv_cache_bytes(c, llm::DType::bf16, c.max_seq_len)));
}

void print_heads_cache(llm::Config c, std::int64_t n_kv_heads, const PlainCount& plain) {
  c.n_kv_heads = n_kv_heads;
  char what[40];
  std::snprintf(what, sizeof what, "%-4s %3lld KV heads",
                n_kv_heads == c.n_heads ? "MHA"
                : n_kv_heads == 1       ? "MQA"
                                        : "GQA",
                static_cast<long long>(n_kv_heads));
  print_cache(what, c, plain);
}

void print_caches(const llm::Config& c, const PlainCount& plain, const PlainCount& mha) {
  if (c.mla.kv_rank > 0) {
    print_cache("MLA  a latent    ", c, plain);
    const std::int64_t heads = c.n_layers * c.n_heads * (c.mla.nope_dim + c.mla.rope_dim + c.mla.v_dim);
    std::printf("  %.1f times smaller than keys and values of %lld heads\n",
                static_cast<double>(heads) / static_cast<double>(plain.kv_numbers_per_token), static_cast<long long>(c.n_heads));
    return;
  }
  print_heads_cache(c, c.kv_heads(), plain);
  if (c.kv_heads() == c.n_heads) return;
  print_heads_cache(c, c.n_heads, mha);
  std::printf("  %.1f times smaller than MHA\n", static_cast<double>(c.n_heads) / static_cast<double>(c.kv_heads()));
}

void print_training_state(const llm::Config& c, const PlainCount& plain) {
  const llm::TrainingState library = llm::training_state(c, llm::TrainingPolicy::bf16_mixed);
  const struct {
    const char* part;
    std::int64_t bytes_per_parameter, library;
  } rows[] = {{"bf16 weights", 2, library.weights}, {"f32 gradients", 4, library.gradients}, {"f32 master weights", 4, library.master},
              {"AdamW first moment", 4, library.m}, {"AdamW second moment", 4, library.v},   {"total", 18, library.total}};
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
  print_caches(c, plain, mha);

  std::printf("\nTraining state (bf16 mixed precision, AdamW)\n");
  print_training_state(c, plain);
  std::printf("\n%s\n", all_equal ? "Both counts agree." : "The two counts DIFFER.");
}

/// Whether both counts agree in every part, in the whole and in the cache.
bool agree(const llm::Config& c) {
  const PlainCount plain(c, c.kv_heads());
  const llm::ParameterCount library = llm::parameter_count(c);
  const std::int64_t pairs[][2] = {{plain.embedding, library.embedding},
                                   {plain.positions, library.positions},
                                   {plain.attention, library.attention_per_layer},
                                   {plain.mlp, library.mlp_per_layer},
                                   {plain.router, library.router_per_layer},
                                   {plain.expert, library.expert},
                                   {plain.shared_experts, library.shared_experts_per_layer},
                                   {plain.norms, library.norms_per_layer},
                                   {plain.block, library.block},
                                   {plain.moe_block, library.moe_block},
                                   {plain.blocks, library.blocks},
                                   {plain.final_norm, library.final_norm},
                                   {plain.head, library.head},
                                   {plain.total, library.total},
                                   {plain.active, library.active},
                                   {2 * plain.kv_numbers_per_token, llm::kv_cache_bytes_per_token(c, llm::DType::bf16)}};
  for (const auto& [mine, theirs] : pairs)
    if (mine != theirs) return false;
  return true;
}

/// One line a model: its name, the library's count, the parameters that a token passes, and whether the plain formulas agree.
void print_all() {
  for (const auto& [name, config] : llm::configs::all) {
    const llm::ParameterCount library = llm::parameter_count(*config);
    const bool equal = agree(*config);
    all_equal = all_equal && equal;
    std::printf("%-20s %18s %18s active   %s\n", std::string(name).c_str(), grouped(library.total).c_str(), grouped(library.active).c_str(),
                equal ? "agree" : "DIFFERENT");
  }
}

void print_names(std::FILE* out) {
  for (const auto& entry : llm::configs::all) std::fprintf(out, "  %s\n", std::string(entry.name).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "seed_502m";
  if (argc > 2 || std::strcmp(name, "--help") == 0) {
    std::printf(
        "usage: count_params [name | --all | --list]\nWithout a name it counts seed_502m; --all gives a line for each config. "
        "Exit status 1 when the two counts differ.\n");
    return argc > 2 ? 2 : 0;
  }
  if (std::strcmp(name, "--list") == 0) {
    print_names(stdout);
    return 0;
  }
  if (std::strcmp(name, "--all") == 0) {
    print_all();
    return all_equal ? 0 : 1;
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
