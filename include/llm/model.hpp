// Front door: Config, its arithmetic, LLM<config>, and generation on token ids.
#pragma once

#include <llm/backend/cpu/cpu.hpp>
#include <llm/generate/generate.hpp>
#include <llm/model/llm.hpp>
