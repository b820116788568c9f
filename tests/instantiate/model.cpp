// The one translation unit that compiles the model.
#include "model.hpp"

LLM_INSTANTIATE(owned, llm::Trainable<float>, llm::Reference)
