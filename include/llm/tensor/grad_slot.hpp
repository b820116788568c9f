// The place where a tensor's gradient appears: shared by all views of the tensor, filled by Tape::backward.
#pragma once

#include <mutex>

#include <llm/tensor/storage.hpp>

namespace llm::detail {

/// A leaf (parameter, tracked input) keeps its gradient; an intermediate's is dropped as soon as its producer has used it. A wide slot
/// holds the gradient of a tensor of T as gradient_t<T>, another one as T.
struct GradSlot {
  std::atomic<std::int32_t> references{0};
  BufferRef grad;  // null: no gradient yet, which means zero
  bool keep = false;
  bool wide = false;
  GradSlot* next = nullptr;
};

/// Recycles slots, so that recording a step like the last one allocates nothing.
class LLM_SHARED GradSlots {
 public:
  static GradSlots& instance() {
    static GradSlots& slots = *new GradSlots;
    return slots;
  }
  GradSlot* take(bool keep, bool wide) {
    const std::lock_guard lock(mutex_);
    GradSlot* slot = free_;
    if (slot)
      free_ = slot->next;
    else
      slot = new GradSlot;
    slot->keep = keep;
    slot->wide = wide;
    return slot;
  }
  void give_back(GradSlot* slot) noexcept {
    slot->grad.reset();
    const std::lock_guard lock(mutex_);
    slot->next = free_;
    free_ = slot;
  }

 private:
  std::mutex mutex_;
  GradSlot* free_ = nullptr;
};

inline void retire(GradSlot* slot) noexcept { GradSlots::instance().give_back(slot); }
using SlotRef = Ref<GradSlot>;

inline SlotRef new_slot(bool keep, bool wide = false) { return SlotRef(GradSlots::instance().take(keep, wide)); }

}  // namespace llm::detail
