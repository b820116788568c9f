// Front door: the tokenizers and chat templates of published models, read from their files (adds a JSON library, PCRE2 and utf8proc).
#pragma once

#include <llm/io/chat_file.hpp>
#include <llm/io/tokenizer_file.hpp>
#include <llm/io/tokenizer_gguf.hpp>
#include <llm/io/tokenizer_gguf_writer.hpp>
#include <llm/io/tokenizer_json.hpp>
#include <llm/io/tokenizer_sentencepiece.hpp>
#include <llm/text.hpp>
#include <llm/text/bpe/bpe_tokenizer.hpp>
#include <llm/text/bpe/gguf_vocabulary.hpp>
#include <llm/text/bpe/patterns.hpp>
#include <llm/text/bpe/to_gguf.hpp>
#include <llm/text/chat.hpp>
#include <llm/text/tokenizer.hpp>
