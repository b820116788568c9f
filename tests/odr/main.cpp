// [odr] Files compiled with and without threads and a shared library with hidden symbols share one tape and one set of types.
#include <cstdio>

#include "all_headers.hpp"
#include "parts.hpp"

namespace {

int failures = 0;

void check(bool holds, const char* what) {
  if (holds) return;
  std::printf("failed: %s\n", what);
  ++failures;
}

}  // namespace

int main() {
  auto x = Square::full({}, 1.0);
  auto w = Square::full({}, 0.5);
  x.track();
  w.track();
  check(tape_in_library() == nullptr, "no tape, and the library sees none");
  llm::Tape tape;
  check(tape_in_library() == &tape, "the library sees the program's tape");

  const Square y = sum_in_library(product_with_threads(x, w), product_without_threads(x, w));
  check(y.data()[0] == 4.0f, "4 products of 0.5, twice");
  check(tape.size() == 3, "three ops are on the tape, one of them from the library");
  tape.backward(y, Square::full({}, 1.0));
  check(x.grad().data()[0] == 4.0f, "the gradient of x passes through the library's op");
  check(w.grad().data()[0] == 8.0f, "the gradient of w passes through the library's op");

  bool caught = false;
  try {
    throw_in_library();
  } catch (const llm::Error&) {
    caught = true;
  }
  check(caught, "an exception of the library is an llm::Error here");
  return failures == 0 ? 0 : 1;
}
