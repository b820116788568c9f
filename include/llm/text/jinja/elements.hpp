// What a value holds: the elements that a loop visits, how many there are, fields, parts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <llm/core/error.hpp>
#include <llm/text/jinja/texts.hpp>
#include <llm/text/jinja/value.hpp>

namespace llm::detail::jinja {

/// The elements that a loop visits.
inline List elements(const Value& value, const Site& at) {
  if (const List* list = value.list()) {
    at.spend(32 * list->size());
    return *list;
  }
  if (value.text() != nullptr) return characters_of(*value.text(), at);
  List all;
  if (const Dict* dict = value.dict()) {
    for (const auto& item : dict->items()) {
      at.spend(64 + item.first.size());
      all.emplace_back(item.first);
    }
  } else if (!value.is_undefined()) {
    fail(at.line, value.type_name(), " has no elements");
  }
  return all;
}

inline std::int64_t length(const Value& value, const Site& at) {
  if (const List* list = value.list()) return static_cast<std::int64_t>(list->size());
  if (const MarkedText* text = value.text()) return static_cast<std::int64_t>(count_characters(text->bytes(), at));
  if (const Dict* dict = value.dict()) return static_cast<std::int64_t>(dict->items().size());
  if (value.is_undefined()) return 0;
  fail(at.line, value.type_name(), " has no length");
}

/// The texts of a list, one after the other; pays before each is added.
class Joined {
 public:
  explicit Joined(const Site& at) : at_(at) {}

  void add(const MarkedText& text) {
    at_.spend(8 + text.weight());
    out_ += text;
  }
  Value value() && { return Value(std::move(out_)); }

 private:
  Site at_;
  MarkedText out_;
};
inline Value joined(const List& all, const Site& at) {
  Joined out(at);
  for (const Value& one : all) out.add(printed(one));
  return std::move(out).value();
}

/// The field of that name, when the value has one; else null.
inline const Value* find_field(const Value& object, std::string_view name, const Site& at) {
  return object.dict() == nullptr ? nullptr : object.dict()->find(name, at);
}

/// object.name.
inline Value field(const Value& object, std::string_view name, const Site& at) {
  if (object.is_undefined()) fail(at.line, in_quotes(name), " of something that is undefined");
  const Value* found = find_field(object, name, at);
  return found == nullptr ? Value(Undefined{}) : *found;
}

/// object[key].
inline Value item(const Value& object, const Value& key, const Site& at) {
  if (key.text() != nullptr) return field(object, key.text()->bytes(), at);
  const auto index = key.integer();
  if (object.is_undefined() || !index) fail(at.line, "an element of ", object.type_name(), " at ", key.type_name());
  const std::int64_t size = object.list() != nullptr || object.text() != nullptr ? length(object, at) : 0;
  const std::int64_t place = *index < 0 ? *index + size : *index;
  if (place < 0 || place >= size) return Value(Undefined{});
  if (object.list() != nullptr) return (*object.list())[static_cast<std::size_t>(place)];
  const MarkedText& text = *object.text();
  const std::size_t byte = byte_of_character(text.bytes(), static_cast<std::size_t>(place), at);
  return Value(text.substr(byte, read_utf8(text.bytes(), byte).length));
}

/// The part of a list or a text between two bounds, none of which need be given; a step of -1 goes backwards.
inline Value slice(const Value& object, std::optional<std::int64_t> from, std::optional<std::int64_t> to, std::int64_t step,
                   const Site& at) {
  const MarkedText* text = object.text();
  if (object.list() == nullptr && text == nullptr) fail(at.line, "a slice of ", object.type_name());
  if (step != 1 && step != -1) fail(at.line, "slices with steps other than 1 and -1 are not known");
  const std::int64_t size = length(object, at);
  const auto inside = [&](std::int64_t place) {
    return std::clamp<std::int64_t>(place < 0 ? place + size : place, step > 0 ? 0 : -1, step > 0 ? size : size - 1);
  };
  const std::int64_t begin = from ? inside(*from) : step > 0 ? 0 : size - 1;
  const std::int64_t end = to ? inside(*to) : step > 0 ? size : -1;
  if (text != nullptr && step > 0) {
    const std::size_t first = byte_of_character(text->bytes(), static_cast<std::size_t>(begin), at);
    const std::size_t last = byte_of_character(text->bytes(), static_cast<std::size_t>(end), at);
    return Value(text->substr(first, begin < end ? last - first : 0));
  }
  const List all = elements(object, at);
  List kept;
  for (std::int64_t place = begin; step > 0 ? place < end : place > end; place += step)
    kept.push_back(all[static_cast<std::size_t>(place)]);
  return text == nullptr ? Value(std::move(kept)) : joined(kept, at);
}

}  // namespace llm::detail::jinja
