// SmolLM2-135M out of GGUF files, as a user runs it: prefill of 128 and 512 tokens, and 64 tokens one by one, which is what llama-bench
// calls pp128, pp512 and tg64. LLM_BENCH_GGUF names the files, separated by colons; without it there is nothing to measure.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>

#include <llm/configs/smollm2.hpp>
#include <llm/io.hpp>
#include <llm/model.hpp>

#include "support/benchmark.hpp"
#include "support/models.hpp"

namespace {

using Model = llm::LLM<llm::configs::smollm2_135m, llm::Frozen>;

struct Loaded {
  Model model;
  typename Model::Cache cache, short_cache;  // memory that is not used is not resident

  explicit Loaded(const std::string& path) : model(llm::load<llm::configs::smollm2_135m>(path)), cache(1, 512), short_cache(1, 64) {}

  void prefill(const typename Model::Ids& prompt) {
    cache.reset();
    benchmark::DoNotOptimize(model.last_logits(prompt, cache));
  }
  /// As llama-bench does it: from an empty cache of so many positions on, whatever the tokens are.
  void decode(const typename Model::Ids& next) {
    short_cache.reset();
    for (std::int64_t i = 0; i < short_cache.capacity(); ++i) benchmark::DoNotOptimize(model.last_logits(next, short_cache));
  }
};

void add_file(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const auto loaded = [=]() -> Loaded& { return bench::fixture<Loaded>(path, [=] { return std::make_unique<Loaded>(path); }); };
  for (const std::int64_t length : {128, 512})
    bench::add(name + "/prefill:" + std::to_string(length), [=](bench::State& state) {
      const auto prompt = bench::random_ids<Model>(1, length, 0);
      Loaded& model = loaded();
      bench::time_calls(state, [&] { model.prefill(prompt); });
      state.counters["tokens/s"] = bench::rate(static_cast<double>(length));
    });
  bench::add(name + "/decode:64", [=](bench::State& state) {
    const auto next = bench::random_ids<Model>(1, 1, 0);
    Loaded& model = loaded();
    bench::time_calls(state, [&] { model.decode(next); });
    state.counters["tokens/s"] = bench::rate(64);
  });
}

void add_all() {
  const char* const files = std::getenv("LLM_BENCH_GGUF");
  std::istringstream list(files == nullptr ? "" : files);
  for (std::string path; std::getline(list, path, ':');) add_file(path);
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_all); }
