// Weights of a model that is const, changed through a copy of what it lists.
// expect: no member named .*assign
// expect: ConstStoredParameterView
#include <cstddef>
#include <span>

#include <llm/model.hpp>

inline constexpr llm::Config config{.vocab_size = 32, .d_model = 16, .n_layers = 1, .n_heads = 2, .ffn_dim = 32, .max_seq_len = 8};

#ifdef LLM_MUST_FAIL
using Model = const llm::LLM<config, llm::Frozen>;
#else
using Model = llm::LLM<config, llm::Frozen>;
#endif
void f(Model& model, std::span<const std::byte> bytes) {
  model.for_each_parameter([&](auto& p) {
    auto view = p;
    view.assign(llm::DType::f32, bytes);
  });
}
