// Reading config.json: the golden directories, and what must be refused with file, field and value.
#include <llm/io/hf_config.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <support/catch.hpp>
#include <support/hf_config.hpp>
#include <support/resident_memory.hpp>
#include <support/temporary_folder.hpp>

using llm::Config, llm::Family;
using llm_test::changed, llm_test::hf_refusal;

static auto says(const std::string& text) { return Catch::Contains(text); }

/// What the golden models share.
static Config tiny() {
  Config c{.vocab_size = 128, .d_model = 32, .n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .ffn_dim = 64, .max_seq_len = 64};
  return c;
}

static void check_golden(const std::string& folder, Family family, const Config& expected) {
  const std::string path = LLM_TEST_DATA "/goldens/" + folder + "/config.json";
  CAPTURE(path);
  const auto published = llm::read_hf_config(path);
  CHECK(llm::config_differences(published.config, "the file", expected, "the expectation") == "");
  CHECK(published.family == family);
  CHECK(published.source == path);
}

TEST_CASE("the config.json of every golden Llama gives its Config") {
  for (const char* folder : {"hf/llama", "hf/llama_bf16", "hf/llama_sharded", "hf4/llama_bf16"})
    check_golden(folder, Family::llama, tiny());
  Config c = tiny();
  c.tie_embeddings = true;
  check_golden("hf/llama_tied", Family::llama, c);
}

TEST_CASE("both spellings of the golden scaled Llama give its Config [rope_llama3]") {
  Config c = tiny();
  c.n_heads = 2;
  c.n_kv_heads = 1;
  c.max_seq_len = 256;
  c.rope_theta = 500000.0;
  c.rope_scaling = {.kind = llm::RopeScalingKind::llama3, .factor = 8.0, .original_max_seq_len = 64};
  check_golden("hf/llama_rope3", Family::llama, c);
  check_golden("hf4/llama_rope3", Family::llama, c);
}

TEST_CASE("the config.json of the other golden models give their Configs") {
  Config c = tiny();
  c.sliding_window = 5;
  check_golden("hf/mistral", Family::mistral, c);

  c = tiny();
  c.rope_theta = 1e6;
  c.norm_eps = 1e-6;
  c.qkv_bias = true;
  for (const char* folder : {"hf/qwen2", "hf4/qwen2"}) check_golden(folder, Family::qwen2, c);
  c.qkv_bias = false;
  c.qk_norm = true;
  c.experts = {.count = 4, .active = 2, .ffn_dim = 24};
  for (const char* folder : {"hf/qwen3_moe", "hf4/qwen3_moe"}) check_golden(folder, Family::qwen3_moe, c);
  c.experts = {};
  c.head_dim = 16;
  for (const char* folder : {"hf/qwen3", "hf4/qwen3"}) check_golden(folder, Family::qwen3, c);

  c = Config{.vocab_size = 128, .d_model = 32, .n_layers = 2, .n_heads = 4, .ffn_dim = 128, .max_seq_len = 64};
  c.tie_embeddings = c.qkv_bias = c.attention_out_bias = c.mlp_bias = true;
  c.norm = llm::Norm::layer_norm;
  c.position = llm::Position::learned;
  c.mlp = llm::Mlp::gelu_tanh;
  check_golden("hf/gpt2", Family::gpt2, c);
}

static constexpr std::string_view good = R"({
  "model_type": "llama", "vocab_size": 128, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
  "num_key_value_heads": 2, "intermediate_size": 64, "max_position_embeddings": 64, "hidden_act": "silu"})";

static std::string refusal_with(std::string_view changes) { return hf_refusal(changed(good, changes)); }

TEST_CASE("an unknown architecture is refused by its name") {
  CHECK(hf_refusal(good) == "");
  CHECK_THAT(refusal_with(R"({"model_type": "mamba"})"),
             says("model_type is 'mamba', expected one of the architectures that the library knows: llama, mistral, mixtral,"));
  CHECK_THAT(refusal_with(R"({"model_type": "gemma3"})"), says("model_type is 'gemma3', expected"));  // with images
  CHECK_THAT(refusal_with(R"({"model_type": "REMOVED"})"), says("model_type is missing, expected"));
  CHECK_THAT(refusal_with(R"({"model_type": 7})"), says("model_type is 7, expected a string"));
  CHECK_THAT(refusal_with(R"({"architectures": ["LlamaForSequenceClassification"]})"),
             says("architectures has 'LlamaForSequenceClassification', expected 'LlamaForCausalLM'"));
  CHECK_THAT(refusal_with(R"({"architectures": "LlamaForCausalLM"})"), says("architectures is 'LlamaForCausalLM', expected an array"));
  CHECK(refusal_with(R"({"architectures": ["LlamaForCausalLM"]})") == "");
  CHECK(refusal_with(R"({"architectures": null})") == "");
}

TEST_CASE("sizes must be there, be integers and be in range") {
  for (const char* field :
       {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "max_position_embeddings"}) {
    CAPTURE(field);
    const auto with = [&](const std::string& value) { return refusal_with("{\"" + std::string(field) + "\": " + value + "}"); };
    const std::string range = ", expected an integer from 1 to 2147483647";
    CHECK_THAT(with("\"REMOVED\""), says(field + (" is missing" + range)));
    CHECK_THAT(with("null"), says(field + (" is null" + range)));
    CHECK_THAT(with("-1"), says(field + (" is -1" + range)));
    CHECK_THAT(with("0"), says(field + (" is 0" + range)));
    CHECK_THAT(with("32.0"), says(field + (" is 32.0" + range)));
    CHECK_THAT(with("true"), says(field + (" is true" + range)));
    CHECK_THAT(with("\"32\""), says(field + (" is '32'" + range)));
    CHECK_THAT(with("[32]"), says(field + (" is an array" + range)));
    CHECK_THAT(with("2147483648"), says(field + (" is 2147483648" + range)));
    CHECK_THAT(with("18446744073709551615"), says(field + (" is 18446744073709551615" + range)));
    CHECK_THAT(with("-9223372036854775808"), says(field + (" is -9223372036854775808" + range)));
    std::string huge = changed(good, "{\"" + std::string(field) + "\": \"HUGE\"}");
    huge.replace(huge.find("\"HUGE\""), 6, "1e999");
    CHECK_THAT(hf_refusal(huge), says(std::string("field '") + field + "' has a number beyond the range of double"));
  }
  CHECK_THAT(refusal_with(R"({"num_hidden_layers": 70000})"), says("num_hidden_layers is 70000, expected at most 65536 layers"));
}

TEST_CASE("numbers, flags and names have their types") {
  CHECK_THAT(refusal_with(R"({"rms_norm_eps": 0})"), says("rms_norm_eps is 0, expected a number greater than 0"));
  CHECK_THAT(refusal_with(R"({"rms_norm_eps": -1e-5})"), says("rms_norm_eps is -1e-05, expected a number greater than 0"));
  CHECK_THAT(refusal_with(R"({"rms_norm_eps": "1e-5"})"), says("rms_norm_eps is '1e-5', expected a number greater than 0"));
  CHECK_THAT(refusal_with(R"({"rms_norm_eps": null})"), says("rms_norm_eps is null, expected a number greater than 0"));
  CHECK_THAT(refusal_with(R"({"tie_word_embeddings": 1})"), says("tie_word_embeddings is 1, expected true or false"));
  CHECK_THAT(refusal_with(R"({"attention_bias": "yes"})"), says("attention_bias is 'yes', expected true or false"));
  CHECK_THAT(refusal_with(R"({"hidden_act": "relu"})"), says("hidden_act is 'relu', expected 'silu' or 'gelu_pytorch_tanh'"));
  CHECK_THAT(refusal_with(R"({"hidden_act": "gelu"})"), says("hidden_act is 'gelu', expected"));
  CHECK_THAT(refusal_with(R"({"hidden_act": ["silu"]})"), says("hidden_act is an array, expected a string"));
  CHECK_THAT(refusal_with(R"({"hidden_act": "a\u0007b\nc"})"), says("hidden_act is 'a?b?c', expected"));
  // No literal of JSON; Python writes it all the same.
  std::string nan = changed(good, R"({"rms_norm_eps": "N"})");
  nan.replace(nan.find("\"N\""), 3, "NaN");
  CHECK_THAT(hf_refusal(nan), says("is not valid JSON"));
}

TEST_CASE("sizes that do not fit each other are refused") {
  CHECK_THAT(refusal_with(R"({"num_attention_heads": 5})"), says("num_attention_heads is 5, expected a divisor of hidden_size, 32"));
  CHECK_THAT(refusal_with(R"({"num_key_value_heads": 8})"), says("n_kv_heads is larger than n_heads"));
  CHECK_THAT(refusal_with(R"({"num_key_value_heads": 3})"), says("n_heads must be a multiple of n_kv_heads"));
  CHECK_THAT(refusal_with(R"({"head_dim": 7})"), says("rope_dim (0: head_dim) must be even"));
  CHECK_THAT(refusal_with(R"({"vocab_size": 2147483647, "hidden_size": 2147483647, "num_attention_heads": 1, "num_key_value_heads": 1,
                              "head_dim": 2147483646, "intermediate_size": 2147483647, "num_hidden_layers": 65536})"),
             says("the sizes are too large"));
}

TEST_CASE("a field that changes the model and that a Config cannot say is refused, others are ignored") {
  const std::pair<const char*, const char*> refused[] = {
      {R"("add_cross_attention": true)", "add_cross_attention is true, expected false"},
      {R"("is_causal": false)", "is_causal is false, expected true"},
      {R"("residual_multiplier": 0.22)", "residual_multiplier is 0.22, expected 1"},
      {R"("attn_logit_softcapping": 50.0)", "attn_logit_softcapping is 50.0, expected null"},
      {R"("sliding_window": 4096)", "sliding_window is 4096, expected null"},
      {R"("num_local_experts": 8)", "num_local_experts is 8, expected 0"},
      {R"("no_rope_layers": [1, 1, 0])", "no_rope_layers is an array, expected nothing"},
      {R"("vision_config": {})", "vision_config is an object, expected null"},
      {R"("partial_rotary_factor": 0.5)", "partial_rotary_factor is 0.5, expected 1"}};
  for (const auto& [field, text] : refused) CHECK_THAT(refusal_with("{" + std::string(field) + "}"), says(text));
  CHECK(refusal_with(R"({"add_cross_attention": false, "is_causal": true, "residual_multiplier": 1.0, "attn_logit_softcapping": null,
                         "sliding_window": null, "num_local_experts": 0, "no_rope_layers": [], "vision_config": null,
                         "partial_rotary_factor": 1.0, "pretraining_tp": 4, "torch_dtype": "bfloat16", "use_cache": [],
                         "initializer_range": -7, "an_unknown_field": {"deep": [{}]}})") == "");
}

TEST_CASE("fields of one family that its Config cannot say are refused") {
  const auto refusal = [](const char* folder, const char* changes) {
    const auto text = llm_test::read_file(LLM_TEST_DATA "/goldens/" + std::string(folder) + "/config.json");
    return hf_refusal(changed(text, changes));
  };
  CHECK_THAT(refusal("hf/gpt2", R"({"scale_attn_by_inverse_layer_idx": true})"),
             says("scale_attn_by_inverse_layer_idx is true, expected false"));
  CHECK_THAT(refusal("hf/gpt2", R"({"activation_function": "relu"})"), says("activation_function is 'relu', expected 'gelu'"));
  CHECK_THAT(refusal("hf/gpt2", R"({"hidden_size": 64})"), says("n_embd is 32, but hidden_size, which means the same, is 64"));
  CHECK_THAT(refusal("hf/gpt2", R"({"rope_scaling": {"rope_type": "linear", "factor": 2.0}})"),
             says("rope_scaling is an object, expected nothing"));
  CHECK_THAT(refusal("hf/gpt2", R"({"num_key_value_heads": 2})"), says("num_key_value_heads is 2, expected 4"));
  CHECK_THAT(refusal("hf/gpt2", R"({"head_dim": 16})"), says("head_dim is 16, expected 8"));
  CHECK_THAT(refusal("hf/gpt2", R"({"n_head": 5})"), says("5 attention heads do not divide the width 32"));
  CHECK_THAT(refusal("hf/llama", R"({"model_type": "gpt_neox", "architectures": null})"), says("num_key_value_heads is 2, expected 4"));
  CHECK_THAT(refusal("hf/qwen2", R"({"qkv_bias": false})"), says("qkv_bias is false, expected true"));
  CHECK_THAT(refusal("hf/qwen2", R"({"attention_bias": true})"), says("attention_bias is true, expected false"));
  CHECK_THAT(refusal("hf/qwen3", R"({"use_qk_norm": false})"), says("use_qk_norm is false, expected true"));
  CHECK_THAT(refusal("hf/qwen3", R"({"head_dim": null})"), says("head_dim is null, expected an integer"));
  CHECK_THAT(refusal("hf/qwen3_moe", R"({"num_experts": 8})"), says("num_experts is 8, but num_local_experts, which means the same, is 4"));
  CHECK_THAT(refusal("hf/qwen3_moe", R"({"num_experts_per_tok": 5})"), says("experts.active is larger than experts.count"));
}

TEST_CASE("refused: what is not one JSON object with each field once") {
  CHECK_THAT(hf_refusal(""), says("is not valid JSON"));
  CHECK_THAT(hf_refusal("{"), says("is not valid JSON"));
  CHECK_THAT(hf_refusal("[]"), says("is not a JSON object"));
  CHECK_THAT(hf_refusal("{} {}"), says("is not valid JSON"));
  CHECK_THAT(hf_refusal(R"({"model_type": "llama", "model_type": "llama"})"), says("field 'model_type' occurs twice"));
  CHECK_THROWS_WITH(llm::read_hf_config("/nowhere/config.json"), says("/nowhere/config.json"));
}

TEST_CASE("a quantised model's config is read, however long the list of its layers") {
  std::string list = R"({"quantization_config": {"quant_method": "fp8", "ignored_layers": ["lm_head")";
  for (int i = 0; i < 50000; ++i) list += R"(,"model.layers.0.mlp")";
  CHECK(refusal_with(list + "]}}") == "");
}

#if defined(LLM_TEST_MEASURES_MEMORY)

TEST_CASE("refusing a bad config.json takes less than 16 MiB of memory") {
  const llm_test::TemporaryFolder folder;
  const std::string path = folder / "config.json";
  const auto check = [&](const std::string& what, const std::string& content) {
    CAPTURE(what);
    llm_test::write_file(path, content);
    CHECK(llm_test::refusal_is_cheap([&] { llm::read_hf_config(path); }));
  };
  constexpr std::size_t limit = std::size_t{1} << 22;
  const auto repeated = [](std::string begin, const std::string& piece, std::size_t size) {
    while (begin.size() + piece.size() <= size) begin += piece;
    return begin;
  };
  check("large file", repeated("{", " ", 40'000'000));
  check("nested arrays", repeated(R"({"a":)", "[", limit));
  check("nested objects", repeated("{", R"("a":{)", limit));
  check("nested arrays in what is not kept", repeated(R"({"quantization_config":)", "[", limit));
  check("many numbers", repeated(R"({"a":[0)", ",0", limit));
  check("many objects", repeated(R"({"a":[0)", ",{}", limit));
  check("many small objects of objects", repeated(R"({"a":[0)", R"(,{"a":{}})", limit));
  check("long string", repeated(R"({"a":")", "a", limit));
  check("long number", repeated(R"({"a":)", "1", limit));
  std::string fields = "{";
  for (int i = 0; fields.size() < limit - 400; ++i) fields += "\"" + std::to_string(i) + std::string(260, 'k') + "\":{},";
  check("many fields with long names", fields + "}");
  check("many fields, then the end", fields + R"("model_type":"nothing"})");
}

#endif
