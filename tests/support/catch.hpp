// The one place that chooses between Catch2 version 2 and 3.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <string>

#include <catch2/catch_all.hpp>
using Catch::Approx;
namespace Catch {  // version 2's name, which the tests use
inline auto Contains(const std::string& part) { return Matchers::ContainsSubstring(part); }
}  // namespace Catch
#else
#include <catch2/catch.hpp>
#endif
