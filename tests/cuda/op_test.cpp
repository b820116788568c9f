// The op llm::rms_norm, its tape and tensors on the CUDA backend: through the emulator, or on a GPU when compiled by nvcc.
#if !defined(__CUDACC__)
#include <support/cuda_emulator.hpp>
#endif

#include <cstddef>
#include <cstdint>
#include <support/catch.hpp>
#include <vector>

#include <llm/backend/cuda/cuda.hpp>
#include <llm/backend/reference/rms_norm.hpp>
#include <llm/core/rng.hpp>
#include <llm/core/shape.hpp>
#include <llm/ops/rms_norm.hpp>

namespace {

using Rows = llm::Shape<llm::dyn, 96>;
using Gain = llm::Shape<96>;
template <class S>
using Tensor = llm::Tensor<float, S, llm::Cuda>;

std::vector<float> random_values(std::size_t count, std::uint64_t stream) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(llm::normal_at(3, stream, i));
  return values;
}

void check_close(const std::vector<float>& found, const std::vector<float>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == Approx(expected[i]).epsilon(1e-5).margin(1e-5));
}

}  // namespace

TEST_CASE("The op llm::rms_norm runs forward and backward on the CUDA backend") {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    static_cast<void>(cudaGetLastError());
    WARN("skipped: no CUDA device");
    return;
  }
  constexpr std::int64_t rows = 5, cols = 96;
  constexpr double eps = 1e-5;
  const auto x = random_values(rows * cols, 1), gain = random_values(cols, 2), dy = random_values(rows * cols, 3);
  std::vector<float> y(x.size()), inv_rms(rows), dx(x.size()), dgain(gain.size());
  const auto rounding = llm::Rounding::round_then_gain;
  llm::reference::rms_norm_forward<float>(x.data(), gain.data(), y.data(), inv_rms.data(), rows, cols, eps, rounding);
  llm::reference::rms_norm_backward<float>(dy.data(), x.data(), gain.data(), inv_rms.data(), dx.data(), dgain.data(), rows, cols, false,
                                           false);

  auto x_tensor = Tensor<Rows>::from(x, {rows});
  auto gain_tensor = Tensor<Gain>::from(gain);
  x_tensor.track();
  gain_tensor.track();
  llm::Tape tape;
  const auto y_tensor = llm::rms_norm(x_tensor, gain_tensor, eps);  // [rows, cols]
  tape.backward(y_tensor, Tensor<Rows>::from(dy, {rows}));
  check_close(y_tensor.to_vector(), y);
  check_close(x_tensor.grad().to_vector(), dx);
  check_close(gain_tensor.grad().to_vector(), dgain);
}
