// 25 training steps against PyTorch: learning rate, loss, gradient norm and the weights at the end.
#include <llm/autograd/tape.hpp>
#include <llm/train/adamw.hpp>
#include <llm/train/clip.hpp>
#include <llm/train/schedule.hpp>
#include <support/model.hpp>

using namespace llm_test;

TEMPLATE_TEST_CASE("25 steps of the modern model", "[golden]", ReferenceFloat, ReferenceDouble, CpuFloat, CpuDouble) {
  using Model = typename TestType::template Model<modern_tiny>;
  using Ids = typename Model::Ids;
  const Golden file("modern_train.safetensors");
  auto model = load_golden<Model>(file);
  const auto ids = file.tensor<std::int32_t>("in.ids"), labels = file.tensor<std::int32_t>("in.labels");
  const auto loss_expected = file.tensor<double>("out.loss"), norm_expected = file.tensor<double>("out.grad_norm"),
             lr_expected = file.tensor<double>("out.lr");
  const std::int64_t steps = ids.extent(0), batch = ids.extent(1), length = ids.extent(2);
  const llm::WarmupCosine schedule{.max_lr = file.number("max_lr"), .min_lr = file.number("min_lr"), .warmup = 5, .steps = steps};
  llm::AdamW optimizer(model, {.weight_decay = 0.1});
  for (std::int64_t step = 0; step < steps; ++step) {
    const auto at = static_cast<std::size_t>(step);
    const auto part = [&](const auto& all) {
      const auto n = static_cast<std::size_t>(batch * length);
      return Ids::from({all.data() + at * n, n}, {batch, length});
    };
    llm::Tape tape;
    const auto loss = model.loss(part(ids), llm::shift_labels(part(labels)));
    INFO("step " << step);
    CHECK(std::abs(static_cast<double>(loss.item()) - loss_expected.values[at]) <= golden_tolerance(file, "out.loss"));
    tape.backward(loss);
    CHECK(std::abs(schedule(step) - lr_expected.values[at]) <= 1e-8);
    const double norm = optimizer.step(schedule(step), 1.0);
    CHECK(std::abs(norm - norm_expected.values[at]) <= golden_tolerance(file, "out.grad_norm"));
  }
  model.for_each_parameter(
      [&](auto& p) { check_equal(p.name(), p.tensor(), file, "final." + golden_name(p.name(), file), golden_tolerance(file, "final")); });
}
