// Reference-counted memory from a pool that reuses freed blocks, so that a step like the last one allocates nothing.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include <llm/core/error.hpp>
#include <llm/detail/platform.hpp>

namespace llm {

/// What a pool holds, in bytes. `in_use` and `high_water` count what tensors asked for, `reserved` what the system gave.
struct PoolStatistics {
  std::int64_t in_use = 0;
  std::int64_t high_water = 0;
  std::int64_t reserved = 0;
  std::int64_t system_allocations = 0;
};

namespace detail {

class BufferHome;
struct Slab;

/// One block of memory. Lives in its pool's free list while nobody refers to it, or belongs to a slab and goes with its last reference.
struct Buffer {
  std::atomic<std::int32_t> references{0};
  std::size_t bytes = 0;     // asked for
  std::size_t capacity = 0;  // of the size class
  void* data = nullptr;
  Buffer* next = nullptr;
  BufferHome* home = nullptr;
  Slab* slab = nullptr;  // that the memory is a part of
};

/// A large block whose parts are handed out one behind the other; given back with the last of them.
struct Slab {
  static constexpr std::size_t capacity = std::size_t{16} << 20, largest_part = std::size_t{2} << 20;
  std::byte* data = nullptr;
  std::size_t used = 0;
  std::int64_t parts = 0;
  Slab* next = nullptr;
};

/// The pool a buffer goes back to.
class LLM_SHARED BufferHome {
 public:
  virtual void give_back(Buffer* buffer) noexcept = 0;

 protected:
  ~BufferHome() = default;
};

/// Shared ownership of a T with `references` and a way back (`retire`).
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* target) noexcept : target_(target) { acquire(); }
  Ref(const Ref& other) noexcept : target_(other.target_) { acquire(); }
  Ref(Ref&& other) noexcept : target_(std::exchange(other.target_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(target_, other.target_);
    return *this;
  }
  ~Ref() { reset(); }

  void reset() noexcept {
    T* const target = std::exchange(target_, nullptr);
    if (target && target->references.fetch_sub(1, std::memory_order_acq_rel) == 1) retire(target);
  }
  T* get() const { return target_; }
  T* operator->() const { return target_; }
  T& operator*() const { return *target_; }
  explicit operator bool() const { return target_ != nullptr; }

 private:
  void acquire() noexcept {
    if (target_) target_->references.fetch_add(1, std::memory_order_relaxed);
  }
  T* target_ = nullptr;
};

inline void retire(Buffer* buffer) noexcept { buffer->home->give_back(buffer); }
using BufferRef = Ref<Buffer>;

/// Rounds a byte count up to its size class: multiples of 64, then eight classes to an octave (at most 12.5 % over).
struct SizeClass {
  std::size_t capacity;
  std::size_t index;
  static constexpr std::size_t count = 8 * 64;

  static constexpr SizeClass of(std::size_t bytes) {
    constexpr std::size_t unit = 64;
    const std::size_t n = bytes < unit ? unit : bytes;
    if (n > (std::size_t{1} << 62)) throw ShapeError(concat("llm: a tensor of ", n, " bytes cannot be allocated"));
    const auto octave = static_cast<std::size_t>(std::bit_width(n - 1));  // n is in (2^(octave-1), 2^octave]
    const std::size_t step = octave < 10 ? unit : std::size_t{1} << (octave - 4);
    const std::size_t capacity = (n + step - 1) / step * step;
    return {capacity, octave < 10 ? capacity / unit : octave * 8 + capacity / step % 8};
  }
};

/// All buffers of one memory space (see memory_space in backend/concept.hpp). Thread-safe. Lives as long as the process.
template <class Memory>
class LLM_SHARED Pool final : public BufferHome {
 public:
  static Pool& instance() {
    static Pool& pool = *new Pool;  // never destroyed: tensors with static lifetime may still refer to it
    return pool;
  }

  BufferRef allocate(std::size_t bytes) {
    const SizeClass size = SizeClass::of(bytes);
    const std::lock_guard lock(mutex_);
    Buffer* buffer = free_[size.index];
    if (buffer)
      free_[size.index] = buffer->next;
    else
      buffer = obtain(size.capacity);
    buffer->bytes = bytes;
    note_use(bytes);
    return BufferRef(buffer);
  }

  /// For what stays, as weights do: blocks of up to 2 MiB lie side by side in blocks of 16 MiB, so that they can lie in the system's big
  /// pages, which are read faster; larger ones have such pages anyway. The system gets a block of 16 MiB back when all that lies in it is
  /// free, until then nothing else takes the room.
  BufferRef allocate_lasting(std::size_t bytes) {
    if (checks_every_block || bytes > Slab::largest_part) return allocate(bytes);
    const std::lock_guard lock(mutex_);
    auto buffer = std::make_unique<Buffer>();
    buffer->capacity = (bytes + 63) / 64 * 64;
    buffer->bytes = bytes;
    buffer->home = this;
    put_in_slab(*buffer);
    note_use(bytes);
    return BufferRef(buffer.release());
  }

  void give_back(Buffer* buffer) noexcept override {
    const std::lock_guard lock(mutex_);
    statistics_.in_use -= static_cast<std::int64_t>(buffer->bytes);
    if (buffer->slab != nullptr) return take_from_slab(buffer);
    Buffer*& list = free_[SizeClass::of(buffer->capacity).index];
    buffer->next = list;
    list = buffer;
  }

  PoolStatistics statistics() {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }
  void reset_high_water() {
    const std::lock_guard lock(mutex_);
    statistics_.high_water = statistics_.in_use;
  }
  /// Gives every unused block back to the system.
  void trim() {
    const std::lock_guard lock(mutex_);
    release_unused();
  }

 private:
  Pool() = default;

  void note_use(std::size_t bytes) {
    statistics_.in_use += static_cast<std::int64_t>(bytes);
    if (statistics_.in_use > statistics_.high_water) statistics_.high_water = statistics_.in_use;
  }

  /// The first slab with room, else a new one.
  void put_in_slab(Buffer& buffer) {
    Slab* slab = slabs_;
    while (slab != nullptr && Slab::capacity - slab->used < buffer.capacity) slab = slab->next;
    if (slab == nullptr) {
      auto fresh = std::make_unique<Slab>();
      fresh->data = static_cast<std::byte*>(obtain_memory(Slab::capacity));
      fresh->next = slabs_;
      slabs_ = slab = fresh.release();
    }
    buffer.slab = slab;
    buffer.data = slab->data + slab->used;
    slab->used += buffer.capacity;
    ++slab->parts;
  }
  void take_from_slab(Buffer* buffer) noexcept {
    Slab* const slab = buffer->slab;
    delete buffer;
    if (--slab->parts > 0) return;
    Slab** link = &slabs_;
    while (*link != slab) link = &(*link)->next;
    *link = slab->next;
    statistics_.reserved -= static_cast<std::int64_t>(Slab::capacity);
    Memory::release(slab->data, Slab::capacity);
    delete slab;
  }

  void release_unused() noexcept {
    for (Buffer*& list : free_)
      while (Buffer* const buffer = list) {
        list = buffer->next;
        statistics_.reserved -= static_cast<std::int64_t>(buffer->capacity);
        Memory::release(buffer->data, buffer->capacity);
        delete buffer;
      }
  }

  /// From the system; when it has no more, once again after it got the unused blocks back.
  void* allocate_data(std::size_t capacity) {
    try {
      return Memory::allocate(capacity);
    } catch (...) {
      release_unused();
      return Memory::allocate(capacity);
    }
  }
  void* obtain_memory(std::size_t capacity) {
    void* const data = allocate_data(capacity);
    statistics_.reserved += static_cast<std::int64_t>(capacity);
    ++statistics_.system_allocations;
    return data;
  }

  Buffer* obtain(std::size_t capacity) {
    auto buffer = std::make_unique<Buffer>();
    buffer->capacity = capacity;
    buffer->data = obtain_memory(capacity);
    buffer->home = this;
    return buffer.release();
  }

  std::mutex mutex_;
  Buffer* free_[SizeClass::count] = {};
  Slab* slabs_ = nullptr;
  PoolStatistics statistics_;
};

}  // namespace detail

/// Memory statistics of a backend's pool.
template <class Backend>
PoolStatistics pool_statistics() {
  return detail::Pool<typename Backend::memory>::instance().statistics();
}
/// Starts a new high-water mark at what is in use now.
template <class Backend>
void reset_pool_high_water() {
  detail::Pool<typename Backend::memory>::instance().reset_high_water();
}
/// Gives the unused blocks of a backend's pool back to the system.
template <class Backend>
void trim_pool() {
  detail::Pool<typename Backend::memory>::instance().trim();
}

}  // namespace llm
