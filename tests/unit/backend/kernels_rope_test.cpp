// Rotary embedding: rotations by hand, partial widths, starts of rows, and random sizes against the reference in double.
#include <support/kernel.hpp>

using namespace llm_test;
using llm::Reference;
using llm::RopeArgs;

namespace {

/// Angles position / 10^i, i < half, as cos or sin.
std::vector<float> table(std::int64_t positions, std::int64_t half, double (*f)(double)) {
  std::vector<float> out;
  for (std::int64_t p = 0; p < positions; ++p)
    for (std::int64_t i = 0; i < half; ++i)
      out.push_back(static_cast<float>(f(static_cast<double>(p) * std::pow(10.0, -static_cast<double>(i)))));
  return out;
}

template <class B, class T>
void check_rope(RopeArgs args, const std::vector<std::int64_t>& starts) {
  INFO("B " << args.B << " T " << args.T << " heads " << args.heads << " E " << args.E << " width " << args.width << " interleaved "
            << args.interleaved << " inverse " << args.inverse);
  const std::vector<float> cosine = table(40 + args.T, args.width / 2, std::cos), sine = table(40 + args.T, args.width / 2, std::sin);
  Buffer<B, float> cos_buffer(cosine), sin_buffer(sine);
  Buffer<B, std::int64_t> start_buffer(starts);
  RopeArgs wide_args = args;
  wide_args.cos = cosine.data();
  wide_args.sin = sine.data();
  wide_args.starts = starts.empty() ? nullptr : starts.data();
  args.cos = cos_buffer;
  args.sin = sin_buffer;
  args.starts = starts.empty() ? nullptr : static_cast<std::int64_t*>(start_buffer);
  Input<B, T> x(args.B * args.T * args.heads * args.E, 1);
  Gradient y{"y", std::vector<double>(x.wide.size())};
  Reference::rope<double>(wide_args, x.wide.data(), y.expected.data(), false);
  check_gradients<B, T>({y}, kernel_tolerance<T>, [&](auto& out, auto& add) { B::template rope<T>(args, x, out[0], add[0]); });
  B::template rope<T>(args, x, x, false);
  check_close("in place", x.buffer.host(), y.expected, kernel_tolerance<T>);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("rope of one head by hand, positions 1 and 7 [rope_golden]", "[kernels]", KernelBackends) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  const std::vector<float> cosine = table(8, 2, std::cos), sine = table(8, 2, std::sin);
  Buffer<B, float> cos_buffer(cosine), sin_buffer(sine);
  Buffer<B, T> x(std::vector<T>{T(1), T(2), T(3), T(4)}), y(4);
  for (const std::int64_t position : {1, 7})
    for (const bool interleaved : {false, true}) {
      RopeArgs args{.B = 1, .T = 1, .heads = 1, .E = 4, .width = 4, .cos = cos_buffer, .sin = sin_buffer};
      args.start = position;
      args.interleaved = interleaved;
      B::template rope<T>(args, x, y, false);
      const double p = static_cast<double>(position), c0 = std::cos(p), s0 = std::sin(p), c1 = std::cos(p / 10), s1 = std::sin(p / 10);
      const std::vector<double> half{1 * c0 - 3 * s0, 2 * c1 - 4 * s1, 3 * c0 + 1 * s0, 4 * c1 + 2 * s1};
      const std::vector<double> pairs{1 * c0 - 2 * s0, 2 * c0 + 1 * s0, 3 * c1 - 4 * s1, 4 * c1 + 3 * s1};
      check_close(interleaved ? "interleaved" : "half-split", y.host(), interleaved ? pairs : half, 1e-6);
    }
}

TEMPLATE_LIST_TEST_CASE("rope of odd sizes, partial widths and uneven rows", "[kernels]", KernelBackendsWithBf16) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  for (const std::int64_t T_new : {0, 1, 3, 17})
    for (const std::int64_t heads : {1, 3})
      for (const auto& [E, width] : std::initializer_list<std::pair<std::int64_t, std::int64_t>>{
               {2, 2}, {8, 8}, {8, 4}, {17, 6}, {33, 32}, {64, 64}, {80, 32}, {5, 0}})
        for (const bool interleaved : {false, true})
          for (const bool inverse : {false, true}) {
            RopeArgs args{.B = 2, .T = T_new, .heads = heads, .E = E, .width = width};
            args.start = 5;
            args.interleaved = interleaved;
            args.inverse = inverse;
            check_rope<B, T>(args, {});
            check_rope<B, T>(args, {0, 37});
          }
}
