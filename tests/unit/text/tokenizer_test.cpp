// The one interface: any tokenizer behind it, special tokens where there are some, and text from ids that come one by one.
#include <llm/text/tokenizer.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <llm/text/char_tokenizer.hpp>

#include <support/catch.hpp>

using llm::CharTokenizer, llm::DecodeStream, llm::Tokenizer;
using Ids = std::vector<std::int32_t>;

static_assert(llm::BasicTokenizer<CharTokenizer> && llm::BasicTokenizer<Tokenizer>);
static_assert(!llm::SpecialTokenizer<CharTokenizer>, "characters have no special tokens");
static_assert(!llm::BasicTokenizer<int> && !std::is_constructible_v<Tokenizer, int>);

namespace {

/// Each byte is an id, and 256 ends a text.
struct Bytes {
  std::int64_t vocab_size() const { return 257; }
  Ids encode(std::string_view text, const llm::EncodeOptions& options = {}) const {
    Ids ids;
    for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
    if (options.add_special) ids.push_back(256);
    return ids;
  }
  std::string decode(std::span<const std::int32_t> ids, bool skip_special = false) const {
    std::string text;
    for (const std::int32_t id : ids) text += id < 256 ? decode_one(id) : skip_special ? "" : "<end>";
    return text;
  }
  std::string decode_one(std::int32_t id) const { return id < 256 ? std::string(1, static_cast<char>(id)) : "<end>"; }
  std::string token(std::int32_t id) const { return decode_one(id); }
  std::optional<std::int32_t> token_id(std::string_view token) const {
    if (token == "<end>") return 256;
    return {};
  }
  bool is_special(std::int32_t id) const { return id == 256; }
  std::optional<std::int32_t> bos_id() const { return {}; }
  Ids eos_ids() const { return {256}; }
};

}  // namespace

TEST_CASE("a character tokenizer is a tokenizer without special tokens") {
  const Tokenizer tokenizer = CharTokenizer::from_text("abc\xE4\xB8\xAD");
  CHECK(tokenizer.vocab_size() == 4);
  CHECK(tokenizer.encode("cab") == Ids{2, 0, 1});
  CHECK(tokenizer.encode("\xE4\xB8\xAD", {.add_special = false, .parse_special = false}) == Ids{3});
  CHECK(tokenizer.decode(Ids{0, 3}, true) == "a\xE4\xB8\xAD");
  CHECK(tokenizer.decode_one(3) == "\xE4\xB8\xAD");
  CHECK(tokenizer.token_id("b") == 1);
  CHECK_FALSE(tokenizer.token_id("z"));
  CHECK_FALSE(tokenizer.is_special(0));
  CHECK_FALSE(tokenizer.bos_id());
  CHECK(tokenizer.eos_ids().empty());
  CHECK_THROWS_AS(tokenizer.is_special(4), llm::ValueError);
  CHECK_THROWS_AS(tokenizer.decode(Ids{4}), llm::ValueError);
  CHECK(tokenizer.get_if<CharTokenizer>() != nullptr);
  CHECK(tokenizer.get_if<Bytes>() == nullptr);
}

TEST_CASE("options and special tokens reach the tokenizer inside, and copies share it") {
  const Tokenizer tokenizer = Bytes();
  const Tokenizer copy = tokenizer;
  CHECK(copy.encode("a") == Ids{'a', 256});
  CHECK(copy.encode("a", {.add_special = false}) == Ids{'a'});
  CHECK(copy.decode(Ids{'a', 256}) == "a<end>");
  CHECK(copy.decode(Ids{'a', 256}, true) == "a");
  CHECK(copy.token_id("<end>") == 256);
  CHECK(copy.is_special(256));
  CHECK(copy.eos_ids() == Ids{256});
  CHECK(copy.get_if<Bytes>() == tokenizer.get_if<Bytes>());
}

TEST_CASE("ids one by one give whole characters, flushed at the end [stream]") {
  DecodeStream stream{Tokenizer(Bytes()), true};
  std::string text;
  std::vector<std::string> pieces;
  for (const std::int32_t id : Ids{'a', 0xE4, 0xBD, 256, 0xA0, 0xE4}) pieces.push_back(stream.push(id));
  CHECK(pieces == std::vector<std::string>{"a", "", "", "", "\xE4\xBD\xA0", ""});
  CHECK(stream.flush() == "\xEF\xBF\xBD");
  CHECK(stream.push('b') == "b");
  DecodeStream shown{Tokenizer(Bytes())};
  CHECK(shown.push(256) == "<end>");
}
