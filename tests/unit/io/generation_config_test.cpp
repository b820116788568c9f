// generation_config.json: what it sets, and what is refused.
#include <llm/io/generation_config.hpp>

#include <string>

#include <llm/generate/options.hpp>

#include <support/catch.hpp>
#include <support/temporary_folder.hpp>

using llm_test::TemporaryFolder, llm_test::write_file;

static llm::GenerateOptions options_of(const std::string& json, llm::GenerateOptions options = {}) {
  const TemporaryFolder folder;
  write_file(folder / "generation_config.json", json);
  const auto config = llm::read_generation_config(folder.path());
  REQUIRE(config);
  config->apply_to(options);
  llm::validate(options.sampling());  // what was accepted can be used
  return options;
}

TEST_CASE("a generation_config.json sets what it says, and nothing else") {
  // As Qwen3 publishes it.
  const auto qwen =
      options_of(R"({"bos_token_id": 1, "do_sample": true, "eos_token_id": [2, 3], "temperature": 0.6, "top_k": 20, "top_p": 0.95,
                                   "transformers_version": "4.51.0"})");
  CHECK(qwen.temperature == 0.6f);
  CHECK(qwen.top_k == 20);
  CHECK(qwen.top_p == 0.95f);
  CHECK(qwen.min_p == 0.0f);
  CHECK(qwen.repetition_penalty == 1.0f);
  CHECK(qwen.max_new_tokens == llm::as_many_as_fit);
  CHECK_FALSE(qwen.fit_context);

  const auto all = options_of(R"({"min_p": 0.05, "repetition_penalty": 1.1, "max_new_tokens": 2048})");
  CHECK(all.temperature == 1.0f);
  CHECK(all.min_p == 0.05f);
  CHECK(all.repetition_penalty == 1.1f);
  CHECK(all.max_new_tokens == 2048);
  CHECK(all.fit_context);

  const auto kept = options_of(R"({"temperature": null, "top_k": null, "do_sample": null, "max_new_tokens": null})",
                               {.max_new_tokens = 7, .temperature = 0.5f, .top_k = 3, .seed = 9});
  CHECK(kept.temperature == 0.5f);
  CHECK(kept.top_k == 3);
  CHECK(kept.max_new_tokens == 7);
  CHECK_FALSE(kept.fit_context);
  CHECK(kept.seed == 9);
  CHECK(options_of("{}").temperature == 1.0f);
}

TEST_CASE("a model that shall not be sampled takes the most probable token, whatever its temperature") {
  CHECK(options_of(R"({"do_sample": false})").temperature == 0.0f);
  CHECK(options_of(R"({"do_sample": false, "temperature": 0.7})").temperature == 0.0f);
  CHECK(options_of(R"({"do_sample": true})").temperature == 1.0f);
  CHECK(options_of(R"({"do_sample": true, "temperature": 0})").temperature == 0.0f);
}

TEST_CASE("a generation_config.json is found beside a file, and need not be there") {
  const TemporaryFolder folder;
  CHECK_FALSE(llm::read_generation_config(folder.path()));
  CHECK_FALSE(llm::read_generation_config(folder / "model.safetensors"));
  CHECK_FALSE(llm::read_generation_config(folder / "no/such/folder"));
  write_file(folder / "generation_config.json", R"({"top_k": 4})");
  CHECK(llm::read_generation_config(folder / "model.safetensors")->top_k == 4);
  CHECK_FALSE(llm::read_generation_config(folder / "model.gguf"));
}

TEST_CASE("fields of generation_config.json with a wrong type or value are refused by name") {
  const auto refused = [](const std::string& json, const std::string& reason) {
    INFO(json);
    CHECK_THROWS_AS(options_of(json), llm::FileError);
    CHECK_THROWS_WITH(options_of(json), Catch::Contains("generation_config.json: " + reason));
  };
  refused(R"({"do_sample": 1})", "do_sample is 1, expected true or false");
  refused(R"({"temperature": "0.7"})", "temperature is '0.7', expected a number of at least 0");
  refused(R"({"temperature": -0.1})", "temperature is -0.1, expected a number of at least 0");
  refused(R"({"temperature": 1e39})", "temperature is 1e+39, expected a number that a float holds");
  refused(R"({"top_p": 1.01})", "top_p is 1.01, expected a probability from 0 to 1");
  refused(R"({"top_p": [0.9]})", "top_p is an array, expected a number");
  refused(R"({"top_p": true})", "top_p is true, expected a number");
  refused(R"({"min_p": 2})", "min_p is 2, expected a ratio from 0 to 1");
  refused(R"({"min_p": -1})", "min_p is -1, expected a number of at least 0");
  refused(R"({"repetition_penalty": 0})", "repetition_penalty is 0, expected a number above 0");
  refused(R"({"repetition_penalty": 1e-60})", "repetition_penalty is 1e-60, expected a number above 0");
  refused(R"({"top_k": 20.5})", "top_k is 20.5, expected an integer from 0");
  refused(R"({"top_k": -1})", "top_k is -1, expected an integer from 0");
  refused(R"({"top_k": 18446744073709551615})", "top_k is 18446744073709551615, expected an integer");
  refused(R"({"max_new_tokens": 0})", "max_new_tokens is 0, expected an integer from 1");
  refused(R"({"max_new_tokens": "many"})", "max_new_tokens is 'many', expected an integer");
  const TemporaryFolder folder;
  write_file(folder / "generation_config.json", "[]");
  CHECK_THROWS_AS(llm::read_generation_config(folder.path()), llm::FileError);
}
