// The accountant's memory and time beside measured ones: training steps and decoding of a small model, of GPT-2 and of the 502M model.
//
//   account_check [--threads N] [--utilisation U] [NAME[:BATCHxLENGTH] ...]      for example account_check modern_small gpt2_124m:2x512
//
// The accountant tells memory exactly, to the byte of what the storage pool hands out. Time it tells for a peak and a utilisation: the peak
// is measured here, the utilisation is a guess, stated beforehand and printed beside the one that was reached. The 502M model takes 10 GB.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <llm/model.hpp>
#include <llm/train/adamw.hpp>

#include "support/machine.hpp"
#include "support/memory.hpp"
#include "support/models.hpp"

namespace {

struct Options {
  double utilisation = 0.6;
  std::int64_t batch = 0, length = 0;
};

struct Time {
  double seconds = 1e9;
  double processor = 0;  // the same in seconds of all threads' cores: less than threads x seconds when other programs took the cores
};

/// The fastest call of f after a first one, as the machine's limits are those of the fastest round: over at least `least` calls and five
/// seconds.
template <class F>
Time fastest(int least, const F& f) {
  f();
  Time best;
  const auto begin = bench::Clock::now();
  for (int calls = 0; calls < least || bench::seconds_since(begin) < 5; ++calls) {
    const auto start = bench::Clock::now();
    const std::clock_t processor = std::clock();
    f();
    const double seconds = bench::seconds_since(start);
    if (seconds < best.seconds) best = {seconds, static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC};
  }
  return best;
}

/// The limits of this machine: the best of some measurements, before and after what is compared with them.
struct Machine {
  double flops = 0, bandwidth = 0;
  void measure() {
    flops = (std::max)(flops, bench::peak_flops());
    bandwidth = (std::max)(bandwidth, bench::read_bandwidth());
  }
};

void row(const char* what, double predicted, double measured, const char* unit) {
  std::printf("  %-34s %12.4g %12.4g %-9s %+7.2f %%\n", what, predicted, measured, unit, 100 * (predicted / measured - 1));
}
void detail(const char* what, double value, const char* unit) { std::printf("    %-32s %12.4g %s\n", what, value, unit); }

/// Time of a training step; prints the memory it took.
template <const llm::Config& C>
Time training(const Options& o) {
  using Model = llm::LLM<C>;
  constexpr double mega = 1e6;
  const std::int64_t before = llm::pool_statistics<llm::Cpu>().in_use;
  auto model = Model::random(1);
  llm::AdamW optimizer(model);
  const auto inputs = bench::random_ids<Model>(o.batch, o.length, 0), targets = bench::random_ids<Model>(o.batch, o.length, 1);
  const Time time = fastest(2, [&] {
    llm::reset_pool_high_water<llm::Cpu>();
    {
      llm::Tape tape;
      tape.backward(model.loss(inputs, targets));
    }
    optimizer.step(1e-4, 1.0);
  });
  const llm::PoolStatistics pool = llm::pool_statistics<llm::Cpu>();
  const llm::TrainingMemory memory = llm::training_memory(C, {.batch = o.batch, .length = o.length});
  const auto total = static_cast<double>(memory.total);
  row("memory of a training step, pool", total / mega, static_cast<double>(pool.high_water - before) / mega, "MB");
  detail("weights", static_cast<double>(memory.weights) / mega, "MB");
  detail("optimizer", static_cast<double>(memory.optimizer) / mega, "MB");
  detail("gradients at the peak", static_cast<double>(memory.gradients) / mega, "MB");
  detail("activations at the peak, tables", static_cast<double>(memory.activations + memory.tables) / mega, "MB");
  row("blocks that the pool holds", total / mega, static_cast<double>(pool.reserved) / mega, "MB");
  row("resident bytes of the process", total / mega, bench::status_bytes("VmRSS:") / mega, "MB");
  return time;
}

template <const llm::Config& C>
void report_training(const Options& o, const Time& time, double peak) {
  const std::int64_t tokens = o.batch * o.length, context = (o.length + 1) / 2;
  const double flops = static_cast<double>(llm::flops_per_token(C, context).training) * static_cast<double>(tokens);
  row("time of a training step", llm::training_seconds(C, tokens, context, {.flops_per_second = peak, .utilisation = o.utilisation}),
      time.seconds, "s");
  detail("FLOPs", flops * 1e-9, "GFLOP");
  detail("processor time", time.processor, "s");
  detail("reached", flops / time.seconds * 1e-9, "GFLOP/s");
  detail("utilisation stated", o.utilisation, "");
  detail("utilisation reached", flops / time.seconds / peak, "");
}

/// Time of a decoding step behind `context` tokens.
template <const llm::Config& C>
Time decoding(std::int64_t context) {
  using Model = llm::LLM<C>;
  const auto model = Model::random(1);
  typename Model::Cache cache(1, context + 1);
  const auto prompt = bench::random_ids<Model>(1, context, 0), next = bench::random_ids<Model>(1, 1, 1);
  model.last_logits(prompt, cache);
  return fastest(4, [&] {
    cache.truncate(0, context);
    model.last_logits(next, cache);
  });
}

template <const llm::Config& C>
void check(const char* name, const Options& o) {
  const std::int64_t context = o.length / 2;
  const llm::DecodeStep step{.weights = llm::DType::f32, .cache_type = llm::DType::f32, .context = context + 1};
  const bool decodes = llm::decode_reads(C, step).total > 256'000'000;  // a smaller model stays in the caches: memory is no bound
  std::printf("%s, %lld x %lld tokens, f32, %d threads\n", name, static_cast<long long>(o.batch), static_cast<long long>(o.length),
              llm::num_threads());
  std::printf("  %-34s %12s %12s\n", "", "accountant", "measured");
  Machine machine;
  machine.measure();
  llm::trim_pool<llm::Cpu>();
  const Time training_time = training<C>(o);
  llm::trim_pool<llm::Cpu>();
  machine.measure();
  const Time decoding_time = decodes ? decoding<C>(context) : Time();
  llm::trim_pool<llm::Cpu>();
  machine.measure();
  report_training<C>(o, training_time, machine.flops);
  if (decodes)
    row("decoding, by what it reads", llm::decode_tokens_per_second(C, step, machine.bandwidth), 1 / decoding_time.seconds, "tokens/s");
  detail("peak", machine.flops * 1e-9, "GFLOP/s");
  detail("reads", machine.bandwidth * 1e-9, "GB/s");
}

int usage() {
  std::fprintf(stderr, "account_check [--threads N] [--utilisation U] [modern_small | gpt2_124m | seed_502m][:BATCHxLENGTH] ...\n");
  return 2;
}

/// Checks "NAME" or "NAME:BATCHxLENGTH"; false when it is neither.
bool check_named(const std::string& text, Options o) {
  const std::string name = text.substr(0, text.find(':'));
  const auto sizes = [&](std::int64_t batch, std::int64_t length, std::int64_t longest) {
    long long b = batch, t = length;
    char rest = 0;
    if (name.size() < text.size() && std::sscanf(text.c_str() + name.size() + 1, "%lldx%lld%c", &b, &t, &rest) != 2) return false;
    o.batch = b;
    o.length = t;
    return b >= 1 && t >= 2 && t <= longest;
  };
  using namespace llm::configs;
  if (name == "modern_small" && sizes(16, 64, modern_small<128>.max_seq_len)) return check<modern_small<128>>("modern_small", o), true;
  if (name == "gpt2_124m" && sizes(4, 256, gpt2_124m.max_seq_len)) return check<gpt2_124m>("gpt2_124m", o), true;
  if (name == "seed_502m" && sizes(1, 512, seed_502m.max_seq_len)) return check<seed_502m>("seed_502m", o), true;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--threads" && i + 1 < argc)
      llm::set_num_threads((std::max)(std::atoi(argv[++i]), 1));
    else if (argument == "--utilisation" && i + 1 < argc)
      options.utilisation = std::atof(argv[++i]);
    else
      names.push_back(argument);
  }
  if (names.empty()) names = {"modern_small", "gpt2_124m", "seed_502m"};
  try {
    for (const std::string& name : names)
      if (!check_named(name, options)) return usage();
  } catch (const llm::Error& error) {
    std::fprintf(stderr, "account_check: %s\n", error.what());
    return 1;
  }
  return 0;
}
