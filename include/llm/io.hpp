// Front door: files of weights, and what writes them safely (adds a JSON library).
#pragma once

#include <llm/io/atomic_file.hpp>
#include <llm/io/gguf.hpp>
#include <llm/io/json_fields.hpp>
#include <llm/io/mapped_file.hpp>
#include <llm/io/safetensors.hpp>
