// The accountant: parameters, bytes and FLOPs of a Config in 64 bits, the same functions at compile time and at run time.
#pragma once

#include <llm/model/account_bytes.hpp>
#include <llm/model/account_parameters.hpp>
#include <llm/model/account_training.hpp>
