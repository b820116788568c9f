#!/usr/bin/env python3
"""Builds and runs a small program that uses the library in one of the ways users have.

Usage: check.py WAY --root ROOT --cxx COMPILER --generator NAME --eigen DIR, with WAY one of add_subdirectory, fetch_content, find_package,
bare_package, pkg_config, embed. Exit status 1 when it fails, 77 when a tool is missing.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXPECTED = "502193664 parameters, 36864 bytes a token, 0 broken rules\n"
EXPECTED_EMBED = "125248 parameters, logits [1, 16, 512]\n"
# [baseline] Flags that a header-only library must not give its users: they decide for the user, or differ between two files of a program.
FORBIDDEN = re.compile(r"^-(m(arch|cpu|tune|avx|sse|fma)|O|W|D|f(?!openmp|diagnostics|PIE|PIC))")


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def require(holds, complaint):
    if not holds:
        sys.exit(complaint)


class Consumer:
    def __init__(self, options, scratch):
        self.options = options
        self.scratch = scratch
        version = (options.root / "include/llm/version.hpp").read_text(encoding="utf-8")
        self.version = ".".join(re.findall(r"^#define LLM_VERSION_\w+ (\d+)$", version, re.M))

    def configure(self, source, build, *definitions):
        run("cmake", "-G", self.options.generator, "-S", source, "-B", build, f"-DCMAKE_CXX_COMPILER={self.options.cxx}",
            "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *definitions)

    def install(self):
        """Installs the library and moves it, so that nothing can point to where it was built."""
        build, first, prefix = self.scratch / "library", self.scratch / "first", self.scratch / "prefix"
        self.configure(self.options.root, build, "-DLLM_BUILD_TESTS=OFF", "-DLLM_BUILD_EXAMPLES=OFF", f"-DCMAKE_INSTALL_PREFIX={first}")
        run("cmake", "--install", build)
        shutil.rmtree(build)
        first.rename(prefix)
        for path in prefix.rglob("*"):
            if path.is_file() and path.suffix != ".hpp":
                text = path.read_text(encoding="utf-8")
                for place in (self.scratch, self.options.root):
                    # as a path of its own, or behind -I; not as the end of another path, which a short one like /llm may be
                    named = re.search(rf"(?<![a-z0-9_./}}-]){re.escape(str(place))}(?![\w.-])", text)
                    require(not named, f"{path} names {place}, where it was built or installed")
        return prefix

    def build_and_run(self, source, *definitions, program="app"):
        build = self.scratch / "build"
        self.configure(source, build, *definitions)
        for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
            given = [word for word in entry["command"].split() if FORBIDDEN.match(word)]
            require(not given, f"the consumer is compiled with {given}: {entry['command']}")
        run("cmake", "--build", build)
        return run(build / program)

    def add_subdirectory(self):
        return self.build_and_run(HERE / "add_subdirectory", f"-DLLM_ROOT={self.options.root}")

    def fetch_content(self):
        return self.build_and_run(HERE / "fetch_content", f"-DLLM_ROOT={self.options.root}", f"-DEIGEN_DIR={self.options.eigen}")

    def find_package(self):
        prefix = self.install()
        return self.build_and_run(HERE / "find_package", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DLLM_VERSION={self.version}")

    def bare_package(self):
        return self.build_and_run(HERE / "bare_package", f"-DCMAKE_PREFIX_PATH={self.install()}")

    def pkg_config(self):
        if shutil.which("pkg-config") is None:
            print("skipped: no pkg-config")
            sys.exit(77)
        environment = dict(os.environ, PKG_CONFIG_PATH=str(self.install() / "share/pkgconfig"))
        require(run("pkg-config", "--modversion", "llm", env=environment).strip() == self.version, "llm.pc has another version")
        flags = run("pkg-config", "--cflags", "llm-io", env=environment).split()
        require(not [flag for flag in flags if FORBIDDEN.match(flag)], f"pkg-config gives {flags}")
        run(self.options.cxx, "-std=c++20", *flags, HERE / "app/main.cpp", "-o", self.scratch / "app")
        flags = run("pkg-config", "--cflags", "--libs", "llm-text", env=environment).split()
        run(self.options.cxx, "-std=c++20", HERE / "app/tokens.cpp", *flags, "-o", self.scratch / "tokens")
        run(self.scratch / "tokens")
        return run(self.scratch / "app")

    def embed(self):
        return self.build_and_run(self.options.root / "examples/embed", f"-DCMAKE_PREFIX_PATH={self.install()}", program="embed")


def main():
    ways = ["add_subdirectory", "fetch_content", "find_package", "bare_package", "pkg_config", "embed"]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("way", choices=ways)
    parser.add_argument("--root", required=True, type=Path)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--generator", required=True)
    parser.add_argument("--eigen", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        said = getattr(Consumer(options, Path(scratch)), options.way)()
    expected = EXPECTED_EMBED if options.way == "embed" else EXPECTED
    require(said == expected, f"the program prints\n{said}expected\n{expected}")
    print(f"{options.way}: {said}", end="")


if __name__ == "__main__":
    main()
