// Mapped files: content, empty files, errors that name the file, moves.
#include <llm/io/mapped_file.hpp>

#include <string>
#include <utility>

#include <sys/stat.h>

#include <support/catch.hpp>
#include <support/temporary_folder.hpp>

using llm_test::TemporaryFolder;
using llm_test::write_file;

static std::string text_of(const llm::MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST_CASE("a mapped file shows the file's bytes, also after it was replaced by a rename") {
  const TemporaryFolder folder;
  const std::string path = folder / "a";
  write_file(path, std::string("old\0content", 11));
  const auto file = llm::MappedFile::open(path);
  write_file(folder / "b", "new");
  std::filesystem::rename(folder / "b", path);
  CHECK(text_of(file) == std::string("old\0content", 11));
  CHECK(text_of(llm::MappedFile::open(path)) == "new");
}

TEST_CASE("a mapped empty file has no bytes") {
  const TemporaryFolder folder;
  write_file(folder / "empty", "");
  CHECK(llm::MappedFile::open(folder / "empty").bytes().empty());
  CHECK(llm::MappedFile().bytes().empty());
}

TEST_CASE("mapping what is missing or no file fails and names it") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(llm::MappedFile::open(folder / "missing"), Catch::Contains(folder / "missing") && Catch::Contains("No such file"));
  CHECK_THROWS_AS(llm::MappedFile::open(folder.path()), llm::FileError);
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THROWS_WITH(llm::MappedFile::open(folder / "pipe"), Catch::Contains("not a regular file"));
}

TEST_CASE("a mapped file moves and leaves an empty one behind") {
  const TemporaryFolder folder;
  write_file(folder / "a", "first");
  write_file(folder / "b", "second");
  auto a = llm::MappedFile::open(folder / "a");
  auto b = std::move(a);
  CHECK(a.bytes().empty());
  CHECK(text_of(b) == "first");
  b = llm::MappedFile::open(folder / "b");
  CHECK(text_of(b) == "second");
  CHECK(b.path() == folder / "b");
}
