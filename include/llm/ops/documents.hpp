// Where documents begin that stand one after another in the rows of a batch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/tensor/host_memory.hpp>
#include <llm/tensor/tensor.hpp>

namespace llm {

/// The documents of a packed batch [B, T]: attention sees no position of another document. Without any each row is one document. A copy
/// shares the boundaries; the batch's ids may change, the boundaries do not.
class Documents {
 public:
  Documents() = default;
  /// A document ends with each `separator` in ids [B, T], and with its row.
  template <class Backend>
  static Documents ending_with(Token separator, const Tensor<Token, Shape<dyn, dyn>, Backend>& ids) {
    const std::vector<Token> values = ids.to_vector();
    const std::int64_t time = ids.extent(1);
    std::vector<std::int64_t> lengths;
    std::int64_t length = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      ++length;
      if (values[i] != separator && static_cast<std::int64_t>(i + 1) % time != 0) continue;
      lengths.push_back(length);
      length = 0;
    }
    return of_lengths(lengths, ids.extent(0), time);
  }
  /// The lengths of all documents, row after row. Throws ShapeError when they do not fill each of the B rows of T.
  static Documents of_lengths(std::span<const std::int64_t> lengths, std::int64_t batch, std::int64_t time) {
    Documents out;
    out.batch_ = batch;
    out.time_ = time;
    out.count_ = static_cast<std::int64_t>(lengths.size());
    out.starts_ = detail::Pool<HostMemory>::instance().allocate((lengths.size() + 1) * sizeof(std::int64_t));
    auto* const starts = static_cast<std::int64_t*>(out.starts_->data);
    starts[0] = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const std::int64_t left = time == 0 ? 0 : time - starts[i] % time;  // in the row
      if (lengths[i] < 1 || lengths[i] > left || starts[i] >= batch * time)
        throw ShapeError(detail::concat("llm::Documents: document ", i, " has ", lengths[i], " tokens, where ",
                                        starts[i] >= batch * time ? 0 : left, " are left of its row of ", time));
      starts[i + 1] = starts[i] + lengths[i];
    }
    if (starts[lengths.size()] != batch * time)
      throw ShapeError(detail::concat("llm::Documents: ", lengths.size(), " documents have ", starts[lengths.size()], " tokens, expected ",
                                      batch, " rows of ", time));
    return out;
  }

  explicit operator bool() const { return static_cast<bool>(starts_); }
  std::int64_t batch() const { return batch_; }
  std::int64_t time() const { return time_; }
  std::int64_t count() const { return count_; }
  /// Where document i begins in the rows laid end to end; start(count()) is their end.
  std::int64_t start(std::int64_t i) const { return static_cast<const std::int64_t*>(starts_->data)[i]; }

 private:
  detail::BufferRef starts_;
  std::int64_t batch_ = 0, time_ = 0, count_ = 0;
};

namespace detail {
/// Throws ShapeError unless the documents, if there are any, are of a batch [B, T].
inline void require_documents_of(const Documents& documents, std::int64_t batch, std::int64_t time) {
  if (documents && (documents.batch() != batch || documents.time() != time))
    throw ShapeError(concat("llm::Documents: of a batch [", documents.batch(), ", ", documents.time(), "], not [", batch, ", ", time, "]"));
}
}  // namespace detail

}  // namespace llm
