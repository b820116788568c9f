// Compares the tensors of a model's files with those that its config asks for, by their headers alone.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/io/expected_tensors.hpp>
#include <llm/io/found_tensors.hpp>
#include <llm/io/name_order.hpp>
#include <llm/io/published_config.hpp>

namespace llm {

/// What can be wrong with a tensor.
enum class TensorFault : std::uint8_t { missing, extra, misshaped, duplicate, different_copy };

namespace detail {
inline constexpr std::array<std::string_view, 5> tensor_fault_names{"missing", "extra", "misshaped", "duplicate", "different copy"};
}  // namespace detail

constexpr std::string_view to_string(TensorFault fault) { return detail::tensor_fault_names[static_cast<std::size_t>(fault)]; }

/// One tensor that is not as the config says. `text` is the whole sentence.
struct TensorProblem {
  TensorFault fault;
  std::string name;
  std::string text;
};

/// How much of a file is of one element type.
struct DTypeShare {
  std::string dtype;
  std::int64_t tensors = 0;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
};

/// The result of check_tensors.
struct TensorCheck {
  static constexpr std::size_t listed = 1000;  // problems beyond these are counted only

  std::vector<TensorProblem> problems;
  std::array<std::int64_t, 5> faults{};  // how many of each TensorFault
  std::int64_t expected_parameters = 0;  // by the config; a tied head once
  std::int64_t parameters = 0;           // elements of all tensors of the files, a tied head's copy and what stands beside the model not
  std::int64_t tensors = 0;              // so many tensors
  std::int64_t copies = 0;               // tensors that are an equal copy of another: a tied head
  std::int64_t beside = 0;               // tensors that are no part of the model, as masks that old files carry
  std::vector<DTypeShare> dtypes;        // of all tensors of the files, the most bytes first
  TensorLayout layout;                   // what the files chose among their family's ways
  std::string hint;                      // what may be the cause of the problems, or empty

  std::int64_t count(TensorFault fault) const { return faults[static_cast<std::size_t>(fault)]; }
  bool matches() const { return faults == std::array<std::int64_t, 5>{}; }
  /// The first problems in one sentence, how many there are in all, and the hint.
  std::string text() const;
};

inline std::string TensorCheck::text() const {
  constexpr std::size_t shown = 8;
  std::string out;
  for (std::size_t i = 0; i < (std::min)(shown, problems.size()); ++i) out += detail::concat(i > 0 ? "; " : "", problems[i].text);
  std::int64_t all = 0;
  for (const std::int64_t of_a_kind : faults) all += of_a_kind;
  if (all > static_cast<std::int64_t>(shown)) out += detail::concat("; ", all, " problems in all");
  return hint.empty() ? out : detail::concat(out, " (hint: ", hint, ")");
}

struct TensorCheckOptions {
  std::string prefix = {};     // what all names of the files begin with beyond their family's: "_orig_mod.", "module."
  bool compare_copies = true;  // read both tensors of a tied pair and compare them
};

namespace detail {

class TensorChecker {
 public:
  TensorChecker(const PublishedConfig& model, TensorNames names, std::span<const FoundTensor> found, const TensorCheckOptions& options)
      : model_(model),
        found_(found),
        options_(options),
        layout_{.names = names},
        order_(order_by_name(found, [this](const FoundTensor& tensor) { return name(tensor); })),
        seen_(found.size(), false) {}

  TensorCheck operator()() {
    sum_dtypes();
    duplicates();
    choose_layout();
    for_each_expected_tensor(model_.config, model_.family, layout_, [&](const ExpectedTensor& tensor) { compare(tensor); });
    others();
    result_.layout = layout_;
    if (!result_.matches()) guess_prefix();
    return std::move(result_);
  }

 private:
  /// A name without the prefix of the options, if it has that.
  std::string_view name(const FoundTensor& tensor) const { return without_prefix(tensor.name, options_.prefix); }
  const FoundTensor* find(std::string_view wanted) const {
    return find_by_name(found_, order_, wanted, [this](const FoundTensor& tensor) { return name(tensor); });
  }

  void add(TensorFault fault, std::string_view tensor, std::string_view text) {
    ++result_.faults[static_cast<std::size_t>(fault)];
    if (result_.problems.size() < TensorCheck::listed) result_.problems.push_back({fault, std::string(tensor), std::string(text)});
  }

  void sum_dtypes() {
    auto& shares = result_.dtypes;
    for (const FoundTensor& tensor : found_) {
      auto at = std::find_if(shares.begin(), shares.end(), [&](const DTypeShare& share) { return share.dtype == tensor.dtype; });
      if (at == shares.end()) at = shares.insert(at, {std::string(tensor.dtype)});
      ++at->tensors;
      at->elements += elements_of(tensor.shape);
      at->bytes += tensor.size;
    }
    std::sort(shares.begin(), shares.end(),
              [](const DTypeShare& a, const DTypeShare& b) { return std::tie(b.bytes, a.dtype) < std::tie(a.bytes, b.dtype); });
  }

  void duplicates() {
    for (std::size_t i = 1; i < order_.size(); ++i) {
      const FoundTensor &first = found_[order_[i - 1]], &again = found_[order_[i]];
      if (name(first) != name(again)) continue;
      seen_[order_[i]] = true;
      add(TensorFault::duplicate, first.name, concat("duplicate: ", in_quotes(first.name), " is in ", first.file, " and in ", again.file));
    }
  }

  /// What the files chose among their family's ways.
  void choose_layout() {
    const auto any = [&](std::string_view ending) {
      return std::any_of(found_.begin(), found_.end(), [&](const FoundTensor& tensor) { return tensor.name.ends_with(ending); });
    };
    if (layout_.names == TensorNames::gguf) layout_.split_latent = any(".attn_k_b.weight");
    if (layout_.names != TensorNames::hugging_face) return;
    const TensorNaming naming = naming_of(model_.family, layout_.names);
    layout_.bare = !find(concat(naming.prefix, naming.embedding)) && find(naming.embedding);
    layout_.stacked = any(".experts.gate_up_proj");
  }

  void compare(const ExpectedTensor& expected) {
    const bool copy = !expected.copy_of.empty();
    if (!copy) result_.expected_parameters += elements_of(expected.shape);
    const FoundTensor* const at = find(expected.name);
    if (at == nullptr) {
      if (!copy) add(TensorFault::missing, expected.name, concat("missing: ", in_quotes(expected.name), " ", extents_text(expected.shape)));
      return;
    }
    seen_[static_cast<std::size_t>(at - found_.data())] = true;
    const FoundTensor& tensor = *at;
    if (!copy) count(tensor);
    if (!std::equal(tensor.shape.begin(), tensor.shape.end(), expected.shape.begin(), expected.shape.end()))
      return misshaped(tensor, expected);
    if (copy) compare_copy(tensor, expected);
  }

  void count(const FoundTensor& tensor) {
    result_.parameters += elements_of(tensor.shape);
    ++result_.tensors;
  }

  void misshaped(const FoundTensor& tensor, const ExpectedTensor& expected) {
    const bool transposed = tensor.shape.size() == 2 && expected.shape.size() == 2 && tensor.shape[0] == expected.shape[1] &&
                            tensor.shape[1] == expected.shape[0];
    add(TensorFault::misshaped, tensor.name,
        concat("misshaped: ", in_quotes(tensor.name), " is ", extents_text(tensor.shape), ", expected ", extents_text(expected.shape),
               transposed ? ": transposed?" : ""));
  }

  /// A tied head may stand in the file once more: as an equal copy, else nobody knows which of the two was meant.
  void compare_copy(const FoundTensor& copy, const ExpectedTensor& expected) {
    const FoundTensor* const original = find(expected.copy_of);
    if (original == nullptr) return;  // reported as missing
    const FoundTensor& first = *original;
    const bool readable = options_.compare_copies && !first.bytes.empty() && !copy.bytes.empty();
    if (first.dtype != copy.dtype || (readable && !equal_bytes(first, copy)))
      return add(
          TensorFault::different_copy, copy.name,
          concat("different copy: ", in_quotes(copy.name), " and ", in_quotes(first.name), " differ, but the config says they are tied"));
    ++result_.copies;
  }

  void others() {
    for (const std::size_t i : order_) {
      if (seen_[i]) continue;
      const FoundTensor& tensor = found_[i];
      if (beside_the_model(name(tensor), model_.config, model_.family, layout_.names)) {
        ++result_.beside;
        continue;
      }
      count(tensor);
      add(TensorFault::extra, tensor.name,
          concat("extra: ", in_quotes(tensor.name), " ", extents_text(tensor.shape), " ", tensor.dtype, " in ", tensor.file));
    }
  }

  /// Wrappers of training frameworks put a word before all names.
  void guess_prefix() {
    const TensorNaming naming = naming_of(model_.family, layout_.names);
    const std::string embedding = concat(naming.prefix, naming.embedding);
    for (const FoundTensor& tensor : found_) {
      if (!tensor.name.ends_with(embedding) || tensor.name.size() == embedding.size() || find(embedding)) continue;
      result_.hint = concat("names begin with ", in_quotes(tensor.name.substr(0, tensor.name.size() - embedding.size())),
                            ", which is no part of them: give it as the prefix");
      return;
    }
  }

  const PublishedConfig& model_;
  std::span<const FoundTensor> found_;
  const TensorCheckOptions& options_;
  TensorLayout layout_;
  std::vector<std::size_t> order_;  // of the found tensors, by name
  std::vector<bool> seen_;
  TensorCheck result_;
};

}  // namespace detail

/// Compares names and shapes of a model's tensors with what its config and family ask for. Nothing is read of the data but a tied head that
/// stands in the files twice. A transposed square matrix cannot be told from the right one.
/// Throws ConfigError when the family has no names for what the config says.
inline TensorCheck check_tensors(const PublishedConfig& model, TensorNames names, std::span<const FoundTensor> found,
                                 const TensorCheckOptions& options = {}) {
  return detail::TensorChecker(model, names, found, options)();
}

}  // namespace llm
