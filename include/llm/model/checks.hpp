// The acceptance checks of a freshly initialised model, each for any callable from ids to logits.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <llm/model/account.hpp>
#include <llm/model/verify_parts.hpp>

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

/// A way of counting parameters and what it gave.
struct NamedCount {
  std::string_view how;
  std::int64_t count;
};

namespace detail {

inline std::string count_cause(const Config& c, std::int64_t excess) {
  const std::int64_t head = matrices_of(c, Part::embedding).value, layers = c.n_layers;
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

}  // namespace llm
