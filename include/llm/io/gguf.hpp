// GGUF files, reading.
#pragma once

#include <llm/io/gguf_config.hpp>
#include <llm/io/gguf_reader.hpp>
