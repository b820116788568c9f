// Rotary positions from GGUF metadata: scaling by keys and by the tensor of factors.
#include <llm/io/gguf_config_rope.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

#include <support/catch.hpp>
#include <support/gguf_model.hpp>

using namespace llm_test;

static auto says(const std::string& text) { return Catch::Contains(text); }

TEST_CASE("RoPE scaling by keys: none, linear, yarn; other kinds are errors [rope_llama3]") {
  const auto scaling = [](const GgufModel& model) { return model.read().config.rope_scaling; };
  CHECK(scaling(GgufModel("llama").text("rope.scaling.type", "none")) == llm::RopeScaling{});
  const llm::RopeScaling linear{.kind = llm::RopeScalingKind::linear, .factor = 4};
  CHECK(scaling(GgufModel("llama").text("rope.scaling.type", "linear").f32("rope.scaling.factor", 4)) == linear);
  CHECK(scaling(GgufModel("llama").f32("rope.scaling.factor", 4)) == linear);
  CHECK(scaling(GgufModel("llama").f32("rope.scale_linear", 4)) == linear);
  CHECK(scaling(GgufModel("llama").f32("rope.scale_linear", 1).flag("rope.scaling.finetuned", false)) == llm::RopeScaling{});
  const auto yarn = [] { return GgufModel("qwen2").text("rope.scaling.type", "yarn").f32("rope.scaling.factor", 4); };
  const llm::RopeScaling expected{
      .kind = llm::RopeScalingKind::yarn, .factor = 4, .original_max_seq_len = 32, .beta_fast = 16, .beta_slow = 2};
  CHECK(scaling(yarn()
                    .u32("rope.scaling.original_context_length", 32)
                    .f32("rope.scaling.yarn_beta_fast", 16)
                    .f32("rope.scaling.yarn_beta_slow", 2)
                    .f32("rope.scaling.yarn_attn_factor", 1)) == expected);
  CHECK_THAT(yarn().refusal(), says("key 'qwen2.rope.scaling.original_context_length' is missing"));
  CHECK_THAT(yarn().u32("rope.scaling.original_context_length", 32).f32("rope.scaling.attn_factor", 1.2f).refusal(),
             says("rope.scaling.attn_factor' is 1.2; only 1 is supported"));
  CHECK_THAT(GgufModel("llama").text("rope.scaling.type", "longrope").refusal(), says("is 'longrope', which is not known"));
  CHECK_THAT(GgufModel("llama").text("rope.scaling.type", "llama3").refusal(), says("is 'llama3', which is not known"));
  CHECK_THAT(GgufModel("llama").text("rope.scaling.type", "").refusal(), says("is '', which is not known"));
  CHECK_THAT(GgufModel("llama").u32("rope.scaling.type", 1).refusal(), says("is no string"));
}

/// The divisors that Llama 3.1's published formula gives for heads of 16, written out on its own.
static std::vector<float> llama3_divisors(double factor, double first_context, double theta) {
  std::vector<float> out;
  for (int i = 0; i < 8; ++i) {
    const double frequency = std::pow(theta, -i / 8.0), wavelength = 2 * 3.14159265358979 / frequency;
    double scaled = frequency;
    if (wavelength > first_context) {
      scaled = frequency / factor;
    } else if (wavelength >= first_context / 4) {
      const double smooth = (first_context / wavelength - 1) / 3;
      scaled = (1 - smooth) * frequency / factor + smooth * frequency;
    }
    out.push_back(static_cast<float>(frequency / scaled));
  }
  return out;
}

TEST_CASE("llama3 scaling is recognised by the tensor of factors, and nothing else is [rope_llama3]") {
  const auto with = [](const std::vector<float>& factors, std::uint32_t type = 0) {
    GgufModel model("llama");
    model.f32("rope.freq_base", 500000);
    model.builder.tensor("rope_freqs.weight", {factors.size()}, type, gguf_floats(factors));
    return model;
  };
  for (const double factor : {8.0, 32.0}) {
    const llm::RopeScaling expected{.kind = llm::RopeScalingKind::llama3, .factor = factor, .original_max_seq_len = 8192};
    CHECK(with(llama3_divisors(factor, 8192, 500000)).read().config.rope_scaling == expected);
  }
  CHECK(with(std::vector<float>(8, 1.f)).read().config.rope_scaling == llm::RopeScaling{});
  for (const std::int64_t context : {64, 4096, 16384, 6000}) {
    const llm::RopeScaling expected{.kind = llm::RopeScalingKind::llama3, .factor = 8, .original_max_seq_len = context};
    CHECK(with(llama3_divisors(8, static_cast<double>(context), 500000)).read().config.rope_scaling == expected);
  }
  CHECK_THAT(with({1, 8, 1, 8, 1, 8, 1, 8}).refusal(), says("factors other than those of Llama 3's scaling"));
  CHECK_THAT(with({1, 1, 3, 2, 8, 8, 8, 8}).refusal(), says("factors other than those"));
  CHECK_THAT(with({1, 1, 1, 1, 1, 1, 1, 2e6f}).refusal(), says("outside 1 ... 1e6"));
  CHECK_THAT(with({0, 1, 1, 1, 1, 1, 1, 8}).refusal(), says("outside 1 ... 1e6"));
  CHECK_THAT(with({std::nanf(""), 1, 1, 1, 1, 1, 1, 8}).refusal(), says("outside 1 ... 1e6"));
  CHECK_THAT(with({1, 1, 1, 8}).refusal(), says("must hold one f32 for each of the 8 rotated pairs"));
  CHECK_THAT(with(llama3_divisors(8, 8192, 500000), 26).refusal(), says("must hold one f32"));
  CHECK_THAT(with(llama3_divisors(8, 8192, 500000)).text("rope.scaling.type", "linear").f32("rope.scaling.factor", 2).refusal(),
             says("both scale RoPE"));
}

TEST_CASE("a table of frequencies for absurdly wide heads is refused unread") {
  const auto wide = [](std::uint32_t width) {
    GgufModel model("llama", {"rope.dimension_count"});
    model.u32("attention.key_length", width).zeros("rope_freqs.weight", {width / 2});
    return model.refusal();
  };
  CHECK_THAT(wide(65536), says("factors outside 1"));
  CHECK_THAT(wide(65538), says("rope.dimension_count' is 65538, more than the limit of 65536"));
}
