"""Writes model files with random weights for the peers that read one: how long they take does not depend on the values."""
import random
import struct
from array import array
from pathlib import Path

BLOCK = 1 << 18  # so many random numbers are written again and again


class Writer:
    """A file of small random numbers among headers; it has its name when it is whole."""

    def __init__(self, path):
        self.path, self.part = path, path.with_name(path.name + ".part")
        self.file = open(self.part, "wb")
        generator = random.Random(1)
        numbers = array("f", (generator.gauss(0, 0.02) for _ in range(BLOCK)))
        self.blocks = {4: numbers.tobytes()}
        self.blocks[2] = b"".join(self.blocks[4][i + 2 : i + 4] for i in range(0, 4 * BLOCK, 4))  # bf16: the upper halves

    def pack(self, form, *values):
        self.file.write(struct.pack("<" + form, *values))

    def numbers(self, count, width=4):
        block = self.blocks[width]
        for _ in range(count * width // len(block)):
            self.file.write(block)
        self.file.write(block[: count * width % len(block)])

    def ones(self, count):
        self.file.write(struct.pack("<f", 1.0) * count)

    def close(self):
        self.file.close()
        self.part.replace(self.path)


def llama2_c(folder):
    """model.bin of the 110M shape and tokenizer.bin, as github.com/karpathy/llama2.c reads them (version 0)."""
    vocab, layers, d, heads, ffn, length = 32000, 12, 768, 12, 2048, 1024
    model = Writer(folder / "model.bin")
    model.pack("7i", d, ffn, layers, heads, heads, vocab, length)  # vocab > 0: the head is the embedding
    model.numbers(vocab * d)
    model.ones(layers * d)
    model.numbers(layers * 4 * d * d)
    model.ones(layers * d)
    model.numbers(layers * 3 * d * ffn)
    model.ones(d)
    model.numbers(length * d // heads)  # tables of rotation that nobody reads
    model.close()
    tokenizer = Writer(folder / "tokenizer.bin")
    tokenizer.pack("i", 8)
    for token in range(vocab):
        piece = f"t{token}".encode()
        tokenizer.pack(f"fi{len(piece)}s", 0.0, len(piece), piece)
    tokenizer.close()


def llm_c_last(folder):
    """The file that llm_c writes last."""
    return folder / "dev" / "data" / "tinyshakespeare" / "tiny_shakespeare_val.bin"


def llm_c(folder):
    """gpt2_124M.bin and token files, as github.com/karpathy/llm.c reads them (version 3)."""
    vocab, padded, layers, d, length = 50257, 50304, 12, 768, 1024
    model = Writer(folder / "gpt2_124M.bin")
    header = [20240326, 3, length, vocab, layers, 12, d, padded]
    model.pack("256i", *header, *[0] * (256 - len(header)))
    per_layer = (2 * d, 3 * d * d + 3 * d, d * d + d, 2 * d, 4 * d * d + 4 * d, 4 * d * d + d)
    model.numbers(padded * d + length * d + layers * sum(per_layer) + 2 * d)
    model.close()
    data = llm_c_last(folder).parent
    data.mkdir(parents=True, exist_ok=True)
    generator = random.Random(2)
    for name in ("tiny_shakespeare_train.bin", "tiny_shakespeare_val.bin"):
        count, tokens = 1 << 15, Writer(data / name)
        tokens.pack("256i", 20240520, 1, count, *[0] * 253)
        tokens.pack(f"{count}H", *(generator.randrange(vocab) for _ in range(count)))
        tokens.close()


GGUF_STRING, GGUF_U32, GGUF_F32 = 8, 4, 6
GGUF_TYPES = {"f32": (0, 4), "bf16": (30, 2)}  # number of the format, bytes of an element


def gguf_tensors(vocab, layers, d, q, kv, ffn):
    """(name, extents, innermost first) of a Llama whose head is its embedding."""
    yield "token_embd.weight", (d, vocab)
    yield "output_norm.weight", (d,)
    for i in range(layers):
        for name, extents in (("attn_norm", (d,)), ("attn_q", (d, q)), ("attn_k", (d, kv)), ("attn_v", (d, kv)), ("attn_output", (q, d)),
                              ("ffn_norm", (d,)), ("ffn_gate", (d, ffn)), ("ffn_up", (d, ffn)), ("ffn_down", (ffn, d))):
            yield f"blk.{i}.{name}.weight", extents


def gguf(path, type_name):
    """The 502M model as a GGUF file without a vocabulary, matrices in f32 or bf16."""
    vocab, layers, d, heads, kv_heads, width, ffn, length = 32000, 18, 1536, 12, 4, 128, 4096, 2048
    fields = [("general.architecture", GGUF_STRING, "llama"), ("tokenizer.ggml.model", GGUF_STRING, "no_vocab"),
              ("llama.rope.freq_base", GGUF_F32, 10000.0), ("llama.attention.layer_norm_rms_epsilon", GGUF_F32, 1e-5)]
    fields += [(f"llama.{key}", GGUF_U32, value) for key, value in (
        ("vocab_size", vocab), ("context_length", length), ("embedding_length", d), ("block_count", layers), ("feed_forward_length", ffn),
        ("attention.head_count", heads), ("attention.head_count_kv", kv_heads), ("attention.key_length", width),
        ("attention.value_length", width), ("rope.dimension_count", width))]
    file = Writer(path)

    def string(text):
        file.pack(f"Q{len(text)}s", len(text), text.encode())

    tensors = [(name, extents, *(GGUF_TYPES[type_name] if len(extents) > 1 else GGUF_TYPES["f32"]))
               for name, extents in gguf_tensors(vocab, layers, d, heads * width, kv_heads * width, ffn)]
    file.pack("4sIQQ", b"GGUF", 3, len(tensors), len(fields))
    for key, kind, value in fields:
        string(key)
        file.pack("I", kind)
        string(value) if kind == GGUF_STRING else file.pack("f" if kind == GGUF_F32 else "I", value)
    offset = 0
    for name, extents, number, width_of in tensors:
        string(name)
        file.pack(f"I{len(extents)}QIQ", len(extents), *extents, number, offset)
        offset += elements(extents) * width_of  # all of them multiples of the alignment, 32
    file.pack(f"{-file.file.tell() % 32}x")
    for _name, extents, _number, width_of in tensors:
        file.ones(extents[0]) if len(extents) == 1 else file.numbers(elements(extents), width_of)
    file.close()


def elements(extents):
    return extents[0] * (extents[1] if len(extents) > 1 else 1)


def once(path, write):
    """Calls write() when `path`, the last file that it writes, is not there; returns the path."""
    path = Path(path)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write()
    return path
