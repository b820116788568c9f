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

The headers are most of the work. So what several cases begin with is precompiled, and the right twins of those that include the same are
compiled in one file, each in a namespace of its own. What is said there, if anything, is of no account: then each is compiled by itself, as a user would.

Exit status: 0 all right, 1 a case failed, 77 nothing to do (no such compiler, no case for it).
"""
import argparse
import collections
import itertools
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow"]
FIRST_LINES = 12
ENOUGH_CASES = 4  # so many share what is precompiled for them
SKIPPED = 77


def family(compiler):
    name = Path(compiler).name
    return "nvcc" if name.startswith("nvcc") else "clang" if name.startswith("clang") else "gcc"


def folders(includes):
    return [word for path in includes for word in ("-isystem" if "eigen" in path else "-I", path)]


def command(compiler, source, includes, codegen, must_fail, scratch):
    if family(compiler) == "nvcc":
        line = [compiler, "-std=c++20", "-x", "cu", "--cuda", "-o", str(Path(scratch) / "out.ii")]
    else:
        line = [compiler, "-std=c++20", *WARNINGS]
        line += ["-c", "-o", str(Path(scratch) / "out.o")] if codegen else ["-fsyntax-only"]
    line += folders(includes)
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


def run(line):
    done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    return done.returncode, done.stdout


def compile_file(compiler, source, includes, codegen, must_fail, prelude=()):
    with tempfile.TemporaryDirectory() as scratch:
        return run(command(compiler, source, includes, codegen, must_fail, scratch) + list(prelude))


@contextmanager
def precompiled(compiler, headers, includes):
    """The options that give a program its #include lines compiled once; none where the compiler has something to say of them."""
    with tempfile.TemporaryDirectory() as folder:
        header = Path(folder) / "headers.hpp"
        header.write_text("".join(f"{line}\n" for line in headers or ()), encoding="utf-8")
        kind = family(compiler)
        made = f"{header}.{'gch' if kind == 'gcc' else 'pch'}"
        use = ["-include", str(header)] if kind == "gcc" else ["-include-pch", made]
        line = [compiler, "-std=c++20", *WARNINGS, *folders(includes), "-x", "c++-header", str(header), "-o", made]
        yield use if headers and kind != "nvcc" and run(line) == (0, "") else []


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


def groups_of(sources):
    """The cases by what they include."""
    groups = {}
    for source in sources:
        groups.setdefault(includes_of(source), []).append(source)
    return groups


def right_together(compiler, headers, sources, includes, prelude=()):
    """Those of the cases, which include the same, whose right twins are known to compile without any diagnostic."""
    if headers is None or len(sources) < 2:
        return set()
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "twins.cpp"
        program.write_text(twins_together(sources, headers), encoding="utf-8")
        said = compile_file(compiler, program, includes, codegen=False, must_fail=False, prelude=prelude)
    return set(sources) if said == (0, "") else set()


def check(compiler, source, includes, expects, codegen, twin_is_right=False, prelude=()):
    """Returns a list of complaints, empty when the case holds."""
    kind = family(compiler)
    if not twin_is_right:
        status, output = compile_file(compiler, source, includes, codegen, must_fail=False, prelude=prelude)
        if status != 0 or output.strip():
            return [f"the right twin gives diagnostics:\n{output}"]

    status, output = compile_file(compiler, source, includes, codegen, must_fail=True, prelude=prelude)
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


def shared_beginnings(groups):
    """For what each group includes, as much of its beginning as is worth precompiling."""
    cases = collections.Counter()
    for headers, together in groups.items():
        for n in range(1, len(headers or ()) + 1):
            cases[headers[:n]] += len(together)
    return {headers: max((headers[:n] for n in range(len(headers or ()) + 1) if n == 0 or cases[headers[:n]] >= ENOUGH_CASES), key=len)
            for headers in groups if headers is not None}


def check_all(compiler, cases, includes):
    """Each of the cases, and its complaints."""
    groups = groups_of(cases)
    beginnings, preludes = shared_beginnings(groups), {}
    with ExitStack() as folders_of_preludes:
        for headers, together in groups.items():
            beginning = beginnings.get(headers)
            if beginning not in preludes:
                preludes[beginning] = folders_of_preludes.enter_context(precompiled(compiler, beginning, includes))
            prelude = preludes[beginning]
            right = right_together(compiler, headers, together, includes, prelude)
            for source in together:
                complaints = check(compiler, source, includes, *cases[source], source in right, prelude)
                if complaints and (prelude or source in right):
                    complaints = check(compiler, source, includes, *cases[source])
                yield source, complaints


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
    ran = failed = 0
    for source, complaints in itertools.chain(wrong.items(), check_all(options.compiler, cases, options.includes)):
        ran += 1
        failed += bool(complaints)
        print(f"{'FAILED' if complaints else 'ok    '} {source}", flush=True)
        for complaint in complaints:
            print(f"  {complaint}")
    print(f"{options.compiler}: {ran - failed} of {ran} cases hold")
    return 1 if failed else 0 if ran else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
