// Threads that share the indices of a loop with the thread that calls it. Nobody waits for a thread that has taken no index: when one
// does not run, because another program has its core, the others do its part.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <thread>
#include <utility>

#include <llm/backend/cpu/blocks.hpp>
#include <llm/backend/cpu/share.hpp>
#include <llm/backend/cpu/workspace.hpp>
#include <llm/detail/platform.hpp>
#include <llm/detail/thread.hpp>

namespace llm::cpu {

/// A loop without the type of its body. run(body, begin, end) is called for pieces of [0, count) of `step` indices; the last may be
/// shorter.
struct Loop {
  void (*run)(const void* body, std::int64_t begin, std::int64_t end);
  const void* body;
  std::int64_t count, step;
  std::int64_t work;  // of one index, in nanoseconds or so
};

/// A calling thread and its helpers. Each has a share of the pieces, the same at each call, whose data its cache may still hold; who has
/// finished its own takes from the ends of the others'. A team serves one caller at a time and is never destroyed: helpers sleep while
/// there is nothing to do, and end with the process.
class Team {
 public:
  Team() { caller_.next.store(&caller_, std::memory_order_relaxed); }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// What to do with a new helper, the k-th of a team, counted from 1.
  using Prepare = void (*)(std::thread& helper, int k);

  /// Runs the loop on the calling thread and at most `threads` - 1 helpers, fewer when the system gives no more threads. Threads that
  /// wait spin for a moment if `spin`. Throws the first exception of the body when all threads have left it.
  void run(const Loop& loop, int threads, bool spin, Prepare prepare) {
    threads = with_helpers(threads, loop, prepare);
    const std::int64_t pieces = ceil_div(loop.count, loop.step);
    loop_ = loop;
    modes_ = detail::float_modes();
    finished_.store(0, std::memory_order_relaxed);
    spin_.store(spin, std::memory_order_relaxed);
    Member* member = &caller_;
    for (int k = 0; k < threads; ++k, member = next(member)) member->share.put(pieces * k / threads, pieces * (k + 1) / threads, threads);
    member = &caller_;
    for (int k = 1; k < threads; ++k) {
      member = next(member);
      member->calls.fetch_add(1);
      member->calls.notify_one();
    }
    ThisThread::in_loop() = true;
    const auto others = static_cast<std::uint32_t>(pieces - work(caller_));
    ThisThread::in_loop() = false;
    for (std::uint32_t seen = 0; (seen = finished_.load(std::memory_order_acquire)) != others;)
      if (!spin || !changes_soon(finished_, seen)) finished_.wait(seen);
    if (failed_.load(std::memory_order_relaxed)) {
      failed_.store(false, std::memory_order_relaxed);
      std::rethrow_exception(std::exchange(error_, nullptr));
    }
    if (grown_.load(std::memory_order_relaxed)) level_workspaces();
  }

  /// The calling thread becomes the caller of this team, or no longer is.
  void join() {
    ThisThread::workspaces().tell(&grown_);
    grown_.store(true, std::memory_order_relaxed);
  }
  void leave() { ThisThread::workspaces().tell(nullptr); }

  Team* next_spare = nullptr;

 private:
  static constexpr std::int64_t worth_waking = 100'000;  // nanoseconds of work

  struct alignas(128) Member {
    Share share;
    int index = 0;                        // in the team, where the caller is 0
    std::atomic<std::uint32_t> calls{0};  // how often it was asked to look for pieces
    std::atomic<std::uint32_t> ready{0};
    std::atomic<bool> asleep{false};
    std::atomic<Member*> next{nullptr};  // all members are a ring
  };
  struct Helper : Member {
    Workspaces workspaces;
    ReadAhead reads;
    unsigned modes = 0;  // its float_modes
  };
  /// A library stays loaded as long as a thread has an object with a destructor in it.
  struct KeepsLibrary {
    ~KeepsLibrary() {}
  };

  static Member* next(Member* member) { return member->next.load(std::memory_order_acquire); }

  /// How many threads shall work, the caller among them. Waking a helper costs the caller some microseconds: one small loop is not worth
  /// it, many one after the other are.
  int with_helpers(int threads, const Loop& loop, Prepare prepare) {
    while (size_ < (std::min)(threads, most_))
      if (add_helper(prepare))
        ++size_;
      else
        most_ = size_;
    threads = (std::min)(threads, size_);
    int awake = 1;
    for (Member* m = next(&caller_); awake < threads && !m->asleep.load(std::memory_order_relaxed); m = next(m)) ++awake;
    unhelped_ = awake == threads ? 0 : unhelped_ + (std::min)(loop.work, worth_waking / loop.count + 1) * loop.count;
    if (unhelped_ < worth_waking) return awake;
    unhelped_ = 0;
    return threads;
  }

  bool add_helper(Prepare prepare) {
    std::unique_ptr<Helper> helper;
    try {
      helper = std::make_unique<Helper>();
      helper->index = size_;
      helper->workspaces.tell(&grown_);
      std::thread thread([this, me = helper.get()] { serve(*me); });
      prepare(thread, size_);
      thread.detach();
    } catch (const std::exception&) {
      return false;  // the system has no more threads, or no memory for them
    }
    helper->ready.wait(0);  // what its start allocates belongs to this call
    helper->next.store(&caller_, std::memory_order_relaxed);
    last_->next.store(helper.get(), std::memory_order_release);
    last_ = helper.release();
    grown_.store(true, std::memory_order_relaxed);
    return true;
  }

  [[noreturn]] void serve(Helper& me) {
    static thread_local KeepsLibrary keeps;
    static_cast<void>(keeps);
    ThisThread::given_workspaces() = &me.workspaces;
    ThisThread::read_ahead() = &me.reads;
    ThisThread::in_loop() = true;
    me.modes = detail::float_modes();
    me.ready.store(1);
    me.ready.notify_one();
    for (std::uint32_t seen = 0;;) {
      const bool spin = spin_.load(std::memory_order_relaxed);
      while (spin && me.calls.load(std::memory_order_relaxed) == seen && me.reads.fetch_some()) {
      }
      if (!spin || !changes_soon(me.calls, seen)) {
        me.asleep.store(true, std::memory_order_relaxed);
        me.calls.wait(seen);
        me.asleep.store(false, std::memory_order_relaxed);
      }
      seen = me.calls.load(std::memory_order_acquire);
      me.reads.begin_loop();
      if (const std::int64_t done = work(me, &me.modes); done > 0) {
        finished_.fetch_add(static_cast<std::uint32_t>(done));
        finished_.notify_one();
      }
    }
  }

  /// Does pieces until none is left to take, and says how many. A helper passes its modes, which become the caller's. The loop does not
  /// end, and its fields do not change, between the taking of a piece and the report.
  std::int64_t work(Member& me, unsigned* modes = nullptr) {
    std::int64_t done = 0;
    Member* from = &me;
    do {
      for (;; ++done) {
        const std::int64_t piece = from->share.take(from == &me ? Share::End::front : Share::End::back, me.index);
        if (piece < 0) break;
        if (modes != nullptr && *modes != modes_) detail::set_float_modes(*modes = modes_);
        done += perform(piece);
      }
      from = next(from);
    } while (from != &me);
    return done;
  }

  /// Does a piece. When it throws, the pieces that are left are done with, too; says how many these are.
  std::int64_t perform(std::int64_t piece) {
    try {
      const std::int64_t begin = piece * loop_.step;
      loop_.run(loop_.body, begin, (std::min)(begin + loop_.step, loop_.count));
      return 0;
    } catch (...) {
      if (!failed_.exchange(true, std::memory_order_relaxed)) error_ = std::current_exception();
      std::int64_t dropped = 0;
      Member* member = &caller_;
      do {
        dropped += member->share.take_all();
        member = next(member);
      } while (member != &caller_);
      return dropped;
    }
  }

  /// Gives each thread the room that any of them needed: next time another one may get the piece that needs it. Where memory does not
  /// suffice, a thread asks for it in the loop that needs it.
  void level_workspaces() {
    try {
      for (int i = 0; i < Workspaces::slots; ++i)
        if (static_cast<Slot>(i) != Slot::shared) level(static_cast<Slot>(i));
    } catch (const std::exception&) {
    }
    grown_.store(false, std::memory_order_relaxed);
  }
  void level(Slot slot) {
    std::size_t most = ThisThread::workspaces().bytes(slot);
    for (Member* m = next(&caller_); m != &caller_; m = next(m)) most = (std::max)(most, static_cast<Helper*>(m)->workspaces.bytes(slot));
    ThisThread::workspaces().get(slot, most);
    for (Member* m = next(&caller_); m != &caller_; m = next(m)) static_cast<Helper*>(m)->workspaces.get(slot, most);
  }

  Member caller_;
  Member* last_ = &caller_;
  int size_ = 1, most_ = (std::numeric_limits<int>::max)();
  std::int64_t unhelped_ = 0;  // work since helpers were last called
  Loop loop_{};
  unsigned modes_ = 0;  // the caller's float_modes
  std::exception_ptr error_;
  alignas(128) std::atomic<std::uint32_t> finished_{0};  // pieces that helpers have done
  std::atomic<bool> spin_{true}, failed_{false}, grown_{false};
};

}  // namespace llm::cpu
