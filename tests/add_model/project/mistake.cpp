// The same layer, with its second matrix used twice.
#include <tiny.hpp>

#include <llm/model.hpp>

using Hidden = llm::Tensor<float, llm::Shape<llm::dyn, llm::dyn, tiny.d_model>>;
llm::Linear<tiny.d_model, tiny.ffn_dim> up;
llm::Linear<tiny.ffn_dim, tiny.d_model> down;

Hidden mlp(const Hidden& x) { return down(llm::silu(down(x))); }

int main() {}
