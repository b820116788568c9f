// Writes inspect's report as one JSON object. A figure that there is none of is an object {"reason": ...}.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include <llm/io/json_fields.hpp>

#include "inspect_report.hpp"

namespace examples::inspect {

using Json = nlohmann::ordered_json;

inline Json json_of(const llm::ParameterCount& n) {
  return {{"embedding", n.embedding},
          {"positions", n.positions},
          {"attention_per_layer", n.attention_per_layer},
          {"mlp_per_layer", n.mlp_per_layer},
          {"router_per_layer", n.router_per_layer},
          {"expert", n.expert},
          {"shared_experts_per_layer", n.shared_experts_per_layer},
          {"norms_per_layer", n.norms_per_layer},
          {"dense_layers", n.dense_layers},
          {"moe_layers", n.moe_layers},
          {"final_norm", n.final_norm},
          {"head", n.head},
          {"total", n.total},
          {"active", n.active}};
}
inline Json json_of(const llm::TrainingState& s) {
  return {{"weights", s.weights}, {"gradients", s.gradients}, {"master", s.master}, {"m", s.m}, {"v", s.v}, {"total", s.total}};
}
inline Json json_of(const llm::TrainingMemory& m) {
  return {{"weights", m.weights},     {"optimizer", m.optimizer},     {"tables", m.tables},
          {"gradients", m.gradients}, {"activations", m.activations}, {"total", m.total}};
}
inline Json json_of(const llm::DecodeMemory& m) {
  return {{"weights", m.weights}, {"tables", m.tables}, {"cache", m.cache},
          {"prefill", m.prefill}, {"decode", m.decode}, {"total", m.total}};
}
inline Json json_of(const llm::DecodeReads& r) { return {{"weights", r.weights}, {"cache", r.cache}, {"total", r.total}}; }
inline Json json_of(const llm::FlopsPerToken& f) {
  return {{"matrices", f.matrices}, {"attention", f.attention}, {"forward", f.forward}, {"training", f.training}};
}
inline Json json_of(std::int64_t value) { return value; }
template <class T>
Json json_of(const Maybe<T>& figure) {
  return figure.value ? json_of(*figure.value) : Json{{"reason", figure.reason}};
}

inline Json json_of(const Files& files) {
  const llm::TensorCheck& c = files.check;
  Json dtypes = Json::object(), problems = Json::array();
  for (const auto& s : c.dtypes) dtypes[s.dtype] = {{"tensors", s.tensors}, {"elements", s.elements}, {"bytes", s.bytes}};
  for (const auto& p : c.problems) problems.push_back({{"fault", llm::to_string(p.fault)}, {"tensor", p.name}, {"text", p.text}});
  return {{"paths", files.paths}, {"matches", c.matches()}, {"parameters", c.parameters}, {"expected_parameters", c.expected_parameters},
          {"tensors", c.tensors}, {"copies", c.copies},     {"beside", c.beside},         {"dtypes", dtypes},
          {"problems", problems}, {"hint", c.hint}};
}

inline Json plan_json(const Report& r) {
  Json inference = Json::object(), training = Json::array();
  for (const Inference& i : r.inference)
    inference[std::string(llm::to_string(i.weights))] = {
        {"cache", llm::to_string(i.cache)}, {"largest_context", json_of(i.context)}, {"largest_sequences", json_of(i.sequences)}};
  for (const Training& t : r.training)
    training.push_back({{"type", llm::to_string(t.type)}, {"recompute", t.recompute}, {"largest_batch", json_of(t.largest_batch)}});
  return {{"memory", r.setting.memory}, {"inference", inference}, {"training", training}};
}

/// The report as text. Names of a file that are no UTF-8 have the wrong bytes replaced.
inline std::string json_text(const Report& r) {
  Json weights = Json::object(), caches = Json::object(), training = Json::array();
  for (const Weights& w : r.weights) weights[std::string(llm::to_string(w.type))] = json_of(w.bytes);
  for (const Cache& c : r.caches)
    caches[std::string(llm::to_string(c.type))] = {
        {"per_token", json_of(c.per_token)}, {"per_sequence", json_of(c.per_sequence)}, {"all", json_of(c.all)}};
  for (const Training& t : r.training)
    training.push_back({{"type", llm::to_string(t.type)}, {"recompute", t.recompute}, {"memory", json_of(t.memory)}});
  Json out{{"source", r.source},
           {"family", r.family},
           {"config", Json::parse(llm::config_to_json(r.config))},
           {"rope", llm::rope_convention(r.config.position)},
           {"unbuilt", r.unbuilt},
           {"context", r.setting.context},
           {"batch", r.setting.batch},
           {"parameters", json_of(r.parameters)},
           {"weight_bytes", weights},
           {"kv_cache_bytes", caches},
           {"generation_bf16", json_of(r.generation)},
           {"decode_reads_bf16", json_of(r.reads)},
           {"training_state", {{"f32", json_of(r.state_f32)}, {"bf16_mixed", json_of(r.state_mixed)}}},
           {"training_step", training},
           {"flops_per_token", json_of(r.flops)}};
  if (r.setting.memory > 0) out["plan"] = plan_json(r);
  if (r.files) out["files"] = json_of(*r.files);
  return out.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace examples::inspect
