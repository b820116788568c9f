// Tokenizers made from what a GGUF file says: both models, types of tokens, special ids, and what is refused.
#include <llm/text/bpe/gguf_vocabulary.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <support/catch.hpp>

using llm::GgufVocabulary, llm::make_tokenizer;
using Ids = std::vector<std::int32_t>;

namespace {

/// Bytes as ids 0 .. 255, two merges, and some tokens of other types.
struct ByteLevel {
  std::vector<std::string> texts;
  GgufVocabulary vocabulary;

  ByteLevel() {
    for (const char32_t c : llm::detail::bpe::byte_alphabet.character) texts.push_back(llm::encode_utf8(c));
    for (const char* more : {"ab", "abc", "<|im_start|>", "<|im_end|>", "my \xC3\xA9", "<pad>"}) texts.emplace_back(more);
    vocabulary.model = "gpt2";
    vocabulary.pre = "gpt-2";
    vocabulary.types.assign(texts.size(), GgufVocabulary::normal);
    vocabulary.types[258] = vocabulary.types[259] = GgufVocabulary::control;
    vocabulary.types[260] = GgufVocabulary::user_defined;
    vocabulary.types[261] = GgufVocabulary::unused;
    vocabulary.merges = {"a b", "ab c"};
    vocabulary.bos_id = 258;
    vocabulary.eos_ids = {256};
    point();
  }
  void point() { vocabulary.tokens.assign(texts.begin(), texts.end()); }
  std::string refusal() {
    try {
      make_tokenizer(vocabulary);
      return {};
    } catch (const llm::ValueError& error) {
      return error.what();
    }
  }
};

auto says(const std::string& text) { return Catch::Contains(text); }

}  // namespace

TEST_CASE("a byte-level GGUF vocabulary encodes, and its control and user tokens are text as they stand") {
  ByteLevel file;
  const auto tokenizer = make_tokenizer(file.vocabulary);
  CHECK(tokenizer.vocab_size() == 262);
  CHECK(tokenizer.encode("abcab") == Ids{257, 256});
  CHECK(tokenizer.encode("a<|im_end|>my \xC3\xA9") == Ids{'a', 259, 260});
  CHECK(tokenizer.encode("<|im_end|>", {.parse_special = false}).size() == 10);
  CHECK(tokenizer.encode("my \xC3\xA9", {.parse_special = false}) == Ids{260});
  CHECK(tokenizer.decode(Ids{257, 259, 260}) == "abc<|im_end|>my \xC3\xA9");
  CHECK(tokenizer.decode(Ids{257, 259, 260}, true) == "abcmy \xC3\xA9");
  CHECK(tokenizer.decode_one(260) == "my \xC3\xA9");
  CHECK(tokenizer.is_special(259));
  CHECK_FALSE(tokenizer.is_special(260));
}

TEST_CASE("a GGUF vocabulary knows its BOS and every token that ends a turn [bos]") {
  ByteLevel file;
  CHECK(make_tokenizer(file.vocabulary).bos_id() == 258);
  CHECK(make_tokenizer(file.vocabulary).eos_ids() == Ids{256, 259});  // <|im_end|> is a control token
  CHECK(make_tokenizer(file.vocabulary).encode("a") == Ids{'a'});
  file.vocabulary.add_bos = true;
  file.vocabulary.add_eos = true;
  CHECK(make_tokenizer(file.vocabulary).encode("a") == Ids{258, 'a', 256});
  CHECK(make_tokenizer(file.vocabulary).encode("<|im_start|>a") == Ids{258, 'a', 256});
  file.vocabulary.add_bos.reset();
  file.vocabulary.pre = "llama-bpe";  // whose family has a BOS
  CHECK(make_tokenizer(file.vocabulary).encode("a") == Ids{258, 'a', 256});
  file.vocabulary.add_bos = false;
  CHECK(make_tokenizer(file.vocabulary).encode("a") == Ids{'a', 256});
}

TEST_CASE("a SentencePiece vocabulary merges by score, falls back to bytes and to the unknown token [spm]") {
  std::vector<std::string> texts = {"<unk>", "<s>", "</s>"};
  for (unsigned byte = 0; byte < 256; ++byte) texts.push_back(llm::detail::bpe::byte_token(byte));
  const std::string mark = "\xE2\x96\x81";
  for (const std::string& piece : {mark, std::string("a"), std::string("b"), mark + "a", std::string("ab"), std::string("aba")})
    texts.push_back(piece);
  texts.push_back(mark + "user");
  GgufVocabulary vocabulary;
  vocabulary.model = "llama";
  vocabulary.tokens.assign(texts.begin(), texts.end());
  vocabulary.types.assign(texts.size(), GgufVocabulary::normal);
  for (std::size_t id = 3; id < 259; ++id) vocabulary.types[id] = GgufVocabulary::byte;
  vocabulary.types[0] = GgufVocabulary::unknown;
  vocabulary.types[1] = vocabulary.types[2] = GgufVocabulary::control;
  vocabulary.types.back() = GgufVocabulary::user_defined;
  vocabulary.scores.assign(texts.size(), 0.0f);
  const float scores[] = {-10, -11, -12, -2, -1, -3};  // _ a b _a ab aba
  for (std::size_t i = 0; i < 6; ++i) vocabulary.scores[259 + i] = scores[i];
  vocabulary.bos_id = 1;
  vocabulary.eos_ids = {2};
  vocabulary.unknown_id = 0;

  const auto tokenizer = make_tokenizer(vocabulary);
  CHECK(tokenizer.encode("ab") == Ids{1, 259, 263});  // ab before _a
  CHECK(tokenizer.encode("aab") == Ids{1, 262, 263});
  CHECK(tokenizer.encode("aba") == Ids{1, 259, 264});
  CHECK(tokenizer.encode("b\xC3\xA9") == Ids{1, 259, 261, 3 + 0xC3, 3 + 0xA9});
  CHECK(tokenizer.encode("<s>a") == Ids{1, 262});
  CHECK(tokenizer.encode("b user") == Ids{1, 259, 261, 265});  // user tokens are looked for in the text
  CHECK(tokenizer.encode("") == Ids{1});
  CHECK(tokenizer.decode(Ids{1, 262, 263}, true) == "aab");
  CHECK(tokenizer.decode(Ids{1, 262}, false) == "<s> a");
  CHECK(tokenizer.decode(Ids{262, 3 + 0xC3, 262}) == "a\xEF\xBF\xBD a");
  vocabulary.add_space_prefix = false;
  CHECK(make_tokenizer(vocabulary).encode("a a", {.add_special = false}) == Ids{260, 262});
  CHECK(make_tokenizer(vocabulary).decode(Ids{262}) == " a");

  vocabulary.scores.pop_back();
  CHECK_THROWS_WITH(make_tokenizer(vocabulary), says("tokenizer.ggml.scores has 265 entries for 266 tokens"));
  vocabulary.scores.push_back(std::numeric_limits<float>::quiet_NaN());
  CHECK_THROWS_WITH(make_tokenizer(vocabulary), says("tokenizer.ggml.scores: that of id 265 is not a number"));
}

TEST_CASE("what a GGUF vocabulary contradicts, or what is not known, is refused by key [pretok]") {
  const auto refused = [](const auto& change, const char* reason) {
    ByteLevel file;
    change(file);
    file.point();
    CHECK_THAT(file.refusal(), says(reason));
  };
  refused([](ByteLevel& f) { f.vocabulary.model = "bert"; }, "tokenizer.ggml.model is 'bert', expected 'gpt2' or 'llama'");
  refused([](ByteLevel& f) { f.vocabulary.pre = "klingon"; }, "tokenizer.ggml.pre is 'klingon', which is no pre-tokenizer that is known");
  refused([](ByteLevel& f) { f.vocabulary.pre = ""; }, "tokenizer.ggml.pre is missing");
  refused([](ByteLevel& f) { f.texts.clear(); }, "tokenizer.ggml.tokens is empty");
  refused([](ByteLevel& f) { f.vocabulary.types.pop_back(); }, "tokenizer.ggml.token_type has 261 entries for 262 tokens");
  refused([](ByteLevel& f) { f.vocabulary.types[5] = 7; }, "has the unknown type 7");
  refused([](ByteLevel& f) { f.texts[261] = "ab", f.vocabulary.types[261] = 1; }, "token 'ab' of id 261 is already the token of id 256");
  refused([](ByteLevel& f) { f.texts[261] = "\xFF"; }, "of id 261 is not valid UTF-8");
  refused([](ByteLevel& f) { f.vocabulary.merges[1] = "abc"; }, "tokenizer.ggml.merges[1], 'abc', is no two tokens");
  refused([](ByteLevel& f) { f.vocabulary.merges[1] = "a d"; },
          "tokenizer.ggml.merges[1], 'a d', names or makes a token that the vocabulary lacks");
  refused([](ByteLevel& f) { f.vocabulary.bos_id = 262; }, "tokenizer.ggml.bos_token_id is 262, outside the 262 tokens");
  refused([](ByteLevel& f) { f.vocabulary.eos_ids = {-1}; }, "eot_token_id or eom_token_id is -1, outside");
  refused([](ByteLevel& f) { f.vocabulary.bos_id.reset(), f.vocabulary.add_bos = true; }, "tokenizer.ggml.bos_token_id is missing");
  refused([](ByteLevel& f) { f.vocabulary.eos_ids.clear(), f.vocabulary.add_eos = true; }, "tokenizer.ggml.eos_token_id is missing");
}

TEST_CASE("padding of a vocabulary may be spelled alike many times") {
  ByteLevel file;
  for (int i = 0; i < 3; ++i) {
    file.texts.emplace_back("<pad>");
    file.vocabulary.types.push_back(GgufVocabulary::unused);
  }
  file.point();
  const auto tokenizer = make_tokenizer(file.vocabulary);
  CHECK(tokenizer.decode_one(261) == "<pad>");
  CHECK(tokenizer.decode(Ids{263}) == "");
  CHECK(tokenizer.vocab_size() == 265);
}
