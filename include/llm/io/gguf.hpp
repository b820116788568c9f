// GGUF files, reading and writing.
#pragma once

#include <llm/io/gguf_config.hpp>
#include <llm/io/gguf_config_writer.hpp>
#include <llm/io/gguf_metadata.hpp>
#include <llm/io/gguf_reader.hpp>
#include <llm/io/gguf_writer.hpp>
