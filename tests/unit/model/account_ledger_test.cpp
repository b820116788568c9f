// The ledger of the accountant: peaks, gradients that stay, parts that repeat, and sums that no number holds.
#include <cstdint>

#include <llm/model/account_ledger.hpp>
#include <support/catch.hpp>

using llm::detail::Ledger;

namespace {

/// One of the parts that are repeated below: keeps, by which it grows or shrinks, after a rise and a gradient.
Ledger part(std::int64_t rise, std::int64_t keeps, std::int64_t gradient) {
  Ledger l;
  l.take(rise);
  if (gradient > 0) l.gradient(gradient);
  l.give(rise - keeps);
  return l;
}

bool same(const Ledger& a, const Ledger& b) {
  return a.now() == b.now() && a.peak() == b.peak() && a.gradients() == b.gradients() && a.gradients_at_peak() == b.gradients_at_peak();
}

}  // namespace

TEST_CASE("a ledger knows the most that lived at a time, and the gradients among it") {
  Ledger l;
  l.take(10);
  l.gradient(5);
  l.take(20);
  l.give(30);
  l.gradient(7);
  CHECK(l.now() == 12);
  CHECK(l.gradients() == 12);
  CHECK(l.peak() == 35);
  CHECK(l.gradients_at_peak() == 5);
  l.give(0);
  l.take(24);
  CHECK(l.peak() == 36);
  CHECK(l.gradients_at_peak() == 12);
}

TEST_CASE("a part appended n times is the part n times in a row, whether it grows or shrinks") {
  for (const std::int64_t keeps : {-3, 0, 4})
    for (const std::int64_t gradient : {0, 2, 3})
      for (const std::int64_t times : {0, 1, 2, 5}) {
        Ledger once, repeated;
        once.take(50);
        repeated.take(50);
        for (std::int64_t i = 0; i < times; ++i) once.append(part(100, keeps, gradient), 1);
        repeated.append(part(100, keeps, gradient), times);
        INFO("keeps " << keeps << " gradient " << gradient << " times " << times);
        CHECK(same(once, repeated));
        CHECK(once.now() == 50 + times * (keeps + gradient));
      }
}

TEST_CASE("a ledger that overflows says so instead of wrapping [int64]") {
  const std::int64_t large = INT64_MAX / 2;
  Ledger sum;
  sum.take(large);
  CHECK(sum.peak() == large);
  sum.take(1);
  CHECK(sum.peak() == INT64_MAX);
  sum.give(large);
  sum.take(1);
  CHECK(sum.peak() == INT64_MAX);

  Ledger beyond;
  beyond.take(llm::detail::Count(INT64_MAX) * 2);
  CHECK(beyond.peak() == INT64_MAX);

  Ledger below;
  for (int i = 0; i < 3; ++i) below.give(large);
  CHECK(below.peak() == INT64_MAX);

  Ledger many;
  many.append(part(10, 3, 1), INT64_MAX / 2);
  CHECK(many.peak() == INT64_MAX);
}
