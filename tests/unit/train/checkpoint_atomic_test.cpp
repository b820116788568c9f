// A checkpoint that is being saved when the process dies or the disk is full: the old one or the new one loads, whole.
#include <llm/train/checkpoint.hpp>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include <support/catch.hpp>
#include <support/child_process.hpp>
#include <support/temporary_folder.hpp>
#include <support/training.hpp>

using namespace llm_test;

using Tiny = llm::LLM<tiny>;

/// Gives every number of a run the same value, so that a mixture of two saves shows.
static void stamp(Training<Tiny>& run, std::int64_t number) {
  const auto value = static_cast<float>(number);
  for (auto& s : run.optimizer.states())
    for (auto* tensor : {&s.parameter.tensor(), &s.m, &s.v})
      for (std::int64_t i = 0; i < tensor->numel(); ++i) tensor->data()[i] = value;
  run.optimizer.set_steps(number);
}

static void save(const std::string& folder, const Training<Tiny>& run) {
  llm::save_checkpoint(folder, run.model, run.optimizer, {7, run.optimizer.steps()});
}

/// The number of the checkpoint that loads into `run`, or -1 when its parts do not agree.
static std::int64_t loaded(const std::string& folder, Training<Tiny>& run) {
  const llm::CheckpointInfo info = llm::load_checkpoint(folder, run.model, run.optimizer);
  if (info.data.step != info.optimizer_steps) return -1;
  for (const float weight : all_weights(run.model))
    if (weight != static_cast<float>(info.optimizer_steps)) return -1;
  for (const double moment : all_moments(run.optimizer))
    if (moment != static_cast<double>(info.optimizer_steps)) return -1;
  return info.optimizer_steps;
}

TEST_CASE("a process killed while saving 200 times always leaves a checkpoint that loads [atomic]") {
  const TemporaryFolder folder;
  Training<Tiny> run;
  stamp(run, 0);
  save(folder.path(), run);
  llm::Rng rng(1);
  std::int64_t number = 0;
  int interrupted = 0;
  for (int kill = 0; kill < 200; ++kill) {
    const ::pid_t child = start_child([&] {
      for (std::int64_t next = number + 1;; ++next) {
        stamp(run, next);
        save(folder.path(), run);
      }
      return 0;
    });
    ::usleep(static_cast<::useconds_t>(rng.below(20'000)));
    ::kill(child, SIGKILL);
    REQUIRE(wait_for_child(child) == -SIGKILL);
    interrupted += std::filesystem::exists(llm::checkpoint_path(folder.path()) + ".tmp") ? 1 : 0;
    const std::int64_t now = loaded(folder.path(), run);
    REQUIRE(now >= number);
    number = now;
  }
  CHECK(number > 0);
  CHECK(interrupted > 0);  // else no kill fell into a save and nothing was tested
}

TEST_CASE("a disk without room for the new checkpoint is an error that leaves the old one [atomic]") {
  const TemporaryFolder folder;
  Training<Tiny> run;
  stamp(run, 3);
  save(folder.path(), run);
  const auto size = std::filesystem::file_size(llm::checkpoint_path(folder.path()));
  const int status = run_in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const ::rlimit limit{size / 2, size / 2};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 98;
    stamp(run, 4);
    try {
      save(folder.path(), run);
    } catch (const llm::FileError& error) {
      return std::string(error.what()).find("File too large") != std::string::npos ? 0 : 2;
    }
    return 1;
  });
  CHECK(status == 0);
  CHECK(loaded(folder.path(), run) == 3);
  CHECK_FALSE(std::filesystem::exists(llm::checkpoint_path(folder.path()) + ".tmp"));
}
