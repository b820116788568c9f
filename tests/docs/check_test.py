#!/usr/bin/env python3
"""Tests of check.py: it must notice each kind of fault. Usage: check_test.py --cxx COMPILER"""
import argparse
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
CXX = "g++"

PROGRAM = """```cpp
#include <cstdio>
int main() { std::printf("loss 0.500\\n"); }
```
"""
FRAGMENTS = """```cpp
#include <string>
struct Config { int layers = 2; };
```
```cpp fragment
const Config config;
std::printf("%d layers\\n", config.layers);
```
```text
2 layers
```
```cpp fragment
std::printf("%s\\n", std::to_string(2 * config.layers).c_str());
```
```text
4
```
"""
ERROR = """```cpp error
static_assert(1 + 1 == 3, "wrong");
```
"""
FILES = """```cpp file=number.hpp
int number();
```
```cpp file=number.cpp
#include "number.hpp"
int number() { return 7; }
```
```cpp file=main.cpp
#include <cstdio>
#include "number.hpp"
int main() { std::printf("%d\\n", number()); }
```
```text
7
```
"""


class CheckTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        (self.root / "include/llm").mkdir(parents=True)
        (self.root / "include/llm/version.hpp").write_text("#define LLM_VERSION_MAJOR 0\n#define LLM_VERSION_MINOR 1\n#define LLM_VERSION_PATCH 0\n")
        (self.root / "examples/support").mkdir(parents=True)
        (self.root / "examples/train.cpp").write_text('app.add_option("--steps", steps);\n')
        self.page = self.root / "page.md"

    def tearDown(self):
        self.folder.cleanup()

    def run_check(self, text, *options):
        self.page.write_text(text, encoding="utf-8")
        command = [sys.executable, "-B", str(HERE / "check.py"), "--root", str(self.root), *options, str(self.page)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, done.stdout

    def accept_code(self, text, *options):
        status, said = self.run_check(text, "--cxx", CXX, *options)
        self.assertEqual(status, 0, said)

    def refuse_code(self, text, pattern):
        status, said = self.run_check(text, "--cxx", CXX)
        self.assertEqual(status, 1, said)
        self.assertRegex(said, pattern)

    def test_program(self):
        self.accept_code(PROGRAM)
        self.accept_code(PROGRAM + "```text\nloss 0.502\n```\n")
        self.refuse_code(PROGRAM + "```text\nloss 0.600\n```\n", "line 5: the output differs")
        self.refuse_code(PROGRAM + "```text\nLoss 0.500\n```\n", "the output differs")
        self.refuse_code(PROGRAM + "```text\nloss 0.500\nend\n```\n", "the output differs")
        self.refuse_code(PROGRAM.replace("}", "return 3; }"), "ends with status 3")
        self.refuse_code(PROGRAM.replace("#include <cstdio>", ""), "page.md.*error")

    def test_fragments(self):
        self.accept_code(FRAGMENTS)
        self.refuse_code(FRAGMENTS.replace("\n4\n", "\n5\n"), "the output differs")
        self.refuse_code(FRAGMENTS.replace("\n2 layers\n", "\n3 layers\n"), "the output differs")
        self.refuse_code(FRAGMENTS.replace("2 * config", "2 * model"), "page.md:13:.*error")

    def test_files(self):
        self.accept_code(FILES)
        self.refuse_code(FILES.replace("\n7\n", "\n8\n"), "the output differs")

    def test_error(self):
        self.accept_code(ERROR)
        self.refuse_code(ERROR.replace("3", "2"), "expected exactly one error")
        self.refuse_code(ERROR.replace("\n```\n", "\nint x = y;\n```\n"), "expected exactly one error")
        self.refuse_code(ERROR + "```text\nmodel.cpp:1:21: error: static assertion failed: right\n```\n", "output differs|does not say 'right'")

    def test_update(self):
        self.accept_code(PROGRAM + "```text\nold\n```\nEnd.\n", "--update")
        self.assertEqual(self.page.read_text(encoding="utf-8"), PROGRAM + "```text\nloss 0.500\n```\nEnd.\n")

    def test_fences(self):
        self.refuse_code("```cpp\nint x;\n", "does not end")
        self.refuse_code("```cpp fragmnet\nint x;\n```\n", "unknown words in the fence: fragmnet")

    def test_names(self):
        good = ("# Page\n## A `part`\n[self](#a-part) [file](page.md#page) [web](https://example.org/x)\n"
                "```sh\nbuild/bin/train --steps 3 \\\n  examples/train.cpp\n```\n```cmake\nfind_package(llm 0.1 REQUIRED)\n```\n")
        status, said = self.run_check(good, "--links")
        self.assertEqual(status, 0, said)
        for old, new, pattern in [("#a-part", "#b-part", "no heading #b-part"), ("page.md#", "pag.md#", "no file pag.md#page"),
                                  ("bin/train", "bin/tune", "build/bin/tune, which has no source"),
                                  ("--steps", "--step", "no option --step"), ("/train.cpp", "/tune.cpp", "examples/tune.cpp, which does not exist"),
                                  ("llm 0.1", "llm 0.2", "asks for version 0.2")]:
            status, said = self.run_check(good.replace(old, new), "--links")
            self.assertEqual(status, 1, f"{new}: {said}")
            self.assertRegex(said, pattern)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--cxx", default=CXX)
    options, rest = parser.parse_known_args()
    CXX = options.cxx
    unittest.main(argv=[sys.argv[0], *rest])
