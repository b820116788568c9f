// Values as JSON, as Python's json.dumps(value, ensure_ascii=False) writes them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <llm/text/jinja/budget.hpp>
#include <llm/text/jinja/value.hpp>

namespace llm::detail::jinja {

class JsonWriter {
 public:
  explicit JsonWriter(const Site& at) : at_(at) {}

  /// Throws ValueError for what has no JSON.
  MarkedText write(const Value& value) && {
    put_value(value);
    return std::move(out_);
  }

 private:
  void put(std::string text) {
    at_.spend(8 + text.size());
    out_ += MarkedText(std::move(text));
  }

  void put_value(const Value& value) {
    if (value.is_none()) return put("null");
    if (const bool* flag = value.boolean()) return put(*flag ? "true" : "false");
    if (const auto number = value.integer()) return put(std::to_string(*number));
    if (const MarkedText* text = value.text()) return put_text(*text);
    if (const List* list = value.list()) return put_list(*list);
    if (value.dict() != nullptr && value.fields() == nullptr) return put_dict(*value.dict());
    fail(at_.line, value.type_name(), " has no JSON");
  }

  void put_text(const MarkedText& text) {
    put("\"");
    at_.spend(2 * text.weight());
    std::size_t done = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto c = static_cast<unsigned char>(text.bytes()[i]);
      if (c >= 0x20 && c != '"' && c != '\\') continue;
      out_ += text.substr(done, i - done);
      done = i + 1;
      at_.spend(32);
      put(escaped(c));
    }
    out_ += text.substr(done);
    put("\"");
  }
  static std::string escaped(unsigned char c) {
    constexpr std::string_view special = "\"\\\n\r\t\b\f", letters = "\"\\nrtbf", hex = "0123456789abcdef";
    if (const auto which = special.find(static_cast<char>(c)); which != std::string_view::npos) return {'\\', letters[which]};
    return std::string("\\u00") + hex[c >> 4] + hex[c & 15];
  }

  void put_list(const List& list) {
    const char* separator = "";
    put("[");
    for (const Value& element : list) {
      put(std::exchange(separator, ", "));
      put_value(element);
    }
    put("]");
  }
  void put_dict(const Dict& dict) {
    const char* separator = "";
    put("{");
    for (const auto& [key, element] : dict.items()) {
      put(std::exchange(separator, ", "));
      put_text(MarkedText(key));
      put(": ");
      put_value(element);
    }
    put("}");
  }

  Site at_;
  MarkedText out_;
};

}  // namespace llm::detail::jinja
