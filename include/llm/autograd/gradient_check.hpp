// Checks an op's or block's gradient against central differences.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <llm/autograd/tape.hpp>
#include <llm/core/rng.hpp>

namespace llm {

/// The largest deviation found: |tape - difference| / (1 + |difference|), and where.
struct GradientCheck {
  double worst = 0.0;
  std::int64_t checked = 0;
  std::string where = "nothing checked";
};

namespace detail {

/// sum(y * weights) with fixed random weights, so that every output element has an influence of its own.
template <class T, class S, class B>
double weighted_sum(const Tensor<T, S, B>& y, const std::vector<T>& weights) {
  const auto values = y.to_vector();
  double sum = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += static_cast<double>(values[i]) * static_cast<double>(weights[i]);
  return sum;
}

template <class T>
std::vector<T> check_weights(std::int64_t count) {
  std::vector<T> weights;
  for (std::int64_t i = 0; i < count; ++i) weights.push_back(static_cast<T>(normal_at(7, 0, static_cast<std::uint64_t>(i))));
  return weights;
}

template <class F, class T, class W, class S, class B>
void check_leaf(F& f, const std::vector<W>& weights, Tensor<T, S, B>& leaf, int number, double step, GradientCheck& result) {
  const NoTape off;
  const auto gradient = leaf.grad().to_vector();
  auto values = leaf.to_vector();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T kept = values[i];
    const double h = step * (1.0 + std::abs(static_cast<double>(kept)));
    const auto at = [&](double x) {
      values[i] = static_cast<T>(x);
      leaf.assign(values);
      return weighted_sum(f(), weights);
    };
    const double difference = (at(static_cast<double>(kept) + h) - at(static_cast<double>(kept) - h)) / (2.0 * h);
    at(static_cast<double>(kept));
    const double deviation = std::abs(static_cast<double>(gradient[i]) - difference) / (1.0 + std::abs(difference));
    ++result.checked;
    if (deviation > result.worst || std::isnan(deviation)) {
      result.worst = std::isnan(deviation) ? HUGE_VAL : deviation;
      result.where = concat("leaf ", number, " element ", i, ": tape ", static_cast<double>(gradient[i]), ", difference ", difference);
    }
  }
}

}  // namespace detail

/// Compares the gradients that the tape gives for y = f() with central differences, for every element of the given leaves. f takes
/// nothing, returns a tensor of any shape, and computes it from the leaves (which it refers to) with recorded ops. The leaves are
/// tracked if they were not; they end with the values they had, and without gradient. Use double: the deviation is then below 1e-8
/// for smooth functions of moderate size.
template <class F, class... Leaves>
GradientCheck check_gradient(F&& f, Leaves&... leaves) {
  ((leaves.track(), leaves.clear_grad()), ...);
  std::vector<typename decltype(f())::value_type> weights;
  {
    Tape tape;
    const auto y = f();
    weights = detail::check_weights<typename decltype(f())::value_type>(y.numel());
    tape.backward(y, std::remove_const_t<decltype(y)>::from(weights, y.shape()));
  }
  GradientCheck result;
  int number = 0;
  (detail::check_leaf(f, weights, leaves, number++, 1e-5, result), ...);
  (leaves.clear_grad(), ...);
  return result;
}

}  // namespace llm
