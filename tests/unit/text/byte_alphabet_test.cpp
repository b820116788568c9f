// The alphabet of byte-level BPE, and byte tokens.
#include <llm/text/bpe/byte_alphabet.hpp>
#include <llm/text/bpe/byte_tokens.hpp>

#include <set>
#include <string>

#include <support/catch.hpp>

using namespace llm::detail::bpe;

TEST_CASE("each byte has a character of its own, as in GPT-2") {
  std::set<char32_t> characters(byte_alphabet.character.begin(), byte_alphabet.character.end());
  CHECK(characters.size() == 256);
  CHECK(byte_alphabet.character['A'] == U'A');
  CHECK(byte_alphabet.character[' '] == U'\u0120');
  CHECK(byte_alphabet.character['\n'] == U'\u010A');
  CHECK(byte_alphabet.character[0] == U'\u0100');
  CHECK(byte_alphabet.character[0xAD] == U'\u0143');
  CHECK(byte_alphabet.character[0xFF] == U'\u00FF');
}

TEST_CASE("bytes survive the alphabet; a text with another character stays as it is") {
  std::string bytes, spelled, back;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  append_alphabet(spelled, bytes);
  append_bytes(back, spelled);
  CHECK(back == bytes);
  std::string other = "x";
  append_bytes(other, "\xC4\xA0\xE4\xB8\xAD");  // U+0120 U+4E2D
  CHECK(other == "x\xC4\xA0\xE4\xB8\xAD");
  std::string space;
  append_bytes(space, "a b");  // a space is no character of the alphabet
  CHECK(space == "a b");
}

TEST_CASE("byte tokens are told from other tokens") {
  CHECK(byte_token(0x0A) == "<0x0A>");
  for (unsigned byte = 0; byte < 256; ++byte) CHECK(byte_of_token(byte_token(byte)) == static_cast<unsigned char>(byte));
  CHECK(byte_of_token("<0xff>") == 0xFF);
  for (const char* other : {"<0xG0>", "<0x0>", "<0x000>", "<0x41", "0x41>", "<1x41>", "", "<0x 1>", "<0x+1>"})
    CHECK_FALSE(byte_of_token(other));
}
