// The keys and values of earlier positions, appended in place.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <llm/model/config.hpp>
#include <llm/model/rules.hpp>
#include <llm/nn/pass.hpp>

namespace llm {

/// Room for `capacity` positions of `batch` sequences, elements of type KV: per layer k and v [batch, capacity, K, E], k after norm and
/// rotation. Rows may have different lengths. Appending past the capacity throws llm::ShapeError before anything is written; after any
/// error the cache is as it was before the call.
template <const Config& C, class KV = float, class Backend = Cpu>
class KvCache {
 public:
  static constexpr std::int64_t K = C.kv_heads(), E = C.head_width();
  using Keys = Tensor<KV, Shape<C.n_layers, dyn, dyn, K, E>, Backend>;

  explicit KvCache(std::int64_t batch = 1, std::int64_t capacity = C.max_seq_len) : batch_(batch), capacity_(capacity) {
    if (batch < 1) throw ShapeError(detail::concat("llm::KvCache: batch ", batch, " is not positive"));
    if (capacity < 1 || capacity > C.max_seq_len)
      throw ShapeError(detail::concat("llm::KvCache: capacity ", capacity, " is not in 1 .. max_seq_len ", C.max_seq_len));
    k_ = Keys::empty({batch, capacity});
    v_ = Keys::empty({batch, capacity});
    starts_ = decltype(starts_)::empty({batch});
    ends_ = decltype(ends_)::empty({batch});
    lengths_.assign(static_cast<std::size_t>(batch), 0);
    next_lengths_ = lengths_;
  }
  KvCache(KvCache&&) = default;
  KvCache& operator=(KvCache&&) = default;

  std::int64_t batch() const { return batch_; }
  std::int64_t capacity() const { return capacity_; }
  /// Positions cached for a row.
  std::int64_t length(std::int64_t row = 0) const { return lengths_[checked_row(row)]; }
  std::int64_t bytes() const { return 2 * k_.numel() * static_cast<std::int64_t>(sizeof(KV)); }

  /// Positions cached for every row.
  std::span<const std::int64_t> lengths() const { return lengths_; }

  /// Forgets everything.
  void reset() { lengths_.assign(lengths_.size(), 0); }
  /// Keeps the first `length` positions of a row. Throws ValueError when there are fewer.
  void truncate(std::int64_t row, std::int64_t length) {
    const std::size_t at = checked_row(row);
    if (length < 0 || length > lengths_[at])
      throw ValueError(detail::concat("llm::KvCache::truncate: row ", row, " has ", lengths_[at], " positions, not ", length));
    lengths_[at] = length;
  }

  /// Room for more positions, up to max_seq_len. What rows hold is copied, keys first, and the memory before goes back to the system: so
  /// half as much again lives meanwhile. What throws leaves the cache as it was. Throws ShapeError for a capacity beyond max_seq_len; does
  /// nothing when there is as much room already.
  void grow(std::int64_t capacity) {
    if (capacity <= capacity_) return;
    KvCache larger(batch_, capacity);  // untouched memory, which takes none of the machine's
    move_rows(larger, &KvCache::k_);
    move_rows(larger, &KvCache::v_);
    capacity_ = capacity;
  }

  /// What one row holds, apart from the cache: k and v [L, length, K, E].
  struct Row {
    Tensor<KV, Shape<C.n_layers, dyn, K, E>, Backend> k, v;
    std::int64_t length() const { return k.extent(1); }
  };
  /// A copy of a row.
  Row save(std::int64_t row = 0) const {
    const std::int64_t kept = length(row);
    Row out{decltype(Row::k)::empty({kept}), decltype(Row::v)::empty({kept})};
    for (std::int64_t i = 0; i < C.n_layers; ++i) {
      copy_positions(k_.data() + offset(i, row), out.k.data() + i * kept * K * E, kept);
      copy_positions(v_.data() + offset(i, row), out.v.data() + i * kept * K * E, kept);
    }
    return out;
  }
  /// Puts a copy in the place of what a row holds. Throws ShapeError when it is longer than the capacity.
  void restore(std::int64_t row, const Row& saved) {
    const std::size_t at = checked_row(row);
    const std::int64_t kept = saved.length();
    if (kept > capacity_) throw ShapeError(detail::concat("llm::KvCache::restore: ", kept, " positions exceed the capacity ", capacity_));
    for (std::int64_t i = 0; i < C.n_layers; ++i) {
      copy_positions(saved.k.data() + i * kept * K * E, k_.data() + offset(i, row), kept);
      copy_positions(saved.v.data() + i * kept * K * E, v_.data() + offset(i, row), kept);
    }
    lengths_[at] = kept;
  }
  /// Puts a copy of the first `length` positions of row `from` in the place of what row `to` holds. Throws ValueError when there are fewer.
  void copy_row(std::int64_t from, std::int64_t to, std::int64_t length) {
    if (length < 0 || length > lengths_[checked_row(from)])
      throw ValueError(detail::concat("llm::KvCache::copy_row: row ", from, " has ", this->length(from), " positions, not ", length));
    const std::size_t at = checked_row(to);
    for (std::int64_t i = 0; from != to && i < C.n_layers; ++i) {
      copy_positions(k_.data() + offset(i, from), k_.data() + offset(i, to), length);
      copy_positions(v_.data() + offset(i, from), v_.data() + offset(i, to), length);
    }
    lengths_[at] = length;
  }

  /// All layers' keys and values [L, batch, capacity, K, E]; positions from length(row) on hold nothing of meaning.
  const Keys& keys() const { return k_; }
  const Keys& values() const { return v_; }

  /// Throws ShapeError when `time` positions behind `start` are more than the capacity.
  static void require_room(std::int64_t start, std::int64_t time, std::int64_t capacity) {
    if (start + time > capacity)
      throw ShapeError(
          detail::concat("llm::KvCache: ", start, " cached + ", time, " new positions exceed ",
                         capacity == C.max_seq_len ? "max_seq_len " : "the capacity ", capacity,
                         capacity == C.max_seq_len ? " (hint: raise Config::max_seq_len)" : " (hint: allocate a larger cache)"));
  }

  /// A pass of T new positions for rows [first, first + count). For LLM: plan, run the layers, commit.
  struct Plan {
    std::int64_t first, count, start;  // start: of every row, when `uniform`
    bool uniform;
    std::int64_t furthest, longest;  // largest start; largest length afterwards
  };

  /// Checks that T more positions fit the rows; changes nothing but workspace.
  Plan plan(std::int64_t first, std::int64_t count, std::int64_t time) {
    if (first < 0 || count < 1 || count > batch_ - first)
      throw ShapeError(detail::concat("llm::KvCache: ", count, " rows from row ", first, " of a cache with ", batch_, " rows"));
    Plan plan{first, count, length(first), true, 0, 0};
    for (std::int64_t row = first; row < first + count; ++row) {
      const std::int64_t start = length(row);
      require_room(start, time, capacity_);
      plan.uniform = plan.uniform && start == plan.start;
      plan.furthest = (std::max)(plan.furthest, start);
      next_lengths_[static_cast<std::size_t>(row)] = start + time;
    }
    plan.longest = plan.furthest + time;
    const auto n = static_cast<std::size_t>(count), bytes = n * sizeof(std::int64_t);
    Backend::memory::copy_from_host(starts_.data(), lengths_.data() + first, bytes);
    Backend::memory::copy_from_host(ends_.data(), next_lengths_.data() + first, bytes);
    return plan;
  }
  CacheLayer<KV, Backend> layer(std::int64_t i, const Plan& plan) {
    const std::int64_t at = offset(i, plan.first);
    return {k_.data() + at, v_.data() + at, capacity_ * K * E, starts_.data(), plan.uniform ? nullptr : ends_.data(), plan.longest};
  }
  Positions<Backend> positions(const Plan& plan) const {
    if (plan.uniform) return Positions<Backend>::from(plan.start);
    return {0, {starts_.buffer(), {}, {plan.count}}, plan.furthest};  // of the rows of this pass
  }
  void commit(const Plan& plan) {
    for (std::int64_t row = plan.first; row < plan.first + plan.count; ++row)
      lengths_[static_cast<std::size_t>(row)] = next_lengths_[static_cast<std::size_t>(row)];
  }

 private:
  void move_rows(KvCache& larger, Keys KvCache::*part) {
    for (std::int64_t row = 0; row < batch_; ++row)
      for (std::int64_t i = 0; i < C.n_layers; ++i)
        copy_positions((this->*part).data() + offset(i, row), (larger.*part).data() + larger.offset(i, row), length(row));
    this->*part = std::exchange(larger.*part, {});
    trim_pool<Backend>();
  }
  /// Where a row of a layer begins.
  std::int64_t offset(std::int64_t layer, std::int64_t row) const { return (layer * batch_ + row) * capacity_ * K * E; }
  static void copy_positions(const KV* from, KV* to, std::int64_t count) { Backend::template copy<KV>(to, from, count * K * E); }
  std::size_t checked_row(std::int64_t row) const {
    if (row < 0 || row >= batch_) throw ShapeError(detail::concat("llm::KvCache: row ", row, " of a cache with ", batch_, " rows"));
    return static_cast<std::size_t>(row);
  }

  std::int64_t batch_, capacity_;
  Keys k_, v_;
  Tensor<std::int64_t, Shape<dyn>, Backend> starts_, ends_;
  std::vector<std::int64_t> lengths_, next_lengths_;
};

namespace detail {
/// What a model or cache that cannot be built is made of once that is reported.
inline constexpr Config stand_in{.vocab_size = 2, .d_model = 2, .n_layers = 1, .n_heads = 1, .ffn_dim = 1, .max_seq_len = 1};
}  // namespace detail

/// The cache of a model whose Config is wrong or not built yet reports that.
template <const Config& C, class KV, class Backend>
requires(!buildable_config<C>) class KvCache<C, KV, Backend> : public KvCache<detail::stand_in, KV, Backend> {
  static_assert(sizeof(WhyNotBuildable<C>) > 0);  // no base, as in broken_llm.hpp

 public:
  using KvCache<detail::stand_in, KV, Backend>::KvCache;
};

}  // namespace llm
