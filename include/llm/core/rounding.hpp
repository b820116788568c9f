// The order of rounding and gain in RMSNorm when elements are narrower than f32.
#pragma once

#include <cstdint>

namespace llm {

/// round_then_gain: bf16(n) * gain, rounded again, as Llama. gain_then_round: bf16(n * gain), the product taken in f32.
/// Without effect for f32 and f64.
enum class Rounding : std::uint8_t { round_then_gain, gain_then_round };

}  // namespace llm
