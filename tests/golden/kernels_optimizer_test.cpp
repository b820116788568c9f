// The AdamW kernel and gradient clipping against PyTorch's numbers.
#include <support/kernel.hpp>

using namespace llm_test;
using llm::compute_t;

namespace {

/// Three steps of one parameter; `with_master` keeps the parameter in a second, full-precision buffer.
template <class B, class T>
void check_adamw(const Golden& golden, const std::string& parameter, double weight_decay, bool with_master) {
  INFO(parameter << (with_master ? " with a master copy" : ""));
  const auto start = golden.tensor<compute_t<T>>("adamw.a." + parameter + "0");
  const std::int64_t n = start.size();
  auto param = load<B, T>(golden, "adamw.a." + parameter + "0");
  Buffer<B, compute_t<T>> master(start.values);
  const std::vector<compute_t<T>> zeros(static_cast<std::size_t>(n));
  Buffer<B, compute_t<T>> m(zeros), v(zeros);
  compute_t<T>* const no_master = nullptr;
  for (int step = 1; step <= 3; ++step) {
    const std::string number = std::to_string(step);
    auto grad_values = golden.tensor<compute_t<T>>("adamw.a.d" + parameter + number).values;
    for (compute_t<T>& g : grad_values) g *= 4;  // grad_scale takes it back
    Buffer<B, compute_t<T>> grad(grad_values);
    const llm::AdamWArgs args{.lr = 1e-2,
                              .beta1 = 0.9,
                              .beta2 = 0.95,
                              .eps = 1e-8,
                              .correction1 = 1 - std::pow(0.9, step),
                              .correction2 = 1 - std::pow(0.95, step),
                              .grad_scale = 0.25};
    const llm::AdamWPart<T> part{param, with_master ? static_cast<compute_t<T>*>(master) : no_master, grad, m, v, n, weight_decay};
    B::template adamw<T>(args, &part, 1);
    const auto expected = golden.tensor<double>("adamw.a." + parameter + number).values;
    check_close("after step " + number, param.host(), expected);
    if (with_master) check_close("master after step " + number, master.host(), expected);
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("adamw agrees with PyTorch over three steps", "[golden]", KernelBackends) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  const Golden golden("ops.safetensors");
  for (const bool with_master : {false, true}) {
    check_adamw<B, T>(golden, "w", 0.1, with_master);
    check_adamw<B, T>(golden, "b", 0.0, with_master);
  }
}

TEMPLATE_LIST_TEST_CASE("sum_of_squares and scale clip gradients as PyTorch does", "[golden]", KernelBackends) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  const Golden golden("ops.safetensors");
  const auto cases = golden.cases("clip");
  REQUIRE(cases.size() == 2);
  for (const std::string& name : cases) {
    INFO(name);
    auto dw = load<B, T>(golden, name + "dw"), db = load<B, T>(golden, name + "db");
    const std::int64_t nw = golden.tensor<T>(name + "dw").size(), nb = golden.tensor<T>(name + "db").size();
    const llm::Elements<T> gradients[]{{dw, nw}, {db, nb}};
    const double norm = std::sqrt(B::template sum_of_squares<T>(gradients, 2));
    check_close("norm", std::vector<double>{norm}, golden.tensor<double>(name + "norm").values);
    const double factor = (std::min)(1.0, 1 / (norm + 1e-6));
    B::template scale<T>(dw, nw, factor);
    B::template scale<T>(db, nb, factor);
    check_close("dw", dw.host(), golden.tensor<double>(name + "dw_y").values);
    check_close("db", db.host(), golden.tensor<double>(name + "db_y").values);
  }
}

TEMPLATE_LIST_TEST_CASE("adamw keeps steps that bf16 cannot hold in the master copy [bf16_master]", "[golden]", KernelBackends) {
  using B = typename TestType::Backend;
  const llm::AdamWArgs args{.lr = 1e-3};  // corrections of 1: the first update is lr * 0.1 / sqrt(0.05)
  Buffer<B, llm::bf16> param(std::vector<llm::bf16>{llm::bf16(1.0f)});
  Buffer<B, float> master(std::vector<float>{1}), grad(std::vector<float>{1}), m(std::vector<float>{0}), v(std::vector<float>{0});
  double expected = 1, m_expected = 0, v_expected = 0;
  for (int step = 0; step < 20; ++step) {
    const llm::AdamWPart<llm::bf16> part{param, master, grad, m, v, 1, 0.0};
    B::template adamw<llm::bf16>(args, &part, 1);
    m_expected = 0.9 * m_expected + 0.1;
    v_expected = 0.95 * v_expected + 0.05;
    expected -= 1e-3 * m_expected / (std::sqrt(v_expected) + 1e-8);
  }
  CHECK(std::abs(static_cast<double>(master.host()[0]) - expected) < 1e-6);
  CHECK(param.host()[0].bits == llm::bf16(master.host()[0]).bits);
  CHECK(param.host()[0].bits != llm::bf16(1.0f).bits);
}
