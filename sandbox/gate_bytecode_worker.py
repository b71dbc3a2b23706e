"""Whether a `.pyc` holds what its source compiles to. Runs in a child process only, see `child.py`.

Nothing is unmarshalled: `marshal.loads` trusts its input. A reader of our own walks the bytes of both sides, the
found and the freshly compiled, and reduces each object to a digest, so that what may differ between two honest
compilations (shared references, interning, the order of a frozenset, the file's name) does not show.
"""

from __future__ import annotations

import hashlib
import marshal
import struct

_CONSTANTS = frozenset(b"NFTS.0")
_RAW_TEXT = {ord("s"): "bytes", ord("u"): "str", ord("t"): "str", ord("a"): "str", ord("A"): "str"}
_SHORT_TEXT = frozenset(b"zZ")


class Malformed(Exception):
    """Not marshal data of a kind that code objects use."""


def answer(data: bytes) -> dict[str, object]:
    """`data`: one line `optimize length`, `length` bytes of marshalled code, then the source."""
    line, _, rest = data.partition(b"\n")
    optimize, length = map(int, line.split())
    found, source = rest[:length], rest[length:]
    try:
        code = compile(source, "source", "exec", dont_inherit=True, optimize=optimize)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return {"same": False, "detail": f"the source does not compile ({type(error).__name__})"}
    try:
        same = _Reader(found).object() == _Reader(marshal.dumps(code)).object()
    except (Malformed, RecursionError, MemoryError, struct.error, IndexError, ValueError):
        return {"same": False, "detail": "the code is not in the form that Python writes"}
    return {"same": same, "detail": "" if same else "the code is not what the source compiles to"}


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.references: list[bytes] = []

    def object(self) -> bytes:
        """The digest of the next object."""
        kind = self.take(1)[0]
        shared, kind = kind & 0x80, kind & 0x7F
        if kind == ord("r"):
            return self.references[self.long()]
        slot = len(self.references)
        if shared:
            # A container's number comes before those of what it holds; "" stands for one that holds itself.
            self.references.append(b"")
        digest = self.value(kind)
        if shared:
            self.references[slot] = digest
        return digest

    def value(self, kind: int) -> bytes:
        if kind in _CONSTANTS:
            return _digest("constant", bytes([kind]))
        if kind in _RAW_TEXT:
            return _digest(_RAW_TEXT[kind], self.take(self.long()))
        if kind in _SHORT_TEXT:
            return _digest("str", self.take(self.take(1)[0]))
        if kind == ord("i"):
            return _digest("int", str(self.long()).encode())
        if kind == ord("l"):
            digits = self.long()
            return _digest("long", struct.pack("<i", digits) + self.take(2 * abs(digits)))
        if kind == ord("g"):
            return _digest("float", self.take(8))
        if kind == ord("y"):
            return _digest("complex", self.take(16))
        if kind == ord(")"):
            return _digest("tuple", *[self.object() for _ in range(self.take(1)[0])])
        if kind == ord("("):
            return _digest("tuple", *[self.object() for _ in range(self.count())])
        if kind == ord(">"):
            return _digest("frozenset", *sorted(self.object() for _ in range(self.count())))
        if kind == ord(":"):
            return _digest("slice", self.object(), self.object(), self.object())
        if kind == ord("c"):
            return self.code()
        raise Malformed(kind)

    def code(self) -> bytes:
        numbers = self.take(20)
        parts = [self.object() for _ in range(5)]  # code, consts, names, localsplusnames, localspluskinds
        self.object()  # the file's name: an honest .pyc may have been compiled under another path
        parts += [self.object(), self.object()]  # name, qualname
        line = self.take(4)
        return _digest("code", numbers, *parts, line, self.object(), self.object())

    def count(self) -> int:
        count = self.long()
        if not 0 <= count <= len(self.data):
            raise Malformed(count)
        return count

    def long(self) -> int:
        number: int = struct.unpack("<i", self.take(4))[0]
        return number

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.data):
            raise Malformed(size)
        self.at += size
        return self.data[self.at - size : self.at]


def _digest(kind: str, *parts: bytes) -> bytes:
    digest = hashlib.sha256(kind.encode())
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.digest()
