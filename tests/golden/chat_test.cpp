// Chat templates as their models publish them: the texts and ids that transformers makes of conversations.
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <llm/tokenizer.hpp>

#include <support/catch.hpp>

using Json = nlohmann::json;
using Ids = std::vector<std::int32_t>;

static const std::string folder = LLM_TEST_DATA "/goldens/";

static std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
static Json expected() { return Json::parse(text_of(folder + "chat/expected.json")); }
static llm::ChatTemplate template_of(const Json& c) {
  return llm::ChatTemplate(text_of(folder + "chat/" + c.at("template").get<std::string>() + ".jinja"));
}
static std::vector<llm::ChatMessage> messages_of(const Json& c) {
  std::vector<llm::ChatMessage> messages;
  for (const Json& message : c.at("messages")) messages.push_back({message.at("role"), message.at("content")});
  return messages;
}

TEST_CASE("published chat templates give transformers' text, and refuse what they refuse") {
  const Json json = expected();
  REQUIRE(json.at("texts").size() > 300);
  int refused = 0;
  for (const Json& c : json.at("texts")) {
    INFO(c.dump());
    llm::ChatOptions options{.add_generation_prompt = c.at("add_generation_prompt")};
    for (const auto& [name, value] : c.at("variables").items()) options.variables.emplace_back(name, value.get<bool>());
    const auto write = [&] { return template_of(c).write(messages_of(c), "<s>", "</s>", options).text; };
    if (c.at("text").is_null()) {
      ++refused;
      CHECK_THROWS_AS(write(), llm::ValueError);
    } else {
      CHECK(write() == c.at("text").get<std::string>());
    }
  }
  CHECK(refused > 50);
}

TEST_CASE("conversations have transformers' ids, with a BOS where the tokenizer adds one and the template does not [bos]") {
  const Json json = expected();
  REQUIRE(json.at("ids").size() > 60);
  for (const Json& c : json.at("ids")) {
    INFO(c.dump());
    auto parts = llm::read_tokenizer_json(folder + c.at("tokenizer").get<std::string>() + "/tokenizer.json");
    const auto id_of = [&](const Json& json_token) {  // transformers makes it a special token, if it is none
      const auto token = json_token.get<std::string>();
      for (const llm::AddedToken& added : parts.added)
        if (added.content == token) return added.id;
      parts.added.push_back({.id = parts.vocabulary.find(token).value(), .content = token, .special = true});
      return parts.added.back().id;
    };
    if (!c.at("bos").is_null()) parts.bos_id = id_of(c.at("bos"));
    parts.eos_ids = {id_of(c.at("eos"))};
    const llm::ChatFormat format(llm::BpeTokenizer(parts), template_of(c));
    Ids ids = c.at("ids");
    if (c.at("tokenizer") == "tok_llama3" && c.at("template") == "zephyr") ids.insert(ids.begin(), *parts.bos_id);
    CHECK(format.encode(messages_of(c)) == ids);
  }
}

TEST_CASE("the templates that have names write what the published ones write") {
  const std::pair<const char*, const char*> names[]{{"chatml", "chatml"},         {"llama2", "llama2"},         {"llama3", "llama3"},
                                                    {"mistral-v1", "mistral_v1"}, {"mistral-v3", "mistral_v3"}, {"gemma", "gemma"}};
  const std::vector<llm::ChatMessage> conversations[]{{{"user", "Hi"}},
                                                      {{"user", "a"}, {"assistant", "b"}, {"user", "c"}},
                                                      {{"system", "s"}, {"user", "x"}, {"assistant", "y"}, {"user", "z"}}};
  for (const auto& [name, file] : names)
    for (const auto& messages : conversations) {
      INFO(name << " " << messages.size());
      const auto published = llm::ChatTemplate(text_of(folder + "chat/" + file + ".jinja"));
      std::string text;
      try {
        text = published.write(messages, "<s>", "</s>").text;
      } catch (const llm::ValueError&) {
        continue;  // the published one knows no system prompt, the named one writes it into the first turn
      }
      CHECK(llm::ChatTemplate::named(name).write(messages, "<s>", "</s>").text == text);
    }
}
