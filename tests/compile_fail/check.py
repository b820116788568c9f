#!/usr/bin/env python3
"""Checks that wrong programs are refused with one readable error, and that their right twins compile.

A case is a file with comment lines

    // expect: <regular expression>            one or more; all must match what the compiler says
    // expect(clang): <regular expression>     only for compilers of that family: gcc, clang or nvcc
    // nvcc: yes                               the case also runs under nvcc
    // codegen: yes                            the fault shows in code generation only

and with the wrong code under `#ifdef LLM_MUST_FAIL`, the right code under its `#else`. Without the macro the case must compile without any
diagnostic. With it there must be exactly one error, whose sentence ends within the first 12 lines, and the first `expect` must match
that sentence; the others may match its notes. Source excerpts, paths and line numbers are not matched, so a number counts only when the
compiler says it.

The right twins of all cases are compiled in one file, each in a namespace of its own behind the headers of all: the headers are most of the
work. What they say there, if anything, is of no account: then each is compiled by itself.

Exit status: 0 all right, 1 a case failed, 77 nothing to do (no such compiler, no case for it).
"""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow"]
FIRST_LINES = 12
SKIPPED = 77


def family(compiler):
    name = Path(compiler).name
    return "nvcc" if name.startswith("nvcc") else "clang" if name.startswith("clang") else "gcc"


def command(compiler, source, includes, codegen, must_fail, scratch):
    if family(compiler) == "nvcc":
        line = [compiler, "-std=c++20", "-x", "cu", "--cuda", "-o", str(Path(scratch) / "out.ii")]
    else:
        line = [compiler, "-std=c++20", *WARNINGS]
        line += ["-c", "-o", str(Path(scratch) / "out.o")] if codegen else ["-fsyntax-only"]
    for path in includes:
        line += ["-isystem" if "eigen" in path else "-I", path]
    if must_fail:
        line.append("-DLLM_MUST_FAIL")
    return line + [str(source)]


def messages(output, kind):
    """What the compiler says, without source excerpts and locations."""
    lines = []
    for line in output.splitlines():
        if line.startswith(("In file included from", "                 from ")) or re.match(r"\s*(\d+ )?\|", line):
            continue
        if kind == "clang" and not re.search(r": (fatal error|error|warning|note): ", line):
            continue
        if kind == "nvcc":
            line = re.sub(r"(?<=\d)U?L\b", "", line)  # Shape<-1L, 64L>
        lines.append(re.sub(r"^\S+?(:\d+(:\d+)?:|\(\d+\):)\s*", "", line))
    return "\n".join(lines)


def sentence_end(lines, start, kind):
    """The index of the last line of the error's sentence: nvcc may break it, inside its quotation marks."""
    end = start
    while kind == "nvcc" and end + 1 < len(lines) and "\n".join(lines[start:end + 1]).count('"') % 2 == 1:
        end += 1
    return end


def parse(source):
    text = source.read_text(encoding="utf-8")
    if not re.search(r"^#ifdef LLM_MUST_FAIL$.*^#else$.*^#endif", text, re.S | re.M):
        raise ValueError("has no '#ifdef LLM_MUST_FAIL ... #else ... #endif'")
    expects = re.findall(r"^// expect(?:\((gcc|clang|nvcc)\))?: (.+)$", text, re.M)
    if not expects or expects[0][0]:
        raise ValueError("its first '// expect:' must exist and hold for every compiler")
    return expects, bool(re.search(r"^// nvcc: yes$", text, re.M)), bool(re.search(r"^// codegen: yes$", text, re.M))


def compile_file(compiler, source, includes, codegen, must_fail):
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(command(compiler, source, includes, codegen, must_fail, scratch), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    return done.returncode, done.stdout


INCLUDE = re.compile(r"^#include <.+>$", re.M)
JOINING = ["ifdef LLM_MUST_FAIL", "else", "endif"]  # all directives, behind the includes, of a case that may be joined


def includes_of(source):
    """What a case includes, when its code may stand in a namespace behind that, beside cases that include the same; else None. Such code
    defines no macros, includes nothing between, and is not about code generation."""
    text = source.read_text(encoding="utf-8")
    directives = [re.sub(r"\s+", " ", line) for line in re.findall(r"^\s*#\s*(.*?)\s*$", text, re.M)]
    includes = INCLUDE.findall(text)
    plain = directives == [line[1:] for line in includes] + JOINING and not parse(source)[2]
    return tuple(includes) if plain else None


def twins_together(sources, includes):
    """One program of the right twins of cases that include the same."""
    lines = list(includes)
    for i, source in enumerate(sources):
        body = INCLUDE.sub("", source.read_text(encoding="utf-8"))  # lines keep their numbers
        lines.append(f'namespace case_{i} {{\n#line 1 "{source.as_posix()}"\n{body}\n}}')
    return "\n".join(lines) + "\n"


def right_together(compiler, sources, includes):
    """Those of the cases whose right twins are known to compile without any diagnostic."""
    groups, right = {}, set()
    for source in sources:
        groups.setdefault(includes_of(source), []).append(source)
    for headers, together in groups.items():
        if headers is None or len(together) < 2:
            continue
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "twins.cpp"
            program.write_text(twins_together(together, headers), encoding="utf-8")
            status, output = compile_file(compiler, program, includes, codegen=False, must_fail=False)
        if status == 0 and not output.strip():
            right.update(together)
    return right


def check(compiler, source, includes, expects, codegen, twin_is_right=False):
    """Returns a list of complaints, empty when the case holds."""
    kind = family(compiler)
    if not twin_is_right:
        status, output = compile_file(compiler, source, includes, codegen, must_fail=False)
        if status != 0 or output.strip():
            return [f"the right twin gives diagnostics:\n{output}"]

    status, output = compile_file(compiler, source, includes, codegen, must_fail=True)
    if status == 0:
        return ["the wrong program compiles"]
    lines = output.splitlines()
    errors = [i for i, line in enumerate(lines) if re.search(r"\berror:", line)]
    if len(errors) != 1:
        return [f"{len(errors)} errors, expected one:\n{output}"]
    complaints = []
    end = sentence_end(lines, errors[0], kind)
    if end >= FIRST_LINES:
        complaints.append(f"the error's sentence ends on line {end + 1}, expected within the first {FIRST_LINES}")
    said = messages(output, kind)
    sentence = messages("\n".join(lines[errors[0]:end + 1]), kind).replace("\n", " ")
    if not re.search(expects[0][1], sentence):
        complaints.append(f"the error's sentence does not match /{expects[0][1]}/")
    complaints += [f"no message matches /{pattern}/" for where, pattern in expects[1:]
                   if where in ("", kind) and not re.search(pattern, said, re.S)]
    if complaints:
        complaints.append(f"the compiler said:\n{output}")
    return complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", required=True)
    parser.add_argument("-I", dest="includes", action="append", default=[], metavar="DIR")
    parser.add_argument("paths", nargs="+", type=Path, help="cases, or folders of them")
    options = parser.parse_args()

    if shutil.which(options.compiler) is None:
        print(f"skipped: no compiler {options.compiler}")
        return SKIPPED
    sources = [f for path in options.paths for f in (sorted(path.rglob("*.cpp")) if path.is_dir() else [path])]
    cases, wrong = {}, {}
    for source in sources:
        try:
            expects, with_nvcc, codegen = parse(source)
        except ValueError as error:
            wrong[source] = [str(error)]
        else:
            if family(options.compiler) != "nvcc" or with_nvcc:
                cases[source] = expects, codegen
    right = right_together(options.compiler, list(cases), options.includes)
    ran = failed = 0
    for source in [source for source in sources if source in wrong or source in cases]:
        complaints = wrong.get(source) or check(options.compiler, source, options.includes, *cases[source], source in right)
        ran += 1
        failed += bool(complaints)
        print(f"{'FAILED' if complaints else 'ok    '} {source}", flush=True)
        for complaint in complaints:
            print(f"  {complaint}")
    print(f"{options.compiler}: {ran - failed} of {ran} cases hold")
    return 1 if failed else 0 if ran else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
