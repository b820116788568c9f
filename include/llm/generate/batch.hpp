// Generation for several prompts of uneven lengths at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <llm/generate/token_stream.hpp>

namespace llm {

namespace detail {

/// Several sequences in the rows of one cache. Every row is as long as it is: no padding, no mask.
template <class Model>
class Batch {
 public:
  using Ids = typename Model::Ids;

  Batch(const Model& model, std::span<const std::vector<Token>> prompts, const GenerateOptions& options)
      : model_(model), rows_(checked(prompts, options)), logits_(Model::V), cache_(static_cast<std::int64_t>(rows_.size()), longest()) {}

  /// Prefills each row, then decodes the unfinished ones together.
  void run() {
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (!rows_[row].finished()) prefill(row);
    while (decode_all()) {
    }
  }

  std::vector<std::vector<Token>> take() && {
    std::vector<std::vector<Token>> out;
    for (auto& row : rows_) out.push_back(std::move(row).take());
    return out;
  }

 private:
  static std::vector<Sequence> checked(std::span<const std::vector<Token>> prompts, const GenerateOptions& options) {
    std::vector<Sequence> rows;
    rows.reserve(prompts.size());
    for (const auto& prompt : prompts) rows.emplace_back(prompt, options, Model::V, whole_context<Model>(), options.stream + rows.size());
    return rows;
  }
  std::int64_t longest() const {
    std::int64_t most = 0;
    for (const auto& row : rows_) most = (std::max)(most, row.longest());
    return most;
  }

  void prefill(std::size_t row) {
    const auto& prompt = rows_[row].tokens();
    const auto ids = Ids::from(prompt, {1, static_cast<std::int64_t>(prompt.size())});
    rows_[row].extend(logits_.read(model_.last_logits(ids, cache_, static_cast<std::int64_t>(row)), 0));
  }

  /// One step of each run of unfinished rows; false when there is none.
  bool decode_all() {
    bool any = false;
    for (std::size_t first = 0; first < rows_.size(); ++first) {
      std::size_t end = first;
      while (end < rows_.size() && !rows_[end].finished()) ++end;
      if (end == first) continue;
      decode(first, end);
      any = true;
      first = end;  // this row is finished
    }
    return any;
  }

  void decode(std::size_t first, std::size_t end) {
    last_.clear();
    for (std::size_t row = first; row < end; ++row) last_.push_back(rows_[row].tokens().back());
    const auto ids = Ids::from(last_, {static_cast<std::int64_t>(end - first), 1});
    const auto logits = model_.last_logits(ids, cache_, static_cast<std::int64_t>(first));  // [rows, V]
    for (std::size_t row = first; row < end; ++row) rows_[row].extend(logits_.read(logits, static_cast<std::int64_t>(row - first)));
  }

  const Model& model_;
  std::vector<Sequence> rows_;
  std::vector<Token> last_;
  HostLogits<typename Model::LastLogits> logits_;
  typename Model::Cache cache_;  // after rows_, which says how large
};

}  // namespace detail

/// Continues each prompt and returns them with their new tokens. Row i draws the random numbers of stream options.stream + i, and gives the
/// tokens that generate_tokens gives for that prompt and stream alone. max_new_tokens holds for each row. Rows that have
/// ended are computed no more. Throws as generate does, before any computation, when one of the prompts is wrong.
template <CausalModel Model>
std::vector<std::vector<Token>> generate_batch(const Model& model, std::span<const std::vector<Token>> prompts,
                                               const GenerateOptions& options = {}) {
  if (prompts.empty()) return {};
  detail::Batch<Model> batch(model, prompts, options);
  batch.run();
  return std::move(batch).take();
}

}  // namespace llm
