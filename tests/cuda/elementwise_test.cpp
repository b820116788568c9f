// Elementwise kernels, activations and rotary embedding against the reference: on the CPU through the emulator, or on a GPU.
#include <cstddef>
#include <cstdint>
#include <support/catch.hpp>
#include <support/cuda_kernel.hpp>
#include <vector>

#include <llm/backend/concept.hpp>
#include <llm/backend/cuda/cuda.hpp>
#include <llm/backend/reference/activation.hpp>
#include <llm/backend/reference/elementwise.hpp>
#include <llm/backend/reference/rope.hpp>
#include <llm/core/dtype.hpp>

namespace {

using llm::Activation;
using llm::bf16;
using llm::Cuda;
using llm_test::can_run;
using llm_test::DeviceArray;
using llm_test::in_each_order;
using llm_test::random_values;
using llm_test::unread;
namespace reference = llm::reference;

// Empty, odd, whole 16-byte accesses, and more than one block.
constexpr std::int64_t sizes[] = {0, 1, 7, 64, 600};

template <class T>
void check_close(const std::vector<T>& found, const std::vector<T>& expected) {
  llm_test::check_close(found, expected, llm_test::largest(expected));
}

template <class T, class X>
void check_plain(std::int64_t n, std::size_t offset) {
  const auto a = random_values<T>(n, 1);
  const auto x = random_values<X>(n, 2);
  std::vector<T> sum = a, converted(a.size()), both(a.size()), scaled = a, filled(a.size());
  reference::accumulate<T, X>(sum.data(), x.data(), n);
  reference::convert<T, X>(converted.data(), x.data(), n);
  reference::add<T>(a.data(), sum.data(), both.data(), n);
  reference::scale<T>(scaled.data(), n, 0.3);
  reference::fill<T>(filled.data(), n, 0.7);

  DeviceArray<T> d_a(a, offset), d_sum(a, offset), d_both(a.size()), d_scaled(a, offset), d_filled(a.size()), d_to(a.size()),
      d_copy(a.size());
  DeviceArray<X> d_x(x);
  Cuda::accumulate<T, X>(d_sum.data(), d_x.data(), n);
  Cuda::convert<T, X>(d_to.data(), d_x.data(), n);
  Cuda::add<T>(d_a.data(), d_sum.data(), d_both.data(), n);
  Cuda::scale<T>(d_scaled.data(), n, 0.3);
  Cuda::fill<T>(d_filled.data(), n, 0.7);
  Cuda::copy<T>(d_copy.data(), d_a.data(), n);
  check_close(d_sum.values(), sum);
  check_close(d_to.values(), converted);
  check_close(d_both.values(), both);
  check_close(d_scaled.values(), scaled);
  check_close(d_filled.values(), filled);
  check_close(d_copy.values(), a);
}

template <class T>
void check_activation(Activation kind, std::int64_t n, bool add, std::size_t offset) {
  const auto dy = random_values<T>(n, 1), x = random_values<T>(n, 2);
  std::vector<T> forward(x.size()), again(x.size()), dx = random_values<T>(n, 3);
  DeviceArray<T> d_dy(dy, offset), d_x(x), d_forward(x.size()), d_again(x.size()), d_dx(add ? dx : unread<T>(dx.size()));
  reference::activation_forward<T>(kind, x.data(), forward.data(), n);
  reference::activation_backward<T>(kind, dy.data(), x.data(), dx.data(), again.data(), n, add);
  Cuda::activation_forward<T>(kind, d_x.data(), d_forward.data(), n);
  Cuda::activation_backward<T>(kind, d_dy.data(), d_x.data(), d_dx.data(), d_again.data(), n, add);
  check_close(d_forward.values(), forward);
  check_close(d_again.values(), again);
  check_close(d_dx.values(), dx);
}

/// y is null when `add`, and dy's memory when not.
template <class T>
void check_gated(Activation kind, std::int64_t n, bool add, std::size_t offset) {
  const auto dy = random_values<T>(n, 1), gate = random_values<T>(n, 2), up = random_values<T>(n, 3);
  std::vector<T> forward(dy.size()), again = dy, dgate = random_values<T>(n, 4), dup = random_values<T>(n, 5);
  DeviceArray<T> d_dy(dy), d_gate(gate, offset), d_up(up), d_forward(dy.size());
  DeviceArray<T> d_dgate(add ? dgate : unread<T>(dy.size())), d_dup(add ? dup : unread<T>(dy.size()));
  reference::gated_forward<T>(kind, gate.data(), up.data(), forward.data(), n);
  reference::gated_backward<T>(kind, dy.data(), gate.data(), up.data(), dgate.data(), dup.data(), add ? nullptr : again.data(), n, add,
                               add);
  Cuda::gated_forward<T>(kind, d_gate.data(), d_up.data(), d_forward.data(), n);
  Cuda::gated_backward<T>(kind, d_dy.data(), d_gate.data(), d_up.data(), d_dgate.data(), d_dup.data(), add ? nullptr : d_dy.data(), n, add,
                          add);
  check_close(d_forward.values(), forward);
  check_close(d_dy.values(), again);
  check_close(d_dgate.values(), dgate);
  check_close(d_dup.values(), dup);
}

/// Both gradients in one array: the second is added to the first.
template <class T>
void check_gated_on_one(std::int64_t n, std::size_t offset, bool add) {
  const auto dy = random_values<T>(n, 1), x = random_values<T>(n, 2);
  std::vector<T> dx = random_values<T>(n, 3);
  DeviceArray<T> d_dy(dy), d_x(x, offset), d_dx(add ? dx : unread<T>(dx.size()));
  reference::gated_backward<T>(Activation::silu, dy.data(), x.data(), x.data(), dx.data(), dx.data(), nullptr, n, add, true);
  Cuda::gated_backward<T>(Activation::silu, d_dy.data(), d_x.data(), d_x.data(), d_dx.data(), d_dx.data(), nullptr, n, add, true);
  check_close(d_dx.values(), dx);
}

/// In place when not `add`.
template <class T>
void check_rope(llm::RopeArgs args, bool with_starts, bool add) {
  const std::int64_t n = args.B * args.T * args.heads * args.E;
  const auto x = random_values<T>(n, 1);
  std::vector<T> y = add ? random_values<T>(n, 2) : x;
  const auto cosines = random_values<float>(16 * args.width / 2, 3), sines = random_values<float>(16 * args.width / 2, 4);
  const std::vector<std::int64_t> starts{5, 2};
  DeviceArray<T> d_x(x), d_y(y);
  DeviceArray<float> d_cos(cosines), d_sin(sines);
  DeviceArray<std::int64_t> d_starts(starts);
  llm::RopeArgs on_device = args;
  args.cos = cosines.data(), args.sin = sines.data(), args.starts = with_starts ? starts.data() : nullptr;
  on_device.cos = d_cos.data(), on_device.sin = d_sin.data(), on_device.starts = with_starts ? d_starts.data() : nullptr;
  reference::rope<T>(args, x.data(), y.data(), add);
  Cuda::rope<T>(on_device, add ? d_x.data() : d_y.data(), d_y.data(), add);
  check_close(d_y.values(), y);
}

template <class T>
void check_all_ropes() {
  if (!can_run()) return;
  in_each_order([] {
    for (const bool interleaved : {false, true})
      for (const std::int64_t width : {0, 2, 16, 32})  // a part of the head, and all of it
        for (const bool add : {false, true}) {
          CAPTURE(interleaved, width, add);
          check_rope<T>({.B = 2, .T = 3, .heads = 3, .E = 32, .width = width, .start = 4, .interleaved = interleaved, .inverse = add}, add,
                        add);
          check_rope<T>({.B = 2, .T = 1, .heads = 1, .E = 35, .width = width, .start = 4, .interleaved = interleaved}, !add, add);
        }
  });
}

template <class T>
void check_all_activations() {
  if (!can_run()) return;
  in_each_order([] {
    for (const Activation kind : {Activation::silu, Activation::gelu_tanh, Activation::gelu_erf})
      for (const std::int64_t n : sizes) {
        CAPTURE(static_cast<int>(kind), n);
        check_activation<T>(kind, n, false, 0);
        check_activation<T>(kind, n, true, 1);
        check_gated<T>(kind, n, false, 0);
        check_gated<T>(kind, n, true, 1);
      }
    for (const std::size_t offset : {0u, 1u}) {
      check_gated_on_one<T>(64, offset, true);
      check_gated_on_one<T>(64, offset, false);
    }
  });
}

}  // namespace

TEST_CASE("Elementwise kernels agree with the reference") {
  if (!can_run()) return;
  in_each_order([] {
    for (const std::int64_t n : sizes)
      for (const std::size_t offset : {0u, 1u}) {
        CAPTURE(n, offset);
        check_plain<float, bf16>(n, offset);
        check_plain<bf16, float>(n, offset);
        check_plain<double, float>(n, offset);
      }
  });
}

TEST_CASE("Activations of floats agree with the reference") { check_all_activations<float>(); }

TEST_CASE("Activations of bf16 agree with the reference") { check_all_activations<bf16>(); }

TEST_CASE("Rotary embedding of floats agrees with the reference") { check_all_ropes<float>(); }

TEST_CASE("Rotary embedding of bf16 agrees with the reference") { check_all_ropes<bf16>(); }
