// Configs with any numbers in them, as a file may have: every figure is an answer or an llm::Error, at once, and nothing overflows on the
// way (which the builds with sanitizers see).
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>

#include <llm/configs/all.hpp>
#include <llm/core/rng.hpp>
#include <llm/model/account.hpp>
#include <llm/model/config_fields.hpp>
#include <llm/model/rules.hpp>
#include <support/catch.hpp>

namespace {

using llm::Config, llm::DType;

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t big = INT64_MAX;
constexpr std::int64_t wholes[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, 2, 3, 64, 4096, std::int64_t{1} << 31, std::int64_t{1} << 40,
                                   big / 2,   big - 1,       big};
constexpr double reals[] = {0.0, -1.0, 1.0, 0.5, 1e-300, 1e300, -1e19, 1e19, infinite, -infinite, no_number};
constexpr DType types[] = {DType::f32, DType::bf16, DType::f64, DType::q8_0, DType::q4_k};

class Draw {
 public:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(rng_.below(n)); }
  std::int64_t whole() { return wholes[below(std::size(wholes))]; }
  double real() { return reals[below(std::size(reals))]; }
  DType type() { return types[below(std::size(types))]; }
  bool coin() { return below(2) == 1; }

  /// A config of the library with up to five fields changed.
  Config config() {
    Config c = *llm::configs::all[below(llm::configs::all.size())].config;
    std::size_t fields = 0;
    llm::for_each_field(c, [&](const char*, auto&) { ++fields; });
    for (std::size_t changes = below(6); changes > 0; --changes) {
      std::size_t left = below(fields) + 1;
      llm::for_each_field(c, [&](const char*, auto& field) { --left == 0 ? change(field) : void(); });
    }
    return c;
  }

 private:
  void change(std::int64_t& field) { field = whole(); }
  void change(double& field) { field = real(); }
  void change(bool& field) { field = coin(); }
  template <class E>
  requires std::is_enum_v<E>
  void change(E& field) { field = static_cast<E>(below(llm::detail::enum_names<E>.size())); }

  llm::Rng rng_{1};
};

/// The figure that f gives, or 0 where it refuses by an llm::Error.
template <class F>
auto figure(const F& f) -> decltype(f()) {
  try {
    return f();
  } catch (const llm::Error&) {
    return 0;
  }
}

}  // namespace

TEST_CASE("figures of any config are an answer or an llm::Error") {
  Draw d;
  int valid = 0;
  for (int i = 0; i < 20000; ++i) {
    const Config c = d.config();
    INFO("config " << i);
    valid += llm::config_rules::is_valid(c);
    REQUIRE(llm::config_rules::is_valid(c) == llm::validate(c).empty());
    REQUIRE(llm::resolved(c).kv_heads() == c.kv_heads());
    REQUIRE(figure([&] {
              const llm::ParameterCount n = llm::parameter_count(c);
              return n.total - (n.embedding + n.positions + n.blocks + n.final_norm + n.head);
            }) == 0);
    REQUIRE(figure([&] { return llm::weight_bytes(c, {d.type(), d.type(), d.type(), d.type()}); }) >= 0);
    REQUIRE(figure([&] { return llm::kv_cache_bytes(c, d.type(), d.whole(), d.whole()); }) >= 0);
    REQUIRE(figure([&] { return llm::training_state(c, llm::TrainingPolicy::f32).total; }) >= 0);
    REQUIRE(figure([&] { return llm::flops_per_token(c, d.whole()).attention; }) >= 0);
    const llm::TrainingStep step{
        .batch = d.whole(), .length = d.whole(), .type = d.type(), .recompute = d.coin(), .chunk_bytes = d.whole(), .accumulate = d.coin()};
    REQUIRE(figure([&] { return llm::training_memory(c, step).activations; }) >= 0);
    REQUIRE(figure([&] { return llm::largest_batch(c, step, d.whole()); }) >= 0);
    const llm::Decoding decoding{d.whole(), d.whole(), d.whole(), d.type(), d.type()};
    REQUIRE(figure([&] { return llm::decode_memory(c, decoding).total; }) >= 0);
    const llm::Placement placement{.weights = d.type(), .cache_type = d.type(), .memory = d.whole()};
    REQUIRE(figure([&] { return llm::largest_context(c, placement, d.whole()); }) <= (std::max)(c.max_seq_len, std::int64_t{0}));
    REQUIRE(figure([&] { return llm::largest_sequences(c, placement, d.whole()); }) >= 0);
    REQUIRE(figure([&] { return llm::training_seconds(c, d.whole(), d.whole(), {d.real(), d.real()}); }) >= 0);
    const llm::DecodeStep reading{d.type(), d.type(), d.whole(), d.whole()};
    REQUIRE(figure([&] { return llm::decode_reads(c, reading).total; }) >= 0);
  }
  CHECK(valid > 4000);
  CHECK(valid < 16000);
}
