// Reading llama2.c's tokenizer.bin: what its pieces stand for, and what is no such file.
#include <llm/io/tokenizer_llama2c.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <llm/tokenizer.hpp>

#include <support/catch.hpp>
#include <support/gguf_builder.hpp>
#include <support/large_vocabulary.hpp>
#include <support/resident_memory.hpp>
#include <support/temporary_folder.hpp>

using llm_test::TemporaryFolder, llm_test::write_file;
using Ids = std::vector<std::int32_t>;

namespace {

using Piece = std::pair<std::string, float>;

std::vector<Piece> first_pieces() {
  std::vector<Piece> pieces{{"<unk>", 0.0f}, {"\n<s>\n", 0.0f}, {"\n</s>\n", 0.0f}};
  for (unsigned byte = 0; byte < 256; ++byte) pieces.emplace_back(llm::detail::bpe::byte_token(byte), 0.0f);
  return pieces;
}
std::vector<Piece> good_pieces() {
  std::vector<Piece> pieces = first_pieces();
  for (const Piece& piece : {Piece{" ", -9.0f}, {"a", -8.0f}, {"b", -7.0f}, {"ab", -1.0f}, {" a", -2.0f}}) pieces.push_back(piece);
  return pieces;
}
std::string file_of(const std::vector<Piece>& pieces, std::uint32_t longest = 100) {
  std::string bytes = llm_test::le(longest);
  for (const auto& [text, score] : pieces)
    bytes += llm_test::le(llm::detail::bit_cast<std::uint32_t>(score)) + llm_test::le(static_cast<std::uint32_t>(text.size())) + text;
  return bytes;
}
llm::BpeTokenizer read(const std::string& bytes) {
  const std::vector<char> copy(bytes.begin(), bytes.end());  // on the heap, so that a sanitizer sees any read past the end
  return llm::BpeTokenizer(llm::parse_llama2c_tokenizer(std::as_bytes(std::span(copy)), "t.bin"));
}
void refused(const std::string& bytes, const std::string& reason) {
  CHECK_THROWS_AS(read(bytes), llm::FileError);
  CHECK_THROWS_WITH(read(bytes), Catch::Contains("llm::Tokenizer: t.bin: ") && Catch::Contains(reason));
}

}  // namespace

TEST_CASE("a tokenizer.bin of llama2.c merges by score and falls back to bytes [spm]") {
  const auto tokenizer = read(file_of(good_pieces()));
  CHECK(tokenizer.vocab_size() == 264);
  CHECK(tokenizer.bos_id() == 1);
  CHECK(tokenizer.eos_ids() == Ids{2});
  CHECK(tokenizer.encode("ab") == Ids{1, 259, 262});
  CHECK(tokenizer.encode("a b", {.add_special = false}) == Ids{263, 259, 261});
  CHECK(tokenizer.encode("\n\xC3\xA9", {.add_special = false}) == Ids{259, 3 + 10, 3 + 0xC3, 3 + 0xA9});
  CHECK(tokenizer.encode("<s>a</s>") == Ids{1, 263, 2});
  CHECK(tokenizer.decode(Ids{1, 263, 259, 262, 13}, true) == "a ab\n");
  CHECK(tokenizer.is_special(1));
}

TEST_CASE("what is no tokenizer of llama2.c is refused") {
  refused("", "no tokenizer of llama2.c: is cut short");
  refused("abc", "is cut short");
  refused(file_of({}), "has 0 pieces, fewer than");
  refused(file_of(first_pieces(), 5), "piece 2 has 6 bytes, the longest has 5");
  auto pieces = good_pieces();
  pieces[20].first = "x";
  refused(file_of(pieces), "piece 20 is 'x', expected <0x11>");
  pieces = good_pieces();
  pieces.back().first = "ab";
  refused(file_of(pieces), "token 'ab' of id 263 is already the token of id 262");
  pieces.back().first = "\xFF";
  refused(file_of(pieces), "not valid UTF-8");
  refused(file_of(good_pieces()) + std::string("\0\0\0\0\xff\xff\xff\xff", 8), "piece 264 has 4294967295 bytes, the longest has 100");
  const std::string all = file_of(good_pieces());
  for (std::size_t size = 0; size < all.size(); size += 7) {
    const auto cut = all.substr(0, size);
    INFO(size);
    if (size < file_of(first_pieces()).size()) CHECK_THROWS_AS(read(cut), llm::FileError);
  }
}

TEST_CASE("the tokenizer of a llama2.c model is the one for its size beside it, else tokenizer.bin") {
  const TemporaryFolder folder;
  const std::string model = folder / "stories.bin";
  std::string bytes;
  for (const std::int32_t number : {4, 8, 1, 2, 2, 264, 4}) bytes += llm_test::le(number);
  write_file(model, bytes + std::string(4 * (264 * 4 + 4 + 4 * 16 + 4 + 3 * 32 + 4 + 4 * 2), '\0'));
  const auto fails = [&](const std::string& path, const std::string& reason) {
    CHECK_THROWS_WITH(llm::Tokenizer::from_file(path), Catch::Contains(reason));
  };
  fails(model,
        "stories.bin: has no tokenizer: there is none of tokenizer.json, tokenizer.model, tok264.bin, tok264.model, tokenizer.bin in");
  write_file(folder / "tokenizer.bin", "x");
  fails(model, "tokenizer.bin: no tokenizer of llama2.c");
  write_file(folder / "tok264.bin", file_of(good_pieces()));
  CHECK(llm::find_tokenizer(model) == folder / "tok264.bin");
  CHECK(llm::Tokenizer::from_file(model).encode("ab") == Ids{1, 259, 262});
  CHECK(llm::Tokenizer::from_file(folder / "tok264.bin").encode("ab") == Ids{1, 259, 262});
}

#ifdef LLM_TEST_MEASURES_MEMORY
TEST_CASE("refusing a tokenizer.bin as large as may be takes less than 16 MiB of memory [st_alloc]") {
  std::vector<Piece> pieces = first_pieces();
  for (const std::string& token : llm_test::most_tokens(/*large=*/true))
    if (pieces.size() < static_cast<std::size_t>(llm::Vocabulary::max_ids)) pieces.emplace_back(token, 1.0f);
  pieces.back().first = pieces[300].first;
  const std::string twice = file_of(pieces);
  CHECK(
      llm_test::refusal_is_cheap([&] { llm::parse_llama2c_tokenizer(std::as_bytes(std::span(twice)), "t.bin"); }, "is already the token"));
  pieces.emplace_back("x", 1.0f);
  const std::string more = file_of(pieces);
  CHECK(llm_test::refusal_is_cheap([&] { llm::parse_llama2c_tokenizer(std::as_bytes(std::span(more)), "t.bin"); },
                                   "has more than 320000 pieces"));
}
#endif
