"""The peers: where their programs are, and how each does a piece of work. One that is not there is left out."""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from peers import random_files
from peers.load import Load
from runner.samples import Sample, environment, run_google, run_lines

PEERS = Path(__file__).resolve().parent.parent / "peers"
HINTS = {
    "PyTorch": "the environment variable PYTHON names an interpreter that has PyPI's torch",
    "oneDNN": "Debian's libdnnl-dev, found when the benchmarks are configured",
    "llama.cpp": "llama-bench on the PATH",
    "llm.c": "the environment variable LLMC_TRAIN_GPT2 names its train_gpt2",
    "llama2.c": "the environment variable LLAMA2C_RUN names its run",
}
CONTEXT, GENERATED = 128, 32


def output_of(command, folder=None):
    """What a command prints in a folder; nothing when it cannot run or fails."""
    try:
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


class Peers:
    def __init__(self, binaries, files, threads):
        """`files`: the folder for the random model files of peers that need some."""
        self.binaries, self.files, self.threads = binaries, files.resolve(), threads
        self.python = os.environ.get("PYTHON", sys.executable)
        programs = {"llama.cpp": shutil.which("llama-bench"), "llm.c": os.environ.get("LLMC_TRAIN_GPT2"),
                    "llama2.c": os.environ.get("LLAMA2C_RUN")}
        self.programs = {name: str(Path(program).resolve()) for name, program in programs.items() if program}
        self.versions = {name: "" for name, program in self.programs.items() if Path(program).exists()}
        torch = output_of([self.python, "-c", "import torch; print(torch.__version__)"])
        if torch:
            self.versions["PyTorch"] = torch
        if (binaries / "onednn_products").exists():
            self.versions["oneDNN"] = output_of(["dpkg-query", "-W", "-f", "${Version}", "libdnnl-dev"])

    def missing(self):
        return [f"{name}: {hint}" for name, hint in HINTS.items() if name not in self.versions]

    def pytorch(self, names, samples, side="PyTorch", threads=None, compiled=False):
        """[(side, run)] for take_turns; empty without PyTorch."""
        if "PyTorch" not in self.versions:
            return []
        threads = threads or self.threads
        command = [self.python, "-B", str(PEERS / "pytorch.py"), *names, "--threads", str(threads), "--samples", str(samples)]
        return [(side, lambda: run_lines(command + ["--compile"] * compiled, threads))]

    def onednn(self, name_filter, repetitions, min_seconds):
        if "oneDNN" not in self.versions:
            return []
        return [("oneDNN", lambda: run_google(self.binaries / "onednn_products", name_filter, self.threads, repetitions, min_seconds))]

    def other(self, peer, name, count):
        """[(side, run)] for a piece of work called `name` in a peer that is no plain PyTorch."""
        if peer == "torch.compile":
            return self.pytorch([name], count, side=peer, compiled=True)
        if peer not in self.versions or peer not in self.programs:
            return []
        run = {"llama.cpp": self._llama_bench, "llm.c": self._llm_c, "llama2.c": self._llama2_c}[peer]
        return [(peer, lambda: run(name, count))]

    def _run(self, command, folder, until=None):
        """The lines that a command prints, and the load of others meanwhile; ended when until(lines) is true."""
        before, lines = Load(), []
        with subprocess.Popen(command, cwd=folder, env=environment(self.threads), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace") as process:
            for line in process.stdout:
                lines.append(line)
                if until and until(lines):
                    process.terminate()
                    break
        if process.returncode != 0 and not until:
            raise RuntimeError(f"{command[0]}: {''.join(lines[-5:])}")
        return lines, Load().others_since(before)

    def _llama_bench(self, name, count):
        work, _model, kind = name.split("/")[:3]
        model = random_files.once(self.files / f"seed_502m_{kind}.gguf", lambda: random_files.gguf(self.files / f"seed_502m_{kind}.gguf", kind))
        what = ["-p", "0", "-n", str(GENERATED), "-d", str(CONTEXT - GENERATED // 2)] if work == "decode" else ["-p", "512", "-n", "0"]
        for _prompt, _drawn, seconds, others in self._llama_times(model, what, count):
            yield name, Sample(seconds / (GENERATED if work == "decode" else 1), others)

    def llama_bench(self, model, prompts, drawn, count):
        """[(side, run)]: "prefill:N" for each length of a prompt, and "decode:N" for all tokens that are drawn."""
        if "llama.cpp" not in self.versions:
            return []

        def run():
            options = ["-p", ",".join(map(str, prompts)), "-n", str(drawn)]
            for prompt, generated, seconds, others in self._llama_times(model, options, count):
                yield f"prefill:{prompt}" if prompt else f"decode:{generated}", Sample(seconds, others)

        return [("llama.cpp", run)]

    def _llama_times(self, model, options, count):
        """(tokens of the prompt, tokens drawn, seconds, cores of others) of each of `count` samples of each test."""
        lines, others = self._run([self.programs["llama.cpp"], "-m", str(model), "-t", str(self.threads), "-r", str(count), "-o", "json", *options],
                                  self.files)
        text = "".join(lines)
        for test in json.loads(text[text.index("[\n") : text.rindex("]") + 1]):
            self.versions["llama.cpp"] = test["build_commit"].replace("unknown", "")
            for nanoseconds in test["samples_ns"]:
                yield test["n_prompt"], test["n_gen"], nanoseconds * 1e-9, others

    def _llm_c(self, name, count):
        folder = self.files / "llm.c"
        random_files.once(random_files.llm_c_last(folder), lambda: random_files.llm_c(folder))
        took = re.compile(r"step \d+: train loss .*\(took ([\d.]+) ms")
        lines, others = self._run(["stdbuf", "-oL", self.programs["llm.c"]], folder,
                                  until=lambda lines: sum(bool(took.match(line)) for line in lines) > count)
        times = [float(match[1]) for match in map(took.match, lines) if match]
        if not times:
            raise RuntimeError("".join(lines[-5:]))
        for milliseconds in times[1:]:  # the first one allocates
            yield name, Sample(milliseconds * 1e-3, others)

    def _llama2_c(self, name, count):
        folder = self.files / "llama2.c"
        tokenizer = random_files.once(folder / "tokenizer.bin", lambda: random_files.llama2_c(folder))  # written last
        command = [self.programs["llama2.c"], str(folder / "model.bin"), "-z", str(tokenizer), "-t", "0", "-n", str(2 * CONTEXT)]
        for _ in range(count):
            lines, others = self._run(command, folder)
            match = re.search(r"achieved tok/s: ([\d.]+)", "".join(lines))
            if not match:
                raise RuntimeError("".join(lines[-5:]))
            yield name, Sample(1 / float(match[1]), others)
