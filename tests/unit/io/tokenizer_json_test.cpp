// Reading tokenizer.json: every spelling, and what must be refused with file, field and value.
#include <llm/io/tokenizer_json.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <support/catch.hpp>
#include <support/large_vocabulary.hpp>
#include <support/resident_memory.hpp>
#include <support/tokenizer_json.hpp>

using llm_test::tokenizer_json, llm_test::tokenizer_of, llm_test::tokenizer_refusal;
using Json = nlohmann::ordered_json;
using Ids = std::vector<std::int32_t>;

static auto says(const std::string& text) { return Catch::Contains(text); }

/// The refusal of the good file with one value changed.
template <class Value>
static std::string refusal_with(const char* pointer, const Value& value) {
  Json json = tokenizer_json();
  json[Json::json_pointer(pointer)] = value;
  return tokenizer_refusal(json.dump());
}

TEST_CASE("a small tokenizer.json is read") {
  const auto tokenizer = tokenizer_of(tokenizer_json().dump());
  CHECK(tokenizer.vocab_size() == 262);
  CHECK(tokenizer.encode("hello hello<|end|>") == Ids{259, 260, 261});
  CHECK(tokenizer.token_id("<|end|>") == 261);
  CHECK(tokenizer.is_special(261));
  CHECK_FALSE(tokenizer.bos_id());
}

TEST_CASE("merges are read in both spellings, before and after the vocabulary") {
  Json json = tokenizer_json();
  const Json merges = json["model"]["merges"], vocabulary = json["model"]["vocab"];
  Json pairs = Json::array();
  for (const auto& merge : merges) {
    const std::string both = merge;
    pairs.push_back(Json::array({both.substr(0, both.find(' ')), both.substr(both.find(' ') + 1)}));
  }
  for (const Json& form : {merges, pairs})
    for (const bool first : {false, true}) {
      json["model"] = {{"type", "BPE"}};
      if (first) json["model"]["merges"] = form;
      json["model"]["vocab"] = vocabulary;
      json["model"]["merges"] = form;
      CHECK(tokenizer_of(json.dump()).encode("hello") == Ids{259});
    }
}

TEST_CASE("a token that has a space stands in a pair") {
  Json json = tokenizer_json();
  json["pre_tokenizer"] = nullptr;
  json["decoder"] = {{"type", "Fuse"}};
  json["model"]["vocab"] = {{"a", 0}, {" ", 1}, {"a ", 2}, {"a a", 3}};
  json["model"]["merges"] = Json::array({Json::array({"a", " "}), Json::array({"a ", "a"})});
  json["added_tokens"] = nullptr;
  CHECK(tokenizer_of(json.dump()).encode("a a") == Ids{3});
}

TEST_CASE("unknown kinds of everything are refused by name [pretok]") {
  CHECK_THAT(refusal_with("/model/type", "Unigram"), says("t.json: model.type is 'Unigram', expected 'BPE'"));
  CHECK_THAT(refusal_with("/model/dropout", 0.1), says("model.dropout is 0.1, expected null"));
  CHECK_THAT(refusal_with("/model/continuing_subword_prefix", "##"), says("model.continuing_subword_prefix is '##', expected null"));
  CHECK_THAT(refusal_with("/model/end_of_word_suffix", "</w>"), says("model.end_of_word_suffix is '</w>'"));
  CHECK_THAT(refusal_with("/normalizer", Json{{"type", "Lowercase"}}),
             says("normalizer.type is 'Lowercase', expected one of Sequence, NFC"));
  CHECK_THAT(refusal_with("/normalizer", Json{{"type", "Sequence"}, {"normalizers", Json::array({{{"type", "NFC"}}, {{"type", "Nmt"}}})}}),
             says("normalizer.normalizers[1].type is 'Nmt'"));
  CHECK_THAT(refusal_with("/pre_tokenizer", Json{{"type", "Whitespace"}}), says("pre_tokenizer.type is 'Whitespace', expected one of"));
  CHECK_THAT(refusal_with("/decoder", Json{{"type", "WordPiece"}}), says("decoder.type is 'WordPiece'"));
  CHECK_THAT(refusal_with("/decoder", nullptr), says("decoder is null, expected an object"));
  CHECK_THAT(refusal_with("/post_processor", Json{{"type", "BertProcessing"}}), says("post_processor.type is 'BertProcessing'"));
  const Json split{{"type", "Split"}, {"pattern", {{"String", "a"}}}, {"behavior", "Isolated"}, {"invert", false}};
  const Json byte_level{{"type", "ByteLevel"}};
  CHECK_THAT(refusal_with("/pre_tokenizer", Json{{"type", "Sequence"}, {"pretokenizers", Json::array({byte_level, split})}}),
             says("pre_tokenizer.pretokenizers[1].type is 'Split', expected nothing after ByteLevel"));
}

TEST_CASE("steps with wrong fields are refused with their place") {
  const auto pre = [](const Json& step) { return refusal_with("/pre_tokenizer", step); };
  const Json string{{"String", "a"}};
  CHECK_THAT(pre({{"type", "Split"}, {"pattern", string}, {"behavior", "Sideways"}}), says("pre_tokenizer.behavior is 'Sideways'"));
  CHECK_THAT(pre({{"type", "Split"}, {"pattern", "a"}, {"behavior", "Isolated"}}),
             says("pre_tokenizer.pattern is 'a', expected an object"));
  CHECK_THAT(pre({{"type", "Split"}, {"pattern", {{"Regex", "a"}, {"String", "a"}}}, {"behavior", "Isolated"}}),
             says("pre_tokenizer.pattern: has not exactly one of"));
  CHECK_THAT(pre({{"type", "Split"}, {"pattern", {{"Regex", "(a"}}}, {"behavior", "Isolated"}}),
             says("pre_tokenizer.pattern.Regex: the pattern '(a' is no regular expression"));
  CHECK_THAT(pre({{"type", "Split"}, {"pattern", {{"String", ""}}}, {"behavior", "Isolated"}}), says("the text to look for is empty"));
  CHECK_THAT(pre({{"type", "Metaspace"}, {"replacement", "ab"}}), says("pre_tokenizer.replacement is 'ab', expected one character"));
  CHECK_THAT(pre({{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "last"}}),
             says("pre_tokenizer.prepend_scheme is 'last'"));
  CHECK_THAT(pre({{"type", "Sequence"}, {"pretokenizers", Json::array({1})}}),
             says("pre_tokenizer.pretokenizers[0] is 1, expected an object"));
  CHECK_THAT(pre(Json("ByteLevel")), says("pre_tokenizer is 'ByteLevel', expected an object"));
  CHECK_THAT(refusal_with("/decoder", Json{{"type", "Strip"}, {"content", " "}, {"start", -1}}), says("decoder.start is -1"));
}

TEST_CASE("a component of very many steps, and one that makes texts explode, end with an error") {
  Json steps = Json::array();
  for (int i = 0; i < 65; ++i) steps.push_back({{"type", "NFC"}});
  CHECK_THAT(refusal_with("/normalizer", Json{{"type", "Sequence"}, {"normalizers", steps}}),
             says("normalizer.normalizers[64].type: is one of more than 64 steps"));
  Json json = tokenizer_json();
  const Json more{{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(100, 'a')}};
  json["normalizer"] = {{"type", "Sequence"}, {"normalizers", Json::array({more, more, more, more, more})}};
  json["decoder"] = {{"type", "Sequence"}, {"decoders", Json::array({more, more, more, more, more})}};
  const auto tokenizer = tokenizer_of(json.dump());
  CHECK(tokenizer.encode("b") == Ids{'b'});
  CHECK_THROWS_WITH(tokenizer.encode("a"), says("replacements make a text of"));
  CHECK_THROWS_WITH(tokenizer.decode(Ids{'a'}), says("replacements make a text of"));
  CHECK_THROWS_WITH(tokenizer.decode_one('a'), says("replacements make a text of"));
}

TEST_CASE("vocabulary and merges that contradict each other are refused [oov]") {
  CHECK_THAT(refusal_with("/model/vocab/new", 3), says("model.vocab: token 'new' of id 3 has the id of"));
  CHECK_THAT(refusal_with("/model/vocab/new", -1), says("outside 0 .. 319999"));
  CHECK_THAT(refusal_with("/model/vocab/new", 18446744073709551615u), says("outside 0 .. 319999"));
  CHECK_THAT(refusal_with("/model/vocab/new", 1.5), says("model.vocab['new'] is not an integer"));
  CHECK_THAT(refusal_with("/model/vocab/new", "7"), says("model.vocab['new'] is not an integer"));
  CHECK_THAT(refusal_with("/model/vocab/new", Json::array()), says("model.vocab['new'] is not an integer"));
  CHECK_THAT(refusal_with("/model/vocab", Json::array()), says("model has not both 'vocab', an object, and 'merges', an array"));
  CHECK_THAT(refusal_with("/model/merges", Json::object()), says("model has not both"));
  CHECK_THAT(refusal_with("/model/merges/1", "h q q"), says("model.merges[1] is neither"));
  CHECK_THAT(refusal_with("/model/merges/1", "hq"), says("model.merges[1] is neither"));
  CHECK_THAT(refusal_with("/model/merges/1", 5), says("model.merges[1] is neither"));
  CHECK_THAT(refusal_with("/model/merges/1", Json::array({"h"})), says("model.merges[1] is neither"));
  CHECK_THAT(refusal_with("/model/merges/1", Json::array({"h", "e", "l"})), says("model.merges[1] is neither"));
  CHECK_THAT(refusal_with("/model/merges/1", Json::array({"h", Json::array({"e"})})), says("model.merges[1] is neither"));
  CHECK_THAT(refusal_with("/model/merges/1", "h qq"), says("model.merges[1]: the token 'qq' is not in model.vocab"));
  CHECK_THAT(refusal_with("/model/merges/1", "h q"), says("model.merges[1]: the token 'hq' is not in model.vocab"));
  CHECK_THAT(refusal_with("/model/unk_token", "nobody"), says("model.unk_token is 'nobody', expected a token of model.vocab"));
  CHECK_THAT(tokenizer_refusal(R"({"model": {"vocab": {"a": 0, "a": 1}, "merges": []}})"),
             says("token 'a' of id 1 is already the token of id 0"));
  CHECK_THAT(tokenizer_refusal(R"({"model": {"vocab": {}, "vocab": {}, "merges": []}})"), says("field 'vocab' occurs twice"));
}

TEST_CASE("added tokens and templates that contradict the vocabulary are refused") {
  CHECK_THAT(refusal_with("/added_tokens/0/id", -1), says("added_tokens[0].id is -1"));
  CHECK_THAT(refusal_with("/added_tokens/0/content", 5), says("added_tokens[0].content is 5, expected a string"));
  CHECK_THAT(refusal_with("/added_tokens/0", 5), says("added_tokens[0] is 5, expected an object"));
  CHECK_THROWS_WITH(
      [] {
        Json json = tokenizer_json();
        json["added_tokens"][0]["id"] = 3;
        tokenizer_of(json.dump());
      }(),
      says("added token '<|end|>' has the id 3, which is that of"));
  CHECK_THROWS_WITH(
      [] {
        Json json = tokenizer_json();
        json["added_tokens"][0]["content"] = "hello";
        tokenizer_of(json.dump());
      }(),
      says("added token 'hello' has the id 261, but 259 in the vocabulary"));
  const auto with_single = [](const Json& single) {
    return refusal_with(
        "/post_processor",
        Json{{"type", "TemplateProcessing"}, {"single", single}, {"special_tokens", {{"E", {{"ids", Json::array({-2})}}}}}});
  };
  const Json text{{"Sequence", {{"id", "A"}}}}, other{{"Sequence", {{"id", "B"}}}};
  CHECK_THAT(with_single(Json::array()), says("post_processor.single: has not the text, 'A', exactly once"));
  CHECK_THAT(with_single(Json::array({text, text})), says("exactly once"));
  CHECK_THAT(with_single(Json::array({other})), says("exactly once"));
  CHECK_THAT(with_single(Json::array({text, {{"SpecialToken", {{"id", "F"}}}}})), says("post_processor.special_tokens.F is missing"));
  CHECK_THAT(with_single(Json::array({text, {{"SpecialToken", {{"id", "E"}}}}})),
             says("post_processor.special_tokens.E.ids is an array, expected"));
}

TEST_CASE("text that is no tokenizer.json is refused") {
  CHECK_THAT(tokenizer_refusal(""), says("t.json: is not valid JSON"));
  CHECK_THAT(tokenizer_refusal("[]"), says("is not a JSON object"));
  CHECK_THAT(tokenizer_refusal("{}"), says("model is missing, expected an object"));
  CHECK_THAT(tokenizer_refusal(R"({"model": 1})"), says("model is 1, expected an object"));
  CHECK_THAT(tokenizer_refusal(R"({"model": [{"vocab": {}}]})"), says("model is an array, expected an object"));
  CHECK_THAT(tokenizer_refusal(R"({"a": {"vocab": 1}, "model": [{"a": 1}]})"), says("model is an array"));
  CHECK_THAT(tokenizer_refusal(R"({"model": {"vocab": {"\ud800": 1}}})"), says("is not valid JSON"));
  CHECK_THROWS_WITH(llm::read_tokenizer_json("/no/such.json"), says("/no/such.json"));
  const std::string good = tokenizer_json().dump();
  for (std::size_t size = 0; size < good.size(); size += 13) CHECK_THAT(tokenizer_refusal(good.substr(0, size)), says("t.json: "));
}

TEST_CASE("tens of thousands of added tokens are read, as models of speech have them") {
  Json json = tokenizer_json();
  for (int i = 0; i < 70'000; ++i)
    json["added_tokens"].push_back({{"id", 262 + i},
                                    {"content", "<|s_" + std::to_string(i) + "|>"},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", i % 2 == 0},
                                    {"special", i % 3 == 0}});
  const auto tokenizer = tokenizer_of(json.dump());
  CHECK(tokenizer.vocab_size() == 70'262);
  CHECK(tokenizer.encode("hello<|s_69999|><|s_4|>he") == Ids{259, 70'261, 266, 256});
  CHECK(tokenizer.decode(Ids{259, 70'261, 266}) == "hello<|s_69999|><|s_4|>");
  CHECK(tokenizer.token_id("<|s_65536|>") == 65'798);
  CHECK_THAT(refusal_with("/added_tokens", 5), says("added_tokens is 5, expected an array"));
  CHECK_THAT(refusal_with("/added_tokens", Json{{"a", {{"id", 262}, {"content", "b"}}}}),
             says("added_tokens is an object, expected an array"));
}

#ifdef LLM_TEST_MEASURES_MEMORY
TEST_CASE("refusing a tokenizer.json as large as Llama 3's takes less than 16 MiB of memory [st_alloc]") {
  // Words of one to four letters, and every way to make the longer ones of two.
  std::vector<std::string> words;
  for (char c = 'a'; c <= 'z'; ++c) words.emplace_back(1, c);
  for (std::size_t i = 0; words.size() < 128'000; ++i)
    for (char c = 'a'; c <= 'z'; ++c) words.push_back(words[i] + c);
  std::string text = R"({"decoder": {"type": "Fuse"}, "model": {"type": "BPE", "vocab": {)", merges;
  for (std::size_t id = 0; id < words.size(); ++id) text += "\"" + words[id] + "\": " + std::to_string(id) + ", ";
  text += R"("last": 200000}, "merges": [)";
  for (const std::string& word : words)
    for (std::size_t cut = 1; cut < word.size(); ++cut) merges += "\"" + word.substr(0, cut) + " " + word.substr(cut) + "\", ";
  REQUIRE(merges.size() > 3'000'000);
  std::string zeros = "{\"a\": [";
  for (int i = 0; i < 3'000'000; ++i) zeros += "0,";
  const auto costs_little = [](const std::string& file, const char* expected) {  // the file's own text exists before
    return llm_test::refusal_is_cheap([&] { tokenizer_of(file); }, expected);
  };
  CHECK(costs_little(text + merges + "1]}}", "is neither"));
  CHECK(costs_little(text + merges, "is not valid JSON"));
  CHECK(costs_little(text + merges + "\"a Z\"]}}", "'Z' is not in model.vocab"));
  CHECK(costs_little(R"({"model": {"vocab": {"a": 319999, "b": 320000}}})", "outside"));
  CHECK(costs_little("{\"a\": [" + std::string(3'000'000, '['), "nested deeper"));
  CHECK(costs_little(zeros, "has more than 16384 values"));
}

TEST_CASE("refusing a tokenizer.json as large as may be takes less than 16 MiB of memory [st_alloc]") {
  std::string vocabulary, merges, pair;
  for (std::int64_t id = 0; id < llm::Vocabulary::max_ids; ++id) {
    std::string token;
    for (std::int64_t rest = id; token.empty() || rest > 0; rest /= 26) token += static_cast<char>('a' + rest % 26);
    if (token.size() == 2 && pair.empty()) pair = "\"" + token.substr(0, 1) + " " + token.substr(1) + "\"";
    vocabulary += (id > 0 ? ",\"" : "\"") + token + "\":" + std::to_string(id);
  }
  for (std::size_t i = 0; i + 1 < llm::detail::tokenizer_json::max_merges; ++i) merges += pair + ",";
  const std::string begin = R"({"decoder": {"type": "Fuse"}, "model": {"vocab": {)" + vocabulary, middle = R"(}, "merges": [)" + merges;
  const std::string bad_part = begin + middle + pair + R"(]}, "pre_tokenizer": {"type": "Whitespace"}})";
  CHECK(llm_test::refusal_is_cheap([&] { tokenizer_of(bad_part); }, "Whitespace"));
  const std::string bad_merge = begin + middle + R"("a ?"]}})", bad_token = begin + R"(,"last":-1}})";
  CHECK(llm_test::refusal_is_cheap([&] { tokenizer_of(bad_merge); }, "'?' is not in model.vocab"));
  CHECK(llm_test::refusal_is_cheap([&] { tokenizer_of(bad_token); }, "outside"));
}

TEST_CASE("refusing a tokenizer.json with as many added tokens as may be takes less than 16 MiB of memory [st_alloc]") {
  const std::vector<std::string> tokens = llm_test::most_tokens(/*large=*/true);
  std::string vocabulary, added;
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    const std::string number = std::to_string(id), comma = id > 0 ? "," : "";
    vocabulary += comma + "\"" + tokens[id] + "\":" + number;
    if (id < llm::AddedTokenList::max_count) {
      added += comma + R"({"id":)" + number + R"(,"content":")" + tokens[id] + R"(","single_word":false,"lstrip":false,"rstrip":false,)";
      added += R"("normalized":true,"special":true})";
    }
  }
  const std::string begin = R"({"decoder": {"type": "Fuse"}, "model": {"vocab": {)" + vocabulary + R"(}, "merges": [)";
  const std::string bad_merge = begin + R"("a ?"]}, "added_tokens": [)" + added + "]}";
  CHECK(llm_test::refusal_is_cheap([&] { tokenizer_of(bad_merge); }, "'?' is not in model.vocab"));
  const std::string bad_token = begin + R"(]}, "added_tokens": [)" + added + ",5]}";
  CHECK(llm_test::refusal_is_cheap([&] { tokenizer_of(bad_token); }, "added_tokens[139264] is 5, expected an object"));
  const std::string too_many = begin + R"(]}, "added_tokens": [)" + added + R"(,{"id": 1, "content": "a"}]})";
  CHECK(llm_test::refusal_is_cheap([&] { tokenizer_of(too_many); }, "there are more than 139264 added tokens"));
  // Which forms they have is found out one by one.
  const std::string forms = R"({"normalizer": {"type": "Replace", "pattern": {"String": "X"}, "content": "YYY"}, "added_tokens": [)" +
                            added + "]," + begin.substr(1) + "]}}";
  CHECK(llm_test::refusal_is_cheap([&] { tokenizer_of(forms); }, "normalised forms of all added tokens together too long"));
}
#endif
