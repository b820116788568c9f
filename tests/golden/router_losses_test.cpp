// What routers add to the loss against transformers: the losses and their gradients, alone and with blocks that compute again.
#include <llm/io/load.hpp>

#include <support/golden_directory.hpp>

using namespace llm_test;
using llm::Config;

namespace {

/// The coefficients that the file was made with.
constexpr Config with_losses(Config c) {
  c.experts.router_aux_loss_coef = 0.5, c.experts.router_z_loss_coef = 0.125;
  return c;
}
constexpr Config mixtral = with_losses(hf_mixtral), qwen2_moe = with_losses(hf_qwen2_moe), olmoe = with_losses(hf_olmoe);

template <const Config& C>
void check(const std::string& name, bool recompute) {
  INFO(name << (recompute ? ", recompute" : ""));
  const Golden file("router_losses.safetensors");
  const auto number = [&](const std::string& tensor) { return file.tensor<double>(name + "." + tensor).values.front(); };
  auto model = llm::load_trainable<C>(golden_path("hf/" + name));
  using Ids = typename decltype(model)::Ids;
  const auto ids = Ids::from(file.tensor<llm::Token>(name + ".input_ids").values, {2, 12});
  const auto labels = Ids::from(file.tensor<llm::Token>(name + ".labels").values, {2, 12});
  llm::LossParts parts;
  {
    llm::Tape tape;
    const auto loss = model.loss(ids, labels, {.recompute = recompute, .parts = &parts});
    CHECK(static_cast<double>(loss.item()) == Approx(number("loss") + 0.125 * number("z_loss")).epsilon(1e-5));
    tape.backward(loss);
  }
  CHECK(parts.router_aux == Approx(number("aux_loss")).epsilon(1e-5));
  CHECK(parts.router_z == Approx(number("z_loss")).epsilon(1e-5));
  CHECK(parts.cross_entropy == Approx(number("loss") - 0.5 * number("aux_loss")).epsilon(1e-5));
  std::size_t checked = 0;
  model.for_each_parameter([&](auto& p) {
    const std::string expected = name + ".grad." + p.name();
    if (!file.has(expected)) return;
    check_close(expected, p.tensor().grad().to_vector(), file.template tensor<double>(expected).values, 2e-5);
    ++checked;
  });
  CHECK(checked == static_cast<std::size_t>(C.n_layers) + 3);
}

}  // namespace

TEST_CASE("Router losses as transformers and Switch compute them", "[golden]") {
  CHECK(Golden("router_losses.safetensors").number("aux") == 0.5);
  CHECK(Golden("router_losses.safetensors").number("z") == 0.125);
  for (const bool recompute : {false, true}) {
    check<mixtral>("mixtral", recompute);
    check<qwen2_moe>("qwen2_moe", recompute);
    check<olmoe>("olmoe", recompute);
  }
}
