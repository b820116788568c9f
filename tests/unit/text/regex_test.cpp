// Patterns of tokenizer.json: what they match, what is refused, and that none can hang or exhaust the program.
#include <llm/text/bpe/regex.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <llm/text/bpe/pattern.hpp>

#include <support/catch.hpp>

using llm::Regex, llm::TextPattern;

/// The matches, with '|' after each.
static std::string found(const char* pattern, std::string_view text) {
  std::string out;
  Regex(pattern).for_each_match(text,
                                [&](std::size_t begin, std::size_t end) { out += std::string(text.substr(begin, end - begin)) + "|"; });
  return out;
}

TEST_CASE("properties, classes, case and lookahead are Unicode's [pretok]") {
  CHECK(found("\\p{L}+", "a\xC3\xA9\xE4\xB8\xAD 1") == "a\xC3\xA9\xE4\xB8\xAD|");
  CHECK(found("\\p{N}{1,3}", "12345 \xE0\xA5\xA7") == "123|45|\xE0\xA5\xA7|");
  CHECK(found("(?i:'s)", "'S '\xC5\xBF '") == "'S|'\xC5\xBF|");  // U+017F is an s, too
  CHECK(found("\\s+(?!\\S)|\\s+", "a   b") == "  | |");
  CHECK(found("[^\\s\\p{L}]+", "a!?b") == "!?|");
  CHECK(found("\\u4e2d", "x\xE4\xB8\xAD") == "\xE4\xB8\xAD|");
}

TEST_CASE("what Oniguruma and PCRE2 read differently is read as Oniguruma does [pretok]") {
  CHECK(found("\\s", "\xE1\xA0\x8E") == "");                // U+180E is no space
  CHECK(found("\\s", "\xC2\x85\x0B") == "\xC2\x85|\x0B|");  // U+0085 and VT are
  CHECK(found("\\h+", "12fg \t") == "12f|");                // hexadecimal digits
  CHECK(found("\\v", "\n\x0B") == "\x0B|");
  CHECK(found("\\w+", "e\xCC\x81_1-") == "e\xCC\x81_1|");  // a mark belongs to a word
  CHECK(found("\\w", "\xC2\xB2\xE2\x91\xA0") == "\xC2\xB2|");
  CHECK(found("[\\w.]", "\xC2\xB2.") == ".|");  // but not in a class
  CHECK(found("\\W", "a-b") == "-|");
  CHECK(found("[\\w-]+", "a-b c") == "a-b|c|");
  CHECK(found("\\b.", "ab cd") == "a| |c|");
  CHECK(found("\\B.", "ab cd") == "b|d|");
  CHECK(found("^a|b$", "a b\na b") == "a|b|a|b|");
  CHECK(found("[[:punct:]]", "$\xE2\x82\xAC.a") == "$|\xE2\x82\xAC|.|");
  CHECK(found("[[:space:][:digit:]]+", "a 1\xE1\xA0\x8E") == " 1|");
  CHECK(found("\\p{Han}", "\xE3\x80\x82\xE4\xB8\xAD") == "\xE4\xB8\xAD|");  // U+3002 is Common, whatever scripts use it
  CHECK(found("\\p{^Han}", "\xE4\xB8\xAD.") == ".|");
  CHECK(found("\\S{,2}x", "abcx") == "bcx|");
  CHECK(found("a{x}", "a{x}") == "a{x}|");
  CHECK(found("[]a]+", "]a[") == "]a|");
  CHECK(found("\\x{4E2D}\\x41",
              "\xE4\xB8\xAD"
              "A") ==
        "\xE4\xB8\xAD"
        "A|");
}

TEST_CASE("matches of nothing are given once, and not right behind another match") {
  CHECK(found("x*", "axb") == "|x||");  // before a, x, before... the end
  CHECK(found("", "\xE4\xB8\xAD") == "||");
  CHECK(found("a", "") == "");
}

TEST_CASE("what cannot be read the same way is refused, with the pattern and the reason") {
  const auto refused = [](const char* pattern, const char* reason) {
    INFO(pattern);
    CHECK_THROWS_WITH(Regex(pattern), Catch::Contains(std::string("the pattern '") + pattern + "' ") && Catch::Contains(reason));
  };
  refused("a(?i)b", "'(?i)', which is not supported");
  refused("(?x)a", "'(?x)'");
  refused("(?<name>a)", "'(?<n'");
  refused("(?R)", "'(?R)'");
  refused("(*UTF)a", "'(*', which is not supported");
  refused("(a)\\1", "'\\1'");
  refused("\\R", "'\\R'");
  refused("[a[bc]]", "a class in a class");
  refused("[a&&b]", "'&&' in a class");
  refused("[\\W]", "'\\W'");
  refused("[[:print:]]", "'[:print:]");
  refused("\\p{N}{1,3}+", "'+' after an interval");
  refused("a\\", "ends with '\\'");
  refused("[a", "without its ']'");
  refused("\\p{L", "without its '}'");
  refused("\\u12", "four hexadecimal digits");
  refused("(a", "is no regular expression: missing closing parenthesis");
  refused("\\p{Klingon}", "is no regular expression: unknown property");
  CHECK_THROWS_WITH(Regex("\xFF"), Catch::Contains("is not valid UTF-8"));
  CHECK_THROWS_AS(Regex(std::string(100'000, 'a')), llm::ValueError);
  CHECK_THROWS_AS(Regex(std::string(5000, '(') + std::string(5000, ')')), llm::ValueError);
}

TEST_CASE("a pattern made to take forever ends with an error, an honest one takes a long text") {
  CHECK_THROWS_WITH(found("(a+)+$", std::string(200, 'a') + "b"), Catch::Contains("the pattern '(a+)+$' cannot be matched"));
  CHECK(found("(?:\\p{L}\\p{M}*)+", std::string(400'000, 'a')).size() == 400'001);  // a group: each turn takes memory
  CHECK(found("\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", std::string(1 << 20, ' ') + "x").size() == (1 << 20) + 2);
}

TEST_CASE("all matches of a pattern with one text are paid for together") {
  // At each letter some ten thousand steps, which is far below what one match may take.
  const llm::Regex slow("(?=a{0,9}a{0,9}a{0,9}a{0,9}b)|.");
  const auto count = [](const llm::Regex& regex, const std::string& text) {
    int matches = 0;
    regex.for_each_match(text, [&](std::size_t, std::size_t) { ++matches; });
    return matches;
  };
  CHECK(count(slow, std::string(30, 'a')) == 30);
  CHECK_THROWS_WITH(count(slow, std::string(100'000, 'a')), Catch::Contains("cannot be matched with a text of 100000 bytes"));
  // Honest ones are not near it: few long matches, and many short ones.
  const llm::Regex honest("\\p{L}+|\\s+(?!\\S)|\\s+");
  CHECK(count(honest, std::string(1'000'000, ' ') + "x") == 3);
  CHECK(count(honest, std::string(1'000'000, 'a')) == 1);
  std::string words;
  for (int i = 0; i < 3000; ++i) words += std::string(300, 'a') + std::string(300, ' ');
  CHECK(count(honest, words) == 3000 + 2 * 2999 + 1);
}

TEST_CASE("a text is found as it is, with nothing special in it") {
  CHECK(TextPattern(std::string("a.")).replace("a.ab a.", "_") == "_ab _");
  CHECK(TextPattern(Regex("\\s+")).replace(" a  b ", "$1") == "$1a$1b$1");
  CHECK(TextPattern(std::string("aa")).replace("aaaaa", "b") == "bba");
  CHECK_THROWS_AS(TextPattern(std::string()), llm::ValueError);
}
