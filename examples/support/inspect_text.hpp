// Prints inspect's report as tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <string_view>

#include <llm/model/config_fields.hpp>

#include "inspect_report.hpp"
#include "plain_count.hpp"
#include "units.hpp"

namespace examples::inspect {

/// A label and the text of a figure.
inline void line(std::string_view label, std::string_view text) {
  std::printf("  %-28.*s %s\n", static_cast<int>(label.size()), label.data(), std::string(text).c_str());
}

/// Why there is no figure, without the function that says so.
template <class T>
std::string reason_of(const Maybe<T>& figure) {
  const std::size_t end = figure.reason.starts_with("llm::") ? figure.reason.find(": ") : std::string::npos;
  return end == std::string::npos ? figure.reason : figure.reason.substr(end + 2);
}

inline std::string text_of(const Maybe<std::int64_t>& bytes) { return bytes.value ? bytes_text(*bytes.value) : reason_of(bytes); }

/// Text of a file for a terminal.
inline std::string shown(std::string_view text) {
  const std::string quoted = llm::detail::in_quotes(text);
  return quoted.substr(1, quoted.size() - 2);
}

/// The fields that are not the default, and those without one.
inline std::string fields_text(const llm::Config& config) {
  std::string out;
  llm::for_each_difference(config, llm::Config{}, [&](const char* field, const auto& value, const auto&) {
    out += llm::detail::concat(out.empty() ? "" : " ", field, "=", llm::detail::field_text(value));
  });
  return out;
}

inline void print_config(const Report& r) {
  std::printf("%s%s%s\n", shown(r.source).c_str(), r.family.empty() ? "" : ": ", r.family.c_str());
  line("config", fields_text(r.config));
  std::printf("  rope: %s\n", std::string(llm::rope_convention(r.config.position)).c_str());
  line("llm::LLM builds it", r.unbuilt.empty() ? "yes" : "no");
  for (const std::string& sentence : r.unbuilt) line("", sentence);
}

inline void print_parameters(const Report& r) {
  const llm::ParameterCount& n = r.parameters;
  const auto row = [&](std::string_view part, std::int64_t count) {
    if (count == 0) return;
    std::printf("  %-28.*s %17s %6.1f %%\n", static_cast<int>(part.size()), part.data(), grouped(count).c_str(),
                100.0 * static_cast<double>(count) / static_cast<double>(n.total));
  };
  const std::int64_t layers = r.config.n_layers;
  std::printf("\nParameters\n");
  row(r.config.tie_embeddings ? "embedding, also the head" : "embedding", n.embedding);
  row("learned positions", n.positions);
  row("attention", layers * n.attention_per_layer);
  row("MLP", n.dense_layers * n.mlp_per_layer);
  row("routers", n.moe_layers * n.router_per_layer);
  row("experts", n.moe_layers * r.config.experts.count * n.expert);
  row("shared experts", n.moe_layers * n.shared_experts_per_layer);
  row("norms", layers * n.norms_per_layer + n.final_norm);
  row("head", n.head);
  row("total", n.total);
  if (n.active != n.total) row("active for a token", n.active);
}

inline void print_bytes(const Report& r) {
  std::printf("\nWeights\n");
  for (const Weights& w : r.weights) line(llm::to_string(w.type), text_of(w.bytes));
  std::printf("\nKV cache (a token, a sequence of %s, %s of them)\n", grouped(r.setting.context).c_str(), grouped(r.setting.batch).c_str());
  for (const Cache& c : r.caches)
    line(llm::to_string(c.type),
         c.per_token.value ? llm::detail::concat(grouped(*c.per_token.value), " B, ", text_of(c.per_sequence), ", ", text_of(c.all))
                           : reason_of(c.per_token));
  std::printf("\nGeneration in bf16, prompts of %s tokens for %s sequences\n", grouped(r.setting.context).c_str(),
              grouped(r.setting.batch).c_str());
  if (const auto& g = r.generation.value)
    line("activations", llm::detail::concat(bytes_text(g->prefill), " for the prompts, ", bytes_text(g->decode), " for a token each"));
  if (const auto& g = r.generation.value) line("with weights and cache", bytes_text(g->total));
  if (const auto& reads = r.reads.value)
    line("read for a token each",
         llm::detail::concat(bytes_text(reads->total), ": weights ", bytes_text(reads->weights), ", cache ", bytes_text(reads->cache)));
  if (!r.unbuilt.empty()) line("activations", "not known: llm::LLM does not build this model");
}

inline std::string_view policy_text(llm::DType type) { return type == llm::DType::f32 ? "f32" : "bf16 + f32 master"; }

inline void print_training(const Report& r) {
  std::printf("\nTraining with AdamW, without activations\n");
  for (const auto* s : {&r.state_f32, &r.state_mixed})
    line(policy_text(s->master == 0 ? llm::DType::f32 : llm::DType::bf16),
         llm::detail::concat(bytes_text(s->total), ": weights ", bytes_text(s->weights), ", gradients ", bytes_text(s->gradients),
                             s->master == 0 ? "" : ", master ", s->master == 0 ? "" : bytes_text(s->master), ", moments ",
                             bytes_text(s->m + s->v)));
  std::printf("\nA training step of %s x %s tokens\n", grouped(r.setting.batch).c_str(), grouped(r.setting.context).c_str());
  if (!r.unbuilt.empty()) return line("", "not known: llm::LLM does not build this model");
  for (const Training& t : r.training)
    line(llm::detail::concat(policy_text(t.type), t.recompute ? ", recompute" : ""),
         t.memory.value
             ? llm::detail::concat(bytes_text(t.memory.value->total), " at its peak, of it gradients ",
                                   bytes_text(t.memory.value->gradients), ", activations ", bytes_text(t.memory.value->activations))
             : reason_of(t.memory));
}

inline void print_flops(const Report& r) {
  const llm::FlopsPerToken& f = r.flops;
  std::printf("\nFLOPs for a token that attends to %s positions\n", grouped(r.setting.context).c_str());
  const auto row = [&](std::string_view what, std::int64_t flops) { line(what, grouped(flops)); };
  row("matrices", f.matrices);
  row("attention", f.attention);
  row("forward", f.forward);
  row("training", f.training);
}

/// What a number of positions, sequences or a batch means when it is 0.
inline std::string fits(const Maybe<std::int64_t>& most, std::string_view one, std::string_view many) {
  if (!most.value) return reason_of(most);
  if (*most.value == 0) return "does not fit";
  return llm::detail::concat(grouped(*most.value), " ", *most.value == 1 ? one : many);
}

inline void print_plan(const Report& r) {
  if (r.setting.memory == 0) return;
  const std::string context = grouped(r.setting.context), batch = grouped(r.setting.batch);
  std::printf("\nWhat fits %s\n", bytes_text(r.setting.memory).c_str());
  for (const Inference& i : r.inference) {
    const std::string label = llm::detail::concat("inference, ", llm::to_string(i.weights));
    if (!i.context.value || *i.context.value == 0) {
      line(label, fits(i.context, "", ""));
      continue;
    }
    const std::string sequences = i.sequences.value == 0 ? "none" : fits(i.sequences, "sequence", "sequences");
    line(label, llm::detail::concat("context ", grouped(*i.context.value), " for ", batch, ", or ", sequences, " of ", context));
  }
  for (const Training& t : r.training) {
    const std::string label = llm::detail::concat("training, ", llm::to_string(t.type), t.recompute ? ", recompute" : "");
    line(label, !r.unbuilt.empty()            ? "not known: llm::LLM does not build this model"
                : !t.largest_batch.value      ? reason_of(t.largest_batch)
                : *t.largest_batch.value == 0 ? "does not fit"
                                              : llm::detail::concat("batch ", grouped(*t.largest_batch.value), " of ", context));
  }
  line("", "inference: weights and bf16 cache; activations come on top");
}

inline void print_files(const Report& r) {
  if (!r.files) return;
  const llm::TensorCheck& c = r.files->check;
  std::printf("\nTensors of the files\n");
  line("tensors", llm::detail::concat(grouped(c.tensors), c.copies == 0 ? "" : ", and the tied head once more",
                                      c.beside == 0 ? "" : ", and " + grouped(c.beside) + " beside the model"));
  line("parameters", llm::detail::concat(grouped(c.parameters), ", expected ", grouped(c.expected_parameters)));
  for (const llm::DTypeShare& share : c.dtypes)
    line(shown(share.dtype), llm::detail::concat(grouped(share.elements), " in ", grouped(share.tensors),
                                                 share.tensors == 1 ? " tensor, " : " tensors, ", bytes_text(share.bytes)));
  for (const llm::TensorProblem& problem : c.problems) std::printf("  %s\n", problem.text.c_str());
  const std::int64_t all = std::accumulate(c.faults.begin(), c.faults.end(), std::int64_t{0});
  const std::int64_t unlisted = all - static_cast<std::int64_t>(c.problems.size());
  if (unlisted > 0) std::printf("  ... and %s more\n", grouped(unlisted).c_str());
  if (!c.hint.empty()) line("hint", c.hint);
  line("the files", c.matches() ? "match the config" : "DO NOT MATCH the config");
}

inline void print(const Report& r) {
  print_config(r);
  print_parameters(r);
  print_bytes(r);
  print_training(r);
  print_flops(r);
  print_plan(r);
  print_files(r);
}

}  // namespace examples::inspect
