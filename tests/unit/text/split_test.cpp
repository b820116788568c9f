// What becomes of matches when a text is cut, and the steps before BPE.
#include <llm/text/bpe/pre_tokenizer.hpp>
#include <llm/text/bpe/split.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/text/bpe/patterns.hpp>

#include <support/catch.hpp>

using llm::PreTokenizer, llm::Regex, llm::Split, llm::SplitBehavior, llm::TextPattern;

static std::string pieces(const PreTokenizer& pre_tokenizer, std::string_view text, bool at_start = true) {
  std::string out;
  pre_tokenizer(text, at_start).for_each([&](std::string_view piece) { out += std::string(piece) + "|"; });
  return out;
}
static std::string split(SplitBehavior behavior, bool invert = false) {
  return pieces(PreTokenizer({Split{TextPattern(std::string("-")), behavior, invert}}), "the-final--countdown-");
}

TEST_CASE("matches are removed, kept apart, or joined, as Hugging Face documents it") {
  CHECK(split(SplitBehavior::removed) == "the|final|countdown|");
  CHECK(split(SplitBehavior::isolated) == "the|-|final|-|-|countdown|-|");
  CHECK(split(SplitBehavior::merged_with_previous) == "the-|final-|-|countdown-|");
  CHECK(split(SplitBehavior::merged_with_next) == "the|-final|-|-countdown|-|");
  CHECK(split(SplitBehavior::contiguous) == "the|-|final|--|countdown|-|");
}

TEST_CASE("inverted, what lies between matches counts as the match") {
  CHECK(split(SplitBehavior::removed, true) == "-|-|-|-|");
  CHECK(split(SplitBehavior::merged_with_previous, true) == "the|-final|-|-countdown|-|");
  CHECK(split(SplitBehavior::contiguous, true) == "the|-|final|--|countdown|-|");
}

TEST_CASE("steps cut the pieces of the steps before") {
  const PreTokenizer digits({Split{TextPattern(Regex("\\p{N}"))}, Split{TextPattern(Regex(" ?\\p{L}+"))}});
  CHECK(pieces(digits, "ab12 cd") == "ab|1|2| cd|");
  CHECK(pieces(digits, "") == "");
  CHECK(pieces(PreTokenizer(), "as it is") == "as it is|");
  CHECK(pieces(PreTokenizer({PreTokenizer::PrefixSpace{}}), "a") == " a|");
  CHECK(pieces(PreTokenizer({PreTokenizer::PrefixSpace{}}), " a") == " a|");
  CHECK(pieces(PreTokenizer({PreTokenizer::PrefixSpace{}}), "") == "");
}

TEST_CASE("Metaspace marks spaces and puts its mark first as asked") {
  using Meta = PreTokenizer::Metaspace;
  const auto of = [](Meta::Prefix prefix, bool cut) { return PreTokenizer({Meta{"_", prefix, cut}}); };
  CHECK(pieces(of(Meta::Prefix::always, true), "a b  c") == "_a|_b|_|_c|");
  CHECK(pieces(of(Meta::Prefix::always, false), "a b") == "_a_b|");
  CHECK(pieces(of(Meta::Prefix::always, false), " a") == "_a|");
  CHECK(pieces(of(Meta::Prefix::first, false), "a", true) == "_a|");
  CHECK(pieces(of(Meta::Prefix::first, false), "a", false) == "a|");
  CHECK(pieces(of(Meta::Prefix::never, true), "a b") == "a|_b|");
}

TEST_CASE("every pre-tokenizer known by name compiles and cuts without loss, and others are not known [pretok]") {
  const std::string text = "I'll SAY 12345 words,\n\n  \xE4\xBD\xA0\xE5\xA5\xBD x\xCC\x81! \r\n";
  for (const auto& known : llm::detail::bpe::known_pre_tokenizers())
    for (const std::string_view name : known.names) {
      INFO(name);
      const auto found = llm::find_pre_tokenizer(name);
      REQUIRE(found);
      CHECK(found->pre_tokenizer(text, true).text == text);
      CHECK(found->pre_tokenizer(text, true).ends.size() > 8);
    }
  CHECK_FALSE(llm::find_pre_tokenizer("default"));
  CHECK_FALSE(llm::find_pre_tokenizer(""));
  const auto cut = [](const char* name, std::string_view t) { return pieces(llm::find_pre_tokenizer(name)->pre_tokenizer, t); };
  CHECK(cut("gpt-2", "I'LL x12345  y") == "I|'|LL| x|12345| | y|");
  CHECK(cut("smollm", "x12345") == "x|1|2|3|4|5|");
  CHECK(cut("llama-bpe", "I'LL x12345!\n") == "I|'LL| x|123|45|!\n|");
  CHECK(cut("qwen2", "x123") == "x|1|2|3|");
  CHECK(cut("gpt-4o", "helloWorld's 1234") == "hello|World's| |123|4|");
  CHECK(cut("deepseek-v3",
            "ab\xE4\xB8\xAD\xE6\x96\x87"
            "1234") == "ab|\xE4\xB8\xAD\xE6\x96\x87|123|4|");
}
