// RMSNorm and LayerNorm kernels against PyTorch's numbers.
#include <support/kernel.hpp>

using namespace llm_test;
using llm::compute_t;
using llm::Rounding;

TEMPLATE_LIST_TEST_CASE("rms_norm kernels agree with PyTorch [eps]", "[golden]", KernelBackends) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  const Golden golden("ops.safetensors");
  auto cases = golden.cases("rms_norm");
  REQUIRE(cases.erase("rms_norm.bf16.") == 1);
  REQUIRE(cases.size() == 3);
  for (const std::string& name : cases) {
    INFO(name);
    const auto shape = golden.tensor<T>(name + "x");
    const std::int64_t rows = shape.rows(), cols = shape.columns();
    const double eps = golden.number(name + "eps");
    auto x = load<B, T>(golden, name + "x"), gain = load<B, T>(golden, name + "w"), dy = load<B, T>(golden, name + "dy");
    const auto expected = golden.tensor<double>(name + "y").values;
    Buffer<B, T> y(rows * cols);
    Buffer<B, compute_t<T>> inverse(rows);
    for (const Rounding rounding : {Rounding::round_then_gain, Rounding::gain_then_round}) {  // the same where nothing is rounded
      B::template rms_norm_forward<T>(x, gain, y, inverse, rows, cols, eps, rounding);
      check_close("y", y.host(), expected);
    }
    Buffer<B, T> again(rows * cols);
    B::template rms_norm_forward<T>(x, gain, again, nullptr, rows, cols, eps, Rounding::round_then_gain);
    CHECK(again.host() == y.host());

    check_gradients<B, T>(
        {{"dx", golden.tensor<double>(name + "dx").values, 0}, {"dw", golden.tensor<double>(name + "dw").values, 1}}, 1e-5,
        [&](auto& out, auto& add) { B::template rms_norm_backward<T>(dy, x, gain, inverse, out[0], out[1], rows, cols, add[0], add[1]); });
  }
}

TEMPLATE_LIST_TEST_CASE("layer_norm kernels agree with PyTorch", "[golden]", KernelBackends) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  const Golden golden("ops.safetensors");
  const auto cases = golden.cases("layer_norm");
  REQUIRE(cases.size() == 3);
  for (const std::string& name : cases) {
    INFO(name);
    const auto shape = golden.tensor<T>(name + "x");
    const std::int64_t rows = shape.rows(), cols = shape.columns();
    const double eps = golden.number(name + "eps");
    auto x = load<B, T>(golden, name + "x"), gain = load<B, T>(golden, name + "w"), bias = load<B, T>(golden, name + "b");
    auto dy = load<B, T>(golden, name + "dy");
    Buffer<B, T> y(rows * cols), again(rows * cols);
    Buffer<B, compute_t<T>> mean(rows), inverse(rows);
    B::template layer_norm_forward<T>(x, gain, bias, y, mean, inverse, rows, cols, eps);
    check_close("y", y.host(), golden.tensor<double>(name + "y").values);
    B::template layer_norm_forward<T>(x, gain, bias, again, nullptr, nullptr, rows, cols, eps);
    CHECK(again.host() == y.host());

    check_gradients<B, T>({{"dx", golden.tensor<double>(name + "dx").values, 0},
                           {"dw", golden.tensor<double>(name + "dw").values, 1},
                           {"db", golden.tensor<double>(name + "db").values, 1}},
                          1e-5, [&](auto& out, auto& add) {
                            B::template layer_norm_backward<T>(dy, x, gain, mean, inverse, out[0], out[1], out[2], rows, cols, add[0],
                                                               add[1]);
                          });
  }
}

namespace {

/// How many representable bf16 numbers lie between two of them; the bits of a negative one count down from 0.
int distance(llm::bf16 a, llm::bf16 b) {
  const auto place = [](llm::bf16 v) { return (v.bits & 0x8000) != 0 ? -static_cast<int>(v.bits & 0x7fff) : static_cast<int>(v.bits); };
  return std::abs(place(a) - place(b));
}

template <class B>
int check_bf16_rounding(Rounding rounding, const std::string& expected_name) {
  const Golden golden("ops.safetensors");
  const auto x_values = golden.tensor<llm::bf16>("rms_norm.bf16.x");
  auto x = load<B, llm::bf16>(golden, "rms_norm.bf16.x"), gain = load<B, llm::bf16>(golden, "rms_norm.bf16.w");
  Buffer<B, llm::bf16> y(x_values.size());
  B::template rms_norm_forward<llm::bf16>(x, gain, y, nullptr, x_values.rows(), x_values.columns(), golden.number("rms_norm.bf16.eps"),
                                          rounding);
  const auto actual = y.host(), expected = golden.tensor<llm::bf16>(expected_name).values;
  int different = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (distance(actual[i], expected[i]) > 1) FAIL_CHECK("element " << i << " is more than one unit in the last place off");
    different += actual[i].bits != expected[i].bits ? 1 : 0;
  }
  return different;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("rms_norm in bf16 rounds in the order asked for", "[golden]", KernelBackends) {
  using B = typename TestType::Backend;
  // The two orders differ in 52 of 192 numbers; a sum in another order may move a number that lies near the middle of two.
  CHECK(check_bf16_rounding<B>(Rounding::round_then_gain, "rms_norm.bf16.y_round_then_gain") <= 2);
  CHECK(check_bf16_rounding<B>(Rounding::gain_then_round, "rms_norm.bf16.y_gain_then_round") <= 2);
  CHECK(check_bf16_rounding<B>(Rounding::gain_then_round, "rms_norm.bf16.y_round_then_gain") > 40);
}
