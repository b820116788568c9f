#!/usr/bin/env python3
"""What bench/run.py makes of what programs print: on small programs made here, in the place of ours and of llama.cpp's."""
import os
import stat
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from runner import published  # noqa: E402
from runner.item import Bench  # noqa: E402
from runner.peers import Peers  # noqa: E402
from runner.samples import Sample, Samples  # noqa: E402

GOOGLE = """import json, os, sys
out = next(a.split("=", 1)[1] for a in sys.argv if a.startswith("--benchmark_out="))
file = os.path.basename(os.environ["LLM_BENCH_GGUF"])
entry = lambda work, us: {"run_name": f"{file}/{work}/real_time", "run_type": "iteration", "real_time": us, "time_unit": "us", "others": 0.0}
json.dump({"benchmarks": [entry("prefill:128", 1e5), entry("prefill:512", 4e5), entry("decode:64", 2e5)]}, open(out, "w"))
"""
LLAMA_BENCH = """import json
row = lambda prompt, drawn, ns: {"build_commit": "abc", "n_prompt": prompt, "n_gen": drawn, "samples_ns": [ns, ns]}
print("warning: not of the table")
print(json.dumps([row(128, 0, 3 * 10**8), row(512, 0, 6 * 10**8), row(0, 64, 5 * 10**8)], indent=1))
"""


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.bin = self.folder / "bin"
        self.bin.mkdir()

    def program(self, name, body, interpreter=sys.executable):
        path = self.bin / name
        path.write_text(f"#!{interpreter}\n{body}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def bench(self):
        with mock.patch.dict(os.environ, {"PATH": f"{self.bin}:{os.environ['PATH']}", "PYTHON": "/nonexistent"}):
            peers = Peers(self.bin, self.folder / "peers", 2)
        return Bench(self.bin, peers, threads=2, rounds=1, repetitions=2, min_seconds=0.01)

    def measure(self, kind="Q4_1"):
        """An item, without waiting for a machine that is quiet."""
        def fetch(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("weights", encoding="utf-8")
            return path

        with mock.patch.object(published, "fetch", fetch), mock.patch("runner.samples.wait_for_quiet", lambda: None), \
             mock.patch("peers.load.Load.others_since", lambda _self, _before: 0.0):  # nothing is repeated
            return published.measure(kind, self.bench())


class PublishedTest(Programs):
    def setUp(self):
        super().setUp()
        self.program("quantize", 'printf %s "$4" > "$2"', "/bin/sh")
        self.program("smollm2", GOOGLE)
        self.program("generate", "exit 0", "/bin/sh")

    def test_beside_llama_cpp(self):
        self.program("llama-bench", LLAMA_BENCH)
        self.program("llama_generate", "block = b'x' * 100_000_000")
        samples = self.measure("Q4_1")
        rows = {row[0]: row[1:] for row in published.verdicts("Q4_1", samples)}
        self.assertEqual(len(rows), 7)
        self.assertEqual(rows["SmolLM2 Q4_1, pp128"], ("100 ms", "llama.cpp", "300 ms", "3.00x", "2.00x", "yes"))
        self.assertEqual(rows["SmolLM2 Q4_1, pp512"][3:], ("1.50x", "2.00x", "no"))
        self.assertEqual(rows["SmolLM2 Q4_1, tg64"][3:], ("2.50x", "1.50x", "yes"))
        self.assertEqual(rows["SmolLM2 Q4_1, memory, answer"][-1], "yes")
        report = published.report("Q4_1", samples)
        self.assertIn("| pp128 | 1280 | 427 | 3.00x |", report)
        self.assertIn("| start, file not in memory |", report)
        other = {row[0]: row[1:] for row in published.verdicts("Q8_0", samples)}
        self.assertEqual(other["SmolLM2 Q8_0, pp512"][3:], ("1.50x", "1.30x", "yes"))

    def test_each_file_is_made_in_its_format(self):
        for kind in ("Q4_1", "Q8_0", "BF16"):
            self.measure(kind)
        made = {path.name: path.read_text(encoding="utf-8") for path in (self.folder / "peers").iterdir()}
        self.assertEqual(made, {"SmolLM2-135M-Instruct.Q4_1.gguf": "weights", "SmolLM2-135M-Instruct.Q8_0.gguf": "q8_0",
                                "SmolLM2-135M-Instruct.BF16.gguf": "bf16"})

    def test_without_llama_cpp(self):
        with mock.patch("shutil.which", lambda _name: None):
            samples = self.measure()
        self.assertEqual(list(published.verdicts("Q4_1", samples)), [])
        self.assertIn("| tg64 | 320 |  |  |", published.report("Q4_1", samples))

    def test_a_program_of_ours_that_fails_ends_the_run(self):
        self.program("generate", "exit 3", "/bin/sh")
        with self.assertRaisesRegex(SystemExit, "exit status 3"):
            self.measure()

    def test_a_peer_that_fails_is_left_out(self):
        self.program("llama-bench", "echo no such model; exit 1", "/bin/sh")
        samples = self.measure()
        self.assertEqual(samples.names("llama.cpp"), [])
        self.assertEqual(len(samples.names("ours")), 6)

    def test_without_the_file(self):
        with mock.patch.object(published, "fetch", lambda _path: None):
            samples = published.measure("Q8_0", self.bench())
        self.assertEqual(published.report("Q8_0", samples), "The published file could not be had.\n")

    def test_prompts_go_to_both_programs(self):
        for name in ("generate", "llama_generate"):
            self.program(name, 'echo "$@" >> "$0.args"', "/bin/sh")
        self.program("llama-bench", LLAMA_BENCH)
        self.measure()
        for name in ("generate", "llama_generate"):
            lines = (self.bin / f"{name}.args").read_text(encoding="utf-8").splitlines()
            self.assertEqual(sum(published.SHORT in line for line in lines), 8)  # with the file in memory and without, two turns of two
            self.assertEqual(sum(" 64" in line and published.LONG in line for line in lines), 2)


class ProcessTest(Programs):
    def test_memory_and_time_are_the_childs(self):
        small = published.run_process([str(self.program("small", "import time; time.sleep(0.2)"))], 1)
        large = published.run_process([str(self.program("large", "block = b'x' * 300_000_000"))], 1)
        self.assertGreaterEqual(small.seconds, 0.2)
        self.assertLess(small.counters["resident_bytes"], 150e6)
        self.assertGreater(large.counters["resident_bytes"], 300e6)

    def test_a_failure_names_the_program(self):
        with self.assertRaisesRegex(RuntimeError, "fails: exit status 7"):
            published.run_process([str(self.program("fails", "raise SystemExit(7)"))], 1)

    def test_an_evicted_file_is_as_it_was(self):
        path = self.folder / "file"
        path.write_bytes(b"kept" * 10000)
        published.evict(path)
        self.assertEqual(path.read_bytes(), b"kept" * 10000)


class LookupTest(unittest.TestCase):
    def samples(self, same):
        samples = Samples()
        for name, seconds in (("plain", 0.3), ("drafts", 0.1)):
            counters = {"same": same, "tokens": 64, "drafted": 70, "accepted": 50}
            samples.add_run("ours", lambda: [(f"lookup/{text}/{name}", Sample(seconds, 0.0, counters)) for text in ("program", "story")])
        return samples

    def test_gains(self):
        self.assertIn("| program | 64 | 300 ms | 100 ms | 3.00x | 50 of 70 |", published.report_lookup(self.samples(1)))

    def test_other_tokens_are_a_fault(self):
        with self.assertRaisesRegex(SystemExit, "lookup/program/plain: other tokens"):
            published.report_lookup(self.samples(0))


if __name__ == "__main__":
    unittest.main()
