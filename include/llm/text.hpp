// Front door: tokenizers and text.
#pragma once

#include <llm/text/char_tokenizer.hpp>
#include <llm/text/stream.hpp>
#include <llm/text/strip_ansi.hpp>
#include <llm/text/utf8.hpp>
