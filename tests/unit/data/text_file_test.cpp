// Reading texts: content, byte order marks, and what is no text.
#include <llm/data/text_file.hpp>

#include <string>

#include <support/catch.hpp>
#include <support/temporary_folder.hpp>

using llm::read_text;
using llm_test::TemporaryFolder;
using llm_test::write_file;

TEST_CASE("a text is read whole and unchanged") {
  const TemporaryFolder folder;
  const std::string text("line\r\n\xE4\xB8\xAD\0\n", 11);
  write_file(folder / "a", text);
  CHECK(read_text(folder / "a") == text);
  const std::string large(3'000'000, 'x');
  write_file(folder / "b", large);
  CHECK(read_text(folder / "b") == large);
}

TEST_CASE("a byte order mark at the beginning is dropped, elsewhere it stays") {
  const TemporaryFolder folder;
  write_file(folder / "a", "\xEF\xBB\xBFx\xEF\xBB\xBF");
  CHECK(read_text(folder / "a") == "x\xEF\xBB\xBF");
}

TEST_CASE("what is no text is an error that names the file") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(read_text(folder / "missing"), Catch::Contains(folder / "missing: cannot read the text: No such file"));
  CHECK_THROWS_AS(read_text(folder.path()), llm::FileError);
  write_file(folder / "empty", "");
  CHECK_THROWS_WITH(read_text(folder / "empty"), Catch::Contains("empty: the file holds no text"));
  write_file(folder / "mark", "\xEF\xBB\xBF");
  CHECK_THROWS_AS(read_text(folder / "mark"), llm::FileError);
  write_file(folder / "latin1", "caf\xE9 ole");
  CHECK_THROWS_WITH(read_text(folder / "latin1"), Catch::Contains("latin1: the text is not valid UTF-8 at byte 3"));
  write_file(folder / "utf16", std::string("\xFF\xFEx\0", 4));
  CHECK_THROWS_WITH(read_text(folder / "utf16"), Catch::Contains("looks like UTF-16"));
}
