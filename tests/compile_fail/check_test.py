#!/usr/bin/env python3
"""check.py itself: what it accepts and each reason for which it complains."""
import shutil
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import check

HEADER = "// expect: f: width must be equal\n// expect: 32.*48\n"
RULE = """
template <int A, int B>
int f() {
  static_assert(A == B, "f: width must be equal");
  return A + B;
}
"""
CASE = HEADER + RULE + """
int main() {
#ifdef LLM_MUST_FAIL
  return f<32, 48>();
#else
  return f<32, 32>();
#endif
}
"""


class CheckTest(unittest.TestCase):
    def complaints(self, text):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "case.cpp"
            source.write_text(text, encoding="utf-8")
            expects, _, codegen = check.parse(source)
            return "\n".join(check.check("g++", source, [], expects, codegen))

    def test_a_right_case_holds(self):
        self.assertEqual(self.complaints(CASE), "")

    def test_the_twin_must_compile(self):
        self.assertIn("twin", self.complaints(CASE.replace("f<32, 32>", "f<32, 33>")))

    def test_the_twin_must_not_warn(self):
        self.assertIn("twin", self.complaints(CASE.replace("int main() {", "int main() {\n  int unused;")))

    def test_the_wrong_program_must_fail(self):
        self.assertIn("compiles", self.complaints(CASE.replace("f<32, 48>", "f<32, 32>")))

    def test_two_errors_are_too_many(self):
        self.assertIn("2 errors", self.complaints(CASE.replace("return f<32, 48>()", "return f<32, 48>() + f<32, 49>()")))

    def test_the_sentence_must_match(self):
        self.assertIn("sentence", self.complaints(CASE.replace("// expect: f: width", "// expect: g: width")))

    def test_a_number_in_the_source_alone_does_not_count(self):
        text = CASE.replace("// expect: 32.*48", "// expect: 7777").replace("return A + B;", "return A + B;  // 7777")
        text = text.replace('equal");', 'equal");  // 7777')
        self.assertIn("no message matches /7777/", self.complaints(text))

    def test_an_expectation_of_another_compiler_is_left_out(self):
        self.assertEqual(self.complaints(CASE.replace("// expect: 32.*48", "// expect(clang): 7777")), "")
        self.assertIn("7777", self.complaints(CASE.replace("// expect: 32.*48", "// expect(gcc): 7777")))

    def test_the_error_must_come_early(self):
        deep = """
            template <int N, class T> struct D : D<N - 1, T> {};
            template <class T> struct D<0, T> { static_assert(sizeof(T) == 0, "f: width must be equal"); };"""
        text = CASE.replace("// expect: 32.*48\n", "").replace("int main() {", deep + "\nint main() {")
        text = text.replace("f<32, 48>()", "sizeof(D<20, int>)")
        with unittest.mock.patch.object(check, "FIRST_LINES", 4):
            self.assertIn("within the first 4", self.complaints(text))

    def test_the_sentence_must_end_early(self):
        lines = ['a.hpp(3): error: static assertion failed with "f: width', 'must be equal"', "    static_assert(A == B)"]
        self.assertEqual(check.sentence_end(lines, 0, "nvcc"), 1)
        self.assertEqual(check.sentence_end(["a.hpp(3): error: expected a type"], 0, "nvcc"), 0)
        self.assertEqual(check.sentence_end(['a.hpp:3:5: error: a " alone', "    1 | code"], 0, "gcc"), 0)

    def test_numbers_read_alike_under_nvcc(self):
        self.assertIn("Shape<-1, 64>", check.messages("a.hpp(3): error: llm::Shape<-1L, 64L>", "nvcc"))

    def test_a_case_without_a_twin_is_refused(self):
        with self.assertRaisesRegex(ValueError, "LLM_MUST_FAIL"):
            self.complaints(HEADER + "int main() {}\n")

    def test_a_case_without_an_expectation_is_refused(self):
        with self.assertRaisesRegex(ValueError, "expect"):
            self.complaints(CASE.replace(HEADER, ""))

    def right_together(self, texts):
        """The numbers of the cases whose twins are right when they are compiled together."""
        with tempfile.TemporaryDirectory() as folder:
            sources = [Path(folder) / f"{i}.cpp" for i in range(len(texts))]
            for source, text in zip(sources, texts):
                source.write_text(text, encoding="utf-8")
            return {int(source.stem) for headers, together in check.groups_of(sources).items()
                    for source in check.right_together("g++", headers, together, [])}

    def test_twins_of_one_name_compile_together(self):
        self.assertEqual(self.right_together([CASE, CASE, CASE]), {0, 1, 2})

    def test_a_twin_does_not_live_on_the_headers_of_another(self):
        without = CASE.replace("return f<32, 32>()", "return std::vector<int>(1)[0]")
        other = HEADER + "#include <vector>\n" + without.replace(HEADER, "")
        self.assertEqual(self.right_together([without, other, other, without]), {1, 2})

    def test_an_include_behind_the_others_stays_apart(self):
        between = CASE.replace("#ifdef LLM_MUST_FAIL\n", "#ifdef LLM_MUST_FAIL\n#include <vector>\n")
        self.assertEqual(self.right_together([CASE, CASE, between, between]), {0, 1})

    def test_twins_beside_one_with_a_diagnostic_are_not_known_to_be_right(self):
        self.assertEqual(self.right_together([CASE, CASE.replace("int main() {", "int main() {\n  int unused;")]), set())
        self.assertEqual(self.right_together([CASE, CASE.replace("f<32, 32>", "f<32, 33>")]), set())

    def test_macros_and_generated_code_stay_apart(self):
        self.assertEqual(self.right_together([CASE, CASE, "#define A\n" + CASE, "// codegen: yes\n" + CASE]), {0, 1})

    def with_header(self, header, text, compiler="g++"):
        """Whether the header is precompiled, and the complaints about a case that includes it."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a.hpp").write_text("#pragma once\n" + header, encoding="utf-8")
            source = Path(folder) / "case.cpp"
            source.write_text(HEADER + "#include <a.hpp>\n" + text, encoding="utf-8")
            expects, _, codegen = check.parse(source)
            headers, = check.groups_of([source])
            with check.precompiled(compiler, headers, [folder]) as prelude:
                used = bool(prelude)
            with unittest.mock.patch.object(check, "ENOUGH_CASES", 1):
                (_, complaints), = check.check_all(compiler, {source: (expects, codegen)}, [folder])
            return used, "\n".join(complaints)

    def test_what_enough_cases_begin_with_is_precompiled(self):
        groups = {("a", "b"): [1, 2, 3, 4], ("a", "c"): [5], ("d",): [6], None: [7]}
        self.assertEqual(check.shared_beginnings(groups), {("a", "b"): ("a", "b"), ("a", "c"): ("a",), ("d",): ()})

    def test_precompiled_headers_say_the_same(self):
        body = CASE.replace(HEADER, "").replace(RULE, "")
        for compiler in ("g++", "clang++-14", "clang++-19"):
            if shutil.which(compiler):
                self.assertEqual(self.with_header(RULE, body, compiler), (True, ""))
                self.assertIn("the wrong program compiles", self.with_header(RULE, body.replace("48", "32"), compiler)[1])

    def test_a_header_with_a_warning_is_not_precompiled(self):
        used, complaints = self.with_header(RULE + "inline int g(int unused) { return 1; }\n", CASE.replace(HEADER, "").replace(RULE, ""))
        self.assertFalse(used)
        self.assertIn("the right twin gives diagnostics", complaints)


if __name__ == "__main__":
    unittest.main()
