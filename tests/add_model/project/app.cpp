// A model that is the checkpoint's: its size and one of its layers are checked by the compiler.
#include <cstdio>

#include <tiny.hpp>

#include <llm/model.hpp>

static_assert(llm::LLM<tiny>::parameter_count == 26'784);

using Hidden = llm::Tensor<float, llm::Shape<llm::dyn, llm::dyn, tiny.d_model>>;
llm::Linear<tiny.d_model, tiny.ffn_dim> up;
llm::Linear<tiny.ffn_dim, tiny.d_model> down;

Hidden mlp(const Hidden& x) { return down(llm::silu(up(x))); }

int main() {
  std::printf("%lld parameters, %lld positions\n", static_cast<long long>(llm::LLM<tiny>::parameter_count),
              static_cast<long long>(tiny.max_seq_len));
}
