// SmolLM2 from its GGUF file of mixed formats: the logits of Hugging Face transformers, llama.cpp's greedy tokens, and what rounding
// activations to bytes changes of both.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include <llm/backend/reference/reference.hpp>
#include <llm/configs/smollm2.hpp>
#include <llm/io/load.hpp>
#include <llm/model.hpp>

#include <support/catch.hpp>
#include <support/exact_activations.hpp>

using Ids = std::vector<llm::Token>;
using llm_test::ExactActivations;
using Model = llm::LLM<llm::configs::smollm2_135m, llm::Frozen>;

namespace {

struct Expected {
  Ids prompt;
  std::vector<std::pair<llm::Token, float>> highest;  // logits after the prompt
  Ids greedy;                                         // llama.cpp's, with the weights decoded to f32
  Ids greedy_rounded;  // llama.cpp's, with its kernels for the file's formats, which round activations to bytes
  double rounding;     // how far these move its logits after the prompt, as spread() measures it
};

// Logits: transformers 5.24 with the weights that the package gguf decodes. Tokens: llama.cpp (commit 0c1e570); its own logits are up to
// 1e-2 away, since its cache is in f16.
const Expected france{
    {504, 3575, 282, 4649, 314},
    {{7042, 17.37126f}, {260, 14.88859f}, {4528, 13.24498f}, {2250, 13.00946f}, {1315, 12.95152f}},
    {7042, 30, 198, 198, 504, 2988, 314, 42, 216, 34, 32, 33, 40, 29, 32, 33, 29, 34, 34, 216, 33, 34, 42, 33, 34, 42, 37, 35, 30, 2},
    {7042, 30,  198, 198, 504, 1797, 1918, 553,  253, 2155, 282,  4723, 216,  35,  33, 33,
     2215, 701, 30,  198, 198, 504,  1797, 1918, 553, 253,  2155, 282,  4723, 216, 35, 33},
    0.122};
const Expected once{{6403, 1980, 253, 655},
                    {{28, 18.14201f}, {281, 14.08253f}, {665, 13.36724f}, {260, 12.93552f}, {253, 12.92801f}},
                    {28,   260, 2240, 282, 23324, 27108, 436,  253, 15114, 39228, 28,   351,  25854, 41658, 284, 14055,
                     9018, 30,  1249, 347, 260,   929,   3514, 411, 28,    260,   2240, 2585, 288,   5946,  624, 2798},
                    {28,   260, 2240, 282, 1315, 27108, 436,  253, 15114, 39228, 28,   351,  25854, 41658, 284, 14055,
                     9018, 30,  1249, 347, 260,  929,   3514, 411, 28,    260,   2240, 2585, 288,   5946,  624, 970},
                    0.096};
const Expected unicode{{216, 216, 18645, 250, 48392, 138, 12831, 7906, 240, 178, 239, 230, 1841, 216, 36, 34, 27, 33, 45},
                       {{33, 29.96183f}, {34, 29.47586f}, {36, 29.45056f}, {35, 29.37478f}, {37, 28.66295f}},
                       {33,   35,  8083, 245, 8083, 245, 8083, 245, 8083, 245, 8083, 245, 8083, 245, 8083, 245,
                        8083, 245, 8083, 245, 8083, 245, 8083, 245, 8083, 245, 8083, 245, 8083, 245, 8083, 245},
                       {33,   35,  8083, 245, 8083, 245, 8083, 245, 8083, 245, 8083, 245, 8083, 245, 8083, 245,
                        8083, 245, 8083, 245, 8083, 245, 8083, 245, 8083, 245, 8083, 245, 8083, 245, 8083, 245},
                       0.124};
const Expected* const all[] = {&france, &once, &unicode};

/// False, with a message, when the model could not be fetched.
bool has_model() {
  if (std::ifstream(LLM_TEST_REAL_MODEL).good()) return true;
  std::puts("skipped: there is no " LLM_TEST_REAL_MODEL);
  return false;
}

/// The logits after the prompt and then `more`, which are read one by one, as they are decoded.
std::vector<float> logits_after(const Model& model, const Ids& prompt, const Ids& more = {}) {
  Model::Cache cache(1, 64);
  auto logits = model.last_logits(Model::Ids::from(prompt, {1, static_cast<std::int64_t>(prompt.size())}), cache);
  for (const llm::Token id : more) logits = model.last_logits(Model::Ids::from(Ids{id}, {1, 1}), cache);
  return logits.to_vector();
}

Ids greedy(const Model& model, const Expected& expected) {
  Ids made;
  const auto count = static_cast<std::int64_t>(expected.greedy.size());
  for (const llm::Token token : llm::generate(model, expected.prompt, {.max_new_tokens = count, .temperature = 0})) made.push_back(token);
  return made;
}

/// The standard deviation of the differences: what is added to all logits changes no probability.
double spread(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference;
    squares += difference * difference;
  }
  const auto n = static_cast<double>(a.size());
  return std::sqrt(squares / n - sum / n * sum / n);
}

/// Cpu, that keeps rows in block formats as they are stored too, and compares each product with them to the reference's with activations
/// rounded in the same way: a scale for every 32 values, bytes to the nearest.
struct CheckedCpu : llm::Cpu {
  static inline std::int64_t checked = 0, wrong = 0;  // wrong: results that are away by more than 1e-5 of the row's largest

  static std::int64_t stored_bytes(llm::DType format, std::int64_t N, std::int64_t K) {
    return packed_bytes(format, N, K) + N * llm::storage_bytes(format, K);
  }
  static void store_rows(llm::DType format, const std::byte* rows, void* to, std::int64_t N, std::int64_t K) {
    llm::Cpu::store_rows(format, rows, to, N, K);
    std::memcpy(static_cast<std::byte*>(to) + packed_bytes(format, N, K), rows,
                static_cast<std::size_t>(N * llm::storage_bytes(format, K)));
  }
  template <class T>
  static void linear_forward_stored(const T* x, llm::DType format, const void* w, const T* bias, T* y, std::int64_t M, std::int64_t N,
                                    std::int64_t K) {
    llm::Cpu::linear_forward_stored(x, format, w, bias, y, M, N, K);
    check(x, format, w, bias, y, M, N, K);
  }
  template <class T>
  static void linear_forward_stored(const T* x, const llm::StoredProduct<T>* products, std::int64_t count, std::int64_t M, std::int64_t K) {
    llm::Cpu::linear_forward_stored(x, products, count, M, K);
    for (const auto* p = products; p < products + count; ++p) check(x, p->format, p->w, p->bias, p->y, M, p->N, K);
  }

 private:
  template <class T>
  static void check(const T* x, llm::DType format, const void* w, const T* bias, const T* y, std::int64_t M, std::int64_t N,
                    std::int64_t K) {
    if (llm::block_format(format).elements == 1) return;
    std::vector<double> rounded(x, x + M * K), want(static_cast<std::size_t>(M * N));
    for (std::size_t first = 0; first < rounded.size(); first += 32) round(&rounded[first]);
    llm::Reference::linear_forward_stored<double>(rounded.data(), format, static_cast<const std::byte*>(w) + packed_bytes(format, N, K),
                                                  nullptr, want.data(), M, N, K);
    ++checked;
    for (std::int64_t m = 0; m < M; ++m) compare(y + m * N, bias, &want[static_cast<std::size_t>(m * N)], N);
  }

  static std::int64_t packed_bytes(llm::DType format, std::int64_t N, std::int64_t K) {
    return (llm::Cpu::stored_bytes(format, N, K) + 63) / 64 * 64;
  }
  static void round(double* x) {
    double largest = 0;
    for (int i = 0; i < 32; ++i) largest = std::fmax(largest, std::fabs(x[i]));
    const float scale = static_cast<float>(largest) * (1 / 127.0f);
    if (scale == 0) return;
    const auto inverse = static_cast<double>(1 / scale);
    for (int i = 0; i < 32; ++i) x[i] = static_cast<double>(scale) * std::nearbyint(x[i] * inverse);
  }
  template <class T>
  static void compare(const T* y, const T* bias, const double* want, std::int64_t N) {
    double largest = 0;
    for (std::int64_t n = 0; n < N; ++n) largest = std::fmax(largest, std::fabs(want[n]));
    for (std::int64_t n = 0; n < N; ++n) {
      const double difference = static_cast<double>(y[n]) - want[n] - (bias == nullptr ? 0 : static_cast<double>(bias[n]));
      if (!(std::fabs(difference) <= 1e-5 * largest)) ++wrong;
    }
  }
};

}  // namespace

TEST_CASE("SmolLM2 gives the logits of transformers and the greedy tokens of llama.cpp") {
  if (!has_model()) return;
  const auto model = llm::load<llm::configs::smollm2_135m>(LLM_TEST_REAL_MODEL);
  const ExactActivations exact;
  for (const Expected* expected : all) {
    const auto logits = logits_after(model, expected->prompt);
    const auto logit = [&](llm::Token id) { return logits[static_cast<std::size_t>(id)]; };
    Ids order(logits.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<llm::Token>(i);
    const auto top = static_cast<std::ptrdiff_t>(expected->highest.size());
    std::partial_sort(order.begin(), order.begin() + top, order.end(), [&](llm::Token a, llm::Token b) { return logit(a) > logit(b); });
    for (std::size_t i = 0; i < expected->highest.size(); ++i) {
      CHECK(order[i] == expected->highest[i].first);
      CHECK(logit(order[i]) == Approx(expected->highest[i].second).margin(1e-3));
    }
    CHECK(greedy(model, *expected) == expected->greedy);
  }
}

TEST_CASE("Products of SmolLM2 with activations rounded to bytes are those of the reference on the same activations") {
  if (!has_model()) return;
  const auto model = llm::load<llm::configs::smollm2_135m, CheckedCpu>(LLM_TEST_REAL_MODEL);
  CheckedCpu::checked = CheckedCpu::wrong = 0;
  decltype(model)::Cache cache(1, 64);
  for (const Ids& ids : {unicode.prompt, france.prompt, Ids{28}})
    (void)model.last_logits(decltype(model)::Ids::from(ids, {1, static_cast<std::int64_t>(ids.size())}), cache);
  CHECK(CheckedCpu::checked == 3 * (30 * 7 + 1));
  CHECK(CheckedCpu::wrong == 0);
}

TEST_CASE("Rounding activations to bytes moves SmolLM2's logits as far as it moves llama.cpp's") {
  if (!has_model()) return;
  const auto model = llm::load<llm::configs::smollm2_135m>(LLM_TEST_REAL_MODEL);
  for (const Expected* expected : all) {
    const auto rounded = logits_after(model, expected->prompt);
    const ExactActivations exact;
    const double moved = spread(rounded, logits_after(model, expected->prompt));
    CHECK(moved > 0);
    CHECK(moved < 1.5 * expected->rounding);
  }
}

// Logits of two ways of rounding differ by the noise of both: the gap between two tokens moves by twice the standard deviation of one
// logit's noise, and in 19 of 20 cases by no more than twice that.
TEST_CASE("With activations rounded to bytes SmolLM2's tokens are llama.cpp's, but where rounding decides") {
  if (!has_model()) return;
  const auto model = llm::load<llm::configs::smollm2_135m>(LLM_TEST_REAL_MODEL);
  for (const Expected* expected : all) {
    const Ids made = greedy(model, *expected);
    for (const Ids* want : {&expected->greedy, &expected->greedy_rounded}) {
      const auto [ours, theirs] = std::mismatch(made.begin(), made.end(), want->begin(), want->end());
      if (ours == made.end() || theirs == want->end()) continue;
      const auto logits = logits_after(model, expected->prompt, {made.begin(), ours});
      const double gap = static_cast<double>(logits[static_cast<std::size_t>(*ours)] - logits[static_cast<std::size_t>(*theirs)]);
      CHECK(gap >= 0);
      CHECK(gap < 2 * 2 * expected->rounding);
    }
  }
}
