// What the CPU backend's attention promises to the last bit, and the accuracy of the exponentials and logarithms that it is made of.
#include "cpu_support.hpp"

using namespace cpu_test;

namespace {

struct Shape {
  std::int64_t B, T, S, H, K, E, window = 0;
};

llm::AttentionArgs arguments(const Shape& z) {
  llm::AttentionArgs a{.B = z.B, .T = z.T, .S = z.S, .H = z.H, .K = z.K, .E = z.E, .window = z.window};
  a.kv_batch_stride = z.S * z.K * z.E;
  a.kv_position_stride = z.K * z.E;
  a.kv_head_stride = z.E;
  a.scale = 1 / std::sqrt(static_cast<double>(z.E));
  return a;
}

/// Everything that one forward and one backward call write, in bytes.
template <class T>
std::vector<std::vector<unsigned char>> results(const Shape& z) {
  const llm::AttentionArgs a = arguments(z);
  const std::int64_t queries = z.B * z.T * z.H * z.E, keys = z.B * z.S * z.K * z.E;
  const auto q = random_values<T>(queries, 1), k = random_values<T>(keys, 2), v = random_values<T>(keys, 3),
             dy = random_values<T>(queries, 4);
  std::vector<T> y(q.size()), dq(q.size()), dk(k.size()), dv(k.size());
  std::vector<float> lse(static_cast<std::size_t>(z.B * z.T * z.H));
  llm::Cpu::attention_forward<T, T>(a, q.data(), k.data(), v.data(), y.data(), lse.data());
  llm::Cpu::attention_backward<T>(a, q.data(), k.data(), v.data(), y.data(), dy.data(), lse.data(), dq.data(), dk.data(), dv.data(), false,
                                  false, false);
  return {bits(y), bits(lse), bits(dq), bits(dk), bits(dv)};
}

template <class T>
void check_threads(const Shape& z) {
  INFO("B " << z.B << " T " << z.T << " S " << z.S << " H " << z.H << " K " << z.K << " E " << z.E << " window " << z.window);
  llm::set_num_threads(1);
  const auto alone = results<T>(z);
  for (const int threads : {2, 3}) {
    llm::set_num_threads(threads);
    CHECK((results<T>(z) == alone));
  }
  llm::set_num_threads(0);
}

}  // namespace

TEST_CASE("Attention and its gradient do not depend on the number of threads") {
  for_each_isa([] {
    // One KV head, whose keys are dealt to 1, 2 and 4 tasks; several; decode with one split, with many, from more memory than caches hold.
    for (const Shape& z : {Shape{1, 60, 60, 3, 1, 40}, Shape{1, 150, 150, 4, 1, 32}, Shape{1, 520, 520, 2, 1, 48},
                           Shape{2, 140, 140, 6, 2, 20}, Shape{1, 300, 300, 4, 2, 32, 70}, Shape{3, 130, 200, 2, 2, 16},
                           Shape{2, 1, 200, 8, 2, 64}, Shape{1, 1, 3000, 8, 1, 64}, Shape{2, 1, 9000, 6, 3, 64}}) {
      check_threads<float>(z);
      check_threads<llm::bf16>(z);
    }
  });
}

TEST_CASE("A row of a batch attends alone as it does among others") {
  for_each_isa([] {
    for (const std::int64_t T : {1, 7, 70}) {
      const std::int64_t B = 5, S = 600, H = 6, K = 2, E = 24, row = H * E;
      std::vector<std::int64_t> lengths{600, 257, 80, 333, 256};
      const auto q = random_values<float>(B * T * row, 1);
      const auto k = random_values<llm::bf16>(B * S * K * E, 2), v = random_values<llm::bf16>(B * S * K * E, 3);
      llm::AttentionArgs a = arguments({B, T, S, H, K, E});
      a.kv_lengths = lengths.data();
      std::vector<float> y(q.size()), lse(static_cast<std::size_t>(B * T * H));
      llm::Cpu::attention_forward<float, llm::bf16>(a, q.data(), k.data(), v.data(), y.data(), lse.data());
      for (std::int64_t b = 0; b < B; ++b) {
        INFO("T " << T << " row " << b);
        llm::AttentionArgs one = a;
        one.B = 1;
        one.kv_lengths = &lengths[static_cast<std::size_t>(b)];
        std::vector<float> alone(static_cast<std::size_t>(T * row)), alone_lse(static_cast<std::size_t>(T * H));
        llm::Cpu::attention_forward<float, llm::bf16>(one, q.data() + b * T * row, k.data() + b * S * K * E, v.data() + b * S * K * E,
                                                      alone.data(), alone_lse.data());
        CHECK((bits(alone) == bits(std::vector<float>(y.begin() + b * T * row, y.begin() + (b + 1) * T * row))));
        CHECK((bits(alone_lse) == bits(std::vector<float>(lse.begin() + b * T * H, lse.begin() + (b + 1) * T * H))));
      }
    }
  });
}

TEST_CASE("A query that sees one key returns its value, and has no gradient, to the last bit") {
  for_each_isa([] {
    for (const std::int64_t window : {0, 1})  // the first query; all of them
      for (const std::int64_t E : {7, 32, 64}) {
        INFO("window " << window << " E " << E);
        const std::int64_t T = 70;
        llm::AttentionArgs a = arguments({1, T, T, 1, 1, E, window});
        a.scale = 30;
        const auto q = random_values<float>(T * E, 1), k = random_values<float>(T * E, 2), v = random_values<float>(T * E, 3),
                   dy = random_values<float>(T * E, 4);
        std::vector<float> y(q.size()), lse(static_cast<std::size_t>(T)), dq(q.size()), dk(q.size()), dv(q.size());
        llm::Cpu::attention_forward<float, float>(a, q.data(), k.data(), v.data(), y.data(), lse.data());
        llm::Cpu::attention_backward<float>(a, q.data(), k.data(), v.data(), y.data(), dy.data(), lse.data(), dq.data(), dk.data(),
                                            dv.data(), false, false, false);
        const std::size_t one_key = static_cast<std::size_t>(window == 1 ? T * E : E);
        for (std::size_t i = 0; i < one_key; ++i) {
          CHECK(y[i] == v[i]);
          CHECK(dq[i] == 0.0f);
          if (window == 1) CHECK(dk[i] == 0.0f);
        }
      }
  });
}

TEST_CASE("Exponentials of a softmax are right to two units in the last place") {
  for_each_isa([] {
    llm::cpu::with_vectors([](auto kernels) {
      const int n = 20011;
      std::vector<float> x(n);
      for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = -110.0f * static_cast<float>(i) / static_cast<float>(n - 1);
      x[7] = -std::numeric_limits<float>::infinity();
      auto weights = x;
      float largest = 0, total = 0;
      kernels.softmax_row(weights.data(), n, 1.0f, largest, total);
      CHECK(largest == 0.0f);
      double sum = 0, worst = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double want = std::exp(static_cast<double>(x[i])), error = std::fabs(weights[i] - want);
        sum += want;
        if (want > 1e-37)
          worst = std::fmax(worst, error / (std::ldexp(1.0, std::ilogb(want) - 23)));
        else
          CHECK(error < 2e-38);
      }
      CHECK(worst < 2.0);
      CHECK(std::fabs(total / sum - 1) < 3e-6);
      CHECK(weights[0] == 1.0f);
      CHECK(weights[7] == 0.0f);
    });
  });
}

TEST_CASE("The logarithm of a softmax's total is right to two units in the last place") {
  for_each_isa([] {
    llm::cpu::with_vectors([](auto kernels) {
      const std::size_t n = 4096;
      std::vector<float> x(n), result(n, 0.0f), inverse(n);
      for (std::size_t i = 0; i < n; ++i) x[i] = std::ldexp(1.0f + static_cast<float>(i % 101) / 101.0f, static_cast<int>(i % 40) - 3);
      x[5] = 0.0f;
      x[6] = std::numeric_limits<float>::quiet_NaN();
      x[7] = std::numeric_limits<float>::infinity();
      inverse = x;
      kernels.finish_softmax(static_cast<std::int64_t>(n), {result.data(), inverse.data(), nullptr});
      for (std::size_t i = 8; i < n; ++i) {
        const double want = std::log(static_cast<double>(x[i]));
        CHECK(std::fabs(result[i] - want) <= 1.2e-7 * std::fmax(std::fabs(want), 0.1));
        CHECK(inverse[i] == 1.0f / x[i]);
      }
      CHECK(result[5] == -std::numeric_limits<float>::infinity());
      CHECK(inverse[5] == 0.0f);
      CHECK(std::isnan(result[6]));
      CHECK(result[7] == std::numeric_limits<float>::infinity());
    });
  });
}
