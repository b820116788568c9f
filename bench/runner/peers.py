"""The peers: where their programs are, and how each does a piece of work. One that is not there is left out."""
import os
import subprocess
import sys
from pathlib import Path

from runner.samples import run_google, run_lines

PEERS = Path(__file__).resolve().parent.parent / "peers"


class Peers:
    def __init__(self, binaries, threads):
        self.binaries, self.threads = binaries, threads
        self.python = os.environ.get("PYTHON", sys.executable)
        self.versions = {}
        torch = subprocess.run([self.python, "-c", "import torch; print(torch.__version__)"], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, check=False)
        if torch.returncode == 0:
            self.versions["PyTorch"] = torch.stdout.strip()
        if (binaries / "onednn_products").exists():
            self.versions["oneDNN"] = "Debian's libdnnl-dev"

    def missing(self):
        """What to say about the peers that are not there."""
        hints = {"PyTorch": "PYTHON names an interpreter that has PyPI's torch", "oneDNN": "Debian's libdnnl-dev"}
        return [f"{name} ({hint})" for name, hint in hints.items() if name not in self.versions]

    def pytorch(self, names, samples, side="PyTorch", threads=None, compiled=False):
        """(side, run) for take_turns, as a list that is empty without PyTorch."""
        if "PyTorch" not in self.versions:
            return []
        threads = threads or self.threads
        command = [self.python, "-B", str(PEERS / "pytorch.py"), *names, "--threads", str(threads), "--samples", str(samples)]
        return [(side, lambda: run_lines(command + ["--compile"] * compiled, threads))]

    def onednn(self, name_filter, repetitions, min_seconds):
        if "oneDNN" not in self.versions:
            return []
        return [("oneDNN", lambda: run_google(self.binaries / "onednn_products", name_filter, self.threads, repetitions, min_seconds))]

    def step(self, peer, name, count):
        """A peer's training step that is no plain PyTorch."""
        if peer == "torch.compile":
            return self.pytorch([name], count, side=peer, compiled=True)
        return []

    def inference(self, peer, name, count):
        return []
