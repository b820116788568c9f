// Routing and the rows of experts: every backend against the reference in double, and the choice against values made by hand.
#include <algorithm>
#include <limits>

#include <support/kernel.hpp>

using namespace llm_test;
using llm::compute_t, llm::Reference, llm::RouteArgs;

namespace {

std::vector<double> zeros(std::int64_t n) { return std::vector<double>(static_cast<std::size_t>(n)); }

/// The experts that a backend chooses of one row of logits, and their weights.
template <class B, class T>
std::vector<std::int32_t> chosen(RouteArgs args, const std::vector<double>& logits, const std::vector<double>& bias = {},
                                 std::vector<compute_t<T>>* weights = nullptr) {
  args.experts = static_cast<std::int64_t>(logits.size());
  args.rows = 1;
  Buffer<B, T> in(std::vector<T>(logits.begin(), logits.end())), some(std::vector<T>(bias.begin(), bias.end()));
  Buffer<B, std::int32_t> experts(args.active);
  Buffer<B, compute_t<T>> out(args.active);
  B::template route_forward<T>(args, in, bias.empty() ? nullptr : static_cast<T*>(some), experts, out);
  if (weights) *weights = out.host();
  return experts.host();
}

using Experts = std::vector<std::int32_t>;

template <class B, class T>
void check_route(const RouteArgs& args, bool with_bias) {
  const std::int64_t R = args.rows, E = args.experts, A = args.active;
  Input<B, T> logits(R * E, 1, 2), bias(E, 2, 0.2), dw(R * A, 3);
  const T* const b = with_bias ? static_cast<T*>(bias) : nullptr;
  Buffer<B, std::int32_t> experts(R * A);
  Buffer<B, compute_t<T>> weights(R * A);
  std::vector<std::int32_t> wide_experts(static_cast<std::size_t>(R * A));
  std::vector<double> wide = zeros(R * A);
  B::template route_forward<T>(args, logits, b, experts, weights);
  Reference::route_forward<double>(args, logits.wide.data(), with_bias ? bias.wide.data() : nullptr, wide_experts.data(), wide.data());
  const auto chosen = experts.host();
  std::int64_t others = 0;
  for (std::size_t i = 0; i < chosen.size(); ++i) others += chosen[i] != wide_experts[i];
  // Without a bias the logits alone decide, whose values are exact; with one rounding may decide some choices otherwise.
  CHECK(others <= (with_bias && !std::is_same_v<T, double> ? R * A / 100 : 0));
  if (others > 0) return;
  check_close("weights", weights.host(), wide, kernel_tolerance<compute_t<T>>);
  Gradient d{"dlogits", zeros(R * E)};
  Buffer<B, compute_t<T>> d_weights(std::vector<compute_t<T>>(dw.wide.begin(), dw.wide.end()));
  Reference::route_backward<double>(args, logits.wide.data(), wide_experts.data(), dw.wide.data(), d.expected.data(), false);
  check_gradients<B, T>({d}, kernel_tolerance<T>, [&](auto& out, auto& add) {
    B::template route_backward<T>(args, logits, static_cast<std::int32_t*>(experts), static_cast<compute_t<T>*>(d_weights), out[0], add[0]);
  });
}

/// Statistics, losses and their gradient, added to what is there, of random logits and a choice that need not be theirs.
template <class B, class T>
void check_router_losses(const RouteArgs& args) {
  const std::int64_t R = args.rows, E = args.experts, routers = 2, width = 2 * E + 1;
  Input<B, T> logits(R * E, 1, 2), before(R * E, 2);
  std::vector<std::int32_t> choice;
  for (std::int64_t c = 0; c < R * args.active; ++c) choice.push_back(static_cast<std::int32_t>(c * c % E));
  Buffer<B, std::int32_t> experts(choice);
  Buffer<B, compute_t<T>> statistics(routers * width), losses(E + 5);
  std::vector<double> wide = zeros(routers * width), wide_losses = zeros(E + 5);
  for (std::int64_t i = 0; i < routers; ++i) {
    B::template router_statistics<T>(args, logits, static_cast<std::int32_t*>(experts), static_cast<compute_t<T>*>(statistics) + i * width);
    Reference::router_statistics<double>(args, logits.wide.data(), choice.data(), wide.data() + i * width);
  }
  check_close("statistics", statistics.host(), wide, kernel_tolerance<compute_t<T>>);
  const llm::RouterLossArgs balance{.routers = routers, .rows = R, .experts = E, .aux = 2, .z = 3};
  B::template router_losses<compute_t<T>>(balance, static_cast<compute_t<T>*>(statistics), static_cast<compute_t<T>*>(losses));
  Reference::router_losses<double>(balance, wide.data(), wide_losses.data());
  check_close("losses", losses.host(), wide_losses, kernel_tolerance<compute_t<T>>);
  CHECK(wide_losses[llm::RouterLossArgs::gradient] == 0);
  wide_losses[llm::RouterLossArgs::gradient] = 0.75;
  std::vector<compute_t<T>> upstream(wide_losses.begin(), wide_losses.end());
  Buffer<B, compute_t<T>> given(upstream);
  B::template router_losses_backward<T>(args, logits, static_cast<compute_t<T>*>(given), before);
  Reference::router_losses_backward<double>(args, logits.wide.data(), wide_losses.data(), before.wide.data());
  check_close("dlogits", before.buffer.host(), before.wide, kernel_tolerance<T>);
}

template <class B, class T>
void check_rows(std::int64_t rows, std::int64_t active, std::int64_t experts, std::int64_t cols) {
  const std::int64_t n = rows * active;
  std::vector<std::int32_t> choice;
  for (std::int64_t c = 0; c < n; ++c) choice.push_back(static_cast<std::int32_t>(c * 7 % 5 % experts));
  Buffer<B, std::int32_t> choices(choice), order(n), places(n);
  std::vector<std::int64_t> begins(static_cast<std::size_t>(experts + 1), -1);
  B::sort_choices(static_cast<std::int32_t*>(choices), n, experts, order, places, begins.data());
  const auto at = order.host(), place = places.host();
  CHECK((begins.front() == 0 && begins.back() == n));
  for (std::size_t p = 0; p < at.size(); ++p) {
    const auto expert = static_cast<std::size_t>(choice[static_cast<std::size_t>(at[p])]);
    CHECK((begins[expert] <= static_cast<std::int64_t>(p) && static_cast<std::int64_t>(p) < begins[expert + 1]));
    CHECK(place[static_cast<std::size_t>(at[p])] == static_cast<std::int32_t>(p));
    if (p > 0 && choice[static_cast<std::size_t>(at[p - 1])] == choice[static_cast<std::size_t>(at[p])]) CHECK(at[p - 1] < at[p]);
  }
  Input<B, T> x(rows * cols, 1), z(n * cols, 2), a(n * cols, 3);
  Input<B, compute_t<T>> weights(n, 4);
  Buffer<B, T> gathered(n * cols);
  std::vector<double> wide = zeros(n * cols);
  B::template gather_rows<T>(order, x, gathered, n, active, cols);
  Reference::gather_rows<double>(at.data(), x.wide.data(), wide.data(), n, active, cols);
  check_close("gathered", gathered.host(), wide, 0);
  Gradient y{"combined", zeros(rows * cols)}, sum{"summed", zeros(rows * cols)}, dots{"dots", zeros(n)};
  Reference::combine_rows<double>(place.data(), weights.wide.data(), z.wide.data(), y.expected.data(), rows, active, cols, false);
  Reference::combine_rows<double>(place.data(), nullptr, z.wide.data(), sum.expected.data(), rows, active, cols, false);
  Reference::row_dots<double>(at.data(), a.wide.data(), z.wide.data(), dots.expected.data(), n, cols, false);
  check_gradients<B, T>({y}, kernel_tolerance<T>, [&](auto& out, auto& add) {
    B::template combine_rows<T>(places, static_cast<compute_t<T>*>(weights), z, out[0], rows, active, cols, add[0]);
  });
  check_gradients<B, T>({sum}, kernel_tolerance<T>,
                        [&](auto& out, auto& add) { B::template combine_rows<T>(places, nullptr, z, out[0], rows, active, cols, add[0]); });
  check_gradients<B, compute_t<T>>({dots}, kernel_tolerance<compute_t<T>> * 5,
                                   [&](auto& out, auto& add) { B::template row_dots<T>(order, a, z, out[0], n, cols, add[0]); });
  Reference::scale_rows<double>(at.data(), weights.wide.data(), z.wide.data(), n, cols);
  B::template scale_rows<T>(order, static_cast<compute_t<T>*>(weights), z, n, cols);
  check_close("scaled", z.buffer.host(), z.wide, kernel_tolerance<T>);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("A router's choice", "[kernels]", KernelBackendsWithBf16) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(chosen<B, T>({.active = 2}, {1, 4, 2, 3}) == Experts{1, 3});
  CHECK(chosen<B, T>({.active = 3}, {1, 1, 2, 1}) == Experts{2, 0, 1});  // of equal ones the first
  CHECK(chosen<B, T>({.active = 2, .sigmoid = true}, {-50, 4, -40, -45}) == Experts{1, 2});
  CHECK(chosen<B, T>({.active = 3}, {-inf, -inf, 0, -inf}) == Experts{2, 0, 1});
  // A bias decides on the choice and not on the weights.
  std::vector<compute_t<T>> weights;
  CHECK(chosen<B, T>({.active = 2, .sigmoid = true, .normalise = false, .scale = 2}, {0, 0, 0, 0}, {-1, 0, 1, 0}, &weights) ==
        Experts{2, 1});
  check_close("weights", weights, std::vector<double>{1, 1}, 1e-6);
  // Of four groups of two the two best: those of the largest single expert, with a bias those of the largest sum.
  const std::vector<double> grouped{3, -9, 1, 1, 2, -9, 0, 0};
  CHECK(chosen<B, T>({.active = 3, .groups = 4, .active_groups = 2, .sigmoid = true}, grouped) == Experts{0, 4, 1});
  CHECK(chosen<B, T>({.active = 3, .groups = 4, .active_groups = 2, .sigmoid = true}, grouped, std::vector<double>(8)) == Experts{2, 3, 6});
  CHECK(chosen<B, T>({.active = 3, .groups = 4, .active_groups = 4, .sigmoid = true}, grouped) == Experts{0, 4, 2});
  // Whatever the numbers, as many different experts as asked for.
  for (const double bad : {nan, inf, -inf})
    for (const bool sigmoid : {false, true}) {
      auto experts = chosen<B, T>({.active = 4, .sigmoid = sigmoid}, {bad, 0, bad, bad});
      std::sort(experts.begin(), experts.end());
      CHECK(experts == Experts{0, 1, 2, 3});
    }
}

TEMPLATE_LIST_TEST_CASE("Routing of odd sizes", "[kernels]", KernelBackendsWithBf16) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  for (const std::int64_t rows : {0, 1, 3, 200})
    for (const std::int64_t experts : {1, 6, 60})
      for (const bool sigmoid : {false, true})
        for (const bool normalise : {false, true})
          for (const bool bias : {false, true}) {
            INFO(rows << " rows, " << experts << " experts, sigmoid " << sigmoid << " normalise " << normalise << " bias " << bias);
            check_route<B, T>({.rows = rows,
                               .experts = experts,
                               .active = (std::min)(experts, std::int64_t{4}),
                               .groups = experts % 3 == 0 ? 3 : 1,
                               .active_groups = experts % 3 == 0 ? 2 : 1,
                               .sigmoid = sigmoid,
                               .normalise = normalise,
                               .scale = 1.5},
                              bias);
          }
}

TEMPLATE_LIST_TEST_CASE("Losses of routers of odd sizes", "[kernels]", KernelBackendsWithBf16) {
  for (const std::int64_t rows : {1, 3, 200})
    for (const std::int64_t experts : {1, 6, 60})
      for (const bool sigmoid : {false, true}) {
        INFO(rows << " rows, " << experts << " experts, sigmoid " << sigmoid);
        check_router_losses<typename TestType::Backend, typename TestType::Scalar>(
            {.rows = rows, .experts = experts, .active = (std::min)(experts, std::int64_t{2}), .sigmoid = sigmoid});
      }
}

TEMPLATE_LIST_TEST_CASE("Rows of experts, of odd sizes", "[kernels]", KernelBackendsWithBf16) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  for (const std::int64_t rows : {0, 1, 3, 70})
    for (const std::int64_t active : {1, 2, 5})
      for (const std::int64_t cols : {1, 7, 64, 300}) {
        INFO(rows << " rows, " << active << " active, " << cols << " columns");
        check_rows<B, T>(rows, active, 6, cols);
      }
}
