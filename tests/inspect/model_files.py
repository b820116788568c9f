"""Small safetensors and GGUF files as Python data, to be read, changed and written again."""
import json
import math
import struct
from dataclasses import dataclass, field

NUMBER = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}  # by GGUF's value types
STRING, ARRAY = 8, 9


@dataclass
class Tensor:
    name: str
    dtype: object  # safetensors: "F32"; GGUF: GGML's number
    shape: list  # row-major
    data: bytes

    @property
    def elements(self):
        return math.prod(self.shape)


@dataclass
class Safetensors:
    tensors: list
    metadata: dict = field(default_factory=dict)

    @classmethod
    def read(cls, path):
        content = path.read_bytes()
        (length,) = struct.unpack_from("<Q", content)
        header = json.loads(content[8:8 + length])
        data = content[8 + length:]
        metadata = header.pop("__metadata__", {})
        return cls([Tensor(name, t["dtype"], t["shape"], data[slice(*t["data_offsets"])]) for name, t in header.items()], metadata)

    def write(self, path):
        header, at = {"__metadata__": self.metadata} if self.metadata else {}, 0
        for t in self.tensors:
            header[t.name] = {"dtype": t.dtype, "shape": t.shape, "data_offsets": [at, at + len(t.data)]}
            at += len(t.data)
        text = json.dumps(header).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(t.data for t in self.tensors))


class GgufReader:
    def __init__(self, content):
        self.content, self.at = content, 0

    def number(self, code):
        (value,) = struct.unpack_from("<" + code, self.content, self.at)
        self.at += struct.calcsize("<" + code)
        return value

    def text(self):
        size = self.number("Q")
        self.at += size
        return self.content[self.at - size:self.at].decode()

    def skip(self, kind):
        if kind == STRING:
            self.text()
        elif kind == ARRAY:
            inner, count = self.number("I"), self.number("Q")
            for _ in range(count):
                self.skip(inner)
        else:
            self.number(NUMBER[kind])


@dataclass
class Gguf:
    """Metadata stays as bytes."""
    tensors: list
    pairs: int
    metadata: bytes
    alignment = 32

    @classmethod
    def read(cls, path):
        reader = GgufReader(path.read_bytes())
        assert reader.number("I") == 0x46554747 and reader.number("I") == 3
        count, pairs = reader.number("Q"), reader.number("Q")
        begin = reader.at
        for _ in range(pairs):
            reader.text()
            reader.skip(reader.number("I"))
        metadata = reader.content[begin:reader.at]
        infos = []
        for _ in range(count):
            name = reader.text()
            shape = [reader.number("Q") for _ in range(reader.number("I"))][::-1]
            infos.append((name, shape, reader.number("I"), reader.number("Q")))
        data = reader.content[-(-reader.at // cls.alignment) * cls.alignment:]
        ends = sorted(offset for *_, offset in infos) + [len(data)]
        tensors = [Tensor(name, dtype, shape, data[offset:ends[ends.index(offset) + 1]]) for name, shape, dtype, offset in infos]
        return cls(tensors, pairs, metadata)

    def write(self, path):
        out = struct.pack("<IIQQ", 0x46554747, 3, len(self.tensors), self.pairs) + self.metadata
        data = b""
        for t in self.tensors:
            name = t.name.encode()
            out += struct.pack("<Q", len(name)) + name + struct.pack("<I", len(t.shape))
            out += b"".join(struct.pack("<Q", extent) for extent in t.shape[::-1]) + struct.pack("<IQ", t.dtype, len(data))
            data += t.data + bytes(-len(t.data) % self.alignment)
        path.write_bytes(out + bytes(-len(out) % self.alignment) + data)
