// Atomic files: the old content or the new one, whatever fails and whenever the process dies.
#include <llm/io/atomic_file.hpp>

#include <csignal>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/resource.h>
#if defined(__linux__)
#include <sched.h>
#include <sys/mount.h>
#endif

#include <llm/core/rng.hpp>
#include <llm/io/safetensors.hpp>

#include <support/catch.hpp>
#include <support/child_process.hpp>
#include <support/temporary_folder.hpp>

using llm::AtomicFile;
using llm_test::read_file;
using llm_test::TemporaryFolder;
using llm_test::write_file;

static void save(const std::string& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

/// The error's text when saving fails, "" when it does not.
static std::string error_of_save(const std::string& path, std::string_view content) {
  try {
    save(path, content);
    return "";
  } catch (const llm::FileError& error) {
    return error.what();
  }
}

static bool exists(const std::string& path) { return std::filesystem::exists(path); }

TEST_CASE("an atomic file appears at commit and not before [atomic]") {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  write_file(path, "old");
  AtomicFile file(path);
  file.write("new ");
  file.write("content");
  CHECK(read_file(path) == "old");
  file.commit();
  CHECK(read_file(path) == "new content");
  CHECK_FALSE(exists(file.temporary_path()));
  CHECK_THROWS_WITH(file.write("more"), Catch::Contains("already committed"));
  CHECK_THROWS_AS(file.commit(), llm::FileError);
}

TEST_CASE("an atomic file that is not committed leaves nothing [atomic]") {
  const TemporaryFolder folder;
  write_file(folder / "file", "old");
  {
    AtomicFile file(folder / "file");
    file.write("half");
    CHECK(exists(file.temporary_path()));
  }
  CHECK(read_file(folder / "file") == "old");
  CHECK_FALSE(exists(folder / "file.tmp"));
}

TEST_CASE("a temporary file left by a killed process is overwritten, a living writer's is not [atomic]") {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  write_file(path + ".tmp", "a long rest of a save that was killed");
  AtomicFile first(path);
  CHECK_THROWS_WITH(AtomicFile(path), Catch::Contains("another writer"));
  first.write("short");
  AtomicFile moved(std::move(first));
  moved.commit();
  CHECK(read_file(path) == "short");
  CHECK(error_of_save(path, "again").empty());
  CHECK(read_file(path) == "again");
}

TEST_CASE("errors of atomic files say which step failed and why [atomic]") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(AtomicFile(folder / "missing/file"), Catch::Contains("create the temporary file: No such file"));
  std::filesystem::create_directory(folder / "directory");
  write_file(folder / "directory/file", "");
  CHECK_THAT(error_of_save(folder / "directory", "x"), Catch::Contains("rename the temporary file: "));
  CHECK_FALSE(exists(folder / "directory.tmp"));
  write_file(folder / "victim", "old");
  std::filesystem::create_symlink(folder / "victim", folder / "file.tmp");
  CHECK_THROWS_AS(AtomicFile(folder / "file"), llm::FileError);  // a planted link is not followed
  CHECK(read_file(folder / "victim") == "old");
}

TEST_CASE("a relative path without a folder works [atomic]") {
  const TemporaryFolder folder;
  const int status = llm_test::run_in_child([&] {
    std::filesystem::current_path(folder.path());
    save("file", "content");
    return 0;
  });
  CHECK(status == 0);
  CHECK(read_file(folder / "file") == "content");
}

/// In a place that takes no more than `room` bytes for a file: the save fails and says so, and the old file stays.
static int save_without_room(const std::string& path, std::size_t room, const std::string& reason) {
  save(path, std::string(room / 4, 'o'));
  const std::string error = error_of_save(path, std::string(room * 2, 'n'));
  if (error.find("write the temporary file: " + reason) == std::string::npos) return 1;
  if (read_file(path) != std::string(room / 4, 'o')) return 2;
  if (exists(path + ".tmp")) return 3;
  return error_of_save(path, std::string(room / 2, 's')).empty() ? 0 : 4;  // what fits is saved again
}

TEST_CASE("a file beyond the size limit is an error that leaves the old file [atomic]") {
  const TemporaryFolder folder;
  const int status = llm_test::run_in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const ::rlimit limit{1 << 16, 1 << 16};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 98;
    return save_without_room(folder / "file", 1 << 16, "File too large");
  });
  CHECK(status == 0);
}

TEST_CASE("a full disk is an error that leaves the old file [atomic]") {
#if defined(__linux__)
  const TemporaryFolder folder;
  constexpr int no_mount = 77;
  const int status = llm_test::run_in_child([&] {
    // A mount namespace of the child's own: the disk is gone with the child.
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return no_mount;
    if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=1m") != 0) return no_mount;
    return save_without_room(folder / "file", 1 << 20, "No space left on device");
  });
  if (status == no_mount) {
    WARN("skipped: mounting a small tmpfs is not permitted here");
    return;
  }
  CHECK(status == 0);
#else
  WARN("skipped: needs Linux");
#endif
}

/// The version number that a whole, consistent file carries in its metadata and in each of its elements.
static std::optional<std::int64_t> loaded_version(const std::string& path) {
  const auto file = llm::SafetensorsFile::open(path);
  const std::int64_t version = std::stoll(file.metadata().at("version"));
  for (const auto& tensor : file.tensors())
    for (const std::int64_t value : llm::copy_values<std::int64_t>(tensor))
      if (value != version) return std::nullopt;
  return version;
}

static void save_version(const std::string& path, std::int64_t version) {
  const std::vector<std::int64_t> values(1 << 15, version);
  const std::vector<llm::TensorToWrite> tensors{{"a", llm::DType::i64, {1 << 15}, std::as_bytes(std::span(values))},
                                                {"b", llm::DType::i64, {2, 1 << 14}, std::as_bytes(std::span(values))}};
  llm::write_safetensors(path, tensors, {{"version", std::to_string(version)}});
}

TEST_CASE("a process killed during saves 200 times always leaves the old file or the new one [atomic]") {
  const TemporaryFolder folder;
  const std::string path = folder / "model.safetensors";
  save_version(path, 0);
  llm::Rng rng(1);
  std::int64_t version = 0;
  int interrupted = 0;
  for (int kill = 0; kill < 200; ++kill) {
    const ::pid_t child = llm_test::start_child([&] {
      for (std::int64_t next = version + 1;; ++next) save_version(path, next);
      return 0;
    });
    ::usleep(static_cast<::useconds_t>(rng.below(20'000)));
    ::kill(child, SIGKILL);
    REQUIRE(llm_test::wait_for_child(child) == -SIGKILL);
    interrupted += exists(path + ".tmp") ? 1 : 0;
    const auto loaded = loaded_version(path);
    REQUIRE(loaded.has_value());
    REQUIRE(*loaded >= version);
    version = *loaded;
  }
  CHECK(version > 0);
  CHECK(interrupted > 0);  // else no kill fell into a save and nothing was tested
}
