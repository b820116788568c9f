// Puts a tokenizer into the metadata of a GGUF file: the inverse of read_gguf_tokenizer.
// Source: ggml-org/ggml, docs/gguf.md, "Tokenizer".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/io/gguf_metadata.hpp>
#include <llm/text/bpe/bpe_tokenizer.hpp>
#include <llm/text/bpe/to_gguf.hpp>

namespace llm {

/// Sets the keys tokenizer.ggml.*. `vocab_size` is the model's: embeddings beyond the tokenizer's ids get tokens that are never used.
/// Throws ValueError when the model has fewer embeddings than the tokenizer ids, and when GGUF cannot say what the tokenizer does.
inline void set_gguf_tokenizer(GgufMetadata& out, const BpeTokenizer& tokenizer, std::int64_t vocab_size) {
  GgufTokenizerKeys keys = to_gguf(tokenizer);
  GgufVocabulary& values = keys.values;
  const auto have = static_cast<std::int64_t>(keys.tokens.size());
  if (have > vocab_size)
    throw ValueError(detail::concat("llm::set_gguf_tokenizer: the tokenizer has ", have, " ids, the model ", vocab_size, " embeddings"));
  for (std::int64_t id = have; id < vocab_size; ++id) {
    keys.tokens.push_back(detail::concat("[PAD", id, "]"));
    values.types.push_back(GgufVocabulary::unused);
    if (!values.scores.empty()) values.scores.push_back(-1e9f);
  }
  const auto set = [&](std::string_view name, OwnedGgufValue value) { out.set(detail::concat("tokenizer.ggml.", name), std::move(value)); };
  set("model", values.model);
  if (!values.pre.empty()) set("pre", values.pre);
  set("tokens", OwnedGgufValue::array(keys.tokens));
  set("token_type", OwnedGgufValue::array(std::vector<std::int32_t>(values.types.begin(), values.types.end())));
  if (!values.scores.empty()) set("scores", OwnedGgufValue::array(values.scores));
  if (!keys.merges.empty()) set("merges", OwnedGgufValue::array(keys.merges));
  const auto set_id = [&](std::string_view name, std::int64_t id) { set(name, static_cast<std::uint32_t>(id)); };
  if (values.bos_id) set_id("bos_token_id", *values.bos_id);
  for (std::size_t i = 0; i < values.eos_ids.size(); ++i) set_id(GgufVocabulary::eos_keys[i], values.eos_ids[i]);
  if (values.unknown_id) set_id("unknown_token_id", *values.unknown_id);
  if (values.add_bos) set("add_bos_token", *values.add_bos);
  if (values.add_eos) set("add_eos_token", *values.add_eos);
  if (values.model == "llama") set("add_space_prefix", values.add_space_prefix);
}

}  // namespace llm
