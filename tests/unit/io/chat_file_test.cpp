// Where a model's chat template stands, and what is said when it has none.
#include <llm/io/chat_file.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include <llm/io/gguf.hpp>
#include <llm/tokenizer.hpp>

#include <support/catch.hpp>
#include <support/gguf_builder.hpp>
#include <support/resident_memory.hpp>
#include <support/temporary_folder.hpp>
#include <support/tokenizer_json.hpp>

using llm_test::TemporaryFolder, llm_test::write_file;

static auto says(const std::string& text) { return Catch::Contains(text); }

TEST_CASE("a folder's chat template: the file of its own first, then chat_template.json, then tokenizer_config.json") {
  const TemporaryFolder folder;
  CHECK_FALSE(llm::read_chat_template(folder.path()));
  write_file(folder / "tokenizer_config.json", R"({"chat_template": null})");
  CHECK_FALSE(llm::read_chat_template(folder.path()));
  write_file(folder / "tokenizer_config.json", R"({"chat_template": "config"})");
  CHECK(llm::read_chat_template(folder.path()) == "config");
  CHECK(llm::read_chat_template(folder / "tokenizer.json") == "config");
  write_file(folder / "tokenizer_config.json",
             R"({"chat_template": [{"name": "tool_use", "template": "tools"}, {"name": "default", "template": "usual"}]})");
  CHECK(llm::read_chat_template(folder.path()) == "usual");
  write_file(folder / "chat_template.json", R"({"chat_template": "json"})");
  CHECK(llm::read_chat_template(folder.path()) == "json");
  write_file(folder / "chat_template.jinja", "jinja");
  CHECK(llm::read_chat_template(folder.path()) == "jinja");
  CHECK(llm::read_chat_template(folder / "chat_template.jinja") == "jinja");
}

TEST_CASE("a chat template of the wrong form is refused with the file's name") {
  const TemporaryFolder folder;
  const auto refused = [&](const char* json, const char* reason) {
    write_file(folder / "tokenizer_config.json", json);
    CHECK_THROWS_WITH(llm::read_chat_template(folder.path()), says("tokenizer_config.json") && says(reason));
  };
  refused("{", "is not valid JSON");
  refused(R"({"chat_template": 1})", "is neither a string nor a list");
  refused(R"({"chat_template": [{"name": "x", "template": "y"}]})", "has no template named 'default'");
  refused(R"({"chat_template": [1]})", "an element without a name and a template");
  refused(R"({"chat_template": [{"name": "default", "template": 1}]})", "an element without a name and a template");
  write_file(folder / "chat_template.jinja", std::string(2'000'000, 'x'));
  CHECK_THROWS_WITH(llm::read_chat_template(folder.path()), says("is too large for a template"));
}

TEST_CASE("the format of a model is its tokenizer with its template, or with another by name") {
  const TemporaryFolder folder;
  write_file(folder / "tokenizer.json", llm_test::tokenizer_json().dump());
  CHECK_THROWS_WITH(llm::load_chat_format(folder.path()),
                    says("has no chat template (hint: give the one that the model was trained with: chatml, llama2,"));
  const std::vector<llm::ChatMessage> hello{{"user", "hello"}};
  CHECK(llm::load_chat_format(folder.path(), "chatml").write(hello).text == "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n");
  write_file(folder / "mine.jinja", "[{{ messages[0].content }}]");
  CHECK(llm::load_chat_format(folder.path(), folder / "mine.jinja").write(hello).text == "[hello]");
  write_file(folder / "tokenizer_config.json", R"({"eos_token": "<|end|>", "chat_template": "{{ messages[0].content + eos_token }}"})");
  CHECK(llm::load_chat_format(folder.path()).write(hello).text == "hello<|end|>");
  write_file(folder / "tokenizer_config.json", R"({"chat_template": "{% extends 'x' %}"})");
  CHECK_THROWS_WITH(llm::load_chat_format(folder.path()), says("the statement 'extends' is not known") && says("(hint: one of chatml, "));
  CHECK_THROWS_WITH(llm::load_chat_format(folder.path(), "nobody"), says("none is named 'nobody'"));
}

TEST_CASE("a GGUF file's chat template is a key of it") {
  const std::string tiny = LLM_TEST_DATA "/goldens/tiny.gguf";
  CHECK_FALSE(llm::read_chat_template(tiny));
  CHECK_THROWS_WITH(llm::load_chat_format(tiny), says("tiny.gguf: has no chat template"));
  const TemporaryFolder folder;
  write_file(folder / "m.gguf", llm_test::GgufBuilder().text("tokenizer.chat_template", std::string(2'000'000, 'x')).str());
  CHECK_THROWS_WITH(llm::read_chat_template(folder / "m.gguf"), says("m.gguf: is too large for a template"));
}

#ifdef LLM_TEST_MEASURES_MEMORY
TEST_CASE("refusing a chat template takes less than 16 MiB of memory, however long or dense it is [st_alloc]") {
  const TemporaryFolder folder;
  const std::string path = folder / "m.gguf";
  write_file(path, llm_test::GgufBuilder().text("tokenizer.chat_template", std::string(90'000'000, 'x')).str());
  CHECK(llm_test::refusal_is_cheap([&] { llm::read_chat_template(path); }, "is too large for a template"));

  write_file(folder / "tokenizer.json", llm_test::tokenizer_json().dump());
  const auto cheap = [&](const std::string& part, const std::string& end) {
    std::string text;
    while (text.size() + part.size() < llm::ChatTemplate::max_source_bytes - end.size()) text += part;
    write_file(folder / "chat_template.jinja", text + end);
    CAPTURE(part);
    CHECK(llm_test::refusal_is_cheap([&] { llm::load_chat_format(folder.path()); }));
  };
  cheap("{{a}}", "{{");
  cheap("{{[a,a,a,a]}}", "{{");
  cheap("{{----------a}}", "{{");
  cheap("{%if a%}", "");
  cheap("{%if a%}{%endif%}", "{{");
  cheap("{%set a=1%}", "{{");
  cheap("x{#", "");
  cheap("{##}x", "{{");
  cheap("x", "{{");
}
#endif

TEST_CASE("the chat template of a folder goes into a GGUF file, and the conversation stays the same") {
  const TemporaryFolder folder;
  write_file(folder / "tokenizer.json", llm_test::tokenizer_json().dump());
  llm::GgufMetadata metadata;
  llm::set_gguf_chat_template(metadata, folder.path());
  CHECK(metadata.find("tokenizer.chat_template") == nullptr);
  write_file(folder / "tokenizer_config.json", R"({"eos_token": "<|end|>", "chat_template": "{{ messages[0].content + eos_token }}"})");
  llm::set_gguf_chat_template(metadata, folder.path());
  const auto tokenizer = llm::load_tokenizer(folder.path());
  llm::set_gguf_tokenizer(metadata, *tokenizer.get_if<llm::BpeTokenizer>(), tokenizer.vocab_size());
  llm::GgufWriter(folder / "m.gguf", metadata, {}).commit();
  CHECK(llm::read_chat_template(folder / "m.gguf") == "{{ messages[0].content + eos_token }}");
  const std::vector<llm::ChatMessage> hello{{"user", "hello<|end|>"}};
  CHECK(llm::load_chat_format(folder / "m.gguf").encode(hello) == llm::load_chat_format(folder.path()).encode(hello));
}
