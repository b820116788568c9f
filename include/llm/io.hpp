// Front door: files of models, checked, loaded and written (adds a JSON library).
#pragma once

#include <llm/io/atomic_file.hpp>
#include <llm/io/checkpoint_files.hpp>
#include <llm/io/config_header.hpp>
#include <llm/io/expected_tensors.hpp>
#include <llm/io/generation_config.hpp>
#include <llm/io/gguf.hpp>
#include <llm/io/gguf_model_writer.hpp>
#include <llm/io/hf_config.hpp>
#include <llm/io/json_fields.hpp>
#include <llm/io/load.hpp>
#include <llm/io/mapped_file.hpp>
#include <llm/io/quant_mixture.hpp>
#include <llm/io/safetensors.hpp>
#include <llm/io/safetensors_index.hpp>
#include <llm/io/save_gguf.hpp>
#include <llm/io/save_hf.hpp>
#include <llm/io/tensor_check.hpp>
