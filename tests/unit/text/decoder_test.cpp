// From tokens back to text, step by step.
#include <llm/text/bpe/decoder.hpp>

#include <string>
#include <vector>

#include <support/catch.hpp>

using llm::Decoder, llm::TextPattern;

static std::string decode(std::vector<Decoder::Step> steps, const std::vector<std::string>& tokens) {
  std::vector<llm::DecodePiece> pieces;
  for (const std::string& token : tokens) pieces.push_back({token, false});
  return Decoder(std::move(steps)).decode(std::move(pieces));
}
static const TextPattern mark(std::string("_"));

TEST_CASE("byte-level tokens join before their bytes are read") {
  CHECK(decode({Decoder::ByteLevel{}}, {"a\xC4\xA0", "\xC3\xA4\xC2\xBD", "\xC5\x82"}) == "a \xE4\xBD\xA0");
  CHECK(decode({Decoder::ByteLevel{}}, {"\xC3\xA4\xC2\xBD", "x"}) == "\xEF\xBF\xBDx");
  CHECK(decode({Decoder::ByteLevel{}}, {"<\xE2\x96\x81>"}) == "<\xE2\x96\x81>");
}

TEST_CASE("a wrong byte spoils its run of byte tokens, or only itself") {
  const std::vector<std::string> tokens = {"a", "<0xE4>", "<0xBD>", "<0xA0>", "<0xE4>", "b", "<0xC3>", "<0xA9>"};
  const std::string bad = "\xEF\xBF\xBD";
  CHECK(decode({Decoder::ByteFallback{}}, tokens) == "a" + bad + bad + bad + bad + "b\xC3\xA9");
  CHECK(decode({Decoder::ByteFallback{.whole_runs = false}}, tokens) == "a\xE4\xBD\xA0" + bad + "b\xC3\xA9");
}

TEST_CASE("Strip takes from each token, after Fuse from the text") {
  const Decoder::Strip strip{.character = U' ', .start = 1, .stop = 2};
  CHECK(decode({strip}, {"  a", " b   "}) == " ab ");
  CHECK(decode({Decoder::Fuse{}, strip}, {"  a", " b   "}) == " a b ");
  CHECK(decode({strip}, {" "}) == "");
}

TEST_CASE("Replace and Metaspace bring spaces back") {
  CHECK(decode({Decoder::Replace{mark, " "}}, {"_a_", "b"}) == " a b");
  CHECK(decode({Decoder::Metaspace{"_", true}}, {"_a", "_b"}) == "a b");
  CHECK(decode({Decoder::Metaspace{"_", false}}, {"_a", "_b"}) == " a b");
}

TEST_CASE("one token's bytes are what it is inside a text [stream]") {
  const Decoder llama({Decoder::Replace{mark, " "}, Decoder::ByteFallback{}, Decoder::Fuse{}, Decoder::Strip{.start = 1}});
  CHECK(llama.decode_one({"_a", false}) == " a");
  CHECK(llama.decode_one({"<0xE4>", false}) == "\xE4");
  CHECK(llama.decode_one({"<0x5F>", false}) == "_");  // a byte is no mark
  CHECK(llama.decode_one({"_<0x41>_", true}) == "_<0x41>_");
  const Decoder byte_level({Decoder::ByteLevel{}});
  CHECK(byte_level.decode_one({"\xC4\xA0\xC3\xA4", false}) == " \xE4");
  CHECK(byte_level.decode_one({"\xC3\xA4", true}) == "\xC3\xA4");
  CHECK(Decoder({Decoder::Metaspace{"_", true}}).decode_one({"_a", false}) == " a");
}
