// Builds a model with fresh random weights and checks it: parameter count, shape, initial loss, causality, residual path.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include <llm/configs/all.hpp>
#include <llm/model.hpp>
#include <llm/model/verify.hpp>

#include "support/plain_count.hpp"

namespace {

/// Builds LLM<C> and prints a line for each check; whether all passed.
template <const llm::Config& C>
bool verify(std::string_view name) {
  using Model = llm::LLM<C>;
  using Clock = std::chrono::steady_clock;
  static_assert(Model::parameter_count == llm::parameter_count(C).total);
  const auto start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  std::printf("%s: %s parameters, %.2f GB in f32\n", std::string(name).c_str(), examples::grouped(Model::parameter_count).c_str(),
              static_cast<double>(llm::weight_bytes(C, llm::DType::f32)) / 1e9);
  std::fflush(stdout);
  Model model = Model::random(/*seed=*/1);

  const llm::NamedCount plain[] = {{"plain formulas", examples::PlainCount(C, C.kv_heads()).total}};
  const auto print = [&](const llm::Check& check) {
    std::printf("%s\n", llm::to_string(check).c_str());
    std::fflush(stdout);
  };
  const bool passed = llm::verify(model, print, {}, plain);
  std::printf("%s in %.1f s\n", passed ? "All checks passed" : "Some checks FAILED", seconds());
  return passed;
}

struct Entry {
  std::string_view name;
  bool (*verify)(std::string_view name);
};

/// The models that a machine of ordinary size holds.
constexpr Entry models[] = {
    {"seed_502m", verify<llm::configs::seed_502m>},          {"gpt2_124m", verify<llm::configs::gpt2_124m>},
    {"qwen3_0_6b", verify<llm::configs::qwen3_0_6b>},        {"modern_small", verify<llm::configs::modern_small<128>>},
    {"llama_small", verify<llm::configs::llama_small<128>>}, {"gpt2_small", verify<llm::configs::gpt2_small<128>>}};

void print_names(std::FILE* out) {
  for (const Entry& entry : models) std::fprintf(out, "  %s\n", std::string(entry.name).c_str());
}

int run(int argc, char** argv) {
  const char* const name = argc > 1 ? argv[1] : "seed_502m";
  if (argc > 2 || std::strcmp(name, "--help") == 0) {
    std::printf(
        "usage: verify_model [name]\nWithout a name it checks seed_502m (3 GB of memory). Exit status 1 when a check fails. Models:\n");
    print_names(stdout);
    return argc > 2 ? 2 : 0;
  }
  for (const Entry& entry : models)
    if (entry.name == name) return entry.verify(name) ? 0 : 1;
  std::fprintf(stderr, "verify_model: no model is named %s; there are\n", name);
  print_names(stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "verify_model: %s\n", error.what());
    return 1;
  }
}
