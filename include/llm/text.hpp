// Front door: text, the character tokenizer, and the interface of all tokenizers; those of published models: <llm/tokenizer.hpp>.
#pragma once

#include <llm/text/char_tokenizer.hpp>
#include <llm/text/stream.hpp>
#include <llm/text/strip_ansi.hpp>
#include <llm/text/tokenizer.hpp>
#include <llm/text/utf8.hpp>
