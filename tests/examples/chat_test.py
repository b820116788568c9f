#!/usr/bin/env python3
"""Runs the program chat on a model whose words make no sense: chat_test.py CHAT MODEL. What it says is not looked at, but when and how."""
import re
import subprocess
import sys

CHAT, MODEL = sys.argv[1:3]
KEPT = re.compile(r"prompt (\d+) tokens, (\d+) of them kept from before, .*; answer (\d+) tokens")


def chat(lines, *options, status=0):
    """The standard output, and what --timings says of each turn: tokens of the prompt, kept ones, tokens of the answer."""
    command = [CHAT, MODEL, "--timings", "--temperature", "0", "--max-new-tokens", "8", "--threads", "1", *options]
    done = subprocess.run(command, input="".join(line + "\n" for line in lines).encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                          check=False)
    errors = done.stderr.decode()
    assert done.returncode == status, f"{options} {lines}: status {done.returncode}, expected {status}\n{errors}"
    return done.stdout, [tuple(map(int, turn)) for turn in KEPT.findall(errors)], errors


def main():
    _, _, errors = chat(["hi"], status=1)
    assert "has no chat template (hint: give the one that the model was trained with: chatml, llama2," in errors, errors

    chatml = ("--template", "chatml")
    answers, turns, _ = chat(["hi", "and now?", "/reset", "hi", "/exit", "not said"], *chatml)
    assert len(turns) == 3, turns
    (first, kept_first, _), (second, kept_second, _), (third, _, _) = turns
    assert kept_first == 0 and second > first <= kept_second + 1 and third == first, turns
    lines = answers.split(b"\n")
    assert lines[0] == lines[-2], (lines, "the same words begin a conversation anew")

    again, _, _ = chat(["hi"], *chatml)
    assert answers.startswith(again), "answers depend on what follows"
    _, system, _ = chat(["hi"], *chatml, "--system", "be brief")
    assert system[0][0] > first, (system, first)
    slash, _, errors = chat(["/what", "", "//reset"], *chatml)
    assert "there are /reset and /exit" in errors and slash.count(b"\n") >= 1, (slash, errors)
    _, none, _ = chat([], *chatml)
    assert none == [], none

    # What does not fit is said, and the conversation goes on.
    _, turns, errors = chat(["hi", "x" * 300, "hi"], *chatml, "--context", "100", status=1)
    assert len(turns) == 2 and "(hint: /reset begins anew; a larger --context has more room)" in errors, errors
    invalid = subprocess.run([CHAT, MODEL, *chatml, "--max-new-tokens", "1"], input=b"a\xffb\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             timeout=120, check=False)
    assert invalid.returncode == 0, invalid.stderr
    _, _, errors = chat(["hi"], *chatml, "--set", "enable_thinking", status=1)
    assert "expected NAME=VALUE" in errors, errors
    _, _, errors = chat(["hi"], "--template", "nobody", status=1)
    assert "none is named 'nobody'; there are chatml, " in errors, errors


if __name__ == "__main__":
    main()
