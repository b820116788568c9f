// The accountant: parameters, bytes, FLOPs, peaks of memory and plans of a Config in 64 bits, the same functions at compile time and at
// run time.
#pragma once

#include <llm/model/account_activations.hpp>
#include <llm/model/account_bytes.hpp>
#include <llm/model/account_parameters.hpp>
#include <llm/model/account_plan.hpp>
#include <llm/model/account_training.hpp>
