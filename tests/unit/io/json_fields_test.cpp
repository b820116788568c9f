// Configs as JSON objects: every field there and back, the first files, wrong fields.
#include <llm/io/json_fields.hpp>

#include <string>

#include <llm/configs/all.hpp>
#include <support/catch.hpp>
#include <support/resident_memory.hpp>

namespace {

const llm::Config sparse{.vocab_size = 10,
                         .d_model = 16,
                         .n_layers = 2,
                         .n_heads = 4,
                         .ffn_dim = 20,
                         .max_seq_len = 8,
                         .rope_scaling = {.kind = llm::RopeScalingKind::yarn, .factor = 0.1 + 0.2, .original_max_seq_len = 4},
                         .sliding_window = 3,
                         .attention_scale = 1.0 / 3.0,
                         .experts = {.count = 4, .active = 2, .score = llm::RouterScore::sigmoid, .scale = 2.5},
                         .mla = {.kv_rank = 3, .rope_dim = 2, .v_dim = 5}};

}  // namespace

TEST_CASE("a config survives being written, with its parts and to the last bit") {
  CHECK(llm::config_from_json(llm::config_to_json(sparse), "test") == sparse);
  for (const auto& entry : llm::configs::all) CHECK(llm::config_from_json(llm::config_to_json(*entry.config), "test") == *entry.config);
}

TEST_CASE("one of the first files lacks the later fields, which have their defaults") {
  const std::string old =
      R"({"vocab_size":32000,"d_model":1536,"n_layers":18,"n_heads":12,"n_kv_heads":4,"head_dim":128,"ffn_dim":4096,"max_seq_len":2048,)"
      R"("rope_theta":10000.0,"norm_eps":1e-05,"tie_embeddings":true,"norm":"rms_norm","norm_rounding":"round_then_gain",)"
      R"("norm_position":"pre","position":"rope_half","rope_dim":0,"qk_norm":false,"mlp":"swiglu","qkv_bias":false,)"
      R"("attention_out_bias":false,"mlp_bias":false,"sliding_window":0})";
  CHECK(llm::config_from_json(old, "old") == llm::configs::seed_502m);

  std::string without_theta = old;
  without_theta.erase(without_theta.find("\"rope_theta\""), std::string("\"rope_theta\":10000.0,").size());
  CHECK_THROWS_WITH(llm::config_from_json(without_theta, "old"), Catch::Contains("old") && Catch::Contains("'rope_theta' is missing"));
  std::string with_unknown = old;
  with_unknown.insert(1, R"("experts.colour":3,)");
  CHECK_THROWS_WITH(llm::config_from_json(with_unknown, "old"), Catch::Contains("'experts.colour' is unknown"));
  std::string with_wrong = old;
  with_wrong.insert(1, R"("experts.score":"max",)");
  CHECK_THROWS_WITH(llm::config_from_json(with_wrong, "old"), Catch::Contains("'experts.score'") && Catch::Contains("max"));
}

TEST_CASE("a text that is no flat object is refused with its place, and costs little memory [st_alloc]") {
  const auto refused = [](const std::string& text, const std::string& reason) {
    CAPTURE(reason);
    CHECK_THROWS_WITH(llm::config_from_json(text, "here"), Catch::StartsWith("here: ") && Catch::Contains(reason));
  };
  refused("", "is not valid JSON");
  refused("[]", "is not a JSON object");
  refused("{\"d_model\":[16]}", "field 'vocab_size' is missing");
  refused("{\"vocab_size\":[16]}", "field 'vocab_size' is an array, expected an integer of 64 bits");
  refused("{\"vocab_size\":[[16]]}", "field 'vocab_size' is nested deeper than 2 levels");
  refused("{\"d_model\":1,\"d_model\":1}", "field 'd_model' occurs twice");
  std::string deep, wide = "{\"vocab_size\":[0";
  for (int i = 0; i < 170'000; ++i) deep += "{\"a\":";
  for (int i = 0; i < 500'000; ++i) wide += ",0";
  refused(deep, "nested deeper than 2 levels");
  refused(wide + "]}", "more than 65536 values");
#if defined(LLM_TEST_MEASURES_MEMORY)
  for (const std::string& text : {deep, wide}) CHECK(llm_test::refusal_is_cheap([&] { llm::config_from_json(text, "here"); }));
#endif
}
