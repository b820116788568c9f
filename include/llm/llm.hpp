// Front door: everything but the CUDA backend and the tokenizers of published models, <llm/tokenizer.hpp>, which need more libraries.
// The other front doors are quicker to compile.
#pragma once

#include <llm/autograd/gradient_check.hpp>
#include <llm/backend/reference/reference.hpp>
#include <llm/configs/all.hpp>
#include <llm/io.hpp>
#include <llm/model.hpp>
#include <llm/model/instantiate.hpp>
#include <llm/model/verify.hpp>
#include <llm/text.hpp>
#include <llm/train.hpp>
#include <llm/version.hpp>
