// Shows what ids a text becomes, with any model's tokenizer, and the text of ids.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <llm/tokenizer.hpp>

namespace {

struct Options {
  std::string model, text;
  std::vector<std::int32_t> decode;
  llm::EncodeOptions encode;
};

/// One line an id, with its bytes; what is no text, or what a terminal may obey, is made visible.
void show(const llm::Tokenizer& tokenizer, const std::vector<std::int32_t>& ids) {
  for (const std::int32_t id : ids)
    std::printf("%8d  '%s'%s\n", id, llm::escape_control(tokenizer.decode_one(id)).c_str(), tokenizer.is_special(id) ? "  special" : "");
}

void run(const Options& o) {
  const auto tokenizer = llm::Tokenizer::from_file(o.model);
  if (!o.decode.empty()) {
    std::printf("%s\n", llm::escape_control(tokenizer.decode(o.decode)).c_str());
    return;
  }
  const auto ids = tokenizer.encode(o.text, o.encode);
  show(tokenizer, ids);
  std::printf("%zu ids for %zu bytes; the vocabulary has %d\n", ids.size(), o.text.size(), static_cast<int>(tokenizer.vocab_size()));
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  bool no_special = false, letters = false;
  CLI::App app("Shows what ids a text becomes.");
  app.add_option("model", o.model, "a model's folder or file, or a tokenizer.json, tokenizer.model or llama2.c tokenizer.bin")->required();
  auto* const text = app.add_option("text", o.text, "the text");
  auto* const decode = app.add_option("--decode", o.decode, "ids whose text to show instead, as 1,2,3")->delimiter(',')->excludes(text);
  app.add_flag("--no-special", no_special, "leave out the tokens that the model expects around a text");
  app.add_flag("--letters", letters, "take special tokens in the text for text like any other");
  CLI11_PARSE(app, argc, argv);
  if (decode->count() == 0 && text->count() == 0) {
    std::fprintf(stderr, "tokenize: there is neither a text nor --decode\n");
    return 1;
  }
  o.encode = {.add_special = !no_special, .parse_special = !letters};
  try {
    run(o);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tokenize: %s\n", error.what());
    return 1;
  }
}
