// Which configs are valid, asked at compile time without an error; tests/compile_fail/config has the errors.
#include <cstdint>
#include <type_traits>

#include <llm/configs/all.hpp>
#include <llm/model/rules.hpp>

namespace {

using namespace llm;
using namespace llm::configs;

constexpr bool valid(const Config& config) { return config_rules::is_valid(config); }

constexpr bool all_valid() {
  for (const NamedConfig& entry : all)
    if (!valid(*entry.config)) return false;
  return true;
}
static_assert(all_valid());
static_assert(valid_config<seed_502m>);

// Each size of vocabulary is an argument of its own.
template <const Config& C>
struct Model {
  static constexpr std::int64_t parameter_count = llm::parameter_count(C).total;
};
template <const Config& C>
requires(!valid_config<C>) struct Model<C> {
  static constexpr bool refused = true;
};
static_assert(valid_config<modern_small<128>> && valid_config<llama_small<512>> && valid_config<gpt2_small<8192>>);
static_assert(Model<modern_small<8192>>::parameter_count - Model<modern_small<128>>::parameter_count == 2 * 128 * (8192 - 128));
static_assert(!std::is_same_v<Model<modern_small<128>>, Model<modern_small<512>>>);

constexpr Config swapped = [] {
  Config config = seed_502m;
  config.n_heads = 4;
  config.n_kv_heads = 12;
  return config;
}();
static_assert(!valid_config<swapped>);                   // more KV heads than query heads
static_assert(Model<swapped>::refused);                  // the other template is taken
static_assert(!valid(Config{}));                         // sizes have no defaults
static_assert(std::is_empty_v<BrokenRules<seed_502m>>);  // nothing to report

// A config that is no constant has no answer but "no", and asking is no error.
Config of_run_time = seed_502m;
static_assert(constant_config<seed_502m> && !constant_config<of_run_time>);
static_assert(!valid_config<of_run_time> && !buildable_config<of_run_time>);
static_assert(Model<of_run_time>::refused);

// Numbers in diagnostics are whole; the sign of small ones stays.
static_assert(detail::whole(-1e-9) == -1 && detail::whole(1e-9) == 1 && detail::whole(0.0) == 0 && detail::whole(-3.5) == -4);
static_assert(detail::whole(10000.0) == 10000 && detail::whole(1e300) == INT64_MAX - 1 && detail::whole(-1e300) == INT64_MIN + 1);

}  // namespace
