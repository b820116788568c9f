// Front door: conversations with a model, with its published tokenizer and chat template (adds a JSON library, PCRE2 and utf8proc).
#pragma once

#include <llm/generate/chat_session.hpp>
#include <llm/model.hpp>
#include <llm/tokenizer.hpp>
