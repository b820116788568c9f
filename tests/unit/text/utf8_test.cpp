// UTF-8: every character there and back, every kind of wrong sequence, offsets of errors.
#include <llm/text/utf8.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <support/catch.hpp>

using llm::Utf8Step;

TEST_CASE("every Unicode character survives encoding and decoding [roundtrip]") {
  std::size_t wrong = 0;
  std::string all;
  std::u32string expected;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c == 0xD800) c = 0xE000;
    const std::string bytes = llm::encode_utf8(c);
    const Utf8Step step = llm::read_utf8(bytes, 0);
    const std::size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    wrong += step.kind == Utf8Step::Kind::character && step.code_point == c && step.length == length && bytes.size() == length ? 0 : 1;
    all += bytes;
    expected.push_back(c);
  }
  CHECK(wrong == 0);
  CHECK(llm::decode_utf8(all) == expected);
  CHECK(llm::encode_utf8(0x4E2D) == "\xE4\xB8\xAD");
  CHECK(llm::encode_utf8(0x1F600) == "\xF0\x9F\x98\x80");
}

TEST_CASE("what is no character is not encoded") {
  CHECK_THROWS_AS(llm::encode_utf8(0xD800), llm::ValueError);
  CHECK_THROWS_AS(llm::encode_utf8(0xDFFF), llm::ValueError);
  CHECK_THROWS_AS(llm::encode_utf8(0x110000), llm::ValueError);
}

TEST_CASE("exactly the well-formed sequences of three bytes are accepted [bad_utf8]") {
  // Of all 2^24 three-byte strings those that are valid as a whole: each is a row of lengths 1+1+1, 1+2, 2+1 or 3.
  std::size_t valid = 0;
  std::string text(3, '\0');
  for (unsigned bits = 0; bits < 1u << 24; ++bits) {
    for (std::size_t i = 0; i < 3; ++i) text[i] = static_cast<char>(bits >> (16 - 8 * i) & 0xFF);
    valid += llm::find_invalid_utf8(text) == std::string_view::npos ? 1 : 0;
  }
  const std::size_t one = 128, two = 0x800 - 0x80, three = 0x10000 - 0x800 - 0x800;
  CHECK(valid == one * one * one + 2 * one * two + three);
}

TEST_CASE("wrong and unfinished sequences are told apart, with the bytes that one U+FFFD replaces [bad_utf8]") {
  using Kind = Utf8Step::Kind;
  const std::vector<std::pair<std::string_view, std::pair<Kind, std::size_t>>> cases{{"\x80", {Kind::invalid, 1}},
                                                                                     {"\xC0\x80", {Kind::invalid, 1}},
                                                                                     {"\xC1\xBF", {Kind::invalid, 1}},
                                                                                     {"\xF5\x80", {Kind::invalid, 1}},
                                                                                     {"\xFF", {Kind::invalid, 1}},
                                                                                     {"\xE0\x80\x80", {Kind::invalid, 1}},
                                                                                     {"\xED\xA0\x80", {Kind::invalid, 1}},
                                                                                     {"\xF0\x8F\xBF\xBF", {Kind::invalid, 1}},
                                                                                     {"\xF4\x90\x80\x80", {Kind::invalid, 1}},
                                                                                     {"\xE4\xB8x", {Kind::invalid, 2}},
                                                                                     {"\xF0\x9F\x98x", {Kind::invalid, 3}},
                                                                                     {"\xC3(", {Kind::invalid, 1}},
                                                                                     {"\xC3", {Kind::unfinished, 1}},
                                                                                     {"\xE4\xB8", {Kind::unfinished, 2}},
                                                                                     {"\xF0\x9F\x98", {Kind::unfinished, 3}},
                                                                                     {"\xF4", {Kind::unfinished, 1}},
                                                                                     {"\xED\x9F\xBF", {Kind::character, 3}},
                                                                                     {"\xF4\x8F\xBF\xBF", {Kind::character, 4}}};
  for (const auto& [text, expected] : cases) {
    CAPTURE(std::string(text));
    const Utf8Step step = llm::read_utf8(text, 0);
    CHECK((step.kind == expected.first));
    CHECK(step.length == expected.second);
  }
}

TEST_CASE("invalid UTF-8 is an error that names the byte offset [bad_utf8]") {
  CHECK(llm::find_invalid_utf8("") == std::string_view::npos);
  CHECK(llm::find_invalid_utf8("\xE4\xB8\xAD\xFFz") == 3);
  CHECK(llm::find_invalid_utf8("ab\xE4\xB8") == 2);
  CHECK_THROWS_WITH(llm::decode_utf8("ab\xE4\xB8"), Catch::Contains("not valid UTF-8 at byte 2"));
  static_assert(llm::find_invalid_utf8("\xC3\xA9\x80") == 2);
}
