#!/usr/bin/env python3
"""What the library exports, loaded by Hugging Face transformers: check.py PROGRAM [GGUF]. Equal logits and greedy tokens, no tensor missing or left over.

PROGRAM is built from write.cpp; GGUF is SmolLM2's file where it is there. Exit status 77 when transformers is not installed.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
    import transformers
    from safetensors.torch import load_file
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

TOLERANCE = 1e-5  # for each layer, times 1 + the logit


def continued(model, prompt, size):
    """`prompt` [1, T] and the most probable tokens behind it, `size` in all."""
    tokens = prompt
    while tokens.shape[1] < size:
        tokens = torch.cat([tokens, model(tokens).logits[:, -1:].argmax(-1)], dim=1)
    return tokens


def compare(folder):
    model, report = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    faults = {kind: sorted(map(str, names)) for kind, names in report.items() if names}
    expected = load_file(f"{folder}.expected.safetensors")
    with torch.no_grad():
        logits = model(expected["ids"]).logits
        greedy = continued(model, expected["prompt"], expected["greedy"].shape[1])
    difference = ((logits - expected["logits"]).abs() / (1 + expected["logits"].abs())).max().item()
    spread = expected["logits"].std().item()
    same = torch.equal(greedy, expected["greedy"])
    good = not faults and same and difference <= TOLERANCE * model.config.num_hidden_layers and spread > 0.1
    print(f"{'ok' if good else 'FAIL':4} {folder.name}: {type(model).__name__}, logits differ by {difference:.2g}, their spread is {spread:.2g}, "
          f"{'the same' if same else 'OTHER'} greedy tokens{'' if not faults else ', ' + str(faults)}")
    return good


def main():
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as folder:
        gguf = [path for path in sys.argv[2:] if Path(path).is_file()]
        subprocess.run([sys.argv[1], folder, *gguf], check=True)
        folders = sorted(path for path in Path(folder).iterdir() if path.is_dir())
        good = [compare(path) for path in folders]
    print(f"{sum(good)} of {len(good)} models hold")
    return 0 if len(good) >= 16 and all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
