// Linear and embedding kernels against PyTorch's numbers.
#include <support/kernel.hpp>

using namespace llm_test;

TEST_CASE("every operation of ops.safetensors has a test") {
  // linear, embedding here; the others in the kernels_*_test.cpp beside this file.
  const std::set<std::string> tested{"linear",           "embedding",     "rms_norm",  "layer_norm", "rope_half",
                                     "rope_interleaved", "silu",          "gelu_tanh", "gelu_erf",   "swiglu",
                                     "softmax",          "cross_entropy", "attention", "adamw",      "clip"};
  CHECK(Golden("ops.safetensors").ops() == tested);
}

TEMPLATE_LIST_TEST_CASE("linear kernels agree with PyTorch", "[golden]", KernelBackends) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  const Golden golden("ops.safetensors");
  const auto cases = golden.cases("linear");
  REQUIRE(cases.size() == 3);
  for (const std::string& name : cases) {
    INFO(name);
    const auto w = golden.tensor<T>(name + "w");
    const std::int64_t M = golden.tensor<T>(name + "x").rows(), N = w.extent(0), K = w.extent(1);
    const bool biased = golden.has(name + "b");
    auto x = load<B, T>(golden, name + "x"), weight = load<B, T>(golden, name + "w"), dy = load<B, T>(golden, name + "dy");
    Buffer<B, T> bias(biased ? golden.tensor<T>(name + "b").values : std::vector<T>{});
    Buffer<B, T> y(M * N);
    T* const no_bias = nullptr;
    B::template linear_forward<T>(x, weight, biased ? static_cast<T*>(bias) : no_bias, y, M, N, K);
    check_close("y", y.host(), golden.tensor<double>(name + "y").values);

    check_gradients<B, T>({{"dx", golden.tensor<double>(name + "dx").values}}, 1e-5,
                          [&](auto& out, auto& add) { B::template linear_backward_input<T>(dy, weight, out[0], M, N, K, add[0]); });
    check_gradients<B, T>({{"dw", golden.tensor<double>(name + "dw").values}}, 1e-5,
                          [&](auto& out, auto& add) { B::template linear_backward_weight<T>(dy, x, out[0], M, N, K, add[0]); });
    if (biased)
      check_gradients<B, T>({{"db", golden.tensor<double>(name + "db").values}}, 1e-5,
                            [&](auto& out, auto& add) { B::template linear_backward_bias<T>(dy, out[0], M, N, add[0]); });
  }
}

TEMPLATE_LIST_TEST_CASE("linear_forward_stored agrees with PyTorch on stored f32", "[golden]", KernelBackends) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  const Golden golden("ops.safetensors");
  for (const std::string& name : golden.cases("linear")) {
    INFO(name);
    const auto w = golden.tensor<float>(name + "w");
    const std::int64_t M = golden.tensor<T>(name + "x").rows(), N = w.extent(0), K = w.extent(1);
    auto x = load<B, T>(golden, name + "x");
    Buffer<B, float> weight(w.values);
    Buffer<B, T> bias(golden.has(name + "b") ? golden.tensor<T>(name + "b").values : std::vector<T>(static_cast<std::size_t>(N)));
    Buffer<B, T> y(M * N);
    B::template linear_forward_stored<T>(x, llm::DType::f32, static_cast<float*>(weight), bias, y, M, N, K);
    check_close("y", y.host(), golden.tensor<double>(name + "y").values);
  }
}

namespace {

template <class B, class T, class Index>
void check_embedding(const Golden& golden, const std::string& name) {
  INFO(name);
  const auto ids = golden.tensor<Index>(name + "idx");
  const auto table = golden.tensor<T>(name + "w");
  const std::int64_t n = ids.size(), V = table.extent(0), D = table.extent(1);
  Buffer<B, Index> id_buffer(ids.values);
  auto w = load<B, T>(golden, name + "w"), dy = load<B, T>(golden, name + "dy");
  Index* const indices = id_buffer;

  Buffer<B, T> y(n * D);
  B::template embedding_forward<T>(indices, static_cast<T*>(w), static_cast<T*>(y), n, D);
  check_close("y", y.host(), golden.tensor<double>(name + "y").values, 0);

  const auto start = random_values<llm::compute_t<T>>(V * D, 3);
  Buffer<B, llm::compute_t<T>> dw(start);
  B::template embedding_backward<T>(indices, static_cast<T*>(dy), static_cast<llm::compute_t<T>*>(dw), n, V, D);
  auto expected = golden.tensor<double>(name + "dw").values;
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += static_cast<double>(start[i]);
  check_close("dw, which is always added to", dw.host(), expected);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("embedding kernels agree with PyTorch", "[golden]", KernelBackends) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  const Golden golden("ops.safetensors");
  REQUIRE(golden.cases("embedding") == std::set<std::string>{"embedding.a.", "embedding.i32."});
  check_embedding<B, T, std::int64_t>(golden, "embedding.a.");
  check_embedding<B, T, std::int32_t>(golden, "embedding.i32.");
}

TEMPLATE_LIST_TEST_CASE("index_outside finds the first id out of range [oov]", "[golden]", KernelBackends) {
  using B = typename TestType::Backend;
  const auto outside = [](const std::vector<std::int32_t>& ids, std::int64_t V) {
    Buffer<B, std::int32_t> buffer(ids);
    Buffer<B, std::int64_t> wide(std::vector<std::int64_t>(ids.begin(), ids.end()));
    const std::int64_t found = B::index_outside(static_cast<std::int32_t*>(buffer), static_cast<std::int64_t>(ids.size()), V);
    CHECK(B::index_outside(static_cast<std::int64_t*>(wide), static_cast<std::int64_t>(ids.size()), V) == found);
    return found;
  };
  CHECK(outside({0, 4, 2}, 5) == -1);
  CHECK(outside({0, 5, 2}, 5) == 1);
  CHECK(outside({0, 4, -1, 7}, 5) == 2);
  CHECK(outside({}, 5) == -1);
  CHECK(outside({0}, 0) == 0);
}
