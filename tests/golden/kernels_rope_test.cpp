// Rotary embedding kernels against PyTorch's numbers.
#include <support/kernel.hpp>

using namespace llm_test;

namespace {

/// cos or sin of position * theta^(-2 i / width), [positions, width / 2].
std::vector<float> table(std::int64_t positions, std::int64_t width, double theta, double (*f)(double)) {
  std::vector<float> out;
  for (std::int64_t p = 0; p < positions; ++p)
    for (std::int64_t i = 0; i < width / 2; ++i)
      out.push_back(
          static_cast<float>(f(static_cast<double>(p) * std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(width)))));
  return out;
}

template <class B, class T>
void check_rope(const Golden& golden, const std::string& name, bool interleaved) {
  INFO(name);
  const auto shape = golden.tensor<double>(name + "x");  // [B, heads, T, E]
  llm::RopeArgs args{.B = shape.extent(0), .T = shape.extent(2), .heads = shape.extent(1), .E = shape.extent(3), .width = shape.extent(3)};
  args.start = static_cast<std::int64_t>(golden.number(name + "start_pos"));
  args.interleaved = interleaved;
  const double theta = golden.number(name + "theta");
  Buffer<B, float> cosine(table(args.start + args.T, args.width, theta, std::cos));
  Buffer<B, float> sine(table(args.start + args.T, args.width, theta, std::sin));
  args.cos = cosine;
  args.sin = sine;
  Buffer<B, T> x(swap_middle(golden.tensor<T>(name + "x"))), dy(swap_middle(golden.tensor<T>(name + "dy")));
  const auto y = swap_middle(golden.tensor<double>(name + "y")), dx = swap_middle(golden.tensor<double>(name + "dx"));

  check_gradients<B, T>({{"y", y}}, 1e-5, [&](auto& out, auto& add) { B::template rope<T>(args, x, out[0], add[0]); });
  args.inverse = true;
  check_gradients<B, T>({{"dx", dx}}, 1e-5, [&](auto& out, auto& add) { B::template rope<T>(args, dy, out[0], add[0]); });

  args.inverse = false;
  const std::vector<std::int64_t> same_starts(static_cast<std::size_t>(args.B), args.start);
  Buffer<B, std::int64_t> starts(same_starts);
  args.starts = starts;
  args.start = 1000000;  // must not matter
  B::template rope<T>(args, x, x, false);
  check_close("y in place, with a start for each row", x.host(), y);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("rope agrees with PyTorch in both conventions [rope_golden]", "[golden]", KernelBackends) {
  using B = typename TestType::Backend;
  using T = typename TestType::Scalar;
  const Golden golden("ops.safetensors");
  REQUIRE(golden.cases("rope_half").size() == 4);
  REQUIRE(golden.cases("rope_interleaved").size() == 4);
  for (const std::string& name : golden.cases("rope_half")) check_rope<B, T>(golden, name, false);
  for (const std::string& name : golden.cases("rope_interleaved")) check_rope<B, T>(golden, name, true);
}
