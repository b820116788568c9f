// Feed-forward layers of published mixtures of experts against transformers: results and every gradient, on both backends.
#include <llm/autograd/tape.hpp>
#include <llm/backend/cpu/cpu.hpp>
#include <llm/nn/mixture.hpp>
#include <support/golden.hpp>

using llm_test::check_close, llm_test::Golden;

namespace {

constexpr std::int64_t D = 8, F = 6, E = 8;
constexpr llm::MixtureSpec plain{.d_model = D, .experts = E, .ffn_dim = F};
constexpr llm::MixtureSpec gated_shared{.d_model = D, .experts = E, .ffn_dim = F, .shared_ffn_dim = 10, .shared_gate = true};
constexpr llm::MixtureSpec deepseek{.d_model = D, .experts = E, .ffn_dim = F, .score_bias = true, .shared_ffn_dim = 2 * F};

template <class T, class B>
struct Kind {
  using Element = T;
  using Backend = B;
};

/// One case of the file and a layer with its weights.
template <class T, class B, llm::MixtureSpec M>
class Case {
 public:
  using Layer = llm::Mixture<M, llm::Trainable<T>, B>;
  using X = llm::Tensor<T, llm::Shape<llm::dyn, llm::dyn, D>, B>;

  Case(const std::string& name, const llm::RouteOptions& options) : name_(name) {
    layer_.routed.options = options;
    each_weight([&](auto& weight, const std::string& tensor, std::int64_t expert) { weight.assign(values(tensor, expert)); });
    if constexpr (M.score_bias) layer_.routed.bias.assign(values("bias"));
  }

  void check() {
    auto x = X::from(values("x"), {2, 6});
    x.track();
    {
      llm::Tape tape;
      const auto y = layer_(x);
      check_close(name_ + ".y", y.to_vector(), values("y"));
      tape.backward(y, X::from(values("dy"), {2, 6}));
    }
    check_close(name_ + ".dx", x.grad().to_vector(), values("dx"));
    each_weight([&](auto& weight, const std::string& tensor, std::int64_t expert) {
      INFO("expert " << expert);
      check_close(name_ + ".d" + tensor, weight.grad().to_vector(), values("d" + tensor, expert));
    });
    if constexpr (M.score_bias) CHECK_FALSE(layer_.routed.bias.has_grad());
  }

 private:
  /// The values of a tensor, or those of one expert's slice.
  std::vector<T> values(const std::string& tensor, std::int64_t expert = -1) const {
    auto all = file_.tensor<T>(name_ + "." + tensor).values;
    if (expert < 0) return all;
    const auto each = static_cast<std::ptrdiff_t>(all.size()) / E;
    return {all.begin() + expert * each, all.begin() + (expert + 1) * each};
  }
  template <class Visit>
  void each_weight(const Visit& f) {
    f(layer_.routed.router.weight, "router", -1);
    for (std::int64_t e = 0; e < E; ++e) {
      auto& expert = (*layer_.routed.experts)[static_cast<std::size_t>(e)];
      mlp(expert, "", e, f);
    }
    if constexpr (M.shared_gate) {
      f(layer_.shared.router.weight, "shared_gate", -1);
      mlp((*layer_.shared.experts)[0], "shared.", -1, f);
    } else if constexpr (M.shared_ffn_dim > 0) {
      mlp(layer_.shared, "shared.", -1, f);
    }
  }
  template <class Expert, class Visit>
  static void mlp(Expert& expert, const std::string& prefix, std::int64_t number, const Visit& f) {
    f(expert.gate_proj.weight, prefix + "gate", number);
    f(expert.up_proj.weight, prefix + "up", number);
    f(expert.down_proj.weight, prefix + "down", number);
  }

  Golden file_{"mixture.safetensors"};
  std::string name_;
  Layer layer_;
};

}  // namespace

TEMPLATE_TEST_CASE("Mixtures of experts as published", "[golden]", (Kind<float, llm::Reference>), (Kind<double, llm::Reference>),
                   (Kind<float, llm::Cpu>), (Kind<double, llm::Cpu>)) {
  using T = typename TestType::Element;
  using B = typename TestType::Backend;
  Case<T, B, plain>("mixtral", {.active = 2}).check();
  Case<T, B, plain>("qwen3_moe", {.active = 3}).check();
  Case<T, B, plain>("olmoe", {.active = 3, .normalise = false}).check();
  Case<T, B, gated_shared>("qwen2_moe", {.active = 2, .normalise = false}).check();
  Case<T, B, deepseek>("deepseek_v3", {.active = 3, .groups = 4, .active_groups = 2, .sigmoid = true, .scale = 2.5}).check();
}
