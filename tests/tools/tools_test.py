#!/usr/bin/env python3
"""The checks of this folder complain about each fault they are for, on small trees made here."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import check_includes
import check_text

TOOLS = Path(__file__).parent


class Tree(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)

    def write(self, name, body):
        path = self.root / "include" / "llm" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"// A header.\n#pragma once\n{body}\n", encoding="utf-8")


class IncludesTest(Tree):
    def complaints(self):
        return "\n".join(check_includes.check_tree(self.root))

    def test_the_right_direction_is_silent(self):
        self.write("core/shape.hpp", "#include <cstdint>")
        self.write("ops/linear.hpp", "#include <llm/core/shape.hpp>\n#include <llm/backend/concept.hpp>")
        self.write("backend/concept.hpp", "")
        self.write("model.hpp", "#include <llm/ops/linear.hpp>")
        self.assertEqual(self.complaints(), "")

    def test_wrong_directions(self):
        for low, high in [("core", "tensor"), ("tensor", "ops"), ("ops", "nn"), ("nn", "model"), ("model", "io"), ("io", "train"),
                          ("text", "tensor"), ("data", "model"), ("autograd", "backend"), ("backend", "autograd"), ("generate", "train")]:
            with self.subTest(low=low):
                self.write(f"{high}/a.hpp", "")
                self.write(f"{low}/b.hpp", f"#include <llm/{high}/a.hpp>")
                self.assertIn(f"{low}/b.hpp includes <llm/{high}/a.hpp>", self.complaints())
                self.write(f"{low}/b.hpp", "")

    def test_a_layer_never_names_a_backend(self):
        self.write("backend/cpu/cpu.hpp", "")
        self.write("nn/linear.hpp", "#include <llm/backend/cpu/cpu.hpp>")
        self.assertIn("never a backend", self.complaints())

    def test_heavy_headers_are_found_through_others(self):
        self.write("detail/files.hpp", "#include <filesystem>")
        self.write("io/file.hpp", "#include <llm/detail/files.hpp>")
        self.assertEqual(self.complaints(), "")
        self.write("tensor/print.hpp", "#include <llm/detail/files.hpp>")
        self.assertIn("tensor/print.hpp reaches <filesystem>", self.complaints())

    def test_the_model_reaches_no_json(self):
        self.write("io/json.hpp", "#include <nlohmann/json.hpp>")
        self.write("model.hpp", "#include <llm/io/json.hpp>")
        self.assertIn("model.hpp reaches <nlohmann/json.hpp>", self.complaints())

    def test_other_faults(self):
        for body, said in [("#include <format>", "g++ 12"), ("#include <source_location>", "disagree"), ("#include <Eigen/Core>", "only backend/cpu/"),
                           ("#include <cuda_runtime.h>", "only backend/cuda/"), ('#include "llm/core/a.hpp"', "write <llm/...>"),
                           ("#include <llm/core/none.hpp>", "does not exist")]:
            with self.subTest(body=body):
                self.write("ops/a.hpp", body)
                self.assertIn(said, self.complaints())

    def test_an_unknown_room(self):
        self.write("attic/a.hpp", "")
        self.assertIn("'attic' is not in the table", self.complaints())


class TextTest(Tree):
    def complaints(self, name, body):
        self.write(name, body)
        return "\n".join(check_text.check_tree(self.root))

    def test_good_text_is_silent(self):
        loop = "#pragma omp parallel for schedule(static) if (n > 4)\nfor (std::int64_t i = 0; i < n; ++i) f(i);"
        self.assertEqual(self.complaints("backend/cpu/a.hpp", f"{loop}\nint x = (std::max)(1, 2);  // std::max(1, 2)"), "")

    def test_min_and_max(self):
        self.assertIn("a.hpp:3", self.complaints("core/a.hpp", "int x = std::max(1, 2);"))
        self.assertIn("a.hpp:3", self.complaints("core/a.hpp", "int x = std::numeric_limits<int>::min();"))

    def test_openmp_loop_forms(self):  # [msvc_omp]
        for pragma, loop, said in [("parallel for", "for (std::size_t i = 0; i < n; ++i)", "signed"),
                                   ("parallel for", "for (auto& x : all)", "signed"),
                                   ("parallel for collapse(2)", "for (int i = 0; i < n; ++i)", "'collapse'"),
                                   ("parallel for simd", "for (int i = 0; i < n; ++i)", "'simd'"),
                                   ("parallel for reduction(max : m)", "for (int i = 0; i < n; ++i)", "reduction")]:
            with self.subTest(pragma=pragma, loop=loop):
                self.assertIn(said, self.complaints("backend/cpu/a.hpp", f"#pragma omp {pragma}\n{loop} f(i);"))
        self.assertIn("only backend/cpu/", self.complaints("nn/a.hpp", "#pragma omp parallel for\nfor (int i = 0; i < n; ++i) f(i);"))

    def test_compilers_are_told_apart_in_detail(self):
        self.assertIn("a.hpp:3", self.complaints("nn/a.hpp", "#if defined(_MSC_VER)\n#endif"))

    def test_length_and_opening(self):
        self.assertIn("401 lines", self.complaints("nn/a.hpp", "\n" * 398))
        (self.root / "include/llm/nn/a.hpp").write_text("#pragma once\n", encoding="utf-8")
        self.assertIn("opens with a sentence", "\n".join(check_text.check_tree(self.root)))


class HeadersTest(Tree):
    def run_check(self):
        done = subprocess.run([sys.executable, "-B", str(TOOLS / "check_headers.py"), "--compiler", "g++", "--root", str(self.root)],
                              stdout=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stdout

    def test_a_header_that_needs_another(self):
        self.write("core/a.hpp", "inline std::size_t n = 0;")
        status, said = self.run_check()
        self.assertEqual(status, 1)
        self.assertIn("llm/core/a.hpp does not compile alone", said)

    def test_a_header_that_is_complete(self):
        self.write("core/a.hpp", "#include <cstddef>\ninline std::size_t n = 0;")
        self.assertEqual(self.run_check()[0], 0)

    def test_a_header_without_a_guard(self):
        self.write("core/a.hpp", "struct A {};")
        path = self.root / "include/llm/core/a.hpp"
        path.write_text(path.read_text(encoding="utf-8").replace("#pragma once", ""), encoding="utf-8")
        self.assertEqual(self.run_check()[0], 1)


if __name__ == "__main__":
    unittest.main()
