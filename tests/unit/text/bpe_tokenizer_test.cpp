// A whole byte-pair tokenizer: special tokens around a text, round trips, bad input, ids out of range, long texts in time.
#include <llm/text/bpe/bpe_tokenizer.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include <llm/core/rng.hpp>
#include <llm/tokenizer.hpp>

#include <support/catch.hpp>
#include <support/temporary_folder.hpp>
#include <support/tokenizer_json.hpp>

using llm::Tokenizer;
using llm_test::tokenizer_json, llm_test::tokenizer_of;
using Ids = std::vector<std::int32_t>;

static const std::string goldens = LLM_TEST_DATA "/goldens/";
static const char* const golden_names[] = {"tok_gpt2", "tok_llama3", "tok_qwen", "tok_spm"};

/// Random text of characters of all lengths, among them those that rules speak of.
static std::string random_text(llm::Rng& rng) {
  static const char32_t marked[] = {U' ', U'\n', U'\r',     U'a', U'e', U'\u0301', U'\'',
                                    U's', U'1',  U'\u4E2D', U'<', U'|', U'\u2581', U'\u0120'};
  std::string text;
  for (std::uint64_t i = rng.below(40); i > 0; --i) {
    char32_t c = marked[rng.below(std::size(marked))];
    if (rng.below(3) == 0) c = static_cast<char32_t>(rng.below(rng.below(2) == 0 ? 0x800 : 0x110000));
    if (c >= 0xD800 && c <= 0xDFFF) c = U'x';
    llm::append_utf8(text, c);
  }
  return text;
}

TEST_CASE("decoding what was encoded gives the text back [roundtrip]") {
  llm::Rng rng(2);
  for (const char* name : golden_names) {
    const auto tokenizer = Tokenizer::from_file(goldens + name);
    const bool nfc = std::string_view(name) == "tok_qwen";
    for (int round = 0; round < 500; ++round) {
      const std::string text = random_text(rng);
      INFO(name << ": " << text);
      // SentencePiece's form spells spaces U+2581, so that character comes back as one.
      std::string expected = nfc ? llm::normalize_unicode(text, llm::UnicodeForm::nfc) : text;
      if (std::string_view(name) == "tok_spm") expected = llm::TextPattern(std::string("\xE2\x96\x81")).replace(expected, " ");
      CHECK(tokenizer.decode(tokenizer.encode(text, {.add_special = false})) == expected);
      CHECK(tokenizer.decode(tokenizer.encode(text, {.add_special = false, .parse_special = false})) == expected);
    }
  }
}

TEST_CASE("a stream of ids gives the text of all, whatever the cuts [stream]") {
  llm::Rng rng(3);
  for (const char* name : golden_names) {
    const auto tokenizer = Tokenizer::from_file(goldens + name);
    for (int round = 0; round < 100; ++round) {
      const std::string text = random_text(rng);
      const Ids ids = tokenizer.encode(text, {.add_special = false});
      llm::DecodeStream stream(tokenizer);
      std::string streamed;
      for (const std::int32_t id : ids) {
        const std::string piece = stream.push(id);
        CHECK(llm::find_invalid_utf8(piece) == std::string::npos);
        streamed += piece;
      }
      streamed += stream.flush();
      // Inside a text, the space that is put before the first word is one.
      const bool prefixed = std::string_view(name) == "tok_spm" && !ids.empty();
      CHECK(streamed == (prefixed ? " " : "") + tokenizer.decode(ids));
    }
  }
}

TEST_CASE("random bytes are encoded or refused with their place [bad_utf8]") {
  llm::Rng rng(4);
  for (const char* name : golden_names) {
    const auto tokenizer = Tokenizer::from_file(goldens + name);
    for (int round = 0; round < 300; ++round) {
      std::string bytes;
      for (std::uint64_t i = rng.below(20); i > 0; --i) bytes += static_cast<char>(rng.below(4) == 0 ? rng.below(256) : rng.below(128));
      if (llm::find_invalid_utf8(bytes) == std::string::npos)
        CHECK_NOTHROW(tokenizer.encode(bytes));
      else
        CHECK_THROWS_AS(tokenizer.encode(bytes), llm::ValueError);
    }
    CHECK_THROWS_WITH(tokenizer.encode("ab\xFF"), Catch::Contains("not valid UTF-8 at byte 2"));
  }
}

TEST_CASE("ids outside the vocabulary throw from every function that takes one [oov]") {
  for (const char* name : golden_names) {
    const auto tokenizer = Tokenizer::from_file(goldens + name);
    const auto V = static_cast<std::int32_t>(tokenizer.vocab_size());
    for (const std::int32_t id : {-1, V, INT32_MAX, INT32_MIN}) {
      CHECK_THROWS_AS(tokenizer.decode(Ids{0, id}), llm::ValueError);
      CHECK_THROWS_AS(tokenizer.decode_one(id), llm::ValueError);
      CHECK_THROWS_AS(tokenizer.is_special(id), llm::ValueError);
    }
    CHECK_THROWS_WITH(tokenizer.decode_one(V), Catch::Contains("id " + std::to_string(V) + " is outside 0 .. "));
    for (std::int32_t id = 0; id < V; ++id) CHECK_NOTHROW(tokenizer.decode_one(id));
  }
}

TEST_CASE("a BOS begins a text once, whoever wrote it [bos]") {
  const auto tokenizer = Tokenizer::from_file(goldens + "tok_llama3");
  CHECK(tokenizer.bos_id() == 0);
  const Ids plain = tokenizer.encode("hi", {.add_special = false});
  CHECK(plain.front() != 0);
  Ids with_bos = plain;
  with_bos.insert(with_bos.begin(), 0);
  CHECK(tokenizer.encode("hi") == with_bos);
  CHECK(tokenizer.encode("<|begin_of_text|>hi") == with_bos);
  CHECK(tokenizer.encode("<|begin_of_text|>hi", {.add_special = false}) == with_bos);
  CHECK(tokenizer.encode("") == Ids{0});
  CHECK(tokenizer.encode("<|begin_of_text|>") == Ids{0});
  // As text, its letters are no BOS, so one is added.
  const Ids letters = tokenizer.encode("<|begin_of_text|>", {.parse_special = false});
  CHECK(letters.front() == 0);
  CHECK(letters.size() > 2);
}

TEST_CASE("an EOS ends a text once") {
  auto json = tokenizer_json();
  json["post_processor"] = nlohmann::json::parse(R"({"type": "TemplateProcessing",
      "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "E", "type_id": 0}}],
      "special_tokens": {"E": {"id": "E", "ids": [261], "tokens": ["<|end|>"]}}})");
  const auto tokenizer = tokenizer_of(json.dump());
  CHECK(tokenizer.encode("hello") == Ids{259, 261});
  CHECK(tokenizer.encode("hello<|end|>") == Ids{259, 261});
  CHECK(tokenizer.encode("<|end|>hello") == Ids{261, 259, 261});
  CHECK(tokenizer.encode("") == Ids{261});
}

TEST_CASE("with ignore_merges a word that is a token becomes that [ignore_merges]") {
  auto json = tokenizer_json();
  json["model"]["vocab"]["\xC4\xA0Vi\xC3\xA1\xC2\xBB\xC4\xA9t"] = 261;  // " Vi\u1EC7t", which no merge leads to
  json["added_tokens"][0]["id"] = 262;
  const std::string viet = " Vi\xE1\xBB\x87t";
  CHECK(tokenizer_of(json.dump()).encode(viet).size() == 7);
  json["model"]["ignore_merges"] = true;
  CHECK(tokenizer_of(json.dump()).encode(viet) == Ids{261});
  CHECK(tokenizer_of(json.dump()).encode(viet + viet + " hell") == Ids{261, 261, ' ', 258});
}

TEST_CASE("a byte that the vocabulary lacks is an error, or the unknown token, never lost") {
  auto json = tokenizer_json();
  json["model"]["vocab"].erase("z");
  CHECK_THROWS_WITH(tokenizer_of(json.dump()).encode("az"), Catch::Contains("the vocabulary has no token for 'z' and no unknown token"));
  json["model"]["unk_token"] = "!";
  CHECK(tokenizer_of(json.dump()).encode("az") == Ids{'a', '!'});
}

/// Seconds that encoding takes.
static double seconds(const Tokenizer& tokenizer, const std::string& text) {
  const auto start = std::chrono::steady_clock::now();
  const Ids ids = tokenizer.encode(text);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  CHECK(!ids.empty());
  return taken.count();
}

TEST_CASE("long texts take time in proportion: a megabyte under a second, whatever is in it [spm]") {
#ifdef NDEBUG
  constexpr std::size_t size = std::size_t{1} << 20;
#else
  constexpr std::size_t size = std::size_t{1} << 16;  // not optimised, perhaps under a sanitizer
#endif
  const auto repeat = [&](std::string_view part) {
    std::string text;
    while (text.size() < size) text += part;
    return text;
  };
  for (const char* name : golden_names) {
    const auto tokenizer = Tokenizer::from_file(goldens + name);
    for (const char* part :
         {"a", " ", "\n", "=", "the word and 10 others ", "withoutaspace", "\xE4\xB8\xAD", "\xCC\x81\xCC\xA7", "<|im_end|>", "<|"}) {
      INFO(name << ", repeating " << part);
      CHECK(seconds(tokenizer, repeat(part)) < 1.0);
    }
  }
}

TEST_CASE("many threads may use one tokenizer") {
  const auto tokenizer = Tokenizer::from_file(goldens + "tok_qwen");
  const std::string text = "In the beginning 123 \xE4\xB8\xAD <|im_end|> don't";
  const Ids expected = tokenizer.encode(text);
  std::vector<std::thread> threads;
  std::vector<int> right(4, 0);
  for (std::size_t t = 0; t < right.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) right[t] += tokenizer.encode(text) == expected && tokenizer.decode(expected) == text ? 1 : 0;
    });
  for (auto& thread : threads) thread.join();
  CHECK(right == std::vector<int>(4, 50));
}

/// A golden tokenizer whose added tokens are all looked for in the normalised text.
static llm::BpeTokenizer with_normalized_tokens(const std::string& name) {
  auto json = nlohmann::ordered_json::parse(llm_test::read_file(goldens + name + "/tokenizer.json"));
  for (auto& token : json["added_tokens"]) token["normalized"] = true;
  return tokenizer_of(json.dump());
}

TEST_CASE("special tokens of the normalised text are found beside plain parts, and not in them [bos]") {
  for (const std::string& name : {std::string("tok_llama3"), std::string("tok_qwen")}) {
    CAPTURE(name);
    const auto raw = tokenizer_of(llm_test::read_file(goldens + name + "/tokenizer.json")), normalized = with_normalized_tokens(name);
    const std::string mark(raw.added().all().back().content);
    for (const std::string& user : {std::string("hi there"), "a " + mark + " e\u0301 \u00E9", std::string("\u0301x")}) {
      const std::string text = mark + "user\n" + user + mark + mark + "e\u0301" + mark;
      const std::size_t begin = mark.size() + 5;
      const std::vector<llm::TextRange> plain{{begin, begin + user.size()}};
      const Ids expected = raw.encode(text, {.add_special = false, .plain = plain});
      CHECK(std::count(expected.begin(), expected.end(), raw.added().all().back().id) == 4);
      CHECK(normalized.encode(text, {.add_special = false, .plain = plain}) == expected);
    }
  }
}

TEST_CASE("plain ranges follow a text through its normaliser") {
  const auto shown = [](const llm::Normalizer& normalizer, const std::string& text, std::vector<llm::TextRange> plain) {
    const llm::MarkedNormal out = normalizer.marked(text, std::move(plain));
    CHECK(out.text == normalizer(text));
    std::string marked = out.text;
    for (auto range = out.plain.rbegin(); range != out.plain.rend(); ++range)
      marked =
          marked.substr(0, range->begin) + "(" + marked.substr(range->begin, range->end - range->begin) + ")" + marked.substr(range->end);
    return marked;
  };
  using Prepend = llm::Normalizer::Prepend;
  using Replace = llm::Normalizer::Replace;
  const llm::Normalizer llama2({Prepend{"__"}, Replace{llm::TextPattern(std::string(" ")), "__"}});
  CHECK(shown(llama2, "<s> hi </s>", {{4, 6}}) == "__<s>__(hi)__</s>");
  CHECK(shown(llama2, "<s> a b </s>", {{3, 8}}) == "__<s>(__a__b__)</s>");
  CHECK(shown(llama2, "ab", {{0, 1}}) == "__(a)b");
  CHECK(shown(llama2, "", {}) == "");
  const llm::Normalizer halves({Replace{llm::TextPattern(std::string("ab")), "c"}});
  CHECK(shown(halves, "abababx", {{1, 2}, {4, 6}}) == "(c)c(c)x");
  const llm::Normalizer nfc({llm::UnicodeForm::nfc});
  CHECK(shown(nfc, "e\u0301 e\u0301 e\u0301", {{4, 7}}) == "\u00E9 (\u00E9) \u00E9");
  CHECK(shown(nfc, "<s>e\u0301 x", {{4, 6}}) == "(<s>\u00E9) x");  // the e became another letter
  CHECK(shown(nfc, "<s> e\u0301", {}) == "<s> \u00E9");
}
