// Finds elements of a list by name, without moving or copying them: the list keeps the order of its file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace llm::detail {

/// The numbers of the elements in the order of name(element).
template <class T, class Name>
std::vector<std::size_t> order_by_name(const std::vector<T>& all, const Name& name) {
  std::vector<std::size_t> order(all.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return name(all[a]) < name(all[b]); });
  return order;
}

/// The element of this name in such an order, or null.
template <class T, class Name>
const T* find_by_name(const std::vector<T>& all, const std::vector<std::size_t>& order, std::string_view wanted, const Name& name) {
  const auto at = std::lower_bound(order.begin(), order.end(), wanted, [&](std::size_t i, std::string_view w) { return name(all[i]) < w; });
  return at != order.end() && name(all[*at]) == wanted ? &all[*at] : nullptr;
}

/// The same for elements with a member `name`.
template <class T>
std::vector<std::size_t> order_by_name(const std::vector<T>& all) {
  return order_by_name(all, [](const T& element) -> std::string_view { return element.name; });
}
template <class T>
const T* find_by_name(const std::vector<T>& all, const std::vector<std::size_t>& order, std::string_view wanted) {
  return find_by_name(all, order, wanted, [](const T& element) -> std::string_view { return element.name; });
}

}  // namespace llm::detail
