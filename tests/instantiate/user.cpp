// A user of the model: trains a step, decodes, lists parameters; compiles none of the model's code.
#include <cstdio>
#include <vector>

#include "model.hpp"

int main() {
  const Owned model = Owned::random(1);
  const auto ids = Owned::Ids::from(std::vector<llm::Token>{1, 2, 3, 4}, {1, 4});
  Owned::Cache cache;
  llm::Tape tape;
  const auto loss = model.loss(ids, ids);
  tape.backward(loss);
  const auto logits = model.last_logits(ids, cache);
  std::int64_t parameters = 0;
  model.for_each_parameter([&](const Owned::ConstView& p) { parameters += p.numel(); });
  std::printf("%lld parameters, loss %.3f, %lld logits\n", static_cast<long long>(parameters), static_cast<double>(loss.item()),
              static_cast<long long>(logits.numel()));
  return parameters == Owned::parameter_count ? 0 : 1;
}
