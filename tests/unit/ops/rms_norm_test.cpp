// RMSNorm: eps where it matters, on small inputs.
#include <cmath>
#include <vector>

#include <llm/backend/cpu/cpu.hpp>
#include <llm/backend/reference/reference.hpp>
#include <llm/model.hpp>
#include <llm/model/config_fields.hpp>
#include <support/catch.hpp>

namespace {

inline constexpr llm::Config eps_1e5{
    .vocab_size = 11, .d_model = 8, .n_layers = 1, .n_heads = 2, .ffn_dim = 16, .max_seq_len = 4, .norm_eps = 1e-5};
inline constexpr llm::Config eps_1e6 = [] {
  llm::Config c = eps_1e5;
  c.norm_eps = 1e-6;
  return c;
}();

/// Output of the first norm in a block, whose input is 1e-3 everywhere.
template <const llm::Config& C>
double model_norm() {
  auto model = llm::LLM<C>::random(1);
  model.for_each_parameter([](auto& p) {
    const bool small = p.name() == "model.embed_tokens.weight", silent = p.kind() == llm::ParameterKind::residual_output;
    if (small || silent) llm::Cpu::fill<float>(p.tensor().data(), p.numel(), small ? 1e-3 : 0.0);
  });
  const auto ids = llm::LLM<C>::Ids::from(std::vector<llm::Token>{3}, {1, 1});
  return static_cast<double>(model.hidden_states(ids).back().to_vector().front());
}

}  // namespace

TEMPLATE_TEST_CASE("eps of 1e-5 and 1e-6 differ on inputs of 1e-3 [eps]", "", llm::Reference, llm::Cpu) {
  using Row = llm::Tensor<float, llm::Shape<1, 8>, TestType>;
  using Gain = llm::Tensor<float, llm::Shape<8>, TestType>;
  const auto x = Row::full({}, 1e-3);
  const auto gain = Gain::full({}, 2.0);
  const auto norm = [&](double eps) { return static_cast<double>(llm::rms_norm(x, gain, eps).to_vector().front()); };
  CHECK(norm(1e-5) == Approx(2e-3 / std::sqrt(1.1e-5)).epsilon(1e-5));
  CHECK(norm(1e-6) == Approx(2e-3 / std::sqrt(2e-6)).epsilon(1e-5));
  CHECK(norm(0.0) == Approx(2.0).epsilon(1e-5));
}

TEST_CASE("A model uses its Config's eps, and another eps is another model [eps]") {
  CHECK(model_norm<eps_1e5>() == Approx(1e-3 / std::sqrt(1.1e-5)).epsilon(1e-5));
  CHECK(model_norm<eps_1e6>() == Approx(1e-3 / std::sqrt(2e-6)).epsilon(1e-5));
  CHECK(llm::config_differences(eps_1e5, "the model", eps_1e6, "the file") == "norm_eps is 1e-05 in the model, 1e-06 in the file");
}
