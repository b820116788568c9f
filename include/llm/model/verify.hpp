// Acceptance checks of a freshly initialised model: parameter count, shape, initial loss, causality, residual path.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llm/core/rng.hpp>
#include <llm/model/account.hpp>
#include <llm/nn/parameter.hpp>

namespace llm {

/// What one check found.
struct Check {
  std::string name;
  bool passed = false;
  std::string measured;  // the figure and what it is held against
  std::string cause;     // of a failure, the likely one; else empty
};

/// "ok    causality: ..." or "FAIL  causality: ... Likely cause: ..."
inline std::string to_string(const Check& check) {
  return (check.passed ? "ok    " : "FAIL  ") + check.name + ": " + check.measured +
         (check.cause.empty() ? "" : ". Likely cause: " + check.cause);
}

/// Ids for the checks are random: `batch` rows of `length` tokens from `seed`.
struct VerifyOptions {
  std::int64_t batch = 2;
  std::int64_t length = 128;
  std::uint64_t seed = 1;
};

/// A way of counting parameters and what it gave.
struct NamedCount {
  std::string_view how;
  std::int64_t count;
};

namespace detail {

inline std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::size_t digits_from = number < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > digits_from + 3;) text.insert(at -= 3, ",");
  return text;
}

/// printf of one number.
inline std::string number(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

inline void require_verifiable(const char* function, std::int64_t vocab_size, const VerifyOptions& o) {
  if (vocab_size < 2 || o.batch < 1 || o.length < 2)
    throw ValueError(
        concat(function, ": vocab_size ", vocab_size, " >= 2, batch ", o.batch, " >= 1 and length ", o.length, " >= 2 are required"));
}

/// batch rows of length + 1 ids: a row's first `length` are inputs, its last `length` the targets of those.
inline std::vector<Token> random_ids(std::int64_t vocab_size, const VerifyOptions& o) {
  Rng rng(o.seed);
  std::vector<Token> ids(static_cast<std::size_t>(o.batch * (o.length + 1)));
  for (Token& id : ids) id = static_cast<Token>(rng.below(static_cast<std::uint64_t>(vocab_size)));
  return ids;
}

template <class Backend>
Tensor<Token, Shape<dyn, dyn>, Backend> inputs_of(const std::vector<Token>& ids, const VerifyOptions& o) {
  std::vector<Token> inputs;
  for (std::int64_t at = 0; at < o.batch * (o.length + 1); ++at)
    if ((at + 1) % (o.length + 1) != 0) inputs.push_back(ids[static_cast<std::size_t>(at)]);
  return Tensor<Token, Shape<dyn, dyn>, Backend>::from(inputs, {o.batch, o.length});
}

/// The ids with every one from position `first` of each row on replaced by another one.
inline std::vector<Token> changed_from(std::vector<Token> ids, std::int64_t first, std::int64_t vocab_size, const VerifyOptions& o) {
  Rng rng(o.seed, 1);
  for (std::int64_t at = 0; at < o.batch * (o.length + 1); ++at) {
    Token& id = ids[static_cast<std::size_t>(at)];
    const auto step = 1 + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(vocab_size - 1)));
    if (at % (o.length + 1) >= first) id = static_cast<Token>((id + step) % vocab_size);
  }
  return ids;
}

/// Mean over all positions of -log softmax(logits)[target], in double.
template <class T>
double mean_loss(const std::vector<T>& logits, const std::vector<Token>& ids, std::int64_t v, const VerifyOptions& o) {
  double sum = 0.0;
  for (std::int64_t row = 0; row < o.batch * o.length; ++row) {
    const T* const from = logits.data() + row * v;
    double largest = -HUGE_VAL, total = 0.0;
    for (std::int64_t i = 0; i < v; ++i) largest = std::fmax(largest, static_cast<double>(from[i]));
    for (std::int64_t i = 0; i < v; ++i) total += std::exp(static_cast<double>(from[i]) - largest);
    const std::int64_t target = ids[static_cast<std::size_t>(row + row / o.length + 1)];
    sum += largest + std::log(total) - static_cast<double>(from[target]);
  }
  return sum / static_cast<double>(o.batch * o.length);
}

/// Largest |a - b| over the positions [first, last) of each row; infinity when one is not a number.
template <class T>
double largest_change(const std::vector<T>& a, const std::vector<T>& b, std::int64_t first, std::int64_t last, std::int64_t v,
                      std::int64_t length) {
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::int64_t position = static_cast<std::int64_t>(i) / v % length;
    if (position < first || position >= last) continue;
    const double change = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(change <= largest)) largest = std::isnan(change) ? HUGE_VAL : change;
  }
  return largest;
}

template <class Tensor>
std::string shape_text(const Tensor& t) {
  std::string text;
  for (int i = 0; i < Tensor::rank; ++i) text += (i == 0 ? "(" : ", ") + std::to_string(t.extent(i));
  return text + ")";
}

/// Whether a tensor is [batch, length, v]. The other checks index by it.
template <class Tensor>
bool has_logits_shape(const Tensor& t, std::int64_t v, const VerifyOptions& o) {
  if constexpr (Tensor::rank == 3)
    return t.extent(0) == o.batch && t.extent(1) == o.length && t.extent(2) == v;
  else
    return false;
}

/// The logits on the host. Throws ShapeError when the callable returns another shape.
template <class Logits>
auto host_logits(const char* function, const Logits& logits, std::int64_t v, const VerifyOptions& o) {
  if (!has_logits_shape(logits, v, o))
    throw ShapeError(concat(function, ": the logits are ", shape_text(logits), ", expected (", o.batch, ", ", o.length, ", ", v, ")"));
  return logits.to_vector();
}

inline std::string count_cause(const Config& c, std::int64_t excess) {
  const std::int64_t head = embedding_parameters(c).value, layers = c.n_layers;
  const std::int64_t widths = (q_width(c) + Count(2) * kv_width(c) + Count(2) * c.ffn_dim + Count(3) * c.d_model).value;
  if (excess == head && c.tie_embeddings) return "tying is not effective: the head has a matrix of its own, vocab_size x d_model";
  if (excess == -head && !c.tie_embeddings) return "the head shares the embedding's matrix, or is missing";
  if (excess > 0 && excess <= layers * widths) return "linear layers that should have none have a bias";
  if (excess < 0 && -excess <= layers * widths) return "biases or norm gains are missing";
  if (excess % layers == 0)
    return concat("each of the ", layers, " blocks is off by ", grouped(excess / layers), ": n_kv_heads, head_dim or ffn_dim");
  return "a matrix has another shape than the Config says; compare part by part (parameter_count(config) lists them)";
}

}  // namespace detail

/// Every count equals the Config's arithmetic.
inline Check verify_parameter_count(const Config& c, std::span<const NamedCount> counts) {
  const std::int64_t expected = parameter_count(c).total;
  Check check{"parameters", true, detail::grouped(expected) + " by the Config", ""};
  for (const NamedCount& n : counts) {
    check.measured += ", " + detail::grouped(n.count) + " by " + std::string(n.how);
    if (n.count == expected || !check.passed) continue;
    check.passed = false;
    check.cause = detail::grouped(std::abs(n.count - expected)) + (n.count > expected ? " too many: " : " too few: ") +
                  detail::count_cause(c, n.count - expected);
  }
  return check;
}

/// Ids (batch, length) give finite logits (batch, length, vocab_size). forward: ids -> logits, a tensor on the Backend.
template <class Backend = Cpu, class Forward>
Check verify_shape(Forward&& forward, std::int64_t vocab_size, const VerifyOptions& o = {}) {
  detail::require_verifiable("llm::verify_shape", vocab_size, o);
  const auto ids = detail::inputs_of<Backend>(detail::random_ids(vocab_size, o), o);
  const auto logits = forward(ids);
  Check check{"shape", detail::has_logits_shape(logits, vocab_size, o), detail::shape_text(ids) + " -> " + detail::shape_text(logits), ""};
  if (!check.passed) {
    check.cause = detail::concat(
        "a wrong view or transposition, n_heads and n_kv_heads swapped, or a head of another width than "
        "vocab_size ",
        vocab_size);
    return check;
  }
  for (const auto value : logits.to_vector()) {
    if (std::isfinite(static_cast<double>(value))) continue;
    check = {check.name, false, check.measured + ", not all finite", "uninitialised or overflowing weights"};
    break;
  }
  return check;
}

/// The loss of random targets is that of a uniform guess, ln V: within 5 % of it, or within 2 % of what N(0, stddev) weights of the
/// head give, ln V + d_model stddev^2 / 2 (the final norm makes the logits N(0, d_model stddev^2)). The target of a position is the
/// next input, so that a model that sees ahead can give itself away by a low loss.
template <class Backend = Cpu, class Forward>
Check verify_initial_loss(Forward&& forward, std::int64_t vocab_size, std::int64_t d_model, const VerifyOptions& o = {},
                          double stddev = 0.02) {
  constexpr const char* name = "llm::verify_initial_loss";
  detail::require_verifiable(name, vocab_size, o);
  const auto ids = detail::random_ids(vocab_size, o);
  const auto logits = detail::host_logits(name, forward(detail::inputs_of<Backend>(ids, o)), vocab_size, o);
  const double loss = detail::mean_loss(logits, ids, vocab_size, o);
  const double uniform = std::log(static_cast<double>(vocab_size));
  const double expected = uniform + static_cast<double>(d_model) * stddev * stddev / 2.0;
  Check check{"initial loss", std::abs(loss - uniform) <= 0.05 * uniform || std::abs(loss - expected) <= 0.02 * expected, "", ""};
  check.measured = detail::number("%.4f", loss) + detail::number(", %+.1f %%", 100.0 * (loss / uniform - 1.0)) +
                   " from ln V = " + detail::number("%.4f", uniform) + "; this initialisation gives about " +
                   detail::number("%.2f", expected);
  if (check.passed) return check;
  if (!std::isfinite(loss))
    check.cause = "uninitialised or overflowing weights";
  else if (loss < uniform)
    check.cause = "positions see the tokens that they are to predict: the causal mask is not effective, or targets are not shifted";
  else
    check.cause = "the initialisation is too wide, or a norm is missing (a tied head with few tokens also raises its input's own logit)";
  return check;
}

/// Other ids after position t = length / 2 leave the logits of the positions up to t as they are (to 1e-5), and change those after
/// it (by more than 1e-3): without the second part a callable that ignores its ids would pass.
template <class Backend = Cpu, class Forward>
Check verify_causality(Forward&& forward, std::int64_t vocab_size, const VerifyOptions& o = {}) {
  constexpr const char* name = "llm::verify_causality";
  detail::require_verifiable(name, vocab_size, o);
  const std::int64_t after = o.length / 2 + (o.length > 2 ? 1 : 0);  // t + 1
  const auto ids = detail::random_ids(vocab_size, o);
  const auto logits_of = [&](const std::vector<Token>& from) {
    return detail::host_logits(name, forward(detail::inputs_of<Backend>(from, o)), vocab_size, o);
  };
  const auto base = logits_of(ids), changed = logits_of(detail::changed_from(ids, after, vocab_size, o));
  const double early = detail::largest_change(base, changed, 0, after, vocab_size, o.length);
  const double late = detail::largest_change(base, changed, after, o.length, vocab_size, o.length);
  const bool blind = early <= 1e-5, sees = late > 1e-3 && std::isfinite(late);
  Check check{"causality", blind && sees, "", ""};
  check.measured = detail::concat("other ids after position ", after - 1, " change the logits up to it by ") +
                   detail::number("%.2g", early) + " (at most 1e-05), later ones by " + detail::number("%.2g", late) + " (more than 0.001)";
  if (!blind) check.cause = "the causal mask is not effective: earlier positions see later ones";
  if (blind && !sees) check.cause = "the changed ids do not reach the model, so the check proves nothing";
  return check;
}

/// With all residual branches silent the logits still follow the ids, since x + 0 is x. forward is the model with its residual-output
/// projections zero (see SilentBranches). A block that forgets to add its input then gives the same logits for every id.
/// This needs a check of its own: the final norm restores the scale, so the loss is that of a good model, and at usual widths later
/// positions still change in verify_causality.
template <class Backend = Cpu, class Forward>
Check verify_residual(Forward&& forward, std::int64_t vocab_size, const VerifyOptions& o = {}) {
  constexpr const char* name = "llm::verify_residual";
  detail::require_verifiable(name, vocab_size, o);
  const auto ids = detail::random_ids(vocab_size, o);
  const auto logits_of = [&](const std::vector<Token>& from) {
    return detail::host_logits(name, forward(detail::inputs_of<Backend>(from, o)), vocab_size, o);
  };
  const auto base = logits_of(ids), changed = logits_of(detail::changed_from(ids, 0, vocab_size, o));
  const double change = detail::largest_change(base, changed, 0, o.length, vocab_size, o.length);
  Check check{"residual path", change > 1e-3 && std::isfinite(change), "", ""};
  check.measured = "with silent branches other ids change the logits by " + detail::number("%.2g", change) + " (more than 0.001)";
  if (!check.passed) check.cause = "a block does not add its input: x = f(norm(x)) in place of x = x + f(norm(x))";
  return check;
}

/// Sets the matrices that write into the residual stream to zero while it lives, and puts their values back.
template <class Model>
class SilentBranches {
 public:
  explicit SilentBranches(Model& model) : model_(model) {
    for_each_output([&](auto& tensor) {
      kept_.push_back(tensor.clone());
      Backend::template fill<T>(tensor.data(), tensor.numel(), 0.0);
    });
  }
  SilentBranches(const SilentBranches&) = delete;
  SilentBranches& operator=(const SilentBranches&) = delete;
  ~SilentBranches() {
    std::size_t at = 0;
    for_each_output([&](auto& tensor) { Backend::template copy<T>(tensor.data(), std::as_const(kept_[at++]).data(), tensor.numel()); });
  }

 private:
  using T = typename Model::T;
  using Backend = typename Model::backend_type;
  template <class F>
  void for_each_output(F&& f) {
    model_.for_each_parameter([&](auto& p) {
      if (p.kind() == ParameterKind::residual_output) f(p.tensor());
    });
  }

  Model& model_;
  std::vector<Tensor<T, Shape<dyn>, Backend>> kept_;
};

/// Sum over for_each_parameter.
template <class Model>
std::int64_t summed_parameters(const Model& model) {
  std::int64_t sum = 0;
  model.for_each_parameter([&](const auto& p) { sum += p.numel(); });
  return sum;
}

namespace detail {

/// A model as a callable that keeps its last result: checks in a row begin with the same ids.
template <class Model>
class LastForward {
 public:
  explicit LastForward(const Model& model) : model_(model) {}
  typename Model::Logits operator()(const typename Model::Ids& ids) {
    std::vector<Token> values = ids.to_vector();
    if (!logits_ || values != ids_) logits_ = model_(ids);
    ids_ = std::move(values);
    return logits_;
  }

 private:
  const Model& model_;
  std::vector<Token> ids_;
  typename Model::Logits logits_;
};

}  // namespace detail

/// All checks of an LLM fresh from random(): two forward passes and two short ones with silent branches; the model ends as it began.
/// `report` is called with each Check as soon as it is known. True when all passed. length is cut to max_seq_len; more_counts are held
/// against the Config too.
template <class Model, class Report>
bool verify(Model& model, Report&& report, VerifyOptions o = {}, std::span<const NamedCount> more_counts = {}) {
  using Backend = typename Model::backend_type;
  constexpr const Config& c = Model::config;
  o.length = (std::min)(o.length, c.max_seq_len);
  bool passed = true;
  const auto add = [&](const Check& check) {
    passed = passed && check.passed;
    report(check);
  };
  std::vector<NamedCount> counts{{"for_each_parameter", summed_parameters(model)}};
  counts.insert(counts.end(), more_counts.begin(), more_counts.end());
  add(verify_parameter_count(c, counts));
  detail::LastForward<Model> forward(model);
  add(verify_shape<Backend>(forward, c.vocab_size, o));
  add(verify_initial_loss<Backend>(forward, c.vocab_size, c.d_model, o));
  add(verify_causality<Backend>(forward, c.vocab_size, o));
  const SilentBranches silent(model);
  o.length = (std::min)(o.length, std::int64_t{8});
  add(verify_residual<Backend>([&](const typename Model::Ids& ids) { return model(ids); }, c.vocab_size, o));
  return passed;
}

}  // namespace llm
