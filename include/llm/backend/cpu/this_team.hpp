// The team of the calling thread.
#pragma once

#include <mutex>
#include <new>
#include <utility>

#include <llm/backend/cpu/team.hpp>
#include <llm/detail/platform.hpp>
#include <llm/detail/thread.hpp>

namespace llm::cpu {

/// Teams of threads that have ended, for threads to come.
struct LLM_SHARED SpareTeams {
  std::mutex mutex;
  Team* first = nullptr;

  static SpareTeams& instance() {
    static SpareTeams& spare = *new SpareTeams;  // never destroyed: threads end when they like
    return spare;
  }
  Team* take() {
    const std::lock_guard lock(mutex);
    return first == nullptr ? nullptr : std::exchange(first, first->next_spare);
  }
  void give(Team* team) {
    const std::lock_guard lock(mutex);
    team->next_spare = std::exchange(first, team);
  }
};

/// The team of the calling thread. After a fork the child has none, since it has no other threads.
class LLM_SHARED ThisTeam {
 public:
  static Team& get() {
    if (team() == nullptr) take();
    return *team();
  }

 private:
  /// Loops of objects that are destroyed later, as static ones are, stay on the thread.
  struct Return {
    ~Return() {
      ThisThread::in_loop() = true;
      if (Team* const mine = std::exchange(team(), nullptr)) {
        mine->leave();
        SpareTeams::instance().give(mine);
      }
    }
  };

  static Team*& team() {
    static thread_local Team* mine = nullptr;
    return mine;
  }
  static void take() {
    static const bool forgets = (detail::after_fork(&forget), true);
    ThisThread::workspaces();  // made before `at_exit`, so they outlive it
    static thread_local Return at_exit;
    team() = SpareTeams::instance().take();
    if (team() == nullptr) team() = new Team;
    team()->join();
    static_cast<void>(forgets), static_cast<void>(at_exit);
  }
  static void forget() {
    team() = nullptr;
    ::new (&SpareTeams::instance()) SpareTeams;
  }
};

}  // namespace llm::cpu
