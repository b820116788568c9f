// The rules of a valid Config: each is broken once, alone, and says so with both numbers.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <llm/configs/all.hpp>
#include <llm/core/error.hpp>
#include <llm/model/rules.hpp>
#include <support/catch.hpp>

namespace {

using llm::Config;

struct Mistake {
  void (*make)(Config&);
  const char* sentence;  // how it begins
  const char* numbers;   // how it ends
};

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t huge = std::int64_t{1} << 62;

const std::vector<Mistake> mistakes{
    {[](Config& c) { c.vocab_size = 0; }, "vocab_size must be at least 1", ": vocab_size 0, minimum 1"},
    {[](Config& c) { c.vocab_size = -5; }, "vocab_size must be at least 1", ": vocab_size -5, minimum 1"},
    {[](Config& c) { c.vocab_size = 2147483648; }, "vocab_size exceeds", ": vocab_size 2147483648, maximum 2147483647"},
    {[](Config& c) { c.d_model = 0; }, "d_model must be", ": d_model 0, minimum 1"},
    {[](Config& c) { c.d_model = c.head_dim = 0; }, "d_model must be", ": d_model 0, minimum 1"},
    {[](Config& c) { c.n_layers = -1; }, "n_layers must be", ": n_layers -1, minimum 1"},
    {[](Config& c) { c.n_heads = 0; }, "n_heads must be at least 1", ": n_heads 0, minimum 1"},
    {[](Config& c) { c.n_heads = c.head_dim = 0; }, "n_heads must be at least 1", ": n_heads 0, minimum 1"},
    {[](Config& c) { c.n_kv_heads = -4; }, "n_kv_heads must not be negative", ": n_kv_heads -4, minimum 0"},
    {[](Config& c) { c.head_dim = -128; }, "head_dim must not be negative", ": head_dim -128, minimum 0"},
    {[](Config& c) { c.ffn_dim = 0; }, "ffn_dim must be", ": ffn_dim 0, minimum 1"},
    {[](Config& c) { c.max_seq_len = 0; }, "max_seq_len must be", ": max_seq_len 0, minimum 1"},
    {[](Config& c) { c.sliding_window = -1; }, "sliding_window must not be negative", ": sliding_window -1, minimum 0"},
    {[](Config& c) { c.norm_eps = 0; }, "norm_eps must be greater than 0", ": norm_eps 0, limit 0"},
    {[](Config& c) { c.norm_eps = -1e-9; }, "norm_eps must be greater than 0", ": norm_eps -1e-09, limit 0"},
    {[](Config& c) { c.norm_eps = infinity; }, "norm_eps must be greater than 0 and finite", ": norm_eps inf, limit 0"},
    {[](Config& c) { c.norm_eps = not_a_number; }, "norm_eps must be greater than 0 and finite", "nan, limit 0"},
    {[](Config& c) { c.n_heads = 4, c.n_kv_heads = 12; }, "n_kv_heads is larger than n_heads: are they swapped?",
     ": n_heads 4, n_kv_heads 12"},
    {[](Config& c) { c.n_kv_heads = 5; }, "n_heads must be a multiple of n_kv_heads", ": n_heads 12, n_kv_heads 5"},
    {[](Config& c) { c.head_dim = 0, c.d_model = 1530; }, "head_dim is 0, which means", ": d_model 1530, n_heads 12"},
    {[](Config& c) { c.rope_dim = -2; }, "rope_dim must not be negative", ": rope_dim -2, minimum 0"},
    {[](Config& c) { c.rope_dim = 64, c.position = llm::Position::learned; }, "rope_dim is given, but", ": rope_dim 64, rotary 0"},
    {[](Config& c) { c.rope_dim = 64, c.position = llm::Position::none; }, "rope_dim is given, but", ": rope_dim 64, rotary 0"},
    {[](Config& c) { c.rope_dim = 63; }, "rope_dim (0: head_dim) must be even", ": rope_dim 63, divisor 2"},
    {[](Config& c) { c.head_dim = 1; }, "rope_dim (0: head_dim) must be even", ": rope_dim 1, divisor 2"},
    {[](Config& c) { c.rope_dim = 130; }, "rope_dim must not exceed head_dim", ": rope_dim 130, head_dim 128"},
    {[](Config& c) { c.rope_theta = 0; }, "rope_theta must be greater than 0", ": rope_theta 0, limit 0"},
    {[](Config& c) { c.rope_theta = infinity; }, "rope_theta must be greater than 0 and finite", ": rope_theta inf, limit 0"},
    {[](Config& c) { c.qk_norm = true, c.norm = llm::Norm::layer_norm; }, "qk_norm normalises heads by RMSNorm", ": qk_norm 1, norm 1"},
    {[](Config& c) { c.d_model = huge; }, "the sizes are too large: 16 bytes", "maximum 576460752303423487"},
    {[](Config& c) { c.n_layers = INT64_MAX; }, "the sizes are too large: 16 bytes", "maximum 576460752303423487"},
    {[](Config& c) { c.max_seq_len = huge; }, "the sizes are too large: the KV cache", "maximum 1152921504606846975"},
};

bool starts_with(const std::string& text, const std::string& start) { return text.compare(0, start.size(), start) == 0; }
bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

TEST_CASE("each mistake breaks one rule, whose text has the numbers") {
  for (const Mistake& mistake : mistakes) {
    Config config = llm::configs::seed_502m;
    mistake.make(config);
    const std::vector<std::string> broken = llm::validate(config);
    INFO(mistake.sentence << mistake.numbers << " against " << (broken.empty() ? "nothing" : broken.front()));
    REQUIRE(broken.size() == 1);
    CHECK(starts_with(broken[0], std::string("llm::Config: ") + mistake.sentence));
    CHECK(ends_with(broken[0], mistake.numbers));
  }
}

TEST_CASE("every rule of the table is broken by one of the mistakes") {
  std::vector<std::string> sentences;
  for (const Mistake& mistake : mistakes) {
    Config config = llm::configs::seed_502m;
    mistake.make(config);
    const std::string text = llm::validate(config).at(0);
    const std::string sentence = text.substr(0, text.rfind(": "));
    if (std::find(sentences.begin(), sentences.end(), sentence) == sentences.end()) sentences.push_back(sentence);
  }
  const auto count = []<class... Rules>(llm::config_rules::List<Rules...>) { return sizeof...(Rules); };
  CHECK(sentences.size() == count(llm::config_rules::All{}));
}

TEST_CASE("valid configs break no rule, also at the edges") {
  for (const auto& entry : llm::configs::all) {
    INFO(std::string(entry.name));
    CHECK(llm::validate(*entry.config).empty());
  }
  const auto valid = [](void (*change)(Config&)) {
    Config config = llm::configs::seed_502m;
    change(config);
    return llm::validate(config).empty();
  };
  CHECK(valid([](Config& c) { c.n_kv_heads = 0; }));
  CHECK(valid([](Config& c) { c.n_kv_heads = 1; }));
  CHECK(valid([](Config& c) { c.n_kv_heads = c.n_heads; }));
  CHECK(valid([](Config& c) { c.head_dim = 0; }));
  CHECK(valid([](Config& c) { c.head_dim = 100; }));  // H E need not be d_model
  CHECK(valid([](Config& c) { c.rope_dim = 128; }));
  CHECK(valid([](Config& c) { c.rope_dim = 2; }));
  CHECK(valid([](Config& c) { c.vocab_size = 2147483647; }));
  CHECK(valid([](Config& c) { c.rope_theta = 1e-300; }));
  CHECK(valid([](Config& c) { c.rope_theta = 1e300; }));
  CHECK(valid([](Config& c) { c.norm_eps = 1e-30; }));
  CHECK(valid([](Config& c) { c.rope_theta = 0, c.position = llm::Position::learned; }));  // not used there
  CHECK(valid([](Config& c) { c.head_dim = 127, c.position = llm::Position::learned; }));
  CHECK(valid([](Config& c) { c.norm = llm::Norm::layer_norm, c.norm_rounding = llm::Rounding::gain_then_round; }));
}

TEST_CASE("a config full of the worst numbers is refused without harm") {
  for (const std::int64_t value : {INT64_MIN, std::int64_t{-1}, std::int64_t{0}, INT64_MAX}) {
    Config config{value, value, value, value, value, value, value, value};
    config.rope_dim = config.sliding_window = value;
    CHECK_FALSE(llm::validate(config).empty());
    config.n_heads = -1;
    config.head_dim = 0;
    config.d_model = INT64_MIN;
    CHECK_FALSE(llm::validate(config).empty());
  }
}

TEST_CASE("require_valid throws every broken rule and says where the config comes from") {
  Config config = llm::configs::seed_502m;
  CHECK_NOTHROW(llm::require_valid(config, "config.json"));
  config.n_kv_heads = 5;
  config.vocab_size = 0;
  try {
    llm::require_valid(config, "config.json");
    FAIL("not refused");
  } catch (const llm::ConfigError& error) {
    CHECK(std::string(error.what()) ==
          "config.json: llm::Config: vocab_size must be at least 1: vocab_size 0, minimum 1\n"
          "llm::Config: n_heads must be a multiple of n_kv_heads (each KV head serves a group of query heads): n_heads 12, n_kv_heads 5");
  }
  CHECK_THROWS_AS(llm::require_valid(Config{}), llm::ConfigError);
}
