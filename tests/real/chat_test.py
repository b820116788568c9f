#!/usr/bin/env python3
"""Talks with SmolLM2: chat_test.py CHAT MODEL. Ctrl-C stops an answer and not the program. Exit status 77 when there is no model."""
import os
import signal
import subprocess
import sys

CHAT, MODEL = sys.argv[1:3]


# Rounded activations give this small model other answers (llama.cpp's, too, word for word); what is tested is the conversation.
ENVIRONMENT = dict(os.environ, LLM_ACTIVATIONS="f32")


def start(*options):
    return subprocess.Popen([CHAT, MODEL, "--temperature", "0", *options], env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def main():
    if not os.path.exists(MODEL):
        print(f"skipped: there is no {MODEL}")
        return 77
    with start("--max-new-tokens", "30", "--timings") as chat:
        answers, errors = chat.communicate(b"What is the capital of France?\nAnd of Italy?\n", timeout=300)
    assert chat.returncode == 0, errors
    assert answers == b"The capital of France is Paris.\nThe capital of Italy is Rome.\n", answers
    assert b"prompt 37 tokens, 0 of them kept" in errors and b"prompt 59 tokens, 44 of them kept" in errors, errors

    if os.name == "posix":
        with start() as chat:
            chat.stdin.write(b"Tell me a very long story about a king.\n")
            chat.stdin.flush()
            begun = os.read(chat.stdout.fileno(), 1)
            assert begun, chat.stderr.read()
            chat.send_signal(signal.SIGINT)
            answers, errors = chat.communicate(b"What is the capital of France?\n/exit\n", timeout=300)
        assert chat.returncode == 0, (chat.returncode, errors)
        story, answer = answers[:-1].split(b"\n")[0], answers[:-1].split(b"\n")[-1]
        assert len(story) < 2000 and b"Paris" in answer, answers
    return 0


if __name__ == "__main__":
    sys.exit(main())
