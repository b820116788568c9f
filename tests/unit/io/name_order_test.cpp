#include <llm/io/name_order.hpp>

#include <string>
#include <vector>

#include <support/catch.hpp>

TEST_CASE("elements are found by name, and the list keeps its order") {
  struct Item {
    std::string name;
    int value;
  };
  const std::vector<Item> items{{"b", 1}, {"", 2}, {"a", 3}, {"ab", 4}};
  const auto order = llm::detail::order_by_name(items);
  CHECK(order == std::vector<std::size_t>{1, 2, 3, 0});
  for (const Item& item : items) CHECK(llm::detail::find_by_name(items, order, item.name) == &item);
  for (const char* other : {"aa", "c", "abc", "B"}) CHECK(llm::detail::find_by_name(items, order, other) == nullptr);
  CHECK(llm::detail::find_by_name(std::vector<Item>(), {}, "") == nullptr);
}
