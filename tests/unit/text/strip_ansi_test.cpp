// Escape sequences are removed, everything else stays.
#include <llm/text/strip_ansi.hpp>

#include <string>

#include <support/catch.hpp>

using llm::strip_ansi;

TEST_CASE("colours and other control sequences are removed") {
  CHECK(strip_ansi("\x1b[1;32mgreen\x1b[0m and \x1b[mplain") == "green and plain");
  CHECK(strip_ansi("\x1b[38;2;1;2;3mtrue\x1b[?25l\x1b[2J\x1b[10;20H colour") == "true colour");
  CHECK(strip_ansi("\x1b[1 qcursor") == "cursor");  // with an intermediate byte
  CHECK(strip_ansi("\x1b(B\x1b=\x1b"
                   "7x") == "x");
}

TEST_CASE("titles, links and other strings are removed up to their end") {
  CHECK(strip_ansi("\x1b]0;title\atext") == "text");
  CHECK(strip_ansi("\x1b]8;;http://example.org\x1b\\link\x1b]8;;\x1b\\!") == "link!");
  CHECK(strip_ansi("\x1bPdevice\x1b\\x\x1b_app\x1b\\y") == "xy");
  CHECK(strip_ansi("\x1b]no end\nnext line") == "no end\nnext line");
}

TEST_CASE("text stays byte for byte") {
  const std::string text = "[31m \xE4\xB8\xAD\xE6\x96\x87\r\n" + std::string(1, '\0') + "\t]0;x\a";
  CHECK(strip_ansi(text) == text);
  CHECK(strip_ansi("") == "");
}

TEST_CASE("broken and cut sequences do not swallow what follows") {
  CHECK(strip_ansi("a\x1b") == "a");
  CHECK(strip_ansi("a\x1b[") == "a");
  CHECK(strip_ansi("a\x1b[31") == "a");
  CHECK(strip_ansi("\x1b[31\nb") == "\nb");
  CHECK(strip_ansi("\x1b[31\xE4\xB8\xAD") == "\xE4\xB8\xAD");
  CHECK(strip_ansi("\x1b\x1b[0mb") == "b");
}
