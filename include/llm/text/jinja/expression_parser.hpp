// Reads the expressions of a template.
// Source: Jinja's documentation, "Expressions"; its order of precedence.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/text/jinja/lexer.hpp>
#include <llm/text/jinja/syntax.hpp>

namespace llm::detail::jinja {

class ExpressionParser {
 protected:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  /// Counts how deeply the parser calls itself: a template must not exhaust the stack.
  class Depth {
   public:
    explicit Depth(ExpressionParser& parser) : parser_(parser) {
      if (++parser_.depth_ > 120) fail(parser_.peek().line, "is nested too deeply");
    }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    ~Depth() { --parser_.depth_; }

   private:
    ExpressionParser& parser_;
  };

  const Token& peek(std::size_t ahead = 0) const { return tokens_[(std::min)(at_ + ahead, tokens_.size() - 1)]; }
  const Token& next() {
    const Token& token = peek();
    if (token.kind != Token::Kind::end) ++at_;
    return token;
  }
  [[noreturn]] void unexpected(std::string_view expected) const {
    const Token& token = peek();
    fail(token.line, "expected ", expected, ", found ", token.text.empty() ? std::string("the end of a tag") : in_quotes(token.text));
  }
  void expect(Token::Kind kind, std::string_view what) {
    if (peek().kind != kind) unexpected(what);
    next();
  }
  std::string name(std::string_view what) {
    if (peek().kind != Token::Kind::name) unexpected(what);
    return next().text;
  }
  bool looking_at_name(std::string_view word) const { return peek().kind == Token::Kind::name && peek().text == word; }
  bool looking_at_symbol(std::string_view symbol) const { return peek().kind == Token::Kind::symbol && peek().text == symbol; }
  bool take_name(std::string_view word) { return looking_at_name(word) && (next(), true); }
  bool take_symbol(std::string_view symbol) { return looking_at_symbol(symbol) && (next(), true); }
  void expect_symbol(std::string_view symbol) {
    if (!take_symbol(symbol)) unexpected(in_quotes(symbol));
  }

  /// One expression, or several with commas between them: a list.
  ExpressionPtr tuple() {
    ExpressionPtr first = expression();
    if (!looking_at_symbol(",")) return first;
    ExpressionPtr list = make(Kind::list, std::move(first));
    while (take_symbol(","))
      if (begins_expression()) list->parts.push_back(expression());
    return list;
  }

  ExpressionPtr expression() {
    const Depth depth(*this);
    ExpressionPtr value = either();
    while (take_name("if")) {
      ExpressionPtr condition = either();
      value = make(Kind::choice, std::move(condition), std::move(value));
      value->parts.push_back(take_name("else") ? expression() : nullptr);
    }
    return value;
  }

  ExpressionPtr either() {
    ExpressionPtr left = both();
    while (take_name("or")) left = make(Kind::either, std::move(left), both());
    return left;
  }

 private:
  using Kind = Expression::Kind;

  template <class... Parts>
  ExpressionPtr make(Kind kind, Parts... parts) {
    auto made = std::make_unique<Expression>(Expression{.kind = kind, .line = peek().line});
    (made->parts.push_back(std::move(parts)), ...);
    return made;
  }
  ExpressionPtr make_text(Kind kind, std::string text) {
    auto made = make(kind);
    made->text = std::move(text);
    return made;
  }

  bool begins_expression() const {
    if (peek().kind == Token::Kind::symbol)
      return looking_at_symbol("(") || looking_at_symbol("[") || looking_at_symbol("{") || looking_at_symbol("-");
    return peek().kind == Token::Kind::name || peek().kind == Token::Kind::string || peek().kind == Token::Kind::integer;
  }

  ExpressionPtr both() {
    ExpressionPtr left = no();
    while (take_name("and")) left = make(Kind::both, std::move(left), no());
    return left;
  }
  ExpressionPtr no() {
    const Depth depth(*this);
    if (take_name("not")) return make(Kind::no, no());
    return compare();
  }
  ExpressionPtr compare() {
    ExpressionPtr left = sum(), chain;
    for (;;) {
      std::string symbol;
      for (const std::string_view known : {"==", "!=", "<", "<=", ">", ">="})
        if (looking_at_symbol(known)) symbol = known;
      if (looking_at_name("in")) symbol = "in";
      if (looking_at_name("not") && peek(1).kind == Token::Kind::name && peek(1).text == "in") {
        symbol = "not in";
        next();
      }
      if (symbol.empty()) return chain ? std::move(chain) : std::move(left);
      next();
      if (!chain) chain = make(Kind::compare, std::move(left));
      chain->symbols.push_back(symbol);
      chain->parts.push_back(sum());
    }
  }
  ExpressionPtr binary(ExpressionPtr left, ExpressionPtr right, std::string_view symbol) {
    auto made = make(Kind::binary, std::move(left), std::move(right));
    made->text = symbol;
    return made;
  }
  ExpressionPtr sum() {
    ExpressionPtr left = joined();
    while (looking_at_symbol("+") || looking_at_symbol("-")) {
      const std::string symbol = next().text;
      left = binary(std::move(left), joined(), symbol);
    }
    return left;
  }
  ExpressionPtr joined() {
    ExpressionPtr left = product();
    while (take_symbol("~")) left = binary(std::move(left), product(), "~");
    return left;
  }
  ExpressionPtr product() {
    ExpressionPtr left = power();
    for (;;) {
      std::string symbol;
      for (const std::string_view known : {"*", "/", "//", "%"})
        if (looking_at_symbol(known)) symbol = known;
      if (symbol.empty()) return left;
      next();
      left = binary(std::move(left), power(), symbol);
    }
  }
  ExpressionPtr power() {
    ExpressionPtr value = unary();
    if (looking_at_symbol("**")) fail(peek().line, "powers are not known");
    return value;
  }
  /// With filters and tests, which bind more tightly than a sign in Jinja only when they stand after the whole of it.
  ExpressionPtr unary(bool with_filters = true) {
    const Depth depth(*this);
    ExpressionPtr value;
    if (take_symbol("-"))
      value = make(Kind::negate, unary(false));
    else if (take_symbol("+"))
      value = unary(false);
    else
      value = primary();
    value = postfix(std::move(value));
    while (with_filters) {
      if (take_symbol("|"))
        value = filter(std::move(value));
      else if (take_name("is"))
        value = test(std::move(value));
      else if (looking_at_symbol("("))
        value = call(std::move(value));
      else
        break;
    }
    return value;
  }

  ExpressionPtr primary() {
    const Depth depth(*this);
    const Token token = peek();
    if (token.kind == Token::Kind::string) {
      auto text = make(Kind::text);
      while (peek().kind == Token::Kind::string) text->text += next().text;  // side by side they are one
      return text;
    }
    if (token.kind == Token::Kind::integer) {
      auto number = make(Kind::integer);
      number->number = next().number;
      return number;
    }
    if (token.kind == Token::Kind::name) {
      next();
      const std::string& word = token.text;
      if (word == "none" || word == "None") return make(Kind::none);
      if (word == "true" || word == "True" || word == "false" || word == "False") {
        auto made = make(Kind::boolean);
        made->number = word == "true" || word == "True" ? 1 : 0;
        return made;
      }
      return make_text(Kind::name, word);
    }
    if (take_symbol("(")) return bracketed();
    if (take_symbol("[")) return list();
    if (take_symbol("{")) return dict();
    unexpected("a value");
  }
  ExpressionPtr bracketed() {
    if (take_symbol(")")) return make(Kind::list);
    ExpressionPtr value = tuple();
    expect_symbol(")");
    return value;
  }
  ExpressionPtr list() {
    auto made = make(Kind::list);
    while (!take_symbol("]")) {
      made->parts.push_back(expression());
      if (!looking_at_symbol("]")) expect_symbol(",");
    }
    return made;
  }
  ExpressionPtr dict() {
    auto made = make(Kind::dict);
    while (!take_symbol("}")) {
      made->parts.push_back(expression());
      expect_symbol(":");
      made->parts.push_back(expression());
      if (!looking_at_symbol("}")) expect_symbol(",");
    }
    return made;
  }

  ExpressionPtr postfix(ExpressionPtr value) {
    for (;;) {
      if (take_symbol(".")) {
        if (peek().kind == Token::Kind::integer) {
          value = make(Kind::item, std::move(value), primary());
        } else {
          value = make(Kind::attribute, std::move(value));
          value->text = name("an attribute");
        }
      } else if (take_symbol("[")) {
        value = subscript(std::move(value));
      } else if (looking_at_symbol("(")) {
        value = call(std::move(value));
      } else {
        return value;
      }
    }
  }
  ExpressionPtr subscript(ExpressionPtr value) {
    ExpressionPtr bounds[3];
    std::size_t count = 0;
    bool slice = false;
    for (; !looking_at_symbol("]"); ++count) {
      if (count == 3) unexpected("']'");
      if (!looking_at_symbol(":")) bounds[count] = expression();
      if (looking_at_symbol("]")) break;
      if (!take_symbol(":")) unexpected("':' or ']'");
      slice = true;
    }
    expect_symbol("]");
    if (slice) return make(Kind::slice, std::move(value), std::move(bounds[0]), std::move(bounds[1]), std::move(bounds[2]));
    if (!bounds[0]) fail(peek().line, "expected an index in []");
    return make(Kind::item, std::move(value), std::move(bounds[0]));
  }
  ExpressionPtr call(ExpressionPtr callee) {
    auto made = make(Kind::call, std::move(callee));
    arguments(*made);
    return made;
  }
  void arguments(Expression& to) {
    expect_symbol("(");
    while (!take_symbol(")")) {
      if (peek().kind == Token::Kind::name && peek(1).kind == Token::Kind::symbol && peek(1).text == "=") {
        std::string key = next().text;
        next();
        to.named.emplace_back(std::move(key), expression());
      } else {
        if (!to.named.empty()) fail(peek().line, "an argument follows a named one");
        to.parts.push_back(expression());
      }
      if (!looking_at_symbol(")")) expect_symbol(",");
    }
  }
  ExpressionPtr filter(ExpressionPtr value) {
    auto made = make(Kind::filter, std::move(value));
    made->text = name("a filter");
    if (looking_at_symbol("(")) arguments(*made);
    return made;
  }
  ExpressionPtr test(ExpressionPtr value) {
    const bool negated = take_name("not");
    auto made = make(Kind::test, std::move(value));
    made->text = name("a test");
    if (looking_at_symbol("("))
      arguments(*made);
    else if (begins_expression() && !looking_at_symbol("-") && !looking_at_name("else") && !looking_at_name("or") &&
             !looking_at_name("and") && !looking_at_name("is") && !looking_at_name("if") && !looking_at_name("in") &&
             !looking_at_name("not"))
      made->parts.push_back(postfix(primary()));
    return negated ? make(Kind::no, std::move(made)) : std::move(made);
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace llm::detail::jinja
