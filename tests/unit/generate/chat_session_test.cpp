// Conversations with a model: what it reads in each turn, what it keeps, and how an answer ends.
#include <llm/generate/chat_session.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <llm/model.hpp>
#include <llm/text/char_tokenizer.hpp>

#include <support/catch.hpp>
#include <support/generation.hpp>

namespace {

using llm::ChatFormat, llm::ChatMessage, llm::ChatTemplate;
using llm_test::modern_words;
using Model = llm::LLM<modern_words>;
using Ids = std::vector<std::int32_t>;

const Model& model() {
  static const Model made = llm_test::strong<Model>(21);
  return made;
}

/// 38 characters; 38 begins a turn and is special, 39 ends one and is an EOS.
struct Letters {
  static constexpr std::string_view characters = "abcdefghijklmnopqrstuvwxyz0123456789 .";
  std::int64_t vocab_size() const { return 40; }
  Ids encode(std::string_view text, const llm::EncodeOptions& options = {}) const {
    Ids ids;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool plain = std::any_of(options.plain.begin(), options.plain.end(), [&](auto r) { return i >= r.begin && i < r.end; });
      const auto letter = characters.find(text[i]);
      if (text[i] == '<' || text[i] == '>')
        ids.push_back(plain ? 37 : text[i] == '<' ? 38 : 39);
      else
        ids.push_back(static_cast<std::int32_t>(letter == std::string_view::npos ? 37 : letter));
    }
    return ids;
  }
  std::string decode(std::span<const std::int32_t> ids, bool = false) const {
    std::string text;
    for (const auto id : ids) text += decode_one(id);
    return text;
  }
  std::string decode_one(std::int32_t id) const {
    return id == 38 ? "<" : id == 39 ? ">" : std::string(1, characters[static_cast<std::size_t>(id)]);
  }
  std::string token(std::int32_t id) const { return decode_one(id); }
  std::optional<std::int32_t> token_id(std::string_view) const { return {}; }
  bool is_special(std::int32_t id) const { return id >= 38; }
  std::optional<std::int32_t> bos_id() const { return {}; }
  Ids eos_ids() const { return {39}; }
};
static_assert(llm::SpecialTokenizer<Letters>);

ChatFormat format() {
  return {Letters{},
          ChatTemplate("{% for m in messages %}<{{ m.role[0] }}{{ m.content }}>{% endfor %}{% if add_generation_prompt %}<a{% endif %}")};
}

/// Draws `text` whatever the model says, one letter a token.
llm::LogitsHook saying(const std::string& text) {
  return [ids = Letters{}.encode(text), at = std::size_t{0}](std::span<float> logits, std::span<const std::int32_t>) mutable {
    logits[static_cast<std::size_t>(ids[at++])] = 1e6f;
  };
}

template <class Reply>
std::string all(Reply&& reply) {
  std::string text;
  for (const auto piece : reply) text += piece;
  return text;
}

}  // namespace

TEST_CASE("an answer ends with an EOS, shows no special token, and becomes a part of the conversation") {
  llm::Session session(model());
  llm::ChatSession chat(session, format());
  chat.reset("be brief");
  auto reply = chat.say("hi", {.temperature = 0, .logits_hook = saying("ab<c>")});
  CHECK(all(reply) == "abc");
  CHECK(reply.finish_reason() == llm::FinishReason::stop_token);
  CHECK(chat.messages() == std::vector<ChatMessage>{{"system", "be brief"}, {"user", "hi"}, {"assistant", "abc"}});
  CHECK(all(chat.say("x", {.temperature = 0, .ignore_eos = true, .show_special = true, .logits_hook = saying("a<b>")})) ==
        "a<b");  // the format's end stays
}

TEST_CASE("a turn computes only what is new in the conversation, with the tokens of a fresh start") {
  llm::Session session(model());
  llm::ChatSession chat(session, format());
  std::vector<ChatMessage> messages;
  std::int64_t length = 0;
  for (const std::string text : {"hello there", "how are you", "i see"}) {
    const llm::GenerateOptions options{.max_new_tokens = 9, .temperature = 0};
    auto reply = chat.say(text, options);
    const std::string answer = all(reply);
    messages.push_back({"user", text});
    const Ids prompt = format().encode(messages);
    CHECK(reply.text().tokens().sequence().size() >= prompt.size());
    CHECK(Ids(reply.text().tokens().sequence().begin(),
              reply.text().tokens().sequence().begin() + static_cast<std::ptrdiff_t>(prompt.size())) == prompt);
    CHECK(reply.text().tokens().reused() >= (length > 0 ? length - 1 : 0));
    length = static_cast<std::int64_t>(prompt.size());
    llm::Session fresh(model());
    llm::ChatSession again(fresh, format());
    llm::GenerateOptions same = options;
    same.stop.token_ids = {39};
    CHECK(answer == all(llm::TextStream<llm::Session<Model>, llm::Tokenizer>(fresh, format().tokenizer(),
                                                                             std::span<const llm::Token>(prompt), same)));
    messages.push_back({"assistant", answer});
    CHECK(chat.messages() == messages);
  }
}

TEST_CASE("an answer that is left early stays as far as it was taken") {
  llm::Session session(model());
  llm::ChatSession chat(session, format());
  for (const auto piece : chat.say("hi", {.temperature = 0, .logits_hook = saying("abcdef>")}))
    if (piece == "c") break;
  CHECK(chat.messages().back() == ChatMessage{"assistant", "abc"});
  CHECK(all(chat.say("go on", {.temperature = 0, .logits_hook = saying("ok>")})) == "ok");
  chat.reset();
  CHECK(chat.messages().empty());
}

TEST_CASE("a conversation that does not fit loses nothing, and an answer takes the room there is") {
  llm::Session session(model(), 40);
  llm::ChatSession chat(session, format());
  CHECK(all(chat.say("hi", {.temperature = 0, .logits_hook = saying("ab>")})) == "ab");
  const auto before = chat.messages();
  CHECK_THROWS_AS(chat.say(std::string(60, 'x')), llm::ShapeError);
  CHECK_THROWS_AS(chat.say("\xFF"), llm::ValueError);
  CHECK_THROWS_AS(chat.say("a", {.top_p = -1.0f}), llm::ValueError);
  CHECK(chat.messages() == before);
  auto reply = chat.say("go", {.max_new_tokens = 1000, .temperature = 0, .logits_hook = saying(std::string(40, 'x'))});
  CHECK(all(reply).find_first_not_of('x') == std::string::npos);
  CHECK(reply.finish_reason() == llm::FinishReason::length);
  CHECK(reply.text().tokens().sequence().size() == 40);
}

TEST_CASE("an answer to which the conversation has gone on is refused, and changes nothing") {
  llm::Session session(model());
  llm::ChatSession chat(session, format());
  auto first = chat.say("hi", {.temperature = 0, .logits_hook = saying("abcdef>")});
  auto it = first.begin();
  for (int i = 0; i < 8; ++i) (void)chat.say("and", {.temperature = 0});  // no first token drawn
  auto last = chat.say("go on", {.temperature = 0, .logits_hook = saying("ok>")});
  const auto messages = chat.messages();
  CHECK_THROWS_AS(++it, llm::ValueError);
  CHECK_THROWS_AS(first.prefill(), llm::ValueError);
  CHECK(chat.messages() == messages);
  CHECK(all(last) == "ok");
  CHECK(chat.messages().back() == ChatMessage{"assistant", "ok"});
  CHECK(chat.messages()[1] == ChatMessage{"assistant", "a"});
  chat.reset();
  CHECK_THROWS_AS(last.begin() == last.end() ? last.prefill() : last.advance(), llm::ValueError);
  CHECK(chat.messages().empty());
}

TEST_CASE("an error while an answer is drawn leaves the turn, and the answer goes on") {
  llm::Session session(model(), llm::PromptLookup());
  llm::ChatSession chat(session, format());
  int failures = 2;
  const auto failing = [&, say = saying("abc>")](std::span<float> logits, std::span<const std::int32_t> ids) mutable {
    if (failures > 0 && ids.size() % 2 == 0) --failures, throw llm::ValueError("not now");
    say(logits, ids);
  };
  auto reply = chat.say("hi", {.temperature = 0, .logits_hook = failing});
  std::string text;
  for (bool more = true; more;) try {
      auto it = reply.begin();
      if (!text.empty()) ++it;
      if ((more = it != reply.end())) text += *it;
    } catch (const llm::ValueError&) {
      CHECK(chat.messages().back() == ChatMessage{"assistant", text});
      CHECK(chat.messages().size() == 2);
    }
  CHECK(failures == 0);
  CHECK(text == "abc");
  CHECK(chat.messages().back() == ChatMessage{"assistant", "abc"});
}

TEST_CASE("each turn draws with random numbers of its own") {
  llm::Session session(model());
  llm::ChatSession chat(session, {Letters{}, ChatTemplate("{{ messages[-1].content }}")});  // the model forgets: only the numbers differ
  const llm::GenerateOptions options{.max_new_tokens = 20, .temperature = 2, .seed = 4, .ignore_eos = true};
  CHECK(all(chat.say("hi", options)) != all(chat.say("hi", options)));
}

TEST_CASE("special tokens in generated text are shown when asked for, and EOS passed over") {
  const llm::Tokenizer letters{Letters{}};
  const auto text = [&](llm::GenerateOptions options) {
    options.temperature = 0;
    options.max_new_tokens = 6;
    options.logits_hook = saying("a<b>cd");
    return llm::generate_text(model(), letters, "x", options);
  };
  CHECK(text({}) == "xab");
  CHECK(text({.show_special = true}) == "xa<b");
  CHECK(text({.ignore_eos = true}) == "xabcd");
  CHECK(text({.ignore_eos = true, .show_special = true}) == "xa<b>cd");
}

TEST_CASE("a hook that begins another turn ends the answer that runs it") {
  llm::Session session(model(), 64);
  llm::ChatSession chat(session, format());
  auto reply = chat.say("hi", {.max_new_tokens = 4, .logits_hook = [&](std::span<float>, std::span<const std::int32_t>) { chat.reset(); }});
  CHECK_THROWS_AS(all(reply), llm::ValueError);
  CHECK(chat.messages().empty());
}
