#!/usr/bin/env python3
"""Checks what can be seen in the text of a source file: length, min and max, OpenMP's loop form, tests for compilers.

Usage: check_text.py ROOT. Exit status 1 when something is wrong.
"""
import re
import sys
from pathlib import Path

LONGEST = 400

MIN_MAX = re.compile(r"\b(?:min|max)\s*\(")
COMPILER = re.compile(r"\b(?:__GNUC__|__clang__|_MSC_VER|_WIN32|__APPLE__|__linux__|__x86_64__|__CUDACC__|__AVX\w*|__FMA__)\b")

# OpenMP 2.0, which is all that MSVC's /openmp knows: parallel loops over one signed index, no collapse, no simd, no tasks.
OMP_WORDS = {"parallel", "for", "if", "num_threads", "schedule", "static", "dynamic", "reduction", "critical", "barrier", "single", "master",
             "private", "firstprivate", "shared", "default", "none", "nowait", "atomic"}
OMP_LOOP = re.compile(r"\s*for \((?:std::int64_t|std::int32_t|std::ptrdiff_t|int) \w+ = [^;]+; \w+ (?:<|<=|>|>=) [^;]+; (?:\+\+|--)?\w+(?: [+-]= [^;]+)?\)")


def without_comments(text):
    """The text with comments and string literals blanked, lines kept."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def omp_complaint(lines, at):
    """What is wrong with the OpenMP pragma on line `at`, or None."""
    end, pragma = at, lines[at]
    while pragma.rstrip().endswith("\\"):
        end += 1
        pragma = pragma.rstrip()[:-1] + " " + lines[end]
    directive = pragma.split("omp", 1)[1]
    words = re.findall(r"[a-z_]\w*", re.sub(r"\([^()]*(?:\([^()]*\)[^()]*)*\)", " ", directive))
    unknown = [word for word in words if word not in OMP_WORDS]
    if unknown:
        return f"OpenMP '{unknown[0]}' is not in OpenMP 2.0"
    if re.search(r"reduction\s*\(\s*(?:min|max)\b", directive):
        return "OpenMP 2.0 has no reduction by min or max"
    if "for" in words and not OMP_LOOP.match(lines[end + 1] if end + 1 < len(lines) else ""):
        return "an OpenMP loop must be 'for (signed type i = first; i < last; ++i)' on the next line"
    return None


def check_header(name, text):
    """Complaints about one file under include/llm as (line, text)."""
    lines = without_comments(text).split("\n")
    for at, line in enumerate(lines):
        if MIN_MAX.search(line):
            yield at + 1, "write (std::min)(a, b), (std::max)(a, b), (std::numeric_limits<T>::max)(): <windows.h> has macros of these names"
        if COMPILER.search(line) and not name.startswith(("detail/", "backend/cpu/", "backend/cuda/")):
            yield at + 1, "only detail/ and the backends test compilers and platforms"
        if re.match(r"\s*#\s*pragma\s+omp\b", line):
            if not name.startswith("backend/cpu/"):
                yield at + 1, "only backend/cpu/ knows OpenMP"
            complaint = omp_complaint(lines, at)
            if complaint:
                yield at + 1, complaint
    # A header that is read several times by design, once for each instruction set, opens with the condition for that.
    if not re.match(r"// \S.*\n(?://.*\n)*#(pragma once|if defined\(LLM_\w+\).*)\n", text):
        yield 1, "a header opens with a sentence, then #pragma once"


def check_tree(root):
    root = Path(root)
    for folder in ("include", "examples"):
        for path in sorted((root / folder).rglob("*.*")):
            if path.suffix not in (".hpp", ".cpp", ".cuh", ".cu"):
                continue
            text = path.read_text(encoding="utf-8")
            count = text.count("\n")
            if count > LONGEST:
                yield f"{path.relative_to(root)}: {count} lines; split files at {LONGEST}"
            if folder == "include":
                for line, complaint in check_header(str(path.relative_to(root / "include" / "llm")), text):
                    yield f"{path.relative_to(root)}:{line}: {complaint}"


def main():
    complaints = list(check_tree(sys.argv[1]))
    print("\n".join(complaints) or "text: in order")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
