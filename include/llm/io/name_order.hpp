// Finds elements of a list by name, without moving or copying them: the list keeps the order of its file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace llm::detail {

// `all` is a vector or a span.

/// The numbers of the elements in the order of name(element).
template <class All, class Name>
std::vector<std::size_t> order_by_name(const All& all, const Name& name) {
  std::vector<std::size_t> order(all.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return name(all[a]) < name(all[b]); });
  return order;
}

/// The element of this name in such an order, or null.
template <class All, class Name>
auto find_by_name(const All& all, const std::vector<std::size_t>& order, std::string_view wanted, const Name& name)
    -> decltype(all.data()) {
  const auto at = std::lower_bound(order.begin(), order.end(), wanted, [&](std::size_t i, std::string_view w) { return name(all[i]) < w; });
  return at != order.end() && name(all[*at]) == wanted ? &all[*at] : nullptr;
}

/// The same for elements with a member `name`.
template <class All>
std::vector<std::size_t> order_by_name(const All& all) {
  return order_by_name(all, [](const auto& element) -> std::string_view { return element.name; });
}
template <class All>
auto find_by_name(const All& all, const std::vector<std::size_t>& order, std::string_view wanted) {
  return find_by_name(all, order, wanted, [](const auto& element) -> std::string_view { return element.name; });
}

}  // namespace llm::detail
