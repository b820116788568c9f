// Models from files as the world publishes them: safetensors, Hugging Face directories, GGUF.
#pragma once

#include <string>

#include <llm/io/load_plan.hpp>
#include <llm/model/llm.hpp>

namespace llm {

/// A model for inference from its files: `auto model = llm::load<llm::configs::smollm2_135m>("SmolLM2-135M-Instruct.Q4_1.gguf")`.
/// The path may be a Hugging Face directory (config.json with model.safetensors, or with shards and their index), a .safetensors file with
/// its config.json beside it, a .gguf file, or a checkpoint of this library.
///
/// Matrices keep the files' formats (f64 becomes f32), vectors become f32. The files fit C when every field of their config is equal.
/// Translated are: the convention of RoPE (rows of q and k change places), transposed and joined matrices, gains stored with or without
/// their 1. C may have a smaller max_seq_len. A head that C ties to the embedding may stand in the files once more, as an equal copy.
///
/// Throws FileError, naming the file and the tensors, when something cannot be read, or tensors are missing, too many, misshaped, twice
/// there or different copies; ConfigError naming the fields in which the configs differ. Files are read once; what is read is let go.
template <const Config& C, class Backend = Cpu>
LLM<C, Frozen, Backend> load(const std::string& path, const LoadOptions& options = {}) {
  return detail::model_from<LLM<C, Frozen, Backend>>(path, options);
}

/// The same with weights that can be trained: all elements become T (float, double or bf16), rounded once.
template <const Config& C, class T = float, class Backend = Cpu>
LLM<C, Trainable<T>, Backend> load_trainable(const std::string& path, const LoadOptions& options = {}) {
  return detail::model_from<LLM<C, Trainable<T>, Backend>>(path, options);
}

}  // namespace llm
