// Unicode normalisation forms and the other steps before a text is split.
#include <llm/text/bpe/normalizer.hpp>
#include <llm/text/bpe/unicode.hpp>

#include <string>

#include <support/catch.hpp>

using llm::normalize_unicode, llm::Normalizer, llm::UnicodeForm;

TEST_CASE("the four forms compose, decompose and fold as Unicode says") {
  const std::string composed = "\xC3\xA9", decomposed = "e\xCC\x81", ligature = "\xEF\xAC\x81";
  CHECK(normalize_unicode(decomposed, UnicodeForm::nfc) == composed);
  CHECK(normalize_unicode(composed, UnicodeForm::nfd) == decomposed);
  CHECK(normalize_unicode(ligature, UnicodeForm::nfc) == ligature);
  CHECK(normalize_unicode(ligature, UnicodeForm::nfkc) == "fi");
  CHECK(normalize_unicode(ligature + composed, UnicodeForm::nfkd) == "fi" + decomposed);
  CHECK(normalize_unicode("\xE2\x84\xAB", UnicodeForm::nfc) == "\xC3\x85");                              // the angstrom sign
  CHECK(normalize_unicode("\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", UnicodeForm::nfc) == "\xED\x95\x9C");  // Hangul
  CHECK(normalize_unicode("\xED\x95\x9C", UnicodeForm::nfd) == "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB");
  CHECK(normalize_unicode("a\xCC\x81\xCC\xA7", UnicodeForm::nfd) == "a\xCC\xA7\xCC\x81");  // marks in the order of their classes
  CHECK(normalize_unicode("\xEF\xB7\xBA", UnicodeForm::nfkc).size() == 33);                // the longest decomposition
}

TEST_CASE("normalising keeps every other character, nul and unassigned ones too") {
  const std::string text = std::string("a\0b", 3) + "\xF0\x9F\x98\x80\xEE\x80\x80\xEF\xBF\xBF\xF4\x8F\xBF\xBF \xE1\xA0\x8E";
  for (const auto form : {UnicodeForm::nfc, UnicodeForm::nfd, UnicodeForm::nfkc, UnicodeForm::nfkd})
    CHECK(normalize_unicode(text, form) == text);
  CHECK(normalize_unicode("", UnicodeForm::nfc) == "");
  CHECK_THROWS_AS(normalize_unicode("\xFF", UnicodeForm::nfc), llm::ValueError);
}

TEST_CASE("a long run of marks out of order takes no quadratic time") {
  std::string marks = "a";
  for (int i = 0; i < 200'000; ++i) marks += "\xCC\x81\xCC\xA7";
  CHECK(normalize_unicode(marks, UnicodeForm::nfd).size() == marks.size());  // quadratic: minutes
}

TEST_CASE("steps follow one another; nothing is put before an empty text") {
  const llm::TextPattern space(std::string(" "));
  const Normalizer normalizer({Normalizer::Prepend{"_"}, Normalizer::Replace{space, "_"}, UnicodeForm::nfc});
  CHECK(normalizer("a e\xCC\x81") == "_a_\xC3\xA9");
  CHECK(normalizer("") == "");
  CHECK(Normalizer()("as it is") == "as it is");
  CHECK(Normalizer().empty());
}

TEST_CASE("white space and word characters are Unicode's") {
  for (const char32_t c : {U' ', U'\t', U'\u0085', U'\u00A0', U'\u2003', U'\u3000'}) CHECK(llm::is_white_space(c));
  for (const char32_t c : {U'a', U'\u180E', U'\u200B', U'\uFEFF', U'\u001C'}) CHECK_FALSE(llm::is_white_space(c));
  for (const char32_t c : {U'a', U'_', U'\u0301', U'\u4E2D', U'1', U'\u2167', U'\u200D'}) CHECK(llm::is_word_character(c));
  for (const char32_t c : {U' ', U'-', U'\u00B2', U'\U0001F600'}) CHECK_FALSE(llm::is_word_character(c));
}
