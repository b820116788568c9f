#!/usr/bin/env python3
"""Runs inspect on golden models and on damaged copies of them: each fault must be named, with the tensor.

Usage: check.py INSPECT GOLDENS [CASE ...]. Without a case, all of them. Exit status 1 when something is not as it must be.
"""
import json
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from model_files import Gguf, Safetensors, Tensor

INSPECT = GOLDENS = None


def run(path, *options):
    done = subprocess.run([INSPECT, str(path), *options], capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def require(holds, complaint):
    if not holds:
        sys.exit(complaint)


def report(path, status):
    code, out, err = run(path, "--json")
    require(code == status, f"{path}: status {code}, expected {status}\n{out}{err}")
    return json.loads(out)


class Model:
    """A golden model in a folder of its own; `files` are those with tensors."""

    def __init__(self, source, scratch):
        self.path = scratch / source.name
        if source.is_dir():
            shutil.copytree(source, self.path)
            names, kind = sorted(self.path.glob("model*.safetensors")), Safetensors
        else:
            shutil.copy(source, self.path)
            names, kind = [self.path], Gguf
        self.files = {name: kind.read(name) for name in names}

    def pick(self, suits):
        """The first tensor that suits, and its file."""
        return next((name, file, tensor) for name, file in self.files.items() for tensor in file.tensors if suits(tensor))

    def save(self):
        for name, file in self.files.items():
            file.write(name)
        index = self.path / "model.safetensors.index.json"
        if index.exists():
            weights = {t.name: name.name for name, file in self.files.items() for t in file.tensors}
            index.write_text(json.dumps({"metadata": {}, "weight_map": weights}), encoding="utf-8")


def some_matrix(tensor):
    # in plain elements, so that the transposed rows are whole blocks too
    return len(tensor.shape) == 2 and tensor.shape[0] != tensor.shape[1] and tensor.dtype in ("F32", "BF16", 0, 1) and "0." in tensor.name


def rename(model):
    _, _, tensor = model.pick(some_matrix)
    old, tensor.name = tensor.name, tensor.name.replace("0.", "0.x", 1)
    return {("missing", old), ("extra", tensor.name)}


def transpose(model):
    _, _, tensor = model.pick(some_matrix)
    tensor.shape.reverse()
    return {("misshaped", tensor.name)}


def remove(model):
    _, file, tensor = model.pick(some_matrix)
    file.tensors.remove(tensor)
    return {("missing", tensor.name)}


def add(model):
    _, file, tensor = model.pick(some_matrix)
    name = tensor.name.replace("weight", "scale")
    file.tensors.append(Tensor(name, tensor.dtype, [2, 2], tensor.data[:4 * len(tensor.data) // tensor.elements]))
    return {("extra", name)}


def check_model(source):
    with tempfile.TemporaryDirectory() as scratch:
        model = Model(source, Path(scratch))
        held = sum(t.elements for file in model.files.values() for t in file.tensors)
        result = report(model.path, 0)
        require(result["files"]["parameters"] == held and result["parameters"]["total"] == held and not result["files"]["problems"],
                f"{source}: counts {result['files']['parameters']} and {result['parameters']['total']}, the files hold {held}")
        code, text, _ = run(model.path)
        require(code == 0 and "match the config" in text and "rope: " in text, f"{source}: {text}")
        model.save()
        report(model.path, 0)  # what these functions write is read as before
    for damage in (rename, transpose, remove, add):
        with tempfile.TemporaryDirectory() as scratch:
            model = Model(source, Path(scratch))
            expected = damage(model)
            model.save()
            problems = report(model.path, 1)["files"]["problems"]
            found = {(p["fault"], p["tensor"]) for p in problems}
            require(found == expected, f"{source}, {damage.__name__}: found {found}, expected {expected}")
            code, text, _ = run(model.path)
            require(code == 1 and "DO NOT MATCH" in text, f"{source}, {damage.__name__}: {text}")
            for fault, tensor in expected:
                require(f"{fault}: '{tensor}'" in text, f"{source}, {damage.__name__}: no line for {fault} {tensor}\n{text}")
            if damage is transpose:
                require("transposed?" in text, text)
            code, out, err = run(model.path, "--emit-config", "tiny")
            named = all(tensor in err for _, tensor in expected)
            require(code == 1 and out == "" and named, f"{source}: a header of a wrong file: {out}{err}")


def check_tied_head():
    """[tied_redundant] An equal copy is fine, another is not."""
    for change, status in ((False, 0), (True, 1)):
        with tempfile.TemporaryDirectory() as scratch:
            model = Model(GOLDENS / "hf/llama_tied", Path(scratch))
            _, file, embedding = model.pick(lambda t: t.name == "model.embed_tokens.weight")
            data = embedding.data[:-1] + bytes([embedding.data[-1] ^ 1]) if change else embedding.data
            file.tensors.append(Tensor("lm_head.weight", embedding.dtype, embedding.shape, data))
            model.save()
            result = report(model.path, status)
            faults = [(p["fault"], p["tensor"]) for p in result["files"]["problems"]]
            require(faults == ([("different copy", "lm_head.weight")] if change else []), f"tied head: {faults}")
            require(result["files"]["parameters"] == 22688, "a tied head counts once")


def check_shards():
    """[idx_missing] [st_trunc]"""
    for damage in (Path.unlink, lambda path: path.write_bytes(path.read_bytes()[:-1])):
        with tempfile.TemporaryDirectory() as scratch:
            model = Model(GOLDENS / "hf/llama_sharded", Path(scratch))
            damage(model.path / "model-00002-of-00003.safetensors")
            code, _, err = run(model.path)
            require(code == 2 and "model-00002-of-00003.safetensors" in err, f"a damaged shard: status {code}\n{err}")


def check_conventions():
    """[docs] Which pairs a rotation turns is said."""
    require("rope: half-split (Hugging Face)" in run(GOLDENS / "hf/llama")[1], "hf/llama: rope")
    require("rope: interleaved (GGUF llama, Meta)" in run(GOLDENS / "tiny.gguf")[1], "tiny.gguf: rope")


def check_prefix():
    """[missing_tensors] Names with a word before them are named, and read when asked."""
    with tempfile.TemporaryDirectory() as scratch:
        model = Model(GOLDENS / "hf/llama", Path(scratch))
        for file in model.files.values():
            for tensor in file.tensors:
                tensor.name = "_orig_mod." + tensor.name
        model.save()
        require("'_orig_mod.'" in report(model.path, 1)["files"]["hint"], "no hint of the prefix")
        code, out, _ = run(model.path, "--prefix", "_orig_mod.")
        require(code == 0, out)


def check_memory():
    """A file of 3.5 GB with a tied head twice: nothing of it stays in memory."""
    run("seed_502m")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        config = json.loads((GOLDENS / "hf/llama_tied/config.json").read_text(encoding="utf-8"))
        config.update(vocab_size=300000, hidden_size=1024, intermediate_size=65536)
        config.update(num_attention_heads=8, num_key_value_heads=8, head_dim=128)
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        header, at = {}, 0
        names = Safetensors.read(GOLDENS / "hf/llama_tied/model.safetensors").tensors
        for tensor in names + [Tensor("lm_head.weight", "F32", [128, 32], b"")]:
            shape = [{128: 300000, 64: 65536}.get(n, 1024) for n in tensor.shape]
            size = 4 * Tensor("", "", shape, b"").elements
            header[tensor.name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
            at += size
        text = json.dumps(header).encode()
        with open(folder / "model.safetensors", "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            file.truncate(8 + len(text) + at)  # zeros that take no room on the disk
        require(at > 3.5e9 and report(folder, 0)["files"]["copies"] == 1, "the large file does not match")
    grown = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss - before
    require(grown < 32 * 1024, f"inspect took {grown} KiB more for a file of 3.5 GB")


def check_plan():
    """What fits a memory, by plain arithmetic: Llama 3 8B has 131,072 bytes of bf16 cache a token."""
    weights = 2 * 8030261248
    for memory, size in (("24GB", 24 * 10**9), ("24GiB", 24 * 2**30), ("17000MB", 17 * 10**9), ("16GB", 16 * 10**9)):
        plan = json.loads(run("llama3_8b", "--json", "--memory", memory)[1])["plan"]
        room = max(size - weights, 0) // 131072
        require(plan["memory"] == size, f"--memory {memory} is {plan['memory']}")
        found = plan["inference"]["bf16"]
        require(found["largest_context"] == min(room, 8192) and found["largest_sequences"] == room // 8192, f"--memory {memory}: {found}")
    _, text, _ = run("llama3_8b", "--memory", "17GB", "--context", "1000", "--batch", "2")
    for line in ("inference, f32               does not fit", "inference, bf16              context 3,583 for 2, or 7 sequences of 1,000",
                 "bf16                         131,072 B, 131.07 MB, 262.14 MB", "training, bf16               does not fit"):
        require(line in text, f"expected {line!r} in\n{text}")
    reason = json.loads(run("smollm2_135m", "--json")[1])["weight_bytes"]["q4_k"]["reason"]
    require("576 elements, not a whole number of q4_k blocks of 256" in reason, f"q4_k rows of 576: {reason}")
    result = json.loads(run("deepseek_v3", "--json")[1])
    require(len(result["unbuilt"]) == 1 and "latent attention" in result["training_step"][0]["memory"]["reason"], "DeepSeek-V3 is not built")


def check_usage():
    for options in ("--memory 24", "--memory -1GB", "--context 2049", "--batch 0", "--emit-config class", "-o x", "--what", None):
        arguments = ["seed_502m", *options.split()] if options else ["no_such_model"]
        code, out, err = run(*arguments)
        require(code == 2 and err and not out, f"{arguments}: status {code}\n{out}{err}")
    with open("/dev/full", "w", encoding="utf-8") as full:
        for options in ((), ("--json",), ("--emit-config", "x")):
            done = subprocess.run([INSPECT, "seed_502m", *options], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
            require(done.returncode == 2 and "cannot be written" in done.stderr, f"a full disk, {options}: status {done.returncode}")
    other = GOLDENS / "hf/qwen2/config.json"
    for model in ("seed_502m", GOLDENS / "hf/llama", GOLDENS / "tiny.gguf"):
        code, out, err = run(model, "--config", other)
        require(code == 2 and "already says" in err and not out, f"{model} with --config: status {code}\n{out}{err}")


def check_unlisted():
    """A file with nothing of the model: the first problems are listed, the others counted."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        config = json.loads((GOLDENS / "hf/llama/config.json").read_text(encoding="utf-8"))
        config["num_hidden_layers"] = 200
        config.pop("layer_types", None)
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        header = b"{}"
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
        code, text, _ = run(folder)
        missing = 200 * 9 + 3
        require(code == 1 and text.count("missing: ") == 1000 and f"... and {missing - 1000} more" in text, text[-2000:])


def main():
    global INSPECT, GOLDENS
    INSPECT, GOLDENS = sys.argv[1], Path(sys.argv[2])
    models = sorted(path.parent for path in GOLDENS.glob("hf*/*/config.json")) + [GOLDENS / "tiny.gguf"]
    cases = {path.relative_to(GOLDENS).as_posix(): lambda path=path: check_model(path) for path in models}
    for check in (check_tied_head, check_shards, check_conventions, check_prefix, check_memory, check_plan, check_usage, check_unlisted):
        cases[check.__name__[len("check_"):]] = check
    for name in sys.argv[3:] or cases:
        cases[name]()
        print(name, "passed")
    require(len(models) >= 16, f"only {len(models)} golden models")


if __name__ == "__main__":
    main()
