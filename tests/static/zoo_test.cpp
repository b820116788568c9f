// The configs of published models at compile time: valid, with the published counts, the cache of published tables, and what LLM builds.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include <llm/configs/all.hpp>
#include <llm/model/account.hpp>
#include <llm/model/rules.hpp>

namespace {

using namespace llm;
using namespace llm::configs;

struct Published {
  std::string_view name;
  std::int64_t total;
  std::int64_t active;  // that one token passes
  bool built;           // whether LLM can be made of it
};

// The totals are those of the published weights. Publishers round the active ones: see below.
constexpr Published table[] = {
    {"seed_502m", 502'193'664, 502'193'664, true},
    {"gpt2_124m", 124'439'808, 124'439'808, true},
    {"gpt2_medium", 354'823'168, 354'823'168, true},
    {"gpt2_large", 774'030'080, 774'030'080, true},
    {"gpt2_xl", 1'557'611'200, 1'557'611'200, true},
    {"llama2_7b", 6'738'415'616, 6'738'415'616, true},
    {"llama2_13b", 13'015'864'320, 13'015'864'320, true},
    {"llama2_70b", 68'976'648'192, 68'976'648'192, true},
    {"llama3_8b", 8'030'261'248, 8'030'261'248, true},
    {"llama3_70b", 70'553'706'496, 70'553'706'496, true},
    {"llama3_1_8b", 8'030'261'248, 8'030'261'248, true},
    {"llama3_1_70b", 70'553'706'496, 70'553'706'496, true},
    {"llama3_1_405b", 405'853'388'800, 405'853'388'800, true},
    {"llama3_2_1b", 1'235'814'400, 1'235'814'400, true},
    {"llama3_2_3b", 3'212'749'824, 3'212'749'824, true},
    {"tinyllama_1_1b", 1'100'048'384, 1'100'048'384, true},
    {"mistral_7b", 7'241'732'096, 7'241'732'096, true},
    {"mistral_7b_v0_3", 7'248'023'552, 7'248'023'552, true},
    {"mixtral_8x7b", 46'702'792'704, 12'879'925'248, true},
    {"mixtral_8x22b", 140'620'634'112, 39'152'031'744, true},
    {"smollm2_135m", 134'515'008, 134'515'008, true},
    {"smollm2_360m", 361'821'120, 361'821'120, true},
    {"smollm2_1_7b", 1'711'376'384, 1'711'376'384, true},
    {"qwen1_5_moe_a2_7b", 14'315'784'192, 2'689'173'504, true},
    {"qwen2_5_0_5b", 494'032'768, 494'032'768, true},
    {"qwen2_5_1_5b", 1'543'714'304, 1'543'714'304, true},
    {"qwen2_5_3b", 3'085'938'688, 3'085'938'688, true},
    {"qwen2_5_7b", 7'615'616'512, 7'615'616'512, true},
    {"qwen2_5_14b", 14'770'033'664, 14'770'033'664, true},
    {"qwen2_5_32b", 32'763'876'352, 32'763'876'352, true},
    {"qwen2_5_72b", 72'706'203'648, 72'706'203'648, true},
    {"qwen3_0_6b", 596'049'920, 596'049'920, true},
    {"qwen3_1_7b", 1'720'574'976, 1'720'574'976, true},
    {"qwen3_4b", 4'022'468'096, 4'022'468'096, true},
    {"qwen3_8b", 8'190'735'360, 8'190'735'360, true},
    {"qwen3_14b", 14'768'307'200, 14'768'307'200, true},
    {"qwen3_32b", 32'762'123'264, 32'762'123'264, true},
    {"qwen3_30b_a3b", 30'532'122'624, 3'353'032'704, true},
    {"qwen3_235b_a22b", 235'093'634'560, 22'190'763'520, true},
    {"gemma_2b", 2'506'172'416, 2'506'172'416, true},
    {"gemma_7b", 8'537'680'896, 8'537'680'896, true},
    {"gemma2_2b", 2'614'341'888, 2'614'341'888, false},
    {"gemma2_9b", 9'241'705'984, 9'241'705'984, false},
    {"gemma2_27b", 27'227'128'320, 27'227'128'320, false},
    {"gemma3_1b", 999'885'952, 999'885'952, true},
    {"phi3_mini_4k", 3'821'079'552, 3'821'079'552, true},
    {"phi3_medium_4k", 13'960'238'080, 13'960'238'080, true},
    {"phi4", 14'659'507'200, 14'659'507'200, true},
    {"olmo2_7b", 7'298'617'344, 7'298'617'344, true},
    {"olmo2_13b", 13'716'198'400, 13'716'198'400, true},
    {"olmoe_1b_7b", 6'919'161'856, 1'282'017'280, true},
    {"deepseek_llm_7b", 6'910'365'696, 6'910'365'696, true},
    {"deepseek_v2_lite", 15'706'484'224, 2'661'150'208, false},
    {"deepseek_v2", 235'741'434'880, 21'375'800'320, false},
    {"deepseek_v3", 671'026'419'200, 37'552'297'472, false},
    {"pythia_70m", 70'426'624, 70'426'624, true},
    {"pythia_160m", 162'322'944, 162'322'944, true},
    {"pythia_410m", 405'334'016, 405'334'016, true},
    {"pythia_1b", 1'011'781'632, 1'011'781'632, true},
    {"pythia_1_4b", 1'414'647'808, 1'414'647'808, true},
    {"pythia_2_8b", 2'775'208'960, 2'775'208'960, true},
    {"pythia_6_9b", 6'857'302'016, 6'857'302'016, true},
    {"pythia_12b", 11'846'072'320, 11'846'072'320, true},
    {"starcoder2_3b", 3'030'371'328, 3'030'371'328, true},
    {"starcoder2_7b", 7'173'923'840, 7'173'923'840, true},
    {"yi1_5_6b", 6'061'035'520, 6'061'035'520, true},
    {"yi1_5_9b", 8'829'407'232, 8'829'407'232, true},
    {"yi1_5_34b", 34'388'917'248, 34'388'917'248, true},
    {"modern_small", 771'456, 771'456, true},
    {"llama_small", 754'816, 754'816, true},
    {"gpt2_small", 817'920, 817'920, true},
};

/// The index of the first config that is not as the table says; -1 when all are.
template <class Same>
constexpr std::ptrdiff_t first_wrong(Same&& same) {
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].name != table[i].name || !same(*all[i].config, table[i])) return static_cast<std::ptrdiff_t>(i);
  return -1;
}
static_assert(std::size(table) == all.size());
static_assert(first_wrong([](const Config& c, const Published&) { return config_rules::is_valid(c); }) == -1);
static_assert(first_wrong([](const Config& c, const Published& p) { return parameter_count(c).total == p.total; }) == -1);
static_assert(first_wrong([](const Config& c, const Published& p) { return parameter_count(c).active == p.active; }) == -1);
static_assert(first_wrong([](const Config& c, const Published& p) { return buildable(c) == p.built; }) == -1);

// The same question by the concept that LLM asks.
static_assert(buildable_config<llama3_1_405b> && buildable_config<qwen3_32b> && buildable_config<phi4>);
static_assert(buildable_config<starcoder2_3b> && buildable_config<mistral_7b> && buildable_config<yi1_5_34b>);
static_assert(buildable_config<mixtral_8x7b> && buildable_config<qwen3_235b_a22b> && buildable_config<qwen1_5_moe_a2_7b>);
static_assert(!buildable_config<deepseek_v3>);  // latent attention
static_assert(buildable_config<gemma_2b> && buildable_config<gemma3_1b>);
static_assert(!buildable_config<gemma2_2b>);  // soft caps
static_assert(buildable_config<olmo2_7b> && buildable_config<pythia_70m> && buildable_config<olmoe_1b_7b>);

/// Whether the publisher's figure, in tenths of 1e9, is within one unit of its last digit (1 or 10 tenths) of the active parameters, with
/// or without the embedding, which some leave out since a token only looks up a row.
constexpr bool active_as_published(const Config& c, std::int64_t tenths, std::int64_t unit) {
  const ParameterCount n = parameter_count(c);
  for (const std::int64_t active : {n.active, n.active - n.embedding}) {
    const std::int64_t difference = active - tenths * 100'000'000;
    if (difference > -unit * 100'000'000 && difference < unit * 100'000'000) return true;
  }
  return false;
}
static_assert(active_as_published(mixtral_8x7b, 129, 1));
static_assert(active_as_published(mixtral_8x22b, 390, 10));
static_assert(active_as_published(qwen3_30b_a3b, 33, 1));
static_assert(active_as_published(qwen3_235b_a22b, 220, 10));
static_assert(active_as_published(qwen1_5_moe_a2_7b, 27, 1));
static_assert(active_as_published(olmoe_1b_7b, 13, 1));
static_assert(active_as_published(deepseek_v2_lite, 24, 1));
static_assert(active_as_published(deepseek_v2, 210, 10));
static_assert(active_as_published(deepseek_v3, 370, 10));
static_assert(!active_as_published(mixtral_8x7b, 131, 1));

// Layers of both kinds.
static_assert(parameter_count(deepseek_v3).dense_layers == 3 && parameter_count(deepseek_v3).moe_layers == 58);
static_assert(parameter_count(mixtral_8x7b).dense_layers == 0 && parameter_count(mixtral_8x7b).moe_layers == 32);

// KV cache of one token in bf16. The first three: arXiv:2505.09343, table 1.
constexpr std::int64_t cached(const Config& config) { return kv_cache_bytes_per_token(config, DType::bf16); }
static_assert(cached(deepseek_v3) == 70'272);
static_assert(cached(qwen2_5_72b) == 327'680);
static_assert(cached(llama3_1_405b) == 516'096);
static_assert(cached(llama3_1_8b) == 131'072 && kv_cache_bytes(llama3_1_8b, DType::bf16, 131'072) == 17'179'869'184);
static_assert(cached(llama2_7b) == 524'288);  // MHA: 2 L H E elements
static_assert(cached(deepseek_v2) == 60 * (512 + 64) * 2);
static_assert(cached(gemma_2b) == 18 * 2 * 256 * 2);  // MQA

// Windows: which layers see all positions.
static_assert(gemma2_2b.windowed_layer(0) && !gemma2_2b.windowed_layer(1));
static_assert(gemma3_1b.windowed_layer(4) && !gemma3_1b.windowed_layer(5));
static_assert(pythia_2_8b.rope_width() == 20 && pythia_1b.rope_width() == 64);

}  // namespace
