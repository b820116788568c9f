#!/usr/bin/env python3
"""Writes goldens/chat/expected.json: what transformers makes of conversations with each template goldens/chat/*.jinja.

Needs the Python packages transformers (5.24), tokenizers and jinja2. Usage: make_chat.py, in any folder. The templates are those that the
models of these names are published with. "text": null says that the template refuses the messages. "ids": with the tokenizers of
goldens/tok_*, whose special tokens are <|endoftext|>, <|im_start|>, <|im_end|> and, in tok_llama3, <|begin_of_text|>.
"""
import json
from pathlib import Path

from transformers import PreTrainedTokenizerFast
from transformers.utils.chat_template_utils import render_jinja_template

HERE = Path(__file__).parent / "goldens"


def turn(role, content):
    return {"role": role, "content": content}


SYSTEM = turn("system", "Be brief. ")
CONVERSATIONS = [
    [turn("user", "Hi")],
    [SYSTEM, turn("user", "  Hi there\n")],
    [turn("user", "a"), turn("assistant", "b"), turn("user", "c")],
    [SYSTEM, turn("user", "a\n\n"), turn("assistant", " <think>hm</think>\n\nb "), turn("user", "c \u00e9 \u4f60\u597d\u3000")],
    [turn("user", "a"), turn("assistant", "<think>\nq\n</think>\n\nb")],
    [turn("user", "a"), turn("user", "b")],
    [turn("assistant", "x")],
    [SYSTEM],
    [turn("user", "")],
    [SYSTEM, turn("user", "x"), turn("assistant", "y"), turn("user", "z"), turn("assistant", "w"), turn("user", "v")],
    [turn("user", "a"), turn("assistant", "b"), SYSTEM, turn("user", "c")],
]
PAIRS = [("tok_gpt2", "chatml"), ("tok_qwen", "qwen2"), ("tok_qwen", "qwen3"), ("tok_llama3", "llama3"), ("tok_spm", "llama2"),
         ("tok_spm", "mistral_v1"), ("tok_llama3", "zephyr")]


def text_of(template, messages, add, variables):
    try:
        texts, _ = render_jinja_template(conversations=[messages], chat_template=template, add_generation_prompt=add, bos_token="<s>",
                                         eos_token="</s>", **variables)
        return texts[0]
    except Exception:  # whatever a template raises: jinja2's own errors too
        return None


def main():
    out = {"texts": [], "ids": []}
    for path in sorted((HERE / "chat").glob("*.jinja")):
        template = path.read_text()
        for messages in CONVERSATIONS:
            for add in (True, False):
                for variables in ({}, {"enable_thinking": False}) if "enable_thinking" in template else ({},):
                    out["texts"].append({"template": path.stem, "messages": messages, "add_generation_prompt": add, "variables": variables,
                                         "text": text_of(template, messages, add, variables)})
    for folder, name in PAIRS:
        special = {"tok_llama3": ("<|begin_of_text|>", "<|im_end|>"), "tok_spm": ("<s>", "</s>")}.get(folder, (None, "<|endoftext|>"))
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(HERE / folder / "tokenizer.json"), bos_token=special[0], eos_token=special[1])
        template = (HERE / "chat" / f"{name}.jinja").read_text()
        for messages in CONVERSATIONS:
            try:
                ids = tokenizer.apply_chat_template(messages, chat_template=template, add_generation_prompt=True)["input_ids"]
            except Exception:
                continue
            out["ids"].append({"tokenizer": folder, "template": name, "bos": special[0], "eos": special[1], "messages": messages, "ids": ids})
    lines = {key: ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases) for key, cases in out.items()}
    (HERE / "chat" / "expected.json").write_text("{" + ",\n".join(f'"{key}": [\n{text}\n]' for key, text in lines.items()) + "}\n")


if __name__ == "__main__":
    main()
