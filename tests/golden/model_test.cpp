// Whole models against PyTorch: every activation, the loss and every gradient, on both backends.
#include <llm/autograd/tape.hpp>
#include <support/model.hpp>

using namespace llm_test;

namespace {

template <class Model>
void check_forward(const Model& model, const Golden& file, double tolerance) {
  const auto ids = golden_ids<Model>(file, "in.ids");
  const auto states = model.hidden_states(ids);
  check_equal("embedding", states.at(0), file, "out.embed", tolerance);
  for (std::size_t i = 0; i < static_cast<std::size_t>(Model::L); ++i)
    check_equal("block " + std::to_string(i), states.at(i + 1), file, "out.block." + std::to_string(i), tolerance);
  check_equal("final norm", states.back(), file, "out.norm", tolerance);
  check_equal("logits", model(ids), file, "out.logits", tolerance);
}

template <class Model>
void check_gradients(Model& model, const Golden& file, const Golden& gradients, const typename Model::Ids& targets,
                     llm::TrainingOptions options) {
  const double tolerance = golden_tolerance(file, "out"), grad_tolerance = golden_tolerance(file, "grad");
  {
    llm::Tape tape;
    const auto loss = model.loss(golden_ids<Model>(file, "in.ids"), targets, options);
    check_equal("loss", loss, file, "out.loss", tolerance);
    tape.backward(loss);
  }
  model.for_each_parameter([&](auto& p) {
    check_equal("gradient of " + p.name(), p.tensor().grad(), gradients, "grad." + golden_name(p.name(), file), grad_tolerance);
    p.tensor().clear_grad();
  });
}

/// The plain way, with recompute, and with the head in chunks of a few rows: three ways to the same numbers.
template <class Model>
void check_all_gradients(const Golden& file, const Golden& gradients, const char* target_name, bool shifted) {
  auto model = load_golden<Model>(file);
  auto targets = golden_ids<Model>(file, target_name);
  if (shifted) targets = llm::shift_labels(targets);
  check_gradients(model, file, gradients, targets, {});
  llm::TrainingOptions recompute;
  recompute.recompute = true;
  check_gradients(model, file, gradients, targets, recompute);
  llm::TrainingOptions chunked;
  chunked.chunk_bytes = 5 * Model::V * static_cast<std::int64_t>(sizeof(typename Model::T));
  check_gradients(model, file, gradients, targets, chunked);
}

}  // namespace

TEMPLATE_TEST_CASE("Llama-like model", "[golden]", ReferenceFloat, ReferenceDouble, CpuFloat, CpuDouble) {
  using Model = typename TestType::template Model<llama_tiny>;
  for (const std::string name : {"llama_tiny", "llama_tiny_large"}) {
    const Golden file(name + ".safetensors"), gradients(name + "_grads.safetensors");
    check_forward(load_golden<Model>(file), file, golden_tolerance(file, "out"));
    check_all_gradients<Model>(file, gradients, "in.targets", false);
  }
}

TEMPLATE_TEST_CASE("Modern model with QK-norm, labels shifted by one", "[golden]", ReferenceFloat, ReferenceDouble, CpuFloat, CpuDouble) {
  using Model = typename TestType::template Model<modern_tiny>;
  const Golden file("modern_tiny.safetensors");
  check_forward(load_golden<Model>(file), file, golden_tolerance(file, "out"));
  check_all_gradients<Model>(file, file, "in.labels", true);
}

TEMPLATE_TEST_CASE("GPT-2, pre-norm", "[golden]", ReferenceFloat, ReferenceDouble, CpuFloat, CpuDouble) {
  using Model = typename TestType::template Model<gpt2_tiny_pre>;
  const Golden file("gpt2_tiny_pre.safetensors");
  check_forward(load_golden<Model>(file), file, golden_tolerance(file, "out"));
  check_all_gradients<Model>(file, file, "in.targets", false);
}

TEMPLATE_TEST_CASE("GPT-2, post-norm", "[golden]", ReferenceFloat, ReferenceDouble, CpuFloat, CpuDouble) {
  using Model = typename TestType::template Model<gpt2_tiny_post>;
  const Golden file("gpt2_tiny_post.safetensors");
  check_forward(load_golden<Model>(file), file, golden_tolerance(file, "out"));
  check_all_gradients<Model>(file, file, "in.targets", false);
}
