// The emulator's engine: fibers for CUDA threads, the order in which they run, barriers, warp operations, and launches.
//
// Each CUDA thread is a fiber of one OS thread; blocks run one after the other. A warp runs on until the block's barrier before
// the next warp starts, in an order that is a setting, so that a missing barrier shows as a wrong result.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <support/cuda_emulator/context.hpp>
#include <support/cuda_emulator/sanitizers.hpp>

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
inline dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

namespace cuda_emulator {

enum class Order { ascending, descending, random };

/// In which order warps and lanes run (every order is a legal one), and the seed of the random order.
struct Settings {
  Order order = Order::ascending;
  unsigned seed = 1;
  std::size_t stack_bytes = 64 * 1024;
};
inline Settings settings;

enum class State { ready, at_barrier, at_warp_operation, done };

struct Fiber {
  Context context;
  State state = State::ready;
  unsigned number = 0;    // in the block
  unsigned barriers = 0;  // passed
  unsigned mask = 0;      // of the warp operation it waits at
  const char* what = "";  // it waits at
  int line = 0;
  uint3 index{};
  char* stack = nullptr;
  SanitizerFiber sanitizer;

  unsigned lane() const { return number % 32; }
};

/// The warp operations of one mask. Lanes that share a mask have passed the same number of them, so two exchange buffers in turn suffice.
struct MaskGroup {
  unsigned mask = 0;  // 0: free
  std::uint64_t slots[2][32] = {};
  char tokens[2] = {};
  unsigned passed[32] = {};
};
struct Warp {
  MaskGroup groups[8];
};

/// What the threads of one block share beside their memory. New for each block: ThreadSanitizer would remember old tokens.
struct BlockTables {
  std::vector<Warp> warps;
  int votes[2] = {};
  char barrier_tokens[2] = {};
};

struct Engine {
  std::vector<Fiber> fibers;
  std::unique_ptr<BlockTables> tables;
  std::vector<std::unique_ptr<char[]>> stacks;
  std::unique_ptr<unsigned char[]> dynamic_shared;
  unsigned char* dynamic_shared_begin = nullptr;
  std::function<void()> body;
  std::exception_ptr error;
  Context main;
  SanitizerMain sanitizer;
  Fiber* current = nullptr;
  uint3 block{};
  char begin_token = 0, end_token = 0;
};
inline Engine engine;

[[noreturn]] inline void fail(const std::string& text) { throw std::runtime_error("cuda_emulator: " + text); }

/// From the running fiber to the scheduler.
CUDA_EMULATOR_UNSEEN void leave(bool last) {
  Fiber* const fiber = engine.current;
#if CUDA_EMULATOR_ASAN
  __sanitizer_start_switch_fiber(last ? nullptr : &fiber->sanitizer.handle, engine.sanitizer.stack, engine.sanitizer.bytes);
#endif
#if CUDA_EMULATOR_TSAN
  __tsan_switch_to_fiber(engine.sanitizer.handle, __tsan_switch_to_fiber_no_sync);
#endif
  if (last) engine.main.enter();
  fiber->context.switch_to(engine.main);
#if CUDA_EMULATOR_ASAN
  __sanitizer_finish_switch_fiber(fiber->sanitizer.handle, &engine.sanitizer.stack, &engine.sanitizer.bytes);
#endif
}

/// From the scheduler to a fiber; returns when the fiber waits or is done.
CUDA_EMULATOR_UNSEEN void enter(Fiber& fiber) {
  engine.current = &fiber;
#if CUDA_EMULATOR_ASAN
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, fiber.stack, settings.stack_bytes);
#endif
#if CUDA_EMULATOR_TSAN
  __tsan_switch_to_fiber(fiber.sanitizer.handle, __tsan_switch_to_fiber_no_sync);
#endif
  engine.main.switch_to(fiber.context);
#if CUDA_EMULATOR_ASAN
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

/// Where every fiber begins.
CUDA_EMULATOR_UNSEEN void start() {
#if CUDA_EMULATOR_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &engine.sanitizer.stack, &engine.sanitizer.bytes);
#endif
  order_to(&engine.begin_token);
  try {
    engine.body();
  } catch (...) {
    engine.error = std::current_exception();
  }
  order_from(&engine.end_token);
  engine.current->state = State::done;
  leave(true);
}

/// Waits at the block's barrier.
CUDA_EMULATOR_UNSEEN void barrier(const char* what, int line) {
  Fiber* const fiber = engine.current;
  char* const token = &engine.tables->barrier_tokens[fiber->barriers++ & 1];
  fiber->state = State::at_barrier;
  fiber->what = what;
  fiber->line = line;
  order_from(token);
  leave(false);
  order_to(token);
}

/// Waits at a barrier and counts the threads that came with `vote`.
CUDA_EMULATOR_UNSEEN int vote_at_barrier(bool vote, const char* what, int line) {
  int* const votes = &engine.tables->votes[engine.current->barriers & 1];
  *votes += vote ? 1 : 0;
  barrier(what, line);
  return *votes;
}

CUDA_EMULATOR_UNSEEN MaskGroup& group_of(unsigned mask, const char* what) {
  const Fiber& fiber = *engine.current;
  if ((mask >> fiber.lane() & 1u) == 0) fail(std::string(what) + ": the lane is not in its mask");
  for (MaskGroup& group : engine.tables->warps[fiber.number / 32].groups) {
    if (group.mask == 0) group.mask = mask;
    if (group.mask == mask) return group;
  }
  fail(std::string(what) + ": more than 8 different masks in one warp");
}

/// Exchanges 64 bits with the lanes of the mask; returns what each lane gave. The result is valid until the lane's next operation but one.
CUDA_EMULATOR_UNSEEN const std::uint64_t* warp_operation(unsigned mask, std::uint64_t given, const char* what) {
  Fiber* const fiber = engine.current;
  MaskGroup& group = group_of(mask, what);
  const unsigned turn = group.passed[fiber->lane()]++ & 1;
  group.slots[turn][fiber->lane()] = given;
  fiber->state = State::at_warp_operation;
  fiber->mask = mask;
  fiber->what = what;
  order_from(&group.tokens[turn]);
  leave(false);
  order_to(&group.tokens[turn]);
  return group.slots[turn];
}

CUDA_EMULATOR_UNSEEN uint3 block_index() { return engine.block; }
CUDA_EMULATOR_UNSEEN uint3 thread_index() { return engine.current->index; }

/// Whether all lanes in the mask of this lane have come to the operation at which it waits.
inline bool complete(const Fiber* lanes, unsigned count, const Fiber& lane) {
  if (lane.state != State::at_warp_operation) return false;
  if (count < 32 && lane.mask >> count != 0) return false;
  for (unsigned j = 0; j < count; ++j) {
    if ((lane.mask >> j & 1u) == 0) continue;
    const Fiber& other = lanes[j];
    if (other.state != State::at_warp_operation || other.mask != lane.mask || std::strcmp(other.what, lane.what) != 0) return false;
  }
  return true;
}

/// Lets go the lanes of a warp whose operation is complete; true if there were any.
inline bool open_warp(unsigned warp) {
  const unsigned count = (std::min)(32u, static_cast<unsigned>(engine.fibers.size()) - warp * 32);
  Fiber* const lanes = &engine.fibers[std::size_t{warp} * 32];
  bool opened = false;
  for (unsigned l = 0; l < count; ++l) {
    if (!complete(lanes, count, lanes[l])) continue;
    const unsigned mask = lanes[l].mask;
    for (unsigned j = 0; j < count; ++j)
      if ((mask >> j & 1u) != 0) lanes[j].state = State::ready;
    opened = true;
  }
  return opened;
}

/// Opens the block's barrier, at which every thread that has not returned must wait, on the same line.
inline void open_barrier() {
  const auto waits = [](const Fiber& f) { return f.state == State::at_barrier; };
  const auto first = std::find_if(engine.fibers.begin(), engine.fibers.end(), waits);
  const bool all = std::all_of(engine.fibers.begin(), engine.fibers.end(),
                               [&](const Fiber& f) { return f.state == State::done || (waits(f) && f.line == first->line); });
  if (all) {
    engine.tables->votes[first->barriers & 1] = 0;  // of the next barrier
    for (Fiber& f : engine.fibers)
      if (waits(f)) f.state = State::ready;
    return;
  }
  std::string text = "block " + std::to_string(engine.block.x) + "," + std::to_string(engine.block.y) + " hangs:";
  for (const Fiber& f : engine.fibers) {
    text += " thread " + std::to_string(f.number) + " " + (f.state == State::done ? "returned" : f.what);
    if (waits(f)) text += " line " + std::to_string(f.line);
    text += ";";
  }
  fail(text);
}

/// The block's fibers, gone at its end however it ends.
class BlockFibers {
 public:
  explicit BlockFibers(unsigned count) {
    if (CUDA_EMULATOR_TSAN) engine.stacks.clear();  // new memory, without the accesses of earlier blocks
    while (engine.stacks.size() < count) engine.stacks.push_back(std::make_unique_for_overwrite<char[]>(settings.stack_bytes));
    engine.fibers.assign(count, Fiber{});
    for (unsigned t = 0; t < count; ++t) prepare(engine.fibers[t], t);
  }
  ~BlockFibers() {
    for (Fiber& fiber : engine.fibers) fiber.sanitizer.destroy();
  }
  BlockFibers(const BlockFibers&) = delete;
  BlockFibers& operator=(const BlockFibers&) = delete;

 private:
  static void prepare(Fiber& fiber, unsigned number) {
    fiber.number = number;
    fiber.index = {number % blockDim.x, number / blockDim.x % blockDim.y, number / (blockDim.x * blockDim.y)};
    fiber.stack = engine.stacks[number].get();
    renew_stack(fiber.stack, settings.stack_bytes);
    fiber.context.prepare(fiber.stack, settings.stack_bytes, start);
    fiber.sanitizer.create();
  }
};

/// Runs one warp until all its threads wait at the block's barrier, hang or are done; returns how many became done.
inline unsigned run_warp(unsigned warp, std::vector<unsigned>& lanes, std::mt19937& random) {
  unsigned done = 0;
  do {
    if (settings.order == Order::random) std::shuffle(lanes.begin(), lanes.end(), random);
    for (const unsigned lane : lanes) {
      const std::size_t number = std::size_t{warp} * 32 + lane;
      if (number >= engine.fibers.size() || engine.fibers[number].state != State::ready) continue;
      enter(engine.fibers[number]);
      if (engine.error) std::rethrow_exception(std::exchange(engine.error, nullptr));
      done += engine.fibers[number].state == State::done ? 1u : 0u;
    }
  } while (open_warp(warp));
  return done;
}

inline void run_block() {
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  renew_shared_arrays();
  const BlockFibers fibers(threads);
  auto tables = std::make_unique<BlockTables>();
  tables->warps.resize((threads + 31) / 32);
  engine.tables = std::move(tables);
  engine.sanitizer.begin();
  order_from(&engine.begin_token);
  std::vector<unsigned> warps(engine.tables->warps.size()), lanes(32);
  std::iota(warps.begin(), warps.end(), 0u);
  std::iota(lanes.begin(), lanes.end(), 0u);
  if (settings.order == Order::descending) {
    std::reverse(warps.begin(), warps.end());
    std::reverse(lanes.begin(), lanes.end());
  }
  std::mt19937 random(settings.seed);
  for (unsigned done = 0; done < threads;) {
    if (settings.order == Order::random) std::shuffle(warps.begin(), warps.end(), random);
    for (const unsigned warp : warps) done += run_warp(warp, lanes, random);
    if (done < threads) open_barrier();
  }
}

/// After a block that did not end: what its fibers did comes before what the scheduler does next.
inline void order_to_abandoned() {
  for (char& token : engine.tables->barrier_tokens) order_to(&token);
  for (Warp& warp : engine.tables->warps)
    for (MaskGroup& group : warp.groups)
      for (char& token : group.tokens) order_to(&token);
  order_to(&engine.end_token);
}

/// Runs a kernel to its end. Throws std::runtime_error when a block hangs or misuses a warp operation.
template <class... P>
void run(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared_bytes, std::type_identity_t<P>... arguments) {
  const SchedulerUnseen unseen;
  gridDim = grid;
  blockDim = block;
  engine.body = [&] { kernel(arguments...); };
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) {
        engine.block = {x, y, z};
        engine.dynamic_shared = std::make_unique_for_overwrite<unsigned char[]>(shared_bytes);  // new: AddressSanitizer sees its bounds
        engine.dynamic_shared_begin = engine.dynamic_shared.get();
        std::memset(engine.dynamic_shared_begin, 0xff, shared_bytes);
        try {
          run_block();
        } catch (...) {
          order_to_abandoned();
          throw;
        }
      }
  order_to(&engine.end_token);
}

}  // namespace cuda_emulator
