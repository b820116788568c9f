// A model whose code lives in model.cpp alone.
#pragma once

#include <llm/backend/reference/reference.hpp>
#include <llm/model/instantiate.hpp>

inline constexpr llm::Config owned{
    .vocab_size = 97, .d_model = 48, .n_layers = 2, .n_heads = 6, .n_kv_heads = 2, .ffn_dim = 128, .max_seq_len = 32};
using Owned = llm::LLM<owned, llm::Trainable<float>, llm::Reference>;
LLM_DECLARE(owned, llm::Trainable<float>, llm::Reference)
