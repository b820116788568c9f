// Whether the text compiles to the same config is tested in tests/config_header.
#include <llm/io/config_header.hpp>

#include <limits>
#include <string>

#include <llm/configs/seed.hpp>
#include <support/catch.hpp>

namespace {

std::string header_of(const llm::Config& config, const std::string& name = "model") {
  return llm::config_header({.config = config, .source = "a/config.json"}, name);
}

llm::Config small() { return {.vocab_size = 11, .d_model = 8, .n_layers = 2, .n_heads = 4, .ffn_dim = 20, .max_seq_len = 7}; }

}  // namespace

TEST_CASE("a header defines a config by what differs from the default, and asserts its figures") {
  CHECK(header_of(llm::configs::seed_502m, "seed") == R"(// The config of 'a/config.json', written by a program.
#pragma once

#include <llm/model/account.hpp>
#include <llm/model/config.hpp>

inline constexpr llm::Config seed{
    .vocab_size = 32000,
    .d_model = 1536,
    .n_layers = 18,
    .n_heads = 12,
    .n_kv_heads = 4,
    .head_dim = 128,
    .ffn_dim = 4096,
    .max_seq_len = 2048,
    .tie_embeddings = true,
};
static_assert(llm::parameter_count(seed).total == 502'193'664);
static_assert(llm::kv_cache_bytes_per_token(seed, llm::DType::bf16) == 36'864);
)");
}

TEST_CASE("numbers are doubles where the field is one, parts stand in braces") {
  llm::Config config = small();
  config.rope_theta = 500000;
  config.norm_eps = 1e-6;
  config.rope_scaling = {.kind = llm::RopeScalingKind::linear, .factor = 0.1 + 0.2 + 1};
  CHECK_THAT(header_of(config), Catch::Contains("    .rope_theta = 500000.0,\n    .norm_eps = 1e-06,\n"
                                                "    .rope_scaling = {.kind = llm::RopeScalingKind::linear, .factor = 1.3},\n"));
  config.rope_theta = 10000.000000000002;
  CHECK_THAT(header_of(config), Catch::Contains(".rope_theta = 10000.000000000002,"));
}

TEST_CASE("a header's name is an identifier that every program can use") {
  for (const char* name : {"tiny", "Tiny_1", "x", "smollm2_135m", "in", "Llm"}) CHECK_NOTHROW(header_of(small(), name));
  for (const char* name :
       {"", "1b", "_x", "_X", "a__b", "a-b", "a b", "a::b", "ä", "x;", "int", "concept", "co_await", "and", "llm", "std", "main", "NAN\n"})
    CHECK_THROWS_AS(header_of(small(), name), llm::ValueError);
  CHECK_NOTHROW(header_of(small(), std::string(255, 'x')));
  CHECK_THROWS_AS(header_of(small(), std::string(256, 'x')), llm::ValueError);
}

TEST_CASE("a config that breaks a rule has no header") {
  llm::Config config = small();
  config.n_kv_heads = 3;
  CHECK_THROWS_WITH(header_of(config), Catch::Contains("a/config.json") && Catch::Contains("n_heads must be a multiple of n_kv_heads"));
  config = small();
  config.rope_theta = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(header_of(config), llm::ConfigError);
}

TEST_CASE("a source with control characters stays in its comment") {
  const std::string text = llm::config_header({.config = small(), .source = "a\n#error\\\r\nb\\"}, "x");
  CHECK(text.substr(0, text.find('\n')) == "// The config of 'a?#error\\??b\\', written by a program.");
}
