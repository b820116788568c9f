// Vocabularies: strings to ids and back, holes, and what is refused.
#include <llm/text/bpe/vocabulary.hpp>

#include <cstdint>
#include <string>

#include <support/catch.hpp>

using llm::Vocabulary;

TEST_CASE("a vocabulary finds tokens by id and by spelling, whatever the order they came in") {
  Vocabulary vocabulary;
  CHECK_FALSE(vocabulary.find("a"));
  for (std::int32_t i = 0; i < 5000; ++i) {
    const std::int32_t id = (i * 7919) % 5000;
    vocabulary.add(id, "token " + std::to_string(id));
  }
  CHECK(vocabulary.size() == 5000);
  CHECK(vocabulary.count() == 5000);
  CHECK(vocabulary.longest() == 10);
  for (std::int32_t id = 0; id < 5000; ++id) {
    CHECK(vocabulary.text(id) == "token " + std::to_string(id));
    CHECK(vocabulary.find("token " + std::to_string(id)) == id);
  }
  CHECK_FALSE(vocabulary.find("token 5000"));
  CHECK_FALSE(vocabulary.find(""));
}

TEST_CASE("a vocabulary may have holes and an empty token") {
  Vocabulary vocabulary;
  vocabulary.add(7, "seven");
  vocabulary.add(2, "");
  CHECK(vocabulary.size() == 8);
  CHECK(vocabulary.count() == 2);
  CHECK(vocabulary.contains(7));
  CHECK(vocabulary.contains(2));
  CHECK_FALSE(vocabulary.contains(3));
  CHECK_FALSE(vocabulary.contains(-1));
  CHECK_FALSE(vocabulary.contains(8));
  CHECK(vocabulary.text(3).empty());
  CHECK(vocabulary.find("") == 2);
}

TEST_CASE("a vocabulary refuses ids and tokens that are taken or out of range, and says which [oov]") {
  Vocabulary vocabulary;
  vocabulary.add(0, "a");
  CHECK_THROWS_WITH(vocabulary.add(0, "b"), Catch::Contains("token 'b' of id 0 has the id of 'a'"));
  CHECK_THROWS_WITH(vocabulary.add(1, "a"), Catch::Contains("token 'a' of id 1 is already the token of id 0"));
  CHECK_THROWS_WITH(vocabulary.add(-1, "c"), Catch::Contains("outside 0 .. 319999"));
  CHECK_THROWS_WITH(vocabulary.add(Vocabulary::max_ids, "c"), Catch::Contains("outside 0 .. 319999"));
  CHECK_THROWS_WITH(vocabulary.add(1, std::string(Vocabulary::max_token_bytes + 1, 'x')), Catch::Contains("the limit is 65536"));
  vocabulary.add(Vocabulary::max_ids - 1, "last");
  CHECK(vocabulary.find("last") == Vocabulary::max_ids - 1);
}

TEST_CASE("a vocabulary has room for what is published, and a limit") {
  Vocabulary vocabulary;
  const auto add_long = [&] {
    for (std::int64_t id = 0; id < 1000; ++id) vocabulary.add(id, std::to_string(id) + std::string(60'000, 'x'));
  };
  CHECK_THROWS_WITH(add_long(), Catch::Contains("larger than the limit of 9175040 bytes"));
  CHECK(vocabulary.count() > 150);
  Vocabulary bloom;  // 250,680 tokens, many of them long in the byte alphabet
  for (std::int64_t id = 0; id < 250'680; ++id) bloom.add(id, std::to_string(id) + std::string(14, 'x'));
  CHECK(bloom.find("250679" + std::string(14, 'x')) == 250'679);
}
