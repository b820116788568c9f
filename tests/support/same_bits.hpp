// Whether two vectors hold the same bytes: NaNs are equal to themselves, and zeros to those of their sign.
#pragma once

#include <cstring>

namespace llm_test {

template <class Vector>
bool same_bits(const Vector& a, const Vector& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0);
}

}  // namespace llm_test
