// The tokenizer in a GGUF file's metadata: its keys, their types, and files that contradict themselves.
#include <llm/io/tokenizer_gguf.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <support/catch.hpp>
#include <support/gguf_builder.hpp>
#include <support/large_vocabulary.hpp>
#include <support/resident_memory.hpp>
#include <support/temporary_folder.hpp>

using llm_test::GgufBuilder;
using Ids = std::vector<std::int32_t>;

namespace {

const std::string keys = "tokenizer.ggml.";

std::vector<std::string> byte_tokens() {
  std::vector<std::string> tokens;
  for (const char32_t c : llm::detail::bpe::byte_alphabet.character) tokens.push_back(llm::encode_utf8(c));
  for (const char* more : {"ab", "<|end|>"}) tokens.emplace_back(more);
  return tokens;
}
std::string i32_array(const std::vector<std::int32_t>& values) {
  std::string bytes = llm_test::gguf_array(llm::GgufType::i32, values.size());
  for (const std::int32_t value : values) bytes += llm_test::le(value);
  return bytes;
}
std::vector<std::int32_t> types() {
  std::vector<std::int32_t> all(258, 1);
  all[257] = 3;
  return all;
}

/// A file with a good tokenizer; `skip` names a key that it lacks.
GgufBuilder good(const std::string& skip = "") {
  GgufBuilder file;
  file.text("general.architecture", "llama");
  const auto has = [&](const char* key) { return skip != key; };
  if (has("model")) file.text(keys + "model", "gpt2");
  if (has("pre")) file.text(keys + "pre", "smollm");
  if (has("tokens")) file.texts(keys + "tokens", byte_tokens());
  if (has("token_type")) file.raw(keys + "token_type", llm::GgufType::array, i32_array(types()));
  if (has("merges")) file.texts(keys + "merges", {"a b"});
  if (has("bos_token_id")) file.u32(keys + "bos_token_id", 257);
  if (has("eos_token_id")) file.u32(keys + "eos_token_id", 257);
  if (has("add_bos_token")) file.flag(keys + "add_bos_token", true);
  return file;
}

llm::BpeTokenizer read(const GgufBuilder& builder) {
  const std::string bytes = builder.str();
  return llm::read_gguf_tokenizer(llm::GgufFile::view(std::as_bytes(std::span(bytes)), "t.gguf"));
}
std::string refusal(const GgufBuilder& builder) {
  try {
    read(builder);
    return {};
  } catch (const llm::FileError& error) {
    return error.what();
  }
}
auto says(const std::string& text) { return Catch::Contains(text); }

}  // namespace

TEST_CASE("a GGUF file's tokenizer is read from its metadata") {
  const auto tokenizer = read(good());
  CHECK(tokenizer.vocab_size() == 258);
  CHECK(tokenizer.encode("ab12") == Ids{257, 256, '1', '2'});
  CHECK(tokenizer.encode("<|end|>", {.add_special = false}) == Ids{257});
  CHECK(tokenizer.bos_id() == 257);
  CHECK(tokenizer.eos_ids() == Ids{257});
  CHECK(read(good("add_bos_token")).encode("a") == Ids{'a'});
  CHECK(read(good("token_type")).encode("<|end|>", {.add_special = false}).size() == 7);  // nothing says that it is special
  CHECK(read(good().u32(keys + "eot_token_id", 256)).eos_ids() == Ids{257, 256});
}

TEST_CASE("missing keys and keys of the wrong type are refused by name [pretok]") {
  CHECK_THAT(refusal(good("model")), says("t.gguf: key 'tokenizer.ggml.model' is missing: the file has no tokenizer"));
  CHECK_THAT(refusal(good("model").text(keys + "model", "no_vocab")),
             says("'tokenizer.ggml.model' is 'no_vocab': the file has no tokenizer"));
  CHECK_THAT(refusal(good("pre")), says("t.gguf: tokenizer.ggml.pre is missing"));
  CHECK_THAT(refusal(good("pre").text(keys + "pre", "klingon")), says("tokenizer.ggml.pre is 'klingon'"));
  CHECK_THAT(refusal(good("merges")), says("t.gguf: tokenizer.ggml.merges is missing"));
  CHECK_THAT(refusal(good("tokens")), says("tokenizer.ggml.tokens is empty"));
  CHECK_THAT(refusal(good("bos_token_id")), says("tokenizer.ggml.bos_token_id is missing"));
  CHECK_THAT(refusal(good("model").u32(keys + "model", 1)), says("key 'tokenizer.ggml.model' is no string"));
  CHECK_THAT(refusal(good("tokens").u32(keys + "tokens", 1)), says("key 'tokenizer.ggml.tokens' is no array"));
  CHECK_THAT(refusal(good("tokens").raw(keys + "tokens", llm::GgufType::array, i32_array({1}))), says("tokens' is no array of strings"));
  CHECK_THAT(refusal(good("merges").raw(keys + "merges", llm::GgufType::array, i32_array({1}))), says("merges' is no array of strings"));
  CHECK_THAT(refusal(good("token_type").texts(keys + "token_type", {"a"})), says("token_type' is no array of integers"));
  CHECK_THAT(refusal(good().texts(keys + "scores", {"a"})), says("scores' is no array of f32"));
  CHECK_THAT(refusal(good("bos_token_id").text(keys + "bos_token_id", "1")), says("bos_token_id' is no integer"));
  CHECK_THAT(refusal(good("add_bos_token").u32(keys + "add_bos_token", 1)), says("add_bos_token' is no bool"));
  CHECK_THAT(refusal(good("bos_token_id").u32(keys + "bos_token_id", 258)), says("bos_token_id is 258, outside the 258 tokens"));
  CHECK_THAT(refusal(good("token_type").raw(keys + "token_type", llm::GgufType::array, i32_array({1, 2}))),
             says("token_type has 2 entries"));
}

#ifdef LLM_TEST_MEASURES_MEMORY
TEST_CASE("refusing a GGUF vocabulary of 150,000 tokens takes less than 16 MiB of memory [gguf_hdr]") {
  std::vector<std::string> tokens, merges;
  for (int i = 0; i < 150'000; ++i) tokens.push_back("token" + std::to_string(i));
  tokens.push_back(tokens.front());
  GgufBuilder file = good("tokens");
  const std::string bytes = file.texts(keys + "tokens", tokens).str();
  CHECK(llm_test::refusal_is_cheap([&] { llm::read_gguf_tokenizer(llm::GgufFile::view(std::as_bytes(std::span(bytes)), "t.gguf")); },
                                   "token_type has 258 entries"));
  GgufBuilder untyped;
  untyped.text("general.architecture", "llama").text(keys + "model", "gpt2").text(keys + "pre", "gpt-2").texts(keys + "tokens", tokens);
  untyped.texts(keys + "merges", {"a b"});
  const std::string many = untyped.str();
  CHECK(llm_test::refusal_is_cheap([&] { llm::read_gguf_tokenizer(llm::GgufFile::view(std::as_bytes(std::span(many)), "t.gguf")); },
                                   "is already the token of id 0"));
}

TEST_CASE("refusing a GGUF vocabulary for its last merge takes less than 16 MiB of memory [gguf_hdr]") {
  std::vector<std::string> tokens = byte_tokens(), merges;
  for (char a = 'a'; a <= 'z'; ++a)
    for (char b = 'a'; b <= 'z'; ++b)
      for (char c = 'a'; c <= 'z'; ++c) tokens.push_back({a, b, c});
  for (std::size_t i = 258; i < 258 + 5000; ++i)
    for (std::size_t j = 258; tokens.size() < 128'000 && j < 258 + 20; ++j) tokens.push_back(tokens[i] + tokens[j]);
  for (std::size_t id = 258 + 17'576; merges.size() < 280'000; id = id + 1 == tokens.size() ? 258 + 17'576 : id + 1)
    merges.push_back(tokens[id].substr(0, 3) + " " + tokens[id].substr(3));
  merges.emplace_back("a nothere");
  GgufBuilder file;
  file.text("general.architecture", "llama").text(keys + "model", "gpt2").text(keys + "pre", "gpt-2");
  const std::string bytes = file.texts(keys + "tokens", tokens).texts(keys + "merges", merges).str();
  CHECK(llm_test::refusal_is_cheap([&] { llm::read_gguf_tokenizer(llm::GgufFile::view(std::as_bytes(std::span(bytes)), "t.gguf")); },
                                   "merges[280000], 'a nothere', names"));
}

namespace {
/// A file that is refused for its last merge, of as many as may be.
GgufBuilder largest(const std::vector<std::string>& tokens, std::string_view model, std::string_view pre) {
  std::vector<std::string> merges(2 * static_cast<std::size_t>(llm::Vocabulary::max_ids), "b c");
  const std::string joined = "bc";
  REQUIRE(std::find(tokens.begin(), tokens.end(), joined) != tokens.end());
  merges.back() = "b ?";
  GgufBuilder file;
  file.text("general.architecture", "llama").text(keys + "model", model).text(keys + "pre", pre);
  return file.texts(keys + "tokens", tokens).texts(keys + "merges", merges);
}
std::string f32_array(const std::vector<float>& values) {
  std::string bytes = llm_test::gguf_array(llm::GgufType::f32, values.size());
  for (const float value : values) bytes += llm_test::le(llm::detail::bit_cast<std::uint32_t>(value));
  return bytes;
}
}  // namespace

TEST_CASE("refusing a GGUF vocabulary as large as may be takes less than 16 MiB of memory [st_alloc] [gguf_hdr]") {
  const llm_test::TemporaryFolder folder;
  const std::string path = folder / "m.gguf";
  const auto cheap = [&](const GgufBuilder& file, const char* reason) {
    llm_test::write_file(path, file.str());
    CAPTURE(reason);
    CHECK(llm_test::refusal_is_cheap([&] { llm::read_gguf_tokenizer(llm::GgufFile::open(path)); }, reason));
  };
  const std::vector<std::string> tokens = llm_test::most_tokens();
  const std::size_t count = tokens.size();
  cheap(largest(tokens, "gpt2", "gpt-2"), "merges[639999], 'b ?', names");
  cheap(largest(tokens, "gpt2", "unheard-of"), "no pre-tokenizer that is known");
  cheap(largest(tokens, "gpt2", "gpt-2").u32(keys + "bos_token_id", 320'000), "outside the 320000 tokens");
  std::vector<std::int32_t> types(count, 1);
  types.back() = 7;
  cheap(largest(tokens, "gpt2", "gpt-2").raw(keys + "token_type", llm::GgufType::array, i32_array(types)), "has the unknown type 7");
  types.assign(count, 3);
  cheap(largest(tokens, "gpt2", "gpt-2").raw(keys + "token_type", llm::GgufType::array, i32_array(types)),
        "there are more than 139264 added tokens");
  std::vector<std::string> twice = tokens;
  twice.back() = twice.front();
  std::vector<float> scores(count, 1.0f);
  const auto scored = [&](const std::vector<std::string>& list) {
    return largest(list, "llama", "").raw(keys + "scores", llm::GgufType::array, f32_array(scores)).u32(keys + "bos_token_id", 1);
  };
  cheap(scored(twice), "is already the token of id 0");
  scores.back() = std::nanf("");
  cheap(scored(tokens), "is not a number");
}

TEST_CASE("refusing a GGUF vocabulary for a long name, token or merge takes less than 16 MiB of memory [st_alloc] [gguf_hdr]") {
  const llm_test::TemporaryFolder folder;
  const std::string path = folder / "m.gguf", large(40'000'000, 'a');
  const auto cheap = [&](std::string_view model, std::string_view pre, const std::vector<std::string>& tokens,
                         const std::vector<std::string>& merges, const char* reason) {
    GgufBuilder file;
    file.text("general.architecture", "llama").text(keys + "model", model).text(keys + "pre", pre);
    llm_test::write_file(path, file.texts(keys + "tokens", tokens).texts(keys + "merges", merges).str());
    CAPTURE(reason);
    CHECK(llm_test::refusal_is_cheap([&] { llm::read_gguf_tokenizer(llm::GgufFile::open(path)); }, reason));
  };
  cheap(large, "gpt-2", {"a"}, {"a a"}, "model' is 40000000 bytes long, the limit is 1024");
  cheap("gpt2", large, {"a"}, {"a a"}, "pre' is 40000000 bytes long, the limit is 1024");
  cheap("gpt2", "gpt-2", {"a", large}, {"a a"}, "of id 1 is 40000000 bytes long, the limit is 65536");
  for (const std::string& merge : {large, large + " a"}) cheap("gpt2", "gpt-2", {"a", "aa"}, {merge}, "is longer than two tokens may be");
}

TEST_CASE("refusing a GGUF vocabulary with as many added tokens as may be takes less than 16 MiB of memory [st_alloc] [gguf_hdr]") {
  const llm_test::TemporaryFolder folder;
  const std::string path = folder / "m.gguf";
  const std::vector<std::string> tokens = llm_test::most_tokens(/*large=*/true);
  std::vector<std::int32_t> types(tokens.size(), 1);
  std::fill_n(types.begin(), llm::AddedTokenList::max_count, 4);
  const auto file = [&](const std::string& model) {
    GgufBuilder out = largest(tokens, model, "gpt-2").raw(keys + "token_type", llm::GgufType::array, i32_array(types));
    if (model == "llama") out.raw(keys + "scores", llm::GgufType::array, f32_array(std::vector<float>(tokens.size(), 1.0f)));
    return out;
  };
  llm_test::write_file(path, file("gpt2").str());
  CHECK(llm_test::refusal_is_cheap([&] { llm::read_gguf_tokenizer(llm::GgufFile::open(path)); }, "merges[639999], 'b ?', names"));
  llm_test::write_file(path, file("llama").u32(keys + "bos_token_id", 0).u32(keys + "eos_token_id", 320'000).str());
  CHECK(llm_test::refusal_is_cheap([&] { llm::read_gguf_tokenizer(llm::GgufFile::open(path)); }, "outside the 320000 tokens"));
}
#endif
