// What the kernels of every instruction set include; it stands before their namespaces open.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <llm/backend/concept.hpp>
#include <llm/backend/cpu/attention_view.hpp>
#include <llm/backend/cpu/blocks.hpp>
#include <llm/backend/cpu/matrix.hpp>
#include <llm/backend/cpu/packed.hpp>
#include <llm/backend/cpu/rounded_rows.hpp>
#include <llm/core/dtype.hpp>
#include <llm/core/quant.hpp>
#include <llm/detail/platform.hpp>
