// Safetensors files, reading and writing.
#pragma once

#include <llm/io/safetensors_reader.hpp>
#include <llm/io/safetensors_writer.hpp>
