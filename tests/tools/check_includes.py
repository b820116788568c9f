#!/usr/bin/env python3
"""Checks that includes go in one direction, that the lower rooms stay light, and that each outside library has one place.

Usage: check_includes.py ROOT, where ROOT/include/llm is the library. Exit status 1 when something is wrong.
"""
import re
import sys
from pathlib import Path

# The rooms a room may include, itself apart. Front doors (include/llm/*.hpp) may include everything.
BASE = {"core", "detail"}
TENSOR = BASE | {"tensor"}
OPS = TENSOR | {"backend", "autograd"}
MODEL = OPS | {"ops", "nn"}
LEAF = MODEL | {"model"}
ALLOWED = {
    "detail": {"core"},
    "core": {"detail"},
    "tensor": BASE,
    "backend": TENSOR,
    "autograd": TENSOR,
    "ops": OPS,
    "nn": OPS | {"ops"},
    "model": MODEL,
    "configs": LEAF,
    "generate": LEAF | {"text"},
    "io": LEAF | {"text"},
    "train": LEAF | {"io", "data"},
    "text": BASE,
    "data": BASE | {"text"},
}

# These know the backend concept and never one of the backends.
NO_BACKEND = {"tensor", "autograd", "ops", "nn", "model"}
BACKENDS = {"backend/reference", "backend/cpu", "backend/cuda"}

HEAVY = {"iostream", "functional", "random", "chrono", "filesystem", "ranges", "regex"}
LIGHT = MODEL - {"detail"} | {"model"}
ABSENT = {"format": "g++ 12 does not have it", "source_location": "compilers disagree about it"}

# Outside libraries and the only folders that include them.
PLACES = [
    (re.compile(r"Eigen/|omp\.h$|\w*intrin\.h$"), ("backend/cpu/",)),
    (re.compile(r"cuda|cublas|nv"), ("backend/cuda/",)),
    (re.compile(r"nlohmann/"), ("io/", "train/")),
    (re.compile(r"pcre2"), ("text/bpe/regex.hpp",)),
    (re.compile(r"utf8proc"), ("text/bpe/unicode.hpp",)),
    (re.compile(r"sentencepiece_"), ("text/sentencepiece.hpp",)),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def room_of(header):
    return header.split("/")[0] if "/" in header else ""


def check_header(header, includes):
    """Complaints about one header, named relative to include/llm, and the names it includes."""
    room = room_of(header)
    if room and room not in ALLOWED:
        yield f"room '{room}' is not in the table of {Path(__file__).name}"
        return
    for quote, name in includes:
        if quote == '"':
            yield f'includes "{name}": write <llm/...>'
        elif name.startswith("llm/"):
            target = name[len("llm/"):]
            if room and target != "version.hpp" and room_of(target) not in ALLOWED[room] | {room}:
                yield f"includes <{name}>: {room} may include only {', '.join(sorted(ALLOWED[room] | {room}))}"
            if room in NO_BACKEND and "/".join(target.split("/")[:2]) in BACKENDS:
                yield f"includes <{name}>: {room} knows the backend concept, never a backend"
        else:
            if name in ABSENT:
                yield f"includes <{name}>: {ABSENT[name]}"
            for pattern, places in PLACES:
                if pattern.match(name) and not header.startswith(places):
                    yield f"includes <{name}>: only {' and '.join(places)} may"


def reached(header, graph):
    """Every name that a header includes, directly or not, with a path that leads there."""
    paths, stack = {}, [(header, [header])]
    while stack:
        at, path = stack.pop()
        for name in graph.get(at, []):
            if name not in paths:
                paths[name] = path + [name]
                if name.startswith("llm/"):
                    stack.append((name[len("llm/"):], path + [name]))
    return paths


def check_tree(root):
    base = Path(root) / "include" / "llm"
    paths = sorted(path for path in base.rglob("*.*") if path.suffix in (".hpp", ".cuh"))
    headers = {str(path.relative_to(base)): path.read_text(encoding="utf-8") for path in paths}
    graph = {}
    for header, text in headers.items():
        includes = INCLUDE.findall(text)
        graph[header] = [name for _, name in includes]
        for complaint in check_header(header, includes):
            yield f"include/llm/{header} {complaint}"
        for _, name in includes:
            if name.startswith("llm/") and name[len("llm/"):] not in headers:
                yield f"include/llm/{header} includes <{name}>, which does not exist"
    for header in headers:
        if room_of(header) in LIGHT or header == "model.hpp":
            yield from (f"include/llm/{header} reaches <{name}>, which is slow to compile: {' -> '.join(path)}"
                        for name, path in reached(header, graph).items() if name in HEAVY or name.startswith("nlohmann/"))


def main():
    complaints = list(check_tree(sys.argv[1]))
    print("\n".join(complaints) or "includes: all in the right direction")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
