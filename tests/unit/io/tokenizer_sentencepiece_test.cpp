// SentencePiece models field by field: what they mean, and what is refused.
#include <llm/io/tokenizer_sentencepiece.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <support/catch.hpp>
#include <support/protobuf.hpp>
#include <support/temporary_folder.hpp>

using llm_test::bytes_field, llm_test::float_field, llm_test::integer_field, llm_test::varint;
using Ids = std::vector<std::int32_t>;
using Type = llm::GgufVocabulary::Type;

static std::string piece(std::string_view text, float score, Type type = Type::normal) {
  const std::string inner = bytes_field(1, text) + float_field(2, score);
  return bytes_field(1, type == Type::normal ? inner : inner + integer_field(3, static_cast<std::uint64_t>(type)));
}
static std::string trainer(const std::string& more = {}) { return bytes_field(2, integer_field(3, 2) + more); }
static std::string normalizer(const std::string& more = {}) {
  return bytes_field(3, bytes_field(1, "identity") + integer_field(4, 0) + more);
}

/// Five pieces: unknown 0, BOS 1, EOS 2, "a" 3, "b" 4; then those of the caller.
static std::string pieces() {
  return piece("<unk>", 0, Type::unknown) + piece("<s>", 0, Type::control) + piece("</s>", 0, Type::control) + piece("a", -2) +
         piece("b", -3);
}
static std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }
static llm::BpeTokenizer read(const std::string& model) { return llm::BpeTokenizer(llm::parse_sentencepiece(bytes_of(model), "x.model")); }
static void refused(const std::string& model, const std::string& reason) {
  INFO(reason);
  CHECK_THROWS_AS(read(model), llm::FileError);
  CHECK_THROWS_WITH(read(model), Catch::Contains("x.model: ") && Catch::Contains(reason));
}
constexpr llm::EncodeOptions text_only{.add_special = false};

TEST_CASE("the settings of a SentencePiece model count [spm]") {
  const std::string all = pieces() + piece("ab", -1) + piece("\xE2\x96\x81", -4);
  const auto plain = read(all + trainer() + normalizer());
  CHECK(plain.encode("ab", text_only) == Ids{6, 5});  // a space begins a text
  CHECK(plain.encode("ba", text_only) == Ids{6, 4, 3});
  CHECK(plain.encode("axyb", text_only) == Ids{6, 3, 0, 4});  // one unknown token for both
  CHECK(plain.encode("<s>b") == Ids{1, 6, 4});
  CHECK(plain.decode(Ids{6, 5}) == "ab");
  CHECK(read(all + trainer() + normalizer(integer_field(3, 0))).encode("ab") == Ids{1, 5});
  // The last value counts, also of a message that comes in two parts.
  CHECK(read(normalizer(integer_field(3, 1)) + trainer() + bytes_field(3, integer_field(3, 0)) + all).encode("ab") == Ids{1, 5});
  // Fields that nobody knows are passed over, of every wire type.
  const std::string others = integer_field(200, 1) + bytes_field(201, "x") + float_field(202, 1) + varint(203 << 3 | 1) + "01234567";
  CHECK(read(others + all + trainer(others) + normalizer(others)).encode("ab", text_only) == Ids{6, 5});
  // Other names of the ends; without a BOS nothing begins a text.
  CHECK(read(all + trainer(bytes_field(46, "</s>")) + normalizer()).bos_id() == 2);
  const auto none = read(all + trainer(bytes_field(46, "a") + bytes_field(47, "")) + normalizer());
  CHECK_FALSE(none.bos_id());
  CHECK(none.eos_ids().empty());
  CHECK(none.encode("ab") == Ids{6, 5});
}

TEST_CASE("a SentencePiece model of another kind is refused with what it is [spm]") {
  refused(pieces() + normalizer(), "trainer_spec.model_type is 1 (unigram), expected 2 (BPE) (hint: llm::SentencePieceTokenizer");
  refused(pieces() + bytes_field(2, integer_field(3, 4)) + normalizer(), "trainer_spec.model_type is 4, expected");
  refused(pieces() + trainer() + normalizer(bytes_field(2, "map")), "normalizer_spec changes letters");
  refused(pieces() + trainer(), "normalizer_spec removes spaces");
  refused(pieces() + trainer() + normalizer(integer_field(5, 0)), "normalizer_spec leaves spaces");
  refused(pieces() + trainer(integer_field(24, 1)) + normalizer(), "puts spaces after words");
  refused(pieces() + trainer(bytes_field(53, "|")) + normalizer(), "delimiter");
  refused(pieces() + trainer() + normalizer() + bytes_field(5, bytes_field(2, "map")), "denormalizer_spec");
}

TEST_CASE("a SentencePiece model that contradicts itself is refused [spm]") {
  const std::string end = trainer() + normalizer();
  refused("", "it has no pieces");
  refused(end, "it has no pieces");
  refused(piece("a", 0) + end, "no piece is for what is unknown");
  refused(pieces() + piece("<u>", 0, Type::unknown) + end, "pieces 0 and 5 are both for what is unknown");
  refused(pieces() + piece("", 0) + end, "piece 5 is empty");
  refused(pieces() + piece("\xFF", 0) + end, "piece 5 is not valid UTF-8");
  refused(pieces() + piece("c", 0, static_cast<Type>(7)) + end, "piece 'c' has the unknown type 7");
  refused(pieces() + piece("a", 0) + end, "token 'a' of id 5 is already the token of id 3");
  refused(pieces() + piece("c", std::nanf("")) + end, "not a number");
  refused(pieces() + piece("<0x41>", 0, Type::byte) + end, "has 1 pieces for bytes, expected 0");
  refused(pieces() + piece("<0x41>", 0, Type::byte) + trainer(integer_field(35, 1)) + normalizer(), "has 1 pieces for bytes, expected 256");
  refused(pieces() + bytes_field(1, integer_field(1, 3)) + end, "field 1 is not bytes");
  refused(pieces() + bytes_field(1, bytes_field(2, "1234")) + end, "field 2 is not a float");
  refused(pieces() + integer_field(2, 1) + end, "field 2 is not bytes");
  refused(pieces() + trainer() + bytes_field(3, bytes_field(3, "1")), "field 3 is not a boolean");
}

TEST_CASE("bytes that are no message are refused, wherever they end") {
  const std::string end = trainer() + normalizer();
  refused(pieces() + end + "\x0A", "bytes left");
  refused(pieces() + end + "\x0A\x7F", "a field of 127 bytes has 0 bytes left");
  refused(pieces() + end + "\x0A" + std::string(9, '\xFF') + '\x7F', "bytes left");  // a length of all 64 bits
  refused(pieces() + end + "\x08" + std::string(10, '\xFF'), "more than ten bytes");
  refused(pieces() + end + "\x0B", "field 1 has the unknown wire type 3");
  refused(pieces() + end + std::string("\0\1", 2), "a field has no number");
  const std::string golden = llm_test::read_file(LLM_TEST_DATA "/goldens/tok_spm/spm.model");
  CHECK(read(golden).vocab_size() == 700);
  for (std::size_t size = 0; size < golden.size(); size += size < 200 ? 1 : 97) {
    INFO(size);
    CHECK_THROWS_AS(read(golden.substr(0, size)), llm::FileError);
  }
}
