// RoPE's frequencies, stretched: an independent formula, the numbers of Hugging Face transformers, the tables made of them, bad scalings.
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <llm/backend/cpu/cpu.hpp>
#include <llm/backend/reference/reference.hpp>
#include <llm/ops/rope.hpp>
#include <llm/ops/rope_frequencies.hpp>
#include <support/catch.hpp>

namespace {

using Kind = llm::RopeScalingKind;
using Radians = std::vector<double>;

constexpr llm::RopeScaling llama3(double factor, std::int64_t original) {
  return {.kind = Kind::llama3, .factor = factor, .original_max_seq_len = original, .low_freq_factor = 1.0, .high_freq_factor = 4.0};
}

/// Llama 3.1's rule, by the wavelength in positions.
double llama3_radians(std::int64_t pair, std::int64_t width, double theta, const llm::RopeScaling& s) {
  const double plain = std::exp(-std::log(theta) * 2.0 * static_cast<double>(pair) / static_cast<double>(width));
  const double wavelength = 2.0 * std::numbers::pi / plain, original = static_cast<double>(s.original_max_seq_len);
  if (wavelength < original / s.high_freq_factor) return plain;
  if (wavelength > original / s.low_freq_factor) return plain / s.factor;
  const double smooth = (original / wavelength - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
  return (1.0 - smooth) * plain / s.factor + smooth * plain;
}

void check(const llm::RopeFrequencies& found, const Radians& radians, double amplitude) {
  REQUIRE(found.radians.size() == radians.size());
  for (std::size_t i = 0; i < radians.size(); ++i) {
    INFO("pair " << i << ": " << found.radians[i] << ", expected " << radians[i]);
    CHECK(std::abs(found.radians[i] - radians[i]) <= 1e-13 * radians[i]);
  }
  CHECK(std::abs(found.amplitude - amplitude) <= 1e-14);
}

llm::RopeScaling yarn(double factor, std::int64_t original) {
  return {.kind = Kind::yarn, .factor = factor, .original_max_seq_len = original};
}

}  // namespace

TEST_CASE("llama3 frequencies are those of an independent formula, for factors 8 and 32 [rope_llama3]") {
  for (const double factor : {8.0, 32.0})
    for (const std::int64_t width : {64, 128}) {
      const auto s = llama3(factor, 8192);
      Radians expected;
      std::int64_t kept = 0, stretched = 0;
      for (std::int64_t i = 0; i < width / 2; ++i) {
        expected.push_back(llama3_radians(i, width, 500000.0, s));
        const double ratio = expected.back() / std::pow(500000.0, -2.0 * static_cast<double>(i) / static_cast<double>(width));
        kept += ratio > 1.0 - 1e-12;
        stretched += ratio < (1.0 + 1e-12) / factor;
      }
      REQUIRE(kept > 0);  // all three ranges occur
      REQUIRE(stretched > 0);
      REQUIRE(kept + stretched < width / 2);
      check(llm::rope_frequencies(width, 500000.0, s), expected, 1.0);
    }
}

// The numbers below are what ROPE_INIT_FUNCTIONS of transformers 5.24 returns when torch.float and torch.float32 stand for torch.float64.
TEST_CASE("linear and llama3 frequencies are those of transformers [rope_llama3]") {
  check(llm::rope_frequencies(16, 10000.0, {.kind = Kind::linear, .factor = 4.0}),
        {0.25, 0.0790569415042095, 0.025, 0.00790569415042095, 0.0025, 0.000790569415042095, 0.00025, 7.90569415042095e-05}, 1.0);
  check(llm::rope_frequencies(16, 500000.0, llama3(8.0, 64)),
        {1, 0.0794030091792082, 0.00470075386635799, 0.000911583092152139, 0.000176776695296637, 3.42810219595259e-05, 6.64786987118124e-06,
         1.28917317215156e-06},
        1.0);
  check(llm::rope_frequencies(64, 500000.0, llama3(32.0, 8192)),  // Llama 3.2 1B
        {1,
         0.663601237696088,
         0.44036660267178,
         0.292227822573015,
         0.193922744748686,
         0.128687373432651,
         0.0853971002857656,
         0.056669621445291,
         0.0376060309308639,
         0.0249554086705587,
         0.0165604400809944,
         0.0109895285345398,
         0.00729266473721711,
         0.00483942134571989,
         0.00321144599475259,
         0.00129054792820926,
         0.000429556796559368,
         9.70828780262767e-05,
         1.94616381848311e-05,
         1.29147671870474e-05,
         8.57025548988148e-06,
         5.68723215045705e-06,
         3.77405429410828e-06,
         2.50446710070249e-06,
         1.66196746779531e-06,
         1.1028836686396e-06,
         7.31874967544042e-07,
         4.85673134301011e-07,
         3.22293293037889e-07,
         2.13874228161092e-07,
         1.41927202518996e-07,
         9.41830672543491e-08},
        1.0);
}

TEST_CASE("yarn frequencies and amplitude are those of transformers") {
  SECTION("factor alone, as Qwen's long contexts") {
    check(llm::rope_frequencies(32, 1000000.0, yarn(4.0, 32768)),
          {1, 0.421696503428582, 0.177827941003892, 0.0749894209332456, 0.0316227766016838, 0.0133352143216332, 0.00477990126411797,
           0.00165996159396316, 0.00055, 0.000168678601371433, 4.44569852509731e-05, 1.87473552333114e-05, 7.90569415042095e-06,
           3.33380358040831e-06, 1.40585331297587e-06, 5.92843426415414e-07},
          1.138629436111989);
  }
  SECTION("mscale equal to mscale_all_dim, as DeepSeek-V2: they cancel") {
    llm::RopeScaling s = yarn(40.0, 4096);
    s.mscale = s.mscale_all_dim = 0.707;
    check(llm::rope_frequencies(64, 10000.0, s),
          {1,
           0.749894209332456,
           0.562341325190349,
           0.421696503428582,
           0.316227766016838,
           0.237137370566166,
           0.177827941003892,
           0.133352143216332,
           0.1,
           0.0749894209332456,
           0.0562341325190349,
           0.0390069265671439,
           0.0268793601114312,
           0.0183781462188778,
           0.0124479558702725,
           0.00833450895102078,
           0.0055,
           0.00356199749432917,
           0.0022493653007614,
           0.00137051363614289,
           0.000790569415042095,
           0.00041499039849079,
           0.000177827941003892,
           3.33380358040831e-05,
           2.5e-05,
           1.87473552333114e-05,
           1.40585331297587e-05,
           1.05424125857146e-05,
           7.90569415042095e-06,
           5.92843426415414e-06,
           4.44569852509731e-06,
           3.33380358040831e-06},
          1.0);
  }
  SECTION("mscale, mscale_all_dim and both betas") {
    llm::RopeScaling s = yarn(40.0, 4096);
    s.mscale = 1.0;
    s.mscale_all_dim = 0.5;
    s.beta_fast = 16.0;
    s.beta_slow = 2.0;
    check(llm::rope_frequencies(16, 10000.0, s),
          {1, 0.316227766016838, 0.1, 0.0316227766016838, 0.00675, 0.00110679718105893, 2.5e-05, 7.90569415042095e-06}, 1.1557219901962608);
  }
  SECTION("mscale without mscale_all_dim counts for nothing, nor does the reverse") {
    const Radians expected{1, 0.316227766016838, 0.1, 0.0239147248050234, 0.005125, 0.000849862121170252, 2.5e-05, 7.90569415042095e-06};
    llm::RopeScaling s = yarn(40.0, 4096);
    s.mscale = 2.0;
    check(llm::rope_frequencies(16, 10000.0, s), expected, 1.3688879454113936);
    s.mscale = 0.0;
    s.mscale_all_dim = 2.0;
    check(llm::rope_frequencies(16, 10000.0, s), expected, 1.3688879454113936);
  }
  SECTION("attention_factor goes before the factor's own, and before mscale") {
    llm::RopeScaling s = yarn(16.0, 512);
    s.attention_factor = 1.25;
    const Radians expected{1,        0.242111883356642,    0.053125, 0.00938801180362487,
                           0.000625, 0.000197642353760524, 6.25e-05, 1.97642353760524e-05};
    check(llm::rope_frequencies(16, 10000.0, s), expected, 1.25);
    s.mscale = 1.0;
    s.mscale_all_dim = 0.5;
    check(llm::rope_frequencies(16, 10000.0, s), expected, 1.25);
  }
  SECTION("bounds between two pairs, as gpt-oss") {
    llm::RopeScaling s = yarn(32.0, 4096);
    s.truncate = false;
    check(llm::rope_frequencies(32, 150000.0, s),
          {1, 0.474782055476901, 0.225418000202871, 0.107024421477811, 0.0508132748154615, 0.0193350011265404, 0.00679495948973222,
           0.00209379237896969, 0.000456483919223241, 3.83088123737534e-05, 1.81883366816896e-05, 8.63549587543848e-06,
           4.09997848180298e-06, 1.94659621100148e-06, 9.2420895024283e-07, 4.3879782508644e-07},
          1.3465735902799727);
  }
  SECTION("bounds at one place: a step, no division by zero") {
    check(llm::rope_frequencies(8, 10000.0, yarn(8.0, 6)), {1, 0.0125, 0.00125, 0.000125}, 1.2079441541679836);
    llm::RopeScaling s = yarn(8.0, 4096);
    s.truncate = false;
    s.beta_fast = s.beta_slow = 4.0;
    check(llm::rope_frequencies(16, 10000.0, s),
          {1, 0.316227766016838, 0.1, 0.0316227766016838, 0.01, 0.000395284707521047, 0.000125, 3.95284707521047e-05}, 1.2079441541679836);
  }
  SECTION("the upper bound ends at the last dimension") {
    llm::RopeScaling s = yarn(8.0, 2400);
    s.beta_slow = 0.1;
    check(llm::rope_frequencies(8, 100.0, s), {1, 0.316227766016838, 0.1, 0.0260887906963891}, 1.2079441541679836);
  }
  SECTION("a factor of 1 changes nothing") { check(llm::rope_frequencies(8, 10000.0, yarn(1.0, 128)), {1, 0.1, 0.01, 0.001}, 1.0); }
}

TEMPLATE_TEST_CASE("Scaled tables at long positions are those of double [rope_fp32]", "", llm::Reference, llm::Cpu) {
  constexpr std::int64_t width = 128, positions = 15963;
  constexpr double theta = 500000.0;
  const llm::RopeScaling linear{.kind = Kind::linear, .factor = 4.0};
  for (const auto& scaling : {linear, llama3(8.0, 8192), llama3(32.0, 8192), yarn(4.0, 4096)}) {
    const auto tables = llm::RopeTables<width, TestType>::build(positions, theta, false, scaling);
    const auto frequencies = llm::rope_frequencies(width, theta, scaling);
    const auto cosine = tables.cos.to_vector(), sine = tables.sin.to_vector();
    for (const std::int64_t position : {4095, 15962})
      for (std::int64_t i = 0; i < width / 2; ++i) {
        const double radians =
            scaling.kind == Kind::llama3 ? llama3_radians(i, width, theta, scaling) : frequencies.radians[static_cast<std::size_t>(i)];
        const double angle = static_cast<double>(position) * radians;
        const auto at = static_cast<std::size_t>(position * width / 2 + i);
        REQUIRE(std::abs(static_cast<double>(cosine[at]) - frequencies.amplitude * std::cos(angle)) < 1e-5);
        REQUIRE(std::abs(static_cast<double>(sine[at]) - frequencies.amplitude * std::sin(angle)) < 1e-5);
      }
  }
}

TEST_CASE("Yarn's amplitude multiplies cos and sin") {
  const auto tables = llm::RopeTables<8, llm::Cpu>::build(2, 10000.0, false, yarn(8.0, 6));
  CHECK(tables.cos.to_vector()[0] == Approx(1.2079441541679836));
  CHECK(tables.sin.to_vector()[4] == Approx(1.2079441541679836 * std::sin(1.0)));
}

TEST_CASE("Without scaling the frequencies are RoPE's own, whatever the other fields hold") {
  llm::RopeScaling s = yarn(0.0, -1);
  s.kind = Kind::none;
  check(llm::rope_frequencies(8, 10000.0, s), {1, 0.1, 0.01, 0.001}, 1.0);
}

TEST_CASE("A scaling without meaning is an error that names the field") {
  const auto rejected = [](llm::RopeScaling s, const char* field, double theta = 10000.0) {
    INFO(field);
    CHECK_THROWS_AS(llm::rope_frequencies(8, theta, s), llm::ValueError);
    CHECK_THROWS_WITH(llm::rope_frequencies(8, theta, s), Catch::Contains(field));
    CHECK_THROWS_AS((llm::RopeTables<8, llm::Cpu>::build(2, theta, false, s)), llm::ValueError);
  };
  const auto with = [](llm::RopeScaling s, auto field, auto value) {
    s.*field = value;
    return s;
  };
  using S = llm::RopeScaling;
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const S linear{.kind = Kind::linear, .factor = 4.0}, llama = llama3(8.0, 8192), y = yarn(8.0, 4096);
  for (const double factor : {0.0, -1.0, nan, infinity})
    for (const S& s : {linear, llama, y}) rejected(with(s, &S::factor, factor), "factor must be greater than 0 and finite, found");
  for (const S& s : {llama, y})
    rejected(with(s, &S::original_max_seq_len, std::int64_t{0}), "original_max_seq_len must be at least 1, found 0");
  rejected(with(llama, &S::low_freq_factor, 0.0), "low_freq_factor must be greater than 0");
  for (const double high : {1.0, 0.5, nan, infinity}) rejected(with(llama, &S::high_freq_factor, high), "high_freq_factor must be greater");
  rejected(with(y, &S::beta_slow, 0.0), "beta_slow must be greater than 0");
  for (const double fast : {0.5, nan, infinity}) rejected(with(y, &S::beta_fast, fast), "beta_fast must not be less than beta_slow");
  for (const double bad : {-1.0, nan, infinity}) {
    rejected(with(y, &S::attention_factor, bad), "attention_factor must not be negative");
    rejected(with(y, &S::mscale, bad), "mscale must not be negative");
    rejected(with(y, &S::mscale_all_dim, bad), "mscale_all_dim must not be negative");
  }
  for (const double theta : {1.0, 0.5, nan, infinity}) rejected(y, "yarn needs a rope_theta", theta);
}
