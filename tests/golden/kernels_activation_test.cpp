// Activations, softmax and cross-entropy kernels against PyTorch's numbers.
#include <support/kernel.hpp>

using namespace llm_test;
using llm::Activation;
using llm::compute_t;

TEMPLATE_LIST_TEST_CASE("activation kernels agree with PyTorch", "[golden]", KernelBackends) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  const Golden golden("ops.safetensors");
  const std::pair<std::string, Activation> kinds[] = {
      {"silu.", Activation::silu}, {"gelu_tanh.", Activation::gelu_tanh}, {"gelu_erf.", Activation::gelu_erf}};
  for (const auto& [op, kind] : kinds) {
    INFO(op);
    const std::int64_t n = golden.tensor<T>(op + "a.x").size();
    auto x = load<B, T>(golden, op + "a.x"), dy = load<B, T>(golden, op + "a.dy");
    Buffer<B, T> y(n);
    B::template activation_forward<T>(kind, x, y, n);
    check_close("y", y.host(), golden.tensor<double>(op + "a.y").values);
    const Activation activation = kind;
    check_gradients<B, T>({{"dx", golden.tensor<double>(op + "a.dx").values}}, 1e-5,
                          [&](auto& out, auto& add) { B::template activation_backward<T>(activation, dy, x, out[0], nullptr, n, add[0]); });
  }
}

TEMPLATE_LIST_TEST_CASE("swiglu kernels agree with PyTorch", "[golden]", KernelBackends) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  const Golden golden("ops.safetensors");
  const std::int64_t n = golden.tensor<T>("swiglu.a.gate").size();
  auto gate = load<B, T>(golden, "swiglu.a.gate"), up = load<B, T>(golden, "swiglu.a.up"), dy = load<B, T>(golden, "swiglu.a.dy");
  Buffer<B, T> y(n);
  B::template gated_forward<T>(llm::Activation::silu, gate, up, y, n);
  check_close("y", y.host(), golden.tensor<double>("swiglu.a.y").values);
  check_gradients<B, T>(
      {{"dgate", golden.tensor<double>("swiglu.a.dgate").values, 0}, {"dup", golden.tensor<double>("swiglu.a.dup").values, 1}}, 1e-5,
      [&](auto& out, auto& add) {
        B::template gated_backward<T>(llm::Activation::silu, dy, gate, up, out[0], out[1], nullptr, n, add[0], add[1]);
      });
}

TEMPLATE_LIST_TEST_CASE("softmax kernels agree with PyTorch", "[golden]", KernelBackends) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  const Golden golden("ops.safetensors");
  const auto cases = golden.cases("softmax");
  REQUIRE(cases.size() == 4);
  for (const std::string& name : cases) {
    INFO(name);
    const auto shape = golden.tensor<T>(name + "x");
    const std::int64_t rows = shape.rows(), cols = shape.columns();
    auto x = load<B, T>(golden, name + "x"), dy = load<B, T>(golden, name + "dy");
    Buffer<B, T> y(rows * cols);
    B::template softmax_forward<T>(x, y, rows, cols);
    check_close("y", y.host(), golden.tensor<double>(name + "y").values);
    check_gradients<B, T>({{"dx", golden.tensor<double>(name + "dx").values}}, 1e-5,
                          [&](auto& out, auto& add) { B::template softmax_backward<T>(dy, y, out[0], rows, cols, add[0]); });
  }
}

namespace {

template <class B, class T, class Index>
void check_cross_entropy(const Golden& golden, const std::string& name) {
  INFO(name);
  const auto shape = golden.tensor<T>(name + "logits");
  const auto targets = golden.tensor<Index>(name + "targets");
  const std::int64_t rows = shape.rows(), V = shape.columns(), ignore = -100;
  Buffer<B, Index> target_buffer(targets.values);
  Index* const at = target_buffer;
  const std::int64_t counted = B::count_targets(at, rows, V, ignore);
  CHECK(counted == rows - (name == "cross_entropy.ignore." ? 3 : 0));

  auto buffer = load<B, T>(golden, name + "logits");
  T* const logits = buffer;
  Buffer<B, compute_t<T>> losses(rows), lse(rows);
  compute_t<T>* const lse_data = lse;
  B::template cross_entropy_forward<T>(logits, at, static_cast<compute_t<T>*>(losses), lse_data, rows, V, ignore);
  double mean = 0;
  const auto each = losses.host();
  for (std::size_t r = 0; r < each.size(); ++r) {
    mean += static_cast<double>(each[r]) / static_cast<double>(counted);
    if (static_cast<std::int64_t>(targets.values[r]) == ignore) CHECK(each[r] == 0);
  }
  check_close("y", std::vector<double>{mean}, golden.tensor<double>(name + "y").values);

  const auto expected = golden.tensor<double>(name + "dlogits").values;
  const double scale = golden.tensor<double>(name + "dy").values[0] / static_cast<double>(counted);
  Buffer<B, T> d_logits(rows * V);
  B::template cross_entropy_backward<T>(logits, at, static_cast<const compute_t<T>*>(lse_data), scale, static_cast<T*>(d_logits), rows, V,
                                        ignore);
  check_close("dlogits", d_logits.host(), expected);
  B::template cross_entropy_backward<T>(logits, at, static_cast<const compute_t<T>*>(lse_data), scale, logits, rows, V, ignore);
  check_close("dlogits over the logits", buffer.host(), expected);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("cross_entropy kernels agree with PyTorch", "[golden]", KernelBackends) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  const Golden golden("ops.safetensors");
  const auto cases = golden.cases("cross_entropy");
  REQUIRE(cases.size() == 4);
  for (const std::string& name : cases) {
    check_cross_entropy<B, T, std::int64_t>(golden, name);
    check_cross_entropy<B, T, std::int32_t>(golden, name);
  }
}
