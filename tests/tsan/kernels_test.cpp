// Kernels that several threads run at once on shared constant weights, large enough that each runs on several threads itself; meant for
// the thread sanitizer.
#include <support/catch.hpp>

#include <thread>
#include <vector>

#include <llm/autograd/tape.hpp>
#include <llm/backend/cpu/cpu.hpp>
#include <llm/ops/linear.hpp>

namespace {

template <std::int64_t... E>
using Matrix = llm::Tensor<float, llm::Shape<E...>, llm::Cpu>;

}  // namespace

TEST_CASE("several threads share constant weights", "[tsan]") {
  llm::set_num_threads(2);
  const auto w = Matrix<512, 128>::full({}, 0.25);
  std::vector<float> found(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < found.size(); ++i)
    threads.emplace_back([&, i] {
      const auto x = Matrix<512, 128>::full({}, static_cast<double>(i));
      for (int round = 0; round < 5; ++round) found[i] = llm::linear(x, w).data()[512 * 512 - 1];
    });
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < found.size(); ++i) REQUIRE(found[i] == 32.0f * static_cast<float>(i));
  llm::set_num_threads(0);
}

TEST_CASE("each thread records on its own tape", "[tsan]") {
  std::vector<float> found(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < found.size(); ++i)
    threads.emplace_back([&, i] {
      auto w = Matrix<512, 128>::full({}, 0.25);
      w.track();
      const auto x = Matrix<512, 128>::full({}, static_cast<double>(i));
      llm::Tape tape;
      const auto y = llm::linear(x, w);
      tape.backward(y, Matrix<512, 512>::full({}, 1.0));
      found[i] = w.grad().data()[0];
    });
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < found.size(); ++i) REQUIRE(found[i] == 512.0f * static_cast<float>(i));
}
