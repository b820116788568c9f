// Streams of text: characters are never split, terminals are never commanded.
#include <llm/text/stream.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <llm/core/rng.hpp>

#include <support/catch.hpp>

using llm::escape_control;
using llm::Utf8Stream;

static std::string streamed(std::string_view text, const std::vector<std::size_t>& cuts) {
  Utf8Stream stream;
  std::string out;
  std::size_t from = 0;
  for (const std::size_t cut : cuts) {
    const std::string piece = stream.push(text.substr(from, cut - from));
    CHECK(llm::find_invalid_utf8(piece) == std::string_view::npos);
    out += piece;
    from = cut;
  }
  out += stream.push(text.substr(from));
  return out + stream.flush();
}

TEST_CASE("any cut of any text streams the same bytes [stream]") {
  const std::string valid = "a\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x92\xBB\r\n" + std::string(1, '\0') + "z";
  for (std::size_t i = 0; i <= valid.size(); ++i)
    for (std::size_t j = i; j <= valid.size(); ++j) CHECK(streamed(valid, {i, j}) == valid);
  std::vector<std::size_t> each;
  for (std::size_t i = 0; i < valid.size(); ++i) each.push_back(i);
  CHECK(streamed(valid, each) == valid);
}

TEST_CASE("bytes that are no text become U+FFFD, the same however they are cut [stream]") {
  llm::Rng rng(3);
  for (int i = 0; i < 500; ++i) {
    std::string text;
    for (std::uint64_t n = rng.below(10); n > 0; --n) text += static_cast<char>(rng.below(4) == 0 ? rng.below(128) : 0x80 + rng.below(128));
    const std::string whole = streamed(text, {});
    REQUIRE(llm::find_invalid_utf8(whole) == std::string_view::npos);
    for (std::size_t a = 0; a <= text.size(); ++a)
      for (std::size_t b = a; b <= text.size(); ++b) REQUIRE(streamed(text, {a, b}) == whole);
  }
  const std::string fffd(llm::replacement_utf8);
  CHECK(streamed("a\xFF"
                 "b",
                 {}) == "a" + fffd + "b");
  CHECK(streamed("\xE4\xB8", {1}) == fffd);                   // one unfinished character, one mark
  CHECK(streamed("\xED\xA0\x80", {}) == fffd + fffd + fffd);  // a surrogate is three wrong bytes
}

TEST_CASE("a stream holds an unfinished character back and can be used again [stream]") {
  Utf8Stream stream;
  CHECK(stream.push("x\xF0\x9F") == "x");
  CHECK(stream.push("\x98").empty());
  CHECK(stream.push("\x80y") == "\xF0\x9F\x98\x80y");
  CHECK(stream.flush().empty());
  CHECK(stream.push("\xF0").empty());
  CHECK(stream.flush() == llm::replacement_utf8);
  CHECK(stream.push("z") == "z");
}

TEST_CASE("control characters become visible, text stays") {
  CHECK(escape_control("a\tb\n\xE4\xB8\xAD\xC2\xA0~") == "a\tb\n\xE4\xB8\xAD\xC2\xA0~");
  CHECK(escape_control("\x1b[31m") == "\\x1b[31m");
  CHECK(escape_control(std::string("\0\r\a\x7f", 4)) == "\\x00\\x0d\\x07\\x7f");
  CHECK(escape_control("\xC2\x9B"
                       "31m\xC2\x80\xC2\x9F") == "\\x9b31m\\x80\\x9f");
  CHECK(escape_control("\x9B"
                       "31m") == "\\x9b31m");
  CHECK(escape_control("\xE4\xB8") == "\\xe4\\xb8");
}
