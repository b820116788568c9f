// What a template is once it is read: expressions and statements as plain records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace llm::detail::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;
using NamedArguments = std::vector<std::pair<std::string, ExpressionPtr>>;

struct Expression {
  enum class Kind : std::uint8_t {
    text,       // text
    integer,    // number
    boolean,    // number
    none,       //
    name,       // text
    list,       // parts
    dict,       // parts: key, value, key, value
    attribute,  // parts[0].text
    item,       // parts[0][parts[1]]
    slice,      // parts[0][parts[1]:parts[2]:parts[3]], each but the first may be null
    call,       // parts[0](parts[1..], named)
    filter,     // parts[0] | text(parts[1..], named)
    test,       // parts[0] is text(parts[1..])
    negate,     // - parts[0]
    no,         // not parts[0]
    both,       // parts[0] and parts[1]
    either,     // parts[0] or parts[1]
    choice,     // parts[1] if parts[0] else parts[2], which may be null
    binary,     // parts[0] text parts[1]
    compare,    // parts[0] symbols[0] parts[1] symbols[1] ...
  };
  Kind kind;
  std::size_t line;
  std::string text = {};
  std::int64_t number = 0;
  std::vector<ExpressionPtr> parts = {};
  NamedArguments named = {};
  std::vector<std::string> symbols = {};
};

struct Statement;
using Body = std::vector<Statement>;

struct Statement {
  enum class Kind : std::uint8_t {
    text,       // text
    print,      // value
    choice,     // body when value, else otherwise
    loop,       // for names in value, where condition: body; when there was none: otherwise
    set,        // names = value
    set_field,  // names[0].text = value
    set_block,  // names[0] = what body prints
    macro,      // text(names, defaults): body
    section,    // body, which marks what the model says when it is trained
    leave,      // break
    next,       // continue
  };
  Kind kind;
  std::size_t line;
  std::string text = {};
  std::vector<std::string> names = {};
  ExpressionPtr value = {}, condition = {};
  std::vector<ExpressionPtr> defaults = {};  // of the last parameters
  Body body = {}, otherwise = {};
};

}  // namespace llm::detail::jinja
