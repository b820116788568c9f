// Reads a template's tokens into statements. What Jinja has and chat templates do not use (inheritance, includes, raw, call) is refused.
// Source: Jinja's documentation, "Template Designer Documentation"; precedence as in its "Expressions".
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/text/jinja/expression_parser.hpp>
#include <llm/text/jinja/lexer.hpp>
#include <llm/text/jinja/syntax.hpp>

namespace llm::detail::jinja {

class Parser : ExpressionParser {
 public:
  /// Throws ValueError, naming line and cause.
  static Body parse(std::string_view source) {
    Parser parser(Lexer::tokens(source));
    Body body = parser.body({});
    return body;
  }

 private:
  using ExpressionParser::ExpressionParser;
  using Kind = Statement::Kind;
  using TokenKind = Token::Kind;

  /// Statements up to a block that begins with one of these names, which is left standing; all of them when there are none.
  Body body(std::initializer_list<std::string_view> ends) {
    const Depth depth(*this);
    Body statements;
    while (peek().kind != TokenKind::end) {
      const Token token = next();
      if (token.kind == TokenKind::text) {
        statements.push_back({.kind = Kind::text, .line = token.line, .text = token.text});
      } else if (token.kind == TokenKind::print_begin) {
        statements.push_back({.kind = Kind::print, .line = token.line, .value = tuple()});
        expect(TokenKind::print_end, "the end of {{ ... }}");
      } else {
        const std::string word = name("a statement");
        if (std::find(ends.begin(), ends.end(), word) != ends.end()) {
          end_word_ = word;
          return statements;
        }
        statements.push_back(statement(word, token.line));
      }
    }
    if (ends.size() != 0) fail(peek().line, "the template ends before {% ", *(ends.end() - 1), " %}");
    return statements;
  }

  Statement statement(const std::string& word, std::size_t line) {
    if (word == "if") return choice(line);
    if (word == "for") return loop(line);
    if (word == "set") return set(line);
    if (word == "macro") return macro(line);
    if (word == "generation") return section(line);
    if (word == "break" || word == "continue") {
      end_block();
      return {.kind = word == "break" ? Kind::leave : Kind::next, .line = line};
    }
    fail(line, "the statement ", in_quotes(word), " is not known (known: if, for, set, macro, generation, break, continue)");
  }

  void end_block() { expect(TokenKind::block_end, "the end of {% ... %}"); }

  Statement choice(std::size_t line) {
    const Depth depth(*this);
    Statement statement{.kind = Kind::choice, .line = line, .value = tuple()};
    end_block();
    statement.body = body({"elif", "else", "endif"});
    if (end_word_ == "elif") {
      statement.otherwise.push_back(choice(peek().line));
      return statement;
    }
    end_block();
    if (end_word_ == "else") {
      statement.otherwise = body({"endif"});
      end_block();
    }
    return statement;
  }

  std::vector<std::string> targets() {
    std::vector<std::string> names;
    const bool bracket = take_symbol("(");
    do names.push_back(name("a variable"));
    while (take_symbol(","));
    if (bracket) expect_symbol(")");
    return names;
  }

  Statement loop(std::size_t line) {
    Statement statement{.kind = Kind::loop, .line = line, .names = targets()};
    if (!take_name("in")) fail(peek().line, "expected 'in' after the variable of a loop");
    statement.value = either();
    if (take_name("if")) statement.condition = expression();
    if (take_name("recursive")) fail(line, "recursive loops are not known");
    end_block();
    statement.body = body({"else", "endfor"});
    end_block();
    if (end_word_ == "else") {
      statement.otherwise = body({"endfor"});
      end_block();
    }
    return statement;
  }

  Statement set(std::size_t line) {
    Statement statement{.kind = Kind::set, .line = line, .names = targets()};
    if (take_symbol(".")) {
      statement.kind = Kind::set_field;
      statement.text = name("a field");
    }
    if (take_symbol("=")) {
      statement.value = tuple();
      end_block();
      return statement;
    }
    if (statement.kind == Kind::set_field || statement.names.size() != 1) fail(line, "expected '=' in {% set %}");
    end_block();
    statement.kind = Kind::set_block;
    statement.body = body({"endset"});
    end_block();
    return statement;
  }

  Statement macro(std::size_t line) {
    Statement statement{.kind = Kind::macro, .line = line, .text = name("the name of a macro")};
    expect_symbol("(");
    while (!take_symbol(")")) {
      statement.names.push_back(name("a parameter"));
      if (take_symbol("="))
        statement.defaults.push_back(expression());
      else if (!statement.defaults.empty())
        fail(line, "a parameter without a default follows one that has it");
      if (!looking_at_symbol(")")) expect_symbol(",");
    }
    end_block();
    statement.body = body({"endmacro"});
    end_block();
    return statement;
  }

  Statement section(std::size_t line) {
    end_block();
    Statement statement{.kind = Kind::section, .line = line, .body = body({"endgeneration"})};
    end_block();
    return statement;
  }

  std::string end_word_;
};

}  // namespace llm::detail::jinja
