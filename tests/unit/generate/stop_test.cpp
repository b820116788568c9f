// Stop tokens and stop strings: what may be shown, and that it does not depend on how the text is cut.
#include <llm/core/error.hpp>
#include <llm/core/rng.hpp>
#include <llm/generate/stop.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <support/catch.hpp>

namespace {

/// What a matcher shows of the pieces, the flush at the end included.
std::string shown(llm::StopMatcher& matcher, const std::vector<std::string>& pieces) {
  std::string out;
  for (const auto& piece : pieces) out += matcher.feed(piece);
  return out += matcher.finish();
}

/// The specification: for each end position in turn, the longest stop string that ends there cuts the text at its start.
std::string expected_text(const std::string& text, const std::vector<std::string>& stops) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::size_t longest = 0;
    for (const auto& stop : stops)
      if (std::string_view(text).substr(0, end).ends_with(stop)) longest = (std::max)(longest, stop.size());
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

std::string random_text(llm::Rng& rng, std::size_t length, const std::vector<std::string>& alphabet) {
  std::string out;
  for (std::size_t i = 0; i < length; ++i) out += alphabet[rng.below(alphabet.size())];
  return out;
}

bool begins_in_character(std::string_view text) { return !text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0u) == 0x80u; }

}  // namespace

TEST_CASE("stop tokens are a set of ids") {
  const llm::StopConditions stop{.token_ids = {2, 7}, .strings = {}};
  CHECK(stop.is_stop_token(2));
  CHECK(stop.is_stop_token(7));
  CHECK_FALSE(stop.is_stop_token(0));
  CHECK_FALSE(llm::StopConditions{}.is_stop_token(0));
}

TEST_CASE("without stop strings text passes at once") {
  llm::StopMatcher matcher;
  CHECK(matcher.feed("one ") == "one ");
  CHECK(matcher.feed("") == "");
  CHECK(matcher.feed("two") == "two");
  CHECK(matcher.finish() == "");
  CHECK_FALSE(matcher.stopped());
}

TEST_CASE("a stop string that spans pieces is never shown") {
  llm::StopMatcher matcher({"User:"});
  CHECK(matcher.feed("Hello U") == "Hello ");
  CHECK(matcher.feed("se") == "");
  CHECK_FALSE(matcher.stopped());
  CHECK(matcher.feed("r: more") == "");
  CHECK(matcher.stopped());
  CHECK(matcher.stop_string() == "User:");
  CHECK(matcher.feed("ignored") == "");
  CHECK(matcher.finish() == "");
}

TEST_CASE("text that only began like a stop string is shown in full") {
  llm::StopMatcher matcher({"User:"});
  CHECK(matcher.feed("a Use") == "a ");
  CHECK(matcher.feed("ful ") == "Useful ");
  CHECK(matcher.feed("Us") == "");
  CHECK(matcher.finish() == "Us");
  CHECK(matcher.finish() == "");
  CHECK_FALSE(matcher.stopped());
}

TEST_CASE("the end of the text breaks a partial match") {
  llm::StopMatcher matcher({"ab"});
  CHECK(matcher.feed("xa") == "x");
  CHECK(matcher.finish() == "a");
  CHECK(matcher.feed("b") == "b");
  CHECK_FALSE(matcher.stopped());
}

TEST_CASE("overlapping beginnings inside a stop string") {
  llm::StopMatcher first({"aab"});
  CHECK(shown(first, {"aa", "aa", "b!"}) == "aa");
  llm::StopMatcher second({"\n\n\n"});
  CHECK(shown(second, {"a\n\n", "b\n", "\n", "\nc"}) == "a\n\nb");
  llm::StopMatcher third({"ababc"});
  CHECK(shown(third, {"abab", "abab", "c"}) == "abab");
  llm::StopMatcher nested({"aabaaac"});
  CHECK(shown(nested, {"aabaaabaaac"}) == "aaba");
}

TEST_CASE("of several stop strings the one complete first wins, then the longer") {
  llm::StopMatcher inner({"abcd", "bc"});
  CHECK(shown(inner, {"xabcd"}) == "xa");
  CHECK(inner.stop_string() == "bc");
  llm::StopMatcher suffix({"c", "abc"});
  CHECK(shown(suffix, {"xab", "c"}) == "x");
  CHECK(suffix.stop_string() == "abc");
  llm::StopMatcher prefix({"ab", "abc"});
  CHECK(shown(prefix, {"xabc"}) == "x");
  CHECK(prefix.stop_string() == "ab");
}

TEST_CASE("multi-byte stop strings hold back whole characters only") {
  llm::StopMatcher matcher({"。"});
  CHECK(matcher.feed("床前明月光") == "床前明月光");
  CHECK(matcher.feed("、") == "、");  // shares its first two bytes with the stop string
  CHECK(matcher.feed("疑。x") == "疑");
  CHECK(matcher.stopped());
}

TEST_CASE("stop strings that can never be found in text are refused") {
  CHECK_THROWS_AS(llm::StopMatcher({"ok", ""}), llm::ValueError);
  CHECK_THROWS_AS(llm::StopMatcher({"\x82"}), llm::ValueError);
}

TEST_CASE("a matcher can be used again after reset") {
  llm::StopMatcher matcher({"##"});
  CHECK(shown(matcher, {"a#", "#b"}) == "a");
  matcher.reset();
  CHECK_FALSE(matcher.stopped());
  CHECK(matcher.stop_string().empty());
  CHECK(matcher.feed("#x#") == "#x");
  matcher.reset();
  CHECK(matcher.feed("#y") == "#y");
}

TEST_CASE("any cut of any text into pieces shows the same") {
  llm::Rng rng(11);
  const std::vector<std::string> characters{"a", "a", "b", "é", "è", "語"};
  int stopped = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> stops(rng.below(4));
    for (auto& stop : stops) stop = random_text(rng, 1 + rng.below(5), characters);
    llm::StopMatcher matcher(stops);
    std::string text, out;
    const auto count = rng.below(15);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string piece = random_text(rng, rng.below(4), characters);
      text += piece;
      const std::string_view now = matcher.feed(piece);
      REQUIRE_FALSE(begins_in_character(now));
      out += now;
    }
    out += matcher.finish();
    REQUIRE(out == expected_text(text, stops));
    REQUIRE(matcher.stopped() == (out != text));
    stopped += matcher.stopped() ? 1 : 0;

    llm::StopMatcher bytewise(stops);
    std::vector<std::string> bytes;
    for (const char byte : text) bytes.emplace_back(1, byte);
    REQUIRE(shown(bytewise, bytes) == out);
  }
  CHECK(stopped > 500);
  CHECK(stopped < 2500);
}

TEST_CASE("nothing is held back longer than needed") {
  llm::Rng rng(12);
  const std::vector<std::string> characters{"a", "b"};
  for (int round = 0; round < 500; ++round) {
    const std::string stop = random_text(rng, 2 + rng.below(9), characters);
    llm::StopMatcher matcher({stop});
    std::string text, out;
    while (!matcher.stopped() && text.size() < 40) {
      text += random_text(rng, 1, characters);
      out += matcher.feed(std::string_view(text).substr(text.size() - 1));
      if (matcher.stopped()) break;
      const std::string held = text.substr(out.size());
      REQUIRE(std::string_view(stop).starts_with(held));
      for (std::size_t longer = held.size() + 1; longer < stop.size() && longer <= text.size(); ++longer)
        REQUIRE_FALSE(std::string_view(stop).starts_with(std::string_view(text).substr(text.size() - longer)));
    }
  }
}
