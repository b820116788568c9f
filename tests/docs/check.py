#!/usr/bin/env python3
"""Compiles and runs the code of a documentation page, and checks what its shell blocks and links name.

    check.py --root ROOT --cxx COMPILER PAGE [compiler options]     the page's code; with --update its ```text blocks are rewritten
    check.py --root ROOT --links PAGE...                            what the pages name; without a compiler
    check.py --root ROOT --reference                                Doxygen reads every comment without a warning; 77 when it is missing

The fence of a block says what it is:

    ```cpp              Code at namespace scope. The blocks of a page follow one another in one namespace of one file; their #include lines
                        go to its top. A block with `int main(` is a program of its own, compiled exactly as it stands.
    ```cpp fragment     Statements. Fragments with no namespace-scope block between them share one function, which is run.
    ```cpp file=NAME    A file. All files of a page make one program.
    ```cpp error        A file that must not compile, with exactly one error.
    ```text             What the block before it prints; for `error` the compiler's error, its notes and the place in the page's code.
                        A number with a decimal point may differ by 2 % or by one in its last digit. Nothing is compared when the
                        block before is no code.
    ```sh               Paths under scripts/, examples/, build/bin/ and the options given to those programs must exist.

Programs run in a fresh folder that holds copies of the files in `files` beside this script.
"""
import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
MARK = "\x1e"  # what the program prints between two fragments
UNUSED = "-Wno-unused"  # a page may show a variable and say what it holds


class Block:
    """A fenced block: its language and words, its lines, and where those stand in the page (counted from 0)."""

    def __init__(self, info, start):
        words = info.split()
        self.language = words[0] if words else ""
        self.words = words[1:]
        self.start = start
        self.lines = []

    @property
    def text(self):
        return "".join(self.lines)

    @property
    def kind(self):
        """One of the kinds above, for code; else the language."""
        if self.language != "cpp":
            return self.language
        if not self.words:
            return "program" if re.search(r"\bint main\(", self.text) else "scope"
        word = self.words[0].split("=")[0]
        if len(self.words) > 1 or word not in ("fragment", "file", "error"):
            raise ValueError(f"line {self.start}: unknown words in the fence: {' '.join(self.words)}")
        return word


def parse(page):
    """The fenced blocks of a page."""
    blocks, block = [], None
    for number, line in enumerate(page.splitlines(keepends=True)):
        if not line.startswith("```"):
            if block:
                block.lines.append(line)
        elif block:
            blocks.append(block)
            block = None
        else:
            block = Block(line[3:].strip(), number + 1)
    if block:
        raise ValueError(f"line {block.start}: the block does not end")
    return blocks


# --- Code -----------------------------------------------------------------------------------------------------------------------------


class Failure(Exception):
    pass


def near(wanted, got):
    """Whether two words are equal, or numbers with a decimal point that nearly are."""
    number = r"[-+]?\d+\.\d+(?:e[-+]?\d+)?"
    if re.sub(number, "#", wanted) != re.sub(number, "#", got):
        return False
    for a, b in zip(re.findall(number, wanted), re.findall(number, got)):
        last_digit = 10.0 ** -len(re.search(r"\.(\d+)", a)[1]) * 1.001
        if abs(float(a) - float(b)) > max(0.02 * abs(float(a)), last_digit):
            return False
    return True


def same_output(wanted, got):
    wanted, got = ([line.split() for line in text.rstrip().splitlines()] for text in (wanted, got))
    return len(wanted) == len(got) and all(len(a) == len(b) and all(map(near, a, b)) for a, b in zip(wanted, got))


def same_errors(wanted, got):
    """Without line numbers, which change with every edit of a header."""
    wanted, got = (re.sub(r":\d+:\d+:", ":", text.strip()) for text in (wanted, got))
    return wanted == got


class Checker:
    def __init__(self, options, page, scratch):
        self.options = options
        self.page = page
        self.scratch = scratch
        self.blocks = parse(page.read_text(encoding="utf-8"))
        self.outputs = {}  # what belongs into a ```text block, by its place in self.blocks
        for file in (HERE / "files").glob("*"):
            shutil.copy(file, scratch)

    def compile(self, sources, program, *more):
        command = [self.options.cxx, *self.options.flags, *more, *map(str, sources), "-o", str(program)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                              cwd=self.scratch, env=dict(os.environ, LC_ALL="C"))
        return done.returncode, done.stdout

    def build_and_run(self, sources, *more):
        program = self.scratch / "program"
        status, said = self.compile(sources, program, *more)
        if status != 0:
            raise Failure(f"does not compile:\n{said}")
        # one thread: the programs are small, and the machine is shared with other tests
        done = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", check=False,
                              cwd=self.scratch, timeout=300, env=dict(os.environ, OMP_NUM_THREADS="1"))
        if done.returncode != 0:
            raise Failure(f"the program ends with status {done.returncode}:\n{done.stdout}")
        return done.stdout

    def write(self, name, text, line):
        path = self.scratch / name
        path.write_text(f'#line {line + 1} "{self.page.name}"\n{text}', encoding="utf-8")
        return path

    def expect(self, at, got, same=same_output):
        """Holds what block `at` printed against the ```text block that follows it."""
        after = at + 1
        if after == len(self.blocks) or self.blocks[after].kind != "text":
            return
        self.outputs[after] = got
        wanted = self.blocks[after].text
        if not self.options.update and not same(wanted, got):
            raise Failure(f"line {self.blocks[after].start}: the output differs:\n" +
                          "".join(difflib.unified_diff(wanted.splitlines(True), got.splitlines(True), "page", "program")))

    def assemble(self):
        """One file from the namespace-scope blocks and fragments; returns it and the fragments' places."""
        includes, body, fragments, functions = [], [], [], 0
        open_function = False
        for at, block in enumerate(self.blocks):
            if block.kind not in ("scope", "fragment"):
                continue
            if block.kind == "fragment" and not open_function:
                functions += 1
                body.append(f"inline void run_{functions}() {{\n")
            if block.kind == "scope" and open_function:
                body.append("}\n")
            open_function = block.kind == "fragment"
            body.append(f'#line {block.start + 1} "{self.page.name}"\n')
            for line in block.lines:
                is_include = line.startswith("#include")
                if is_include:
                    includes.append(line)
                body.append("\n" if is_include else line)
            if open_function:
                fragments.append(at)
                body.append(f'std::fputs("{MARK}", stdout), std::fflush(stdout);\n')
        if open_function:
            body.append("}\n")
        calls = "".join(f"page::run_{i + 1}();" for i in range(functions))
        return ("#include <cstdio>\n" + "".join(dict.fromkeys(includes)) + "namespace page {\n" + "".join(body) + "}\n"
                f"int main() {{ {calls} }}\n"), fragments

    def check_page(self):
        text, fragments = self.assemble()
        if any(block.kind in ("scope", "fragment") for block in self.blocks):
            path = self.scratch / "page.cpp"
            path.write_text(text, encoding="utf-8")
            printed = self.build_and_run([path], UNUSED).split(MARK)
            for at, output in zip(fragments, printed):
                self.expect(at, output)

    def check_programs(self):
        for at, block in enumerate(self.blocks):
            if block.kind == "program":
                self.expect(at, self.build_and_run([self.write("program.cpp", block.text, block.start)]))

    def check_files(self):
        sources, main = [], None
        for at, block in enumerate(self.blocks):
            if block.kind != "file":
                continue
            name = block.words[0].split("=")[1]
            path = self.write(name, block.text, block.start)
            if path.suffix == ".cpp":
                sources.append(path)
            if "int main(" in block.text:
                main = at
        if main is not None:
            self.expect(main, self.build_and_run(sources))

    def check_errors(self):
        for at, block in enumerate(self.blocks):
            if block.kind != "error":
                continue
            path = self.scratch / "model.cpp"
            path.write_text(block.text, encoding="utf-8")
            status, said = self.compile([path.name], "model", "-fsyntax-only")
            if status == 0 or len(re.findall(r"\berror: ", said)) != 1:
                raise Failure(f"line {block.start}: expected exactly one error:\n{said}")
            said = re.sub(rf"(?<![\w./-]){re.escape(str(self.options.root))}/", "", said)
            shown = "".join(line + "\n" for line in said.splitlines()
                            if re.search(r": (error|note): |required from here", line) and "in definition of macro" not in line)
            if self.is_gcc_12():
                self.expect(at, shown, same_errors)
            elif at + 1 < len(self.blocks) and self.blocks[at + 1].kind == "text":  # another compiler: at least the sentence
                for sentence in re.findall(r"static assertion failed: (.*)", self.blocks[at + 1].text):
                    if sentence not in said:
                        raise Failure(f"line {block.start}: the error does not say '{sentence}':\n{said}")

    def is_gcc_12(self):
        macros = subprocess.run([self.options.cxx, "-dM", "-E", "-x", "c++", os.devnull], stdout=subprocess.PIPE, text=True, check=True).stdout
        return "#define __GNUC__ 12\n" in macros and "__clang__" not in macros

    def update(self):
        lines = self.page.read_text(encoding="utf-8").splitlines(keepends=True)
        for at, output in sorted(self.outputs.items(), reverse=True):
            block = self.blocks[at]
            lines[block.start:block.start + len(block.lines)] = [line.rstrip() + "\n" for line in output.rstrip().splitlines()]
        self.page.write_text("".join(lines), encoding="utf-8")


def check_code(options):
    page = options.pages[0]
    with tempfile.TemporaryDirectory() as scratch:
        try:
            checker = Checker(options, page, Path(scratch))
            checker.check_page()
            checker.check_programs()
            checker.check_files()
            checker.check_errors()
        except (Failure, ValueError) as complaint:
            return [f"{page}: {complaint}"]
        if options.update:
            checker.update()
        kinds = [block.kind for block in checker.blocks if block.language == "cpp"]
        print(f"{page.name}: {len(kinds)} blocks of code, {len(checker.outputs)} outputs")
    return []


# --- What a page names ----------------------------------------------------------------------------------------------------------------


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading)).strip().lower().replace(" ", "-") for heading in headings}


def check_links(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists():
            yield f"{page}: no file {target}"
        elif anchor and anchor not in anchors(file):
            yield f"{page}: no heading {target}"


def source_of(root, program):
    """The source text of a program in build/bin, with the files it includes from its own folder; or None."""
    for folder in ("examples", "bench"):
        path = root / folder / f"{program}.cpp"
        if path.exists():
            support = "".join(f.read_text(encoding="utf-8") for f in sorted((root / folder).glob("support/*.hpp")))
            return path.read_text(encoding="utf-8") + support
    return None


def check_shell(root, page, block):
    for line in block.text.replace("\\\n", " ").splitlines():
        for path in re.findall(r"(?<![\w/.-])((?:scripts|examples|bench|tests|docs|include)/[\w./-]*)", line):
            if not (root / path).exists():
                yield f"{page}: a shell block names {path}, which does not exist"
        found = re.search(r"build/bin/(\w+)(.*)", line)
        if not found:
            continue
        source = source_of(root, found[1])
        if source is None:
            yield f"{page}: a shell block runs build/bin/{found[1]}, which has no source in examples/ or bench/"
            continue
        for option in re.findall(r"(?<!\S)(--[a-z][\w-]*)", found[2]):
            if f'"{option}"' not in source:
                yield f"{page}: build/bin/{found[1]} has no option {option}"


def check_version(root, page):
    """A page asks for the version that there is."""
    version = re.findall(r"^#define LLM_VERSION_\w+ (\d+)$", (root / "include/llm/version.hpp").read_text(encoding="utf-8"), re.M)
    text = page.read_text(encoding="utf-8")
    for asked in re.findall(r"find_package\(llm (\d+(?:\.\d+)*)|GIT_TAG v(\d+(?:\.\d+)*)", text):
        asked = asked[0] or asked[1]
        if asked.split(".") != version[:asked.count(".") + 1]:
            yield f"{page}: asks for version {asked}, the library is {'.'.join(version)}"


def check_names(options):
    complaints = []
    for page in options.pages:
        try:
            blocks = parse(page.read_text(encoding="utf-8"))
        except ValueError as complaint:
            complaints.append(f"{page}: {complaint}")
            continue
        complaints += check_links(page)
        complaints += check_version(options.root, page)
        for block in blocks:
            if block.language == "sh":
                complaints += check_shell(options.root, page, block)
    return complaints


def check_reference(options):
    if shutil.which("doxygen") is None:
        print("skipped: no doxygen")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch:
        settings = (options.root / "docs/Doxyfile").read_text(encoding="utf-8") + f"OUTPUT_DIRECTORY = {scratch}\n"
        done = subprocess.run(["doxygen", "-"], input=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              cwd=options.root)
        made = (Path(scratch) / "html/index.html").exists()
    return done.stdout.splitlines() or ([] if done.returncode == 0 and made else ["doxygen made no pages"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", required=True, type=Path)
    parser.add_argument("--cxx")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--links", action="store_true")
    parser.add_argument("--reference", action="store_true")
    parser.add_argument("pages", nargs="*", type=Path)
    options, options.flags = parser.parse_known_args()
    options.root = options.root.resolve()
    check = check_reference if options.reference else check_names if options.links else check_code
    complaints = check(options)
    print("\n".join(complaints) or "in order")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
