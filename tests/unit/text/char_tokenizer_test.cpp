// The character tokenizer: ids, round trips, errors, its stored form.
#include <llm/text/char_tokenizer.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <llm/core/rng.hpp>

#include <support/catch.hpp>

using llm::CharTokenizer;

TEST_CASE("ids follow the order of the code points") {
  const auto tokenizer = CharTokenizer::from_text(
      "b\xE4\xB8\xAD"
      "a\xF0\x9F\x98\x80"
      "ab");
  CHECK(tokenizer.vocab_size() == 4);
  CHECK(tokenizer.characters() == "ab\xE4\xB8\xAD\xF0\x9F\x98\x80");
  CHECK(tokenizer.encode("\xE4\xB8\xAD"
                         "ab") == std::vector<std::int32_t>{2, 0, 1});
  CHECK(tokenizer.decode(std::array<std::int32_t, 3>{3, 0, 0}) ==
        "\xF0\x9F\x98\x80"
        "aa");
  CHECK(tokenizer.decode_one(2) == "\xE4\xB8\xAD");
  CHECK(tokenizer.encode("").empty());
  CHECK(tokenizer.decode({}).empty());
}

/// A random text: whole pieces that belong together, and any single characters.
static std::string random_text(llm::Rng& rng) {
  constexpr std::array<std::string_view, 9> pieces{std::string_view("\0", 1),
                                                   "\r\n",
                                                   "e\xCC\x81\xCC\xA7",                             // NUL, line end, combining marks
                                                   "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x92\xBB",  // an emoji joined from two
                                                   "\xE4\xB8\xAD\xE6\x96\x87",
                                                   "\xEF\xBB\xBF",
                                                   "\xEF\xBF\xBD",
                                                   "\xC2\x85",  // CJK, BOM, U+FFFD, NEL
                                                   "\xF4\x8F\xBF\xBF"};
  std::string text;
  const std::uint64_t length = 1 + rng.below(40);
  for (std::uint64_t i = 0; i < length; ++i) {
    if (rng.below(3) == 0) {
      text += pieces[rng.below(pieces.size())];
      continue;
    }
    auto c = static_cast<char32_t>(rng.below(0x110000 - 0x800) >> rng.below(15));
    text += llm::encode_utf8(c >= 0xD800 ? c + 0x800 : c);
  }
  return text;
}

TEST_CASE("decode(encode(x)) == x for random valid UTF-8 [roundtrip]") {
  llm::Rng rng(7);
  for (int i = 0; i < 60; ++i) {
    const std::string text = random_text(rng);
    const auto tokenizer = CharTokenizer::from_text(text);
    const auto ids = tokenizer.encode(text);
    REQUIRE(tokenizer.decode(ids) == text);
    std::string streamed;
    for (const auto id : ids) streamed += tokenizer.decode_one(id);
    REQUIRE(streamed == text);
    REQUIRE(CharTokenizer::from_characters(tokenizer.characters()) == tokenizer);
  }
}

TEST_CASE("an unknown character is an error that names it and its place") {
  const auto tokenizer = CharTokenizer::from_text("ab");
  CHECK_THROWS_WITH(tokenizer.encode("ab\xE4\xB8\xAD"), Catch::Contains("2 characters lacks U+4E2D '\xE4\xB8\xAD' at byte 2"));
  CHECK_THROWS_WITH(tokenizer.encode("\n"), Catch::Contains("lacks U+000A at byte 0"));
  CHECK_THROWS_WITH(tokenizer.encode("\xF0\x9F\x98\x80"), Catch::Contains("U+01F600"));
  CHECK_THROWS_WITH(tokenizer.encode("a\xFF"), Catch::Contains("not valid UTF-8 at byte 1"));
}

TEST_CASE("ids outside the vocabulary are errors [oov]") {
  const auto tokenizer = CharTokenizer::from_text("ab");
  CHECK_THROWS_WITH(tokenizer.decode_one(2), Catch::Contains("id 2 is outside 0 .. 1"));
  CHECK_THROWS_AS(tokenizer.decode_one(-1), llm::ValueError);
  CHECK_THROWS_AS(tokenizer.decode(std::vector<std::int32_t>{0, 1, 2}), llm::ValueError);
  CHECK_THROWS_AS(tokenizer.decode(std::vector<std::int32_t>{INT32_MIN}), llm::ValueError);
}

TEST_CASE("texts and stored vocabularies that make no tokenizer are refused") {
  CHECK_THROWS_AS(CharTokenizer::from_text(""), llm::ValueError);
  CHECK_THROWS_WITH(CharTokenizer::from_text("a\xC3"), Catch::Contains("byte 1"));
  CHECK_THROWS_AS(CharTokenizer::from_characters(""), llm::ValueError);
  CHECK_THROWS_WITH(CharTokenizer::from_characters("aa"), Catch::Contains("must ascend"));
  CHECK_THROWS_WITH(CharTokenizer::from_characters("ba"), Catch::Contains("U+0061 'a' follows U+0062 'b'"));
  CHECK_THROWS_AS(CharTokenizer::from_characters("a\x80"), llm::ValueError);
}

TEST_CASE("random bytes are encoded or refused, never misread [bad_utf8]") {
  llm::Rng rng(11);
  std::string ascii;
  for (char c = 0; c < 127; ++c) ascii += c;
  const auto tokenizer = CharTokenizer::from_text(ascii);
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (std::uint64_t n = rng.below(6); n > 0; --n) text += static_cast<char>(rng.below(i % 2 == 0 ? 256 : 127));
    try {
      const auto ids = tokenizer.encode(text);
      REQUIRE(tokenizer.decode(ids) == text);
    } catch (const llm::ValueError&) {
      REQUIRE(i % 2 == 0);
    }
  }
}
