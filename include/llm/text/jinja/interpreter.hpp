// Runs a template. What it may cost is limited, since templates come with files: depth, and work in about bytes made or nanoseconds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/text/jinja/builtins.hpp>
#include <llm/text/jinja/date.hpp>
#include <llm/text/jinja/operations.hpp>
#include <llm/text/jinja/syntax.hpp>
#include <llm/text/jinja/value.hpp>

namespace llm::detail::jinja {

class Interpreter {
 public:
  /// `unix_time`: what strftime_now() takes for now, in seconds. `bytes` of input: the longer, the more it may cost.
  Interpreter(Dict variables, std::int64_t unix_time, std::size_t bytes)
      : unix_time_(unix_time), work_left_((std::int64_t{1} << 26) + 256 * static_cast<std::int64_t>(bytes)) {
    for (const std::string_view function : {"range", "namespace", "raise_exception", "strftime_now"})
      variables.set(function, Value(Function{std::string(function)}));
    frames_.push_back(std::move(variables));
  }

  /// What the template prints. Throws ValueError: what it does not know, what it refuses, what costs too much.
  MarkedText run(const Body& body) {
    run_body(body);
    return std::move(out_);
  }

 private:
  enum class Flow { on, leave, next };
  using Kind = Expression::Kind;

  class Depth {
   public:
    Depth(Interpreter& interpreter, std::size_t line) : interpreter_(interpreter) {
      if (++interpreter_.depth_ > 250) fail(line, "is nested too deeply");
    }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    ~Depth() { --interpreter_.depth_; }

   private:
    Interpreter& interpreter_;
  };

  /// `work`: bytes that are made, or nanoseconds.
  void spend(std::size_t work, std::size_t line) {
    if (work > static_cast<std::size_t>(work_left_)) fail(line, "the template makes too much of these messages");
    work_left_ -= static_cast<std::int64_t>(work);
  }

  Value lookup(const std::string& name) const {
    for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame)
      if (const Value* value = frame->find(name)) return *value;
    return Value(Undefined{name});
  }

  void print(const MarkedText& text, std::size_t line) {
    spend(text.size(), line);
    out_ += text;
  }

  // --- statements

  Flow run_body(const Body& body) {
    for (const Statement& statement : body)
      if (const Flow flow = run_one(statement); flow != Flow::on) return flow;
    return Flow::on;
  }

  Flow run_one(const Statement& statement) {
    const Depth depth(*this, statement.line);
    spend(32, statement.line);
    switch (statement.kind) {
      case Statement::Kind::text:
        print(MarkedText(statement.text), statement.line);
        return Flow::on;
      case Statement::Kind::print:
        print(printed(evaluate(*statement.value)), statement.line);
        return Flow::on;
      case Statement::Kind::choice:
        return run_body(evaluate(*statement.value).truth() ? statement.body : statement.otherwise);
      case Statement::Kind::loop:
        return loop(statement);
      case Statement::Kind::set:
        bind(statement, evaluate(*statement.value));
        return Flow::on;
      case Statement::Kind::set_field: {
        Dict* fields = lookup(statement.names[0]).fields();
        if (fields == nullptr) fail(statement.line, in_quotes(statement.names[0]), " is no namespace, so its fields cannot be set");
        fields->set(statement.text, evaluate(*statement.value));
        return Flow::on;
      }
      case Statement::Kind::set_block:
        frames_.back().set(statement.names[0], Value(captured(statement.body)));
        return Flow::on;
      case Statement::Kind::macro:
        frames_.back().set(statement.text, Value(Function{statement.text, &statement}));
        return Flow::on;
      case Statement::Kind::section:
        return run_body(statement.body);
      case Statement::Kind::leave:
        return Flow::leave;
      default:
        return Flow::next;
    }
  }

  MarkedText captured(const Body& body) {
    MarkedText before = std::exchange(out_, {});
    run_body(body);
    return std::exchange(out_, std::move(before));
  }

  /// Gives a value, or the elements of one, to the names of a set or a loop.
  void bind(const Statement& statement, const Value& value) {
    if (statement.names.size() == 1) return frames_.back().set(statement.names[0], value);
    const List parts = elements(value, statement.line);
    if (parts.size() != statement.names.size())
      fail(statement.line, "there are ", parts.size(), " values for ", statement.names.size(), " variables");
    for (std::size_t i = 0; i < parts.size(); ++i) frames_.back().set(statement.names[i], parts[i]);
  }

  Flow loop(const Statement& statement) {
    const List all = elements(evaluate(*statement.value), statement.line);
    spend(all.size(), statement.line);
    List kept;
    for (const Value& element : all) {
      if (statement.condition != nullptr) {
        spend(64, statement.line);
        frames_.emplace_back();
        bind(statement, element);
        const bool wanted = evaluate(*statement.condition).truth();
        frames_.pop_back();
        if (!wanted) continue;
      }
      kept.push_back(element);
    }
    for (std::size_t i = 0; i < kept.size(); ++i) {
      spend(512, statement.line);  // what `loop` holds
      frames_.emplace_back();
      frames_.back().set("loop", Value(about(kept, i)));
      bind(statement, kept[i]);
      const Flow flow = run_body(statement.body);
      frames_.pop_back();
      if (flow == Flow::leave) break;
    }
    return kept.empty() ? run_body(statement.otherwise) : Flow::on;
  }

  /// The variable `loop` inside the i-th round.
  static Dict about(const List& all, std::size_t i) {
    const auto count = static_cast<std::int64_t>(all.size()), at = static_cast<std::int64_t>(i);
    Dict loop;
    loop.set("index0", Value(at));
    loop.set("index", Value(at + 1));
    loop.set("first", Value(at == 0));
    loop.set("last", Value(at + 1 == count));
    loop.set("length", Value(count));
    loop.set("revindex0", Value(count - at - 1));
    loop.set("revindex", Value(count - at));
    if (at > 0) loop.set("previtem", all[i - 1]);
    if (at + 1 < count) loop.set("nextitem", all[i + 1]);
    return loop;
  }

  // --- expressions

  Value evaluate(const Expression& e) {
    const Depth depth(*this, e.line);
    spend(32, e.line);
    Value value = compute(e);
    if (e.kind == Kind::name || e.kind == Kind::attribute || e.kind == Kind::item) return value;  // nothing new
    if (const MarkedText* text = value.text()) spend(text->size(), e.line);
    if (const List* list = value.list()) spend(64 * list->size(), e.line);
    return value;
  }
  Value part(const Expression& e, std::size_t i) { return evaluate(*e.parts[i]); }

  Value compute(const Expression& e) {
    switch (e.kind) {
      case Kind::text:
        return Value(e.text);
      case Kind::integer:
        return Value(e.number);
      case Kind::boolean:
        return Value(e.number != 0);
      case Kind::none:
        return Value();
      case Kind::name:
        return lookup(e.text);
      case Kind::list:
      case Kind::dict:
        return collection(e);
      case Kind::attribute:
        return field(part(e, 0), e.text, e.line);
      case Kind::item:
        return item(part(e, 0), part(e, 1), e.line);
      case Kind::slice:
        return slice_of(e);
      case Kind::call:
        return call(e);
      case Kind::filter:
        return filter(e.text, part(e, 0), arguments(e, e.text));
      case Kind::test:
        return Value(test(e.text, part(e, 0), arguments(e, e.text)));
      case Kind::negate:
        return Value(difference(0, integer(part(e, 0), "-", e.line), e.line));
      case Kind::no:
        return Value(!part(e, 0).truth());
      case Kind::both: {
        Value left = part(e, 0);
        return left.truth() ? part(e, 1) : left;
      }
      case Kind::either: {
        Value left = part(e, 0);
        return left.truth() ? left : part(e, 1);
      }
      case Kind::choice:
        if (part(e, 0).truth()) return part(e, 1);
        return e.parts[2] == nullptr ? Value(Undefined{"the other side of an if"}) : part(e, 2);
      case Kind::binary:
        return binary(e);
      default:
        return Value(compare(e));
    }
  }

  Value collection(const Expression& e) {
    if (e.kind == Kind::list) {
      List list;
      for (const auto& element : e.parts) list.push_back(evaluate(*element));
      return Value(std::move(list));
    }
    Dict dict;
    for (std::size_t i = 0; i + 1 < e.parts.size(); i += 2) {
      const Value key = part(e, i);
      if (key.text() == nullptr) fail(e.line, "the keys of a dictionary must be texts");
      dict.set(key.text()->bytes(), part(e, i + 1));
    }
    return Value(std::move(dict));
  }

  Value slice_of(const Expression& e) {
    const Value object = part(e, 0);
    const auto bound = [&](std::size_t i) -> std::optional<std::int64_t> {
      if (e.parts[i] == nullptr) return {};
      const Value value = part(e, i);
      if (value.is_none()) return {};
      return integer(value, "a slice", e.line);
    };
    const auto from = bound(1), to = bound(2);
    return slice(object, from, to, bound(3).value_or(1), e.line);
  }

  Value binary(const Expression& e) {
    const Value a = part(e, 0), b = part(e, 1);
    if (e.text == "*" && a.text() != nullptr && b.integer()) return repeated(*a.text(), *b.integer(), e.line);
    return arithmetic(a, e.text, b, e.line);
  }
  Value repeated(const MarkedText& text, std::int64_t times, std::size_t line) {
    MarkedText out;
    for (std::int64_t i = 0; i < times; ++i) {
      spend(1 + text.size(), line);
      out += text;
    }
    return Value(std::move(out));
  }

  bool compare(const Expression& e) {
    Value left = part(e, 0);
    for (std::size_t i = 0; i < e.symbols.size(); ++i) {
      Value right = part(e, i + 1);
      if (!holds(left, e.symbols[i], right, e.line)) return false;
      left = std::move(right);
    }
    return true;
  }
  // --- calls

  Arguments arguments(const Expression& e, std::string_view of) {
    Arguments given{.line = e.line, .of = of};
    for (std::size_t i = 1; i < e.parts.size(); ++i) given.values.push_back(part(e, i));
    for (const auto& [name, value] : e.named) given.named.emplace_back(name, evaluate(*value));
    return given;
  }

  Value call(const Expression& e) {
    const Expression& callee = *e.parts[0];
    if (callee.kind == Kind::attribute) {
      const Value object = part(callee, 0);
      if (object.is_undefined()) fail(e.line, in_quotes(callee.text), " of something that is undefined");
      const Value* own = object.dict() == nullptr ? nullptr : object.dict()->find(callee.text);
      if (own == nullptr || own->function() == nullptr) {
        const Arguments given = arguments(e, callee.text);
        if (const MarkedText* text = object.text()) spend(text->size(), e.line);
        return method(object, callee.text, given);
      }
    }
    const Value value = evaluate(callee);
    if (value.function() == nullptr) fail(e.line, in_quotes(callee.text), " cannot be called");
    const Function function = *value.function();
    const Arguments given = arguments(e, function.name);
    return function.macro == nullptr ? call_function(function.name, given) : call_macro(*function.macro, given);
  }

  Value call_function(const std::string& name, const Arguments& given) {
    if (name == "namespace") {
      auto fields = std::make_shared<Dict>();
      for (const auto& [key, value] : given.named) fields->set(key, value);
      return Value(Namespace{std::move(fields)});
    }
    if (name == "raise_exception") {
      given.expect(1, 1);
      throw ValueError(concat("llm::ChatTemplate: the template refuses these messages: ", printed(given.values[0]).bytes()));
    }
    if (name == "strftime_now") {
      given.expect(1, 1);
      return Value(format_date(given.text(0).bytes(), unix_time_, given.line));
    }
    given.expect(1, 3);  // range
    std::int64_t bounds[3]{0, 0, 1};
    for (std::size_t i = 0; i < given.values.size(); ++i) bounds[i] = integer(given.values[i], "range", given.line);
    if (given.values.size() == 1) std::swap(bounds[0], bounds[1]);
    const auto [begin, end, step] = bounds;
    checked(begin, end, false, given.line);
    checked(step, 0, false, given.line);
    if (step == 0) fail(given.line, "'range' with a step of 0");
    List all;
    for (std::int64_t at = begin; step > 0 ? at < end : at > end; at += step) {
      check_elements(all.size() + 1, given.line);
      all.emplace_back(at);
    }
    return Value(std::move(all));
  }

  Value call_macro(const Statement& macro, const Arguments& given) {
    if (given.values.size() > macro.names.size())
      fail(given.line, in_quotes(macro.text), " has ", given.values.size(), " arguments, expected ", macro.names.size());
    Dict own;
    const std::size_t without_default = macro.names.size() - macro.defaults.size();
    for (std::size_t i = 0; i < macro.names.size(); ++i) {
      if (const Value* value = given.find(i, macro.names[i]))
        own.set(macro.names[i], *value);
      else
        own.set(macro.names[i], i < without_default ? Value(Undefined{macro.names[i]}) : evaluate(*macro.defaults[i - without_default]));
    }
    // A macro sees the template's own variables and its parameters, not those of the loop it is called in.
    std::vector<Dict> inside{frames_.front(), std::move(own)};
    std::vector<Dict> outside = std::exchange(frames_, std::move(inside));
    MarkedText printed_by_it = captured(macro.body);
    frames_ = std::move(outside);
    return Value(std::move(printed_by_it));
  }

  std::vector<Dict> frames_;  // the innermost last
  MarkedText out_;
  std::int64_t unix_time_, work_left_;
  int depth_ = 0;
};

}  // namespace llm::detail::jinja
