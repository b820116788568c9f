// Runs a template. What it may cost is limited, since templates come with files: depth, and work (budget.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <llm/text/jinja/arguments.hpp>
#include <llm/text/jinja/budget.hpp>
#include <llm/text/jinja/elements.hpp>
#include <llm/text/jinja/filters.hpp>
#include <llm/text/jinja/functions.hpp>
#include <llm/text/jinja/methods.hpp>
#include <llm/text/jinja/operations.hpp>
#include <llm/text/jinja/scope.hpp>
#include <llm/text/jinja/syntax.hpp>
#include <llm/text/jinja/value.hpp>

namespace llm::detail::jinja {

class Interpreter {
 public:
  /// `unix_time`: what strftime_now() takes for now, in seconds. `bytes` of input: the longer, the more it may cost.
  Interpreter(Dict variables, std::int64_t unix_time, std::size_t bytes)
      : scope_(with_functions(std::move(variables))), unix_time_(unix_time), budget_((std::size_t{1} << 26) + 256 * bytes) {}

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

  Site site(const Statement& statement) { return {statement.line, &budget_}; }
  Site site(const Expression& e) { return {e.line, &budget_}; }

  void print(const MarkedText& text, const Site& at) {
    at.spend(text.weight());
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
    const Site at = site(statement);
    at.spend(32);
    switch (statement.kind) {
      case Statement::Kind::choice:
        return run_body(evaluate(*statement.value).truth() ? statement.body : statement.otherwise);
      case Statement::Kind::loop:
        return loop(statement);
      case Statement::Kind::section:
        return run_body(statement.body);
      case Statement::Kind::leave:
        return Flow::leave;
      case Statement::Kind::next:
        return Flow::next;
      case Statement::Kind::text:
        print(MarkedText(statement.text), at);
        return Flow::on;
      case Statement::Kind::print:
        print(printed(evaluate(*statement.value)), at);
        return Flow::on;
      default:
        assign(statement, at);
        return Flow::on;
    }
  }

  void assign(const Statement& statement, const Site& at) {
    switch (statement.kind) {
      case Statement::Kind::set:
        return bind(statement, evaluate(*statement.value));
      case Statement::Kind::set_field:
        return set_field(statement, evaluate(*statement.value), at);
      case Statement::Kind::set_block:
        return scope_.set(statement.names[0], Value(captured(statement.body)), at);
      default:
        return scope_.set(statement.text, Value(Function{statement.text, &statement}), at);
    }
  }

  void set_field(const Statement& statement, const Value& value, const Site& at) {
    Dict* fields = scope_.find(statement.names[0], at).fields();
    if (fields == nullptr) fail(at.line, in_quotes(statement.names[0]), " is no namespace, so its fields cannot be set");
    value.check_can_be_inside();
    fields->set(statement.text, value, at);
  }

  MarkedText captured(const Body& body) {
    MarkedText before = std::exchange(out_, {});
    run_body(body);
    return std::exchange(out_, std::move(before));
  }

  /// Gives a value, or the elements of one, to the names of a set or a loop.
  void bind(const Statement& statement, const Value& value) {
    const Site at = site(statement);
    if (statement.names.size() == 1) return scope_.set(statement.names[0], value, at);
    const List parts = elements(value, at);
    if (parts.size() != statement.names.size())
      fail(at.line, "there are ", parts.size(), " values for ", statement.names.size(), " variables");
    for (std::size_t i = 0; i < parts.size(); ++i) scope_.set(statement.names[i], parts[i], at);
  }

  Flow loop(const Statement& statement) {
    const List all = visited(statement);
    for (std::size_t i = 0; i < all.size(); ++i) {
      site(statement).spend(512);  // what `loop` holds
      const Scope::Frame frame(scope_, Scope::Frame::Of::loop);
      scope_.set("loop", Value(about(all, i)), site(statement));
      bind(statement, all[i]);
      if (run_body(statement.body) == Flow::leave) break;
    }
    return all.empty() ? run_body(statement.otherwise) : Flow::on;
  }

  /// The elements of a loop that fulfil its condition.
  List visited(const Statement& statement) {
    List all = elements(evaluate(*statement.value), site(statement));
    if (statement.condition == nullptr) return all;
    List kept;
    for (const Value& element : all) {
      site(statement).spend(64);
      const Scope::Frame frame(scope_, Scope::Frame::Of::loop);
      bind(statement, element);
      if (evaluate(*statement.condition).truth()) kept.push_back(element);
    }
    return kept;
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
    const Site at = site(e);
    at.spend(32);
    Value value = compute(e);
    if (e.kind == Kind::name || e.kind == Kind::attribute) return value;  // nothing new
    if (const MarkedText* text = value.text()) at.spend(text->weight());
    if (const List* list = value.list(); list != nullptr && e.kind != Kind::item) at.spend(64 * list->size());
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
        return scope_.find(e.text, site(e));
      case Kind::list:
        return list(e);
      case Kind::dict:
        return dict(e);
      case Kind::attribute:
        return field(part(e, 0), e.text, site(e));
      case Kind::item:
        return item(part(e, 0), part(e, 1), site(e));
      case Kind::slice:
        return slice_of(e);
      case Kind::call:
        return call(e);
      default:
        return operation(e);
    }
  }

  Value operation(const Expression& e) {
    switch (e.kind) {
      case Kind::filter:
        return filter(e.text, part(e, 0), arguments(e, e.text));
      case Kind::test:
        return Value(test(e.text, part(e, 0), arguments(e, e.text)));
      case Kind::negate:
        return Value(difference(0, integer(part(e, 0), "-", site(e)), site(e)));
      case Kind::no:
        return Value(!part(e, 0).truth());
      case Kind::both:
      case Kind::either: {
        Value left = part(e, 0);
        return left.truth() == (e.kind == Kind::both) ? part(e, 1) : left;
      }
      case Kind::choice:
        if (part(e, 0).truth()) return part(e, 1);
        return e.parts[2] == nullptr ? Value(Undefined{}) : part(e, 2);
      case Kind::binary: {
        const Value a = part(e, 0), b = part(e, 1);
        return arithmetic(a, e.text, b, site(e));
      }
      default:
        return Value(compare(e));
    }
  }

  Value list(const Expression& e) {
    List list;
    for (const auto& element : e.parts) list.push_back(evaluate(*element));
    return Value(std::move(list));
  }
  Value dict(const Expression& e) {
    Dict dict;
    for (std::size_t i = 0; i + 1 < e.parts.size(); i += 2) {
      const Value key = part(e, i);
      if (key.text() == nullptr) fail(e.line, "the keys of a dictionary must be texts");
      dict.set(key.text()->bytes(), part(e, i + 1), site(e));
    }
    return Value(std::move(dict));
  }

  Value slice_of(const Expression& e) {
    const Value object = part(e, 0);
    const auto bound = [&](std::size_t i) -> std::optional<std::int64_t> {
      if (e.parts[i] == nullptr) return {};
      const Value value = part(e, i);
      if (value.is_none()) return {};
      return integer(value, "a slice", site(e));
    };
    const auto from = bound(1), to = bound(2);
    return slice(object, from, to, bound(3).value_or(1), site(e));
  }

  bool compare(const Expression& e) {
    Value left = part(e, 0);
    for (std::size_t i = 0; i < e.symbols.size(); ++i) {
      Value right = part(e, i + 1);
      if (!holds(left, e.symbols[i], right, site(e))) return false;
      left = std::move(right);
    }
    return true;
  }

  // --- calls

  Arguments arguments(const Expression& e, std::string_view of) {
    Arguments given{.at = site(e), .of = of};
    for (std::size_t i = 1; i < e.parts.size(); ++i) given.values.push_back(part(e, i));
    for (const auto& [name, value] : e.named) given.named.emplace_back(name, evaluate(*value));
    return given;
  }

  Value call(const Expression& e) {
    const Expression& callee = *e.parts[0];
    if (callee.kind == Kind::attribute) {
      const Value object = part(callee, 0);
      if (object.is_undefined()) fail(e.line, in_quotes(callee.text), " of something that is undefined");
      const Value* own = find_field(object, callee.text, site(e));
      if (own == nullptr || own->function() == nullptr) return method(object, callee.text, arguments(e, callee.text));
    }
    const Value value = evaluate(callee);
    if (value.function() == nullptr) fail(e.line, in_quotes(callee.text), " cannot be called");
    const Function function = *value.function();
    const Arguments given = arguments(e, function.name);
    return function.macro == nullptr ? call_function(function.name, given, unix_time_) : call_macro(*function.macro, given);
  }

  Value call_macro(const Statement& macro, const Arguments& given) {
    check_arguments(macro, given);
    const Scope::Frame frame(scope_, Scope::Frame::Of::macro);
    const std::size_t without_default = macro.names.size() - macro.defaults.size();
    for (std::size_t i = 0; i < macro.names.size(); ++i) {
      const Value* value = given.find(i, macro.names[i]);
      const bool undefined = value == nullptr && i < without_default;
      scope_.set(macro.names[i],
                 value != nullptr ? *value
                 : undefined      ? Value(Undefined{})
                                  : evaluate(*macro.defaults[i - without_default]),
                 given.at);
    }
    return Value(captured(macro.body));
  }
  static void check_arguments(const Statement& macro, const Arguments& given) {
    if (given.values.size() > macro.names.size())
      fail(given.at.line, in_quotes(macro.text), " has ", given.values.size(), " arguments, expected ", macro.names.size());
    const auto by_name = macro.names.begin() + static_cast<std::ptrdiff_t>(given.values.size());  // those before it are given by place
    for (const auto& [name, value] : given.named)
      if (std::find(by_name, macro.names.end(), name) == macro.names.end())
        fail(given.at.line, in_quotes(macro.text), " has no argument ", in_quotes(name), " left to give");
  }

  Scope scope_;
  MarkedText out_;
  std::int64_t unix_time_;
  Budget budget_;
  int depth_ = 0;
};

}  // namespace llm::detail::jinja
