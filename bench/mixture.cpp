// One token through a mixture of experts with the sizes of a layer of Qwen3-30B-A3B, in storage formats, beside the time to read the
// router and the chosen experts once. Tokens turn, so that experts come from memory.
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <llm/configs/qwen3.hpp>
#include <llm/model.hpp>

#include "support/benchmark.hpp"

namespace {

constexpr const llm::Config& config = llm::configs::qwen3_30b_a3b;
constexpr std::int64_t D = config.d_model, F = config.expert_ffn_dim(), E = config.experts.count, active = config.experts.active;

using Layer = llm::Mixture<llm::MixtureSpec{.d_model = D, .experts = E, .ffn_dim = F}, llm::Frozen>;
using Row = llm::Tensor<float, llm::Shape<llm::dyn, llm::dyn, D>, llm::Cpu>;

/// A layer and some tokens.
struct Work {
  static constexpr int tokens = 32;
  Layer layer;
  std::vector<Row> rows;
  std::size_t next = 0;

  explicit Work(llm::DType format) {
    layer.routed.options = {.active = active};
    std::vector<float> router(static_cast<std::size_t>(E * D));
    llm::Cpu::fill_normal<float>(router.data(), E * D, 1, 0, 0.02);
    layer.routed.router.weight = decltype(layer.routed.router.weight)::from(llm::DType::f32, std::as_bytes(std::span(router)));
    const std::vector<std::byte> bytes(static_cast<std::size_t>(llm::storage_bytes(format, F * D)),
                                       std::byte{0x2a});  // small numbers in any format
    for (auto& expert : *layer.routed.experts) {
      set(expert.gate_proj.weight, format, bytes);
      set(expert.up_proj.weight, format, bytes);
      set(expert.down_proj.weight, format, bytes);
    }
    for (std::uint64_t i = 0; i < tokens; ++i) {
      rows.push_back(Row::empty({1, 1}));
      llm::Cpu::fill_normal<float>(rows.back().data(), D, 2, i, 1.0);
    }
  }
  template <class Matrix>
  static void set(Matrix& weight, llm::DType format, const std::vector<std::byte>& bytes) {
    weight = Matrix::from(format, std::span(bytes));
  }
  void step() { benchmark::DoNotOptimize(layer(rows[next++ % rows.size()])); }
};

void add_format(llm::DType format) {
  const std::string name = "mixture/" + std::string(to_string(format));
  bench::add(name, [=](bench::State& state) {
    auto& work = bench::fixture<Work>(name, [=] { return std::make_unique<Work>(format); });
    bench::time_calls(state, [&] { work.step(); });
    state.counters["bytes"] =
        static_cast<double>(active * (2 * llm::Cpu::stored_bytes(format, F, D) + llm::Cpu::stored_bytes(format, D, F)) +
                            llm::Cpu::stored_bytes(llm::DType::f32, E, D));
    state.counters["tokens/s"] = bench::rate(1);
  });
}

void add_all() {
  bench::add_limits();
  using enum llm::DType;
  for (const llm::DType format : {bf16, q8_0, q4_0, q4_k, q6_k}) add_format(format);
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_all); }
