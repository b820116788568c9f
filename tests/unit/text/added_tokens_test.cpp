// Tokens looked for in the text itself: which match, and what they take with them.
#include <llm/text/bpe/added_tokens.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <support/catch.hpp>

using llm::AddedToken, llm::AddedTokenList, llm::AddedTokens, llm::Normalizer;

/// Texts as they are, tokens as <id>, with '|' after each.
static std::string cut(const AddedTokens& tokens, std::string_view text, bool parse_special = true, bool normalized = false,
                       std::vector<llm::TextRange> plain = {}) {
  std::string out;
  tokens.cut(
      text, normalized, llm::SpecialPlaces(parse_special, plain),
      [&](std::size_t begin, std::size_t end) { out += std::string(text.substr(begin, end - begin)) + "|"; },
      [&](std::int32_t id) { out += "<" + std::to_string(id) + ">|"; });
  return out;
}
static AddedTokens one(const AddedToken& token) { return AddedTokens({token}, Normalizer()); }

TEST_CASE("the leftmost token is found, and of those the longest") {
  const AddedTokens tokens(
      {{.id = 5, .content = "ab"}, {.id = 6, .content = "abcd"}, {.id = 7, .content = "bcde"}, {.id = 8, .content = "a"}}, Normalizer());
  CHECK(cut(tokens, "xabcdex") == "x|<6>|ex|");
  CHECK(cut(tokens, "abcab") == "<5>|c|<5>|");
  CHECK(cut(tokens, "bcdea") == "<7>|<8>|");
  CHECK(cut(tokens, "") == "");
  CHECK(cut(tokens, "xyz") == "xyz|");
  CHECK(tokens.find(std::int32_t{6})->content == "abcd");
  CHECK(!tokens.find(std::int32_t{9}));
  CHECK(tokens.find("bcde")->id == 7);
  CHECK(!tokens.find("bcd"));
}

TEST_CASE("special tokens are text unless they are asked for; others never") {
  const AddedTokens tokens({{.id = 1, .content = "<s>", .special = true}, {.id = 2, .content = "<w>"}}, Normalizer());
  CHECK(cut(tokens, "a<s><w>b") == "a|<1>|<2>|b|");
  CHECK(cut(tokens, "a<s><w>b", false) == "a<s>|<2>|b|");
}

TEST_CASE("in plain parts of a text nothing is special, whatever it spells") {
  const AddedTokens tokens(
      {{.id = 1, .content = "<s>", .special = true}, {.id = 2, .content = "<w>"}, {.id = 3, .content = "x<s>", .special = true}},
      Normalizer());
  const auto plain = [&](std::string_view text, std::vector<llm::TextRange> ranges) {
    return cut(tokens, text, true, false, std::move(ranges));
  };
  CHECK(plain("<s><s><s>", {{3, 6}}) == "<1>|<s>|<1>|");
  CHECK(plain("<s><s><s>", {{0, 1}, {8, 9}}) == "<s>|<1>|<s>|");
  CHECK(plain("<s><s>", {{2, 3}}) == "<s>|<1>|");  // only partly the template's
  CHECK(plain("x<s>", {{0, 1}}) == "x|<1>|");      // what begins inside of it is another token
  CHECK(plain("a<w>", {{0, 4}}) == "a|<2>|");
  CHECK(plain("<s>", {}) == "<1>|");
  CHECK(cut(tokens, "<s>", false, false, {{0, 3}}) == "<s>|");
  // The beginning of a message does not make another token of the template's.
  const AddedTokens longer({{.id = 1, .content = "<s>", .special = true}, {.id = 3, .content = "<s>[INST]", .special = true}},
                           Normalizer());
  CHECK(cut(longer, "<s>[INST]", true, false, {{3, 9}}) == "<1>|[INST]|");
  CHECK(cut(longer, "<s>[INST]", true, false, {{8, 9}}) == "<1>|[INST]|");
  CHECK(cut(longer, "<s>[INST]", true, false, {{2, 3}}) == "<s>[INST]|");
  CHECK(cut(longer, "<s>[INST]", true, false, {{9, 12}}) == "<3>|");
}

TEST_CASE("lstrip and rstrip take the white space around a token") {
  CHECK(cut(one({.id = 1, .content = "<m>", .lstrip = true}), "a \t\xE3\x80\x80<m> b") == "a|<1>| b|");
  CHECK(cut(one({.id = 1, .content = "<m>", .rstrip = true}), "a <m> \n b") == "a |<1>|b|");
  CHECK(cut(one({.id = 1, .content = "<m>", .lstrip = true, .rstrip = true}), " <m>  <m> ") == "<1>|<1>|");
  CHECK(cut(one({.id = 1, .content = "<m>", .rstrip = true}), "<m>\xE2\x80\x8B") == "<1>|\xE2\x80\x8B|");  // U+200B is no space
}

TEST_CASE("white space that tokens take is read once, not once for each token") {
  const AddedTokens tokens = one({.id = 1, .content = " ", .rstrip = true});
  int count = 0;
  tokens.cut(
      std::string(1 << 20, ' '), false, llm::SpecialPlaces(true), [](std::size_t, std::size_t) {}, [&](std::int32_t) { ++count; });
  CHECK(count == 1 << 20);  // as Hugging Face counts; read anew each time it would take minutes
}

TEST_CASE("a single word is not found inside a word") {
  const AddedTokens tokens = one({.id = 1, .content = "cat", .single_word = true});
  CHECK(cut(tokens, "cat cats scat (cat)") == "<1>| cats scat (|<1>|)|");
  CHECK(cut(tokens,
            "\xC3\xA9"
            "cat cat\xCC\x81 _cat cat-") ==
        "\xC3\xA9"
        "cat cat\xCC\x81 _cat |<1>|-|");
}

TEST_CASE("normalised tokens are looked for in their normalised form, the others in the text") {
  const AddedTokens tokens({{.id = 1, .content = "e\xCC\x81", .normalized = true}, {.id = 2, .content = "<r>"}},
                           Normalizer({llm::UnicodeForm::nfc}));
  CHECK(cut(tokens, "x\xC3\xA9<r>", true, true) == "x|<1>|<r>|");
  CHECK(cut(tokens, "x\xC3\xA9<r>", true, false) == "x\xC3\xA9|<2>|");
  CHECK(tokens.form(1) == "\xC3\xA9");
}

TEST_CASE("added tokens that contradict each other are refused") {
  const auto refused = [](const AddedTokenList& tokens, const char* reason) {
    CHECK_THROWS_WITH(AddedTokens(tokens, Normalizer()), Catch::Contains(reason));
  };
  CHECK_THROWS_WITH(AddedTokenList({{.id = 1, .content = ""}}), Catch::Contains("added token '' of id 1 is empty"));
  refused({{.id = 1, .content = "a"}, {.id = 1, .content = "b"}}, "of id 1 has the id of another");
  refused({{.id = 1, .content = "a"}, {.id = 2, .content = "a"}}, "added token 'a' of id 2 occurs twice");
}

TEST_CASE("added tokens that are made to be slow, or too long, are refused") {
  const AddedTokens slow = one({.id = 1, .content = std::string(60'000, 'a') + "b"});
  CHECK_THROWS_WITH(cut(slow, std::string(1'000'000, 'a')), Catch::Contains("made to be slow"));
  CHECK(cut(slow, std::string(60'000, 'a') + "b") == "<1>|");
  CHECK_THROWS_WITH(one({.id = 1, .content = std::string(70'000, 'a')}), Catch::Contains("is longer than 65536 bytes"));
  AddedTokenList long_ones;
  const auto add = [&](std::int32_t id) { long_ones.push_back({.id = id, .content = std::to_string(id) + std::string(60'000, 'a')}); };
  for (std::int32_t id = 0; id < 69; ++id) add(id);
  CHECK_THROWS_WITH(add(69), Catch::Contains("makes all added tokens together too long"));
  // Their normalised forms count as well, and may be equal: the last stands.
  const Normalizer longer({Normalizer::Replace{llm::TextPattern(std::string("b")), std::string(30, 'a')}});
  AddedTokenList all_alike;
  for (std::int32_t id = 0; id < 60'000; ++id) all_alike.push_back({.id = id, .content = "bb" + std::to_string(id), .normalized = true});
  CHECK_THROWS_WITH(AddedTokens(all_alike, longer), Catch::Contains("makes the normalised forms of all added tokens together too long"));
  const Normalizer nfc({llm::UnicodeForm::nfc});
  const AddedTokens alike({{.id = 1, .content = "\xC3\xA9", .normalized = true}, {.id = 2, .content = "e\xCC\x81", .normalized = true}},
                          nfc);
  CHECK(cut(alike, "\xC3\xA9", true, true) == "<2>|");
}

TEST_CASE("there may be more than a hundred thousand numbered added tokens, as models of speech have them, and no more than the limit") {
  AddedTokenList numbered;
  for (std::int32_t id = 0; id < 131'072; ++id) numbered.push_back({.id = id, .content = "<|speech_" + std::to_string(id) + "|>"});
  const AddedTokens added(numbered, Normalizer());
  CHECK(added.find("<|speech_28671|>")->id == 28671);
  CHECK(!added.find("<|speech_131072|>"));
  CHECK(cut(added, "a<|speech_131071|>b<|speech_1|><|speech_131072|>") == "a|<131071>|b|<1>|<|speech_131072|>|");
  const auto fill = [&] {
    for (std::int32_t id = 131'072; id < 200'000; ++id) numbered.push_back({.id = id, .content = std::to_string(id)});
  };
  CHECK_THROWS_WITH(fill(), Catch::Contains("there are more than 139264 added tokens"));
  CHECK(numbered.size() == AddedTokenList::max_count);
}

TEST_CASE("a text is cut at numbered tokens in few steps a byte") {
  AddedTokenList numbered;
  for (std::int32_t id = 0; id < 131'072; ++id) numbered.push_back({.id = id, .content = "<|speech_" + std::to_string(id) + "|>"});
  std::vector<std::uint32_t> all(numbered.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  const auto content = [&](std::uint32_t i) { return numbered.content(i); };
  const llm::detail::bpe::PrefixOrder order(all, content);
  const std::string text = "<|speech_98765|><|speech_4|>";
  std::size_t steps = 0;
  std::vector<std::size_t> lengths;
  CHECK(order.for_each_at(text, 0, steps, content, [&](std::uint32_t i, std::size_t length) {
    CHECK(i == 98'765);
    lengths.push_back(length);
  }) == 16);
  CHECK(lengths == std::vector<std::size_t>{16});
  CHECK(steps < 100);
  CHECK(order.for_each_at(text, 1, steps, content, [](std::uint32_t, std::size_t) { CHECK(false); }) == 0);
  CHECK(order.for_each_at("<|speeches", 0, steps, content, [](std::uint32_t, std::size_t) { CHECK(false); }) == 8);
}

TEST_CASE("a list of added tokens keeps what each says, and of an id the last token") {
  AddedTokenList list{{.id = 7, .content = "b", .lstrip = true, .special = true}, {.id = 3, .content = "a", .single_word = true}};
  list.push_back({.id = 7, .content = "c", .rstrip = true, .normalized = true});
  CHECK((list[0].lstrip && list[0].special && !list[0].rstrip && !list[0].normalized && !list[0].single_word));
  list.keep_last_of_each_id();
  REQUIRE(list.size() == 2);
  CHECK((list[0].id == 3 && list[0].content == "a" && list[0].single_word && !list[0].special));
  const AddedToken last = list.back();
  CHECK((last.id == 7 && last.content == "c" && last.rstrip && last.normalized && last.special && !last.lstrip));
}
