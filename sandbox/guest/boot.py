"""How the guest gets into a container: over the wire, into memory, without a file on its disk.

`BOOT` is the program text the container is started with. It reads a zip of this package from
standard input, keeps it in a memfd and imports it from there, so any image with a python3 serves,
its root may be read-only, and nothing is uploaded. `preamble()` is what the host sends first.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import io
import marshal
import struct
import zipfile
from pathlib import Path

UNFIT_STATUS = 97
# The host's own part, and what is sent as a program of its own.
NOT_PACKED = ("boot.py", "worker.py", "worker_values.py")
COMMAND = ("python3", "-I", "-S", "-B", "-c")

BOOT = """\
import os, sys
def unfit(why):
    os.write(2, ("takeover: " + why + "\\n").encode())
    os._exit(97)
def need(n):
    parts = []
    while n:
        part = os.read(0, min(n, 1 << 20))
        if not part:
            os._exit(0)
        parts.append(part)
        n -= len(part)
    return b"".join(parts)
if sys.version_info < (3, 8):
    unfit("the image's python3 is %d.%d; 3.8 or later is needed" % sys.version_info[:2])
size = int.from_bytes(need(8), "big")
try:
    held = os.memfd_create("guest")
except (AttributeError, OSError) as error:
    unfit("no memfd here: %s" % error)
code = memoryview(need(size))
while code:
    code = code[os.write(held, code):]
sys.path.insert(0, "/proc/self/fd/%d" % held)
try:
    from guest import init
except ImportError as error:
    unfit("the image's python3 is incomplete: %s" % error)
init.main()
"""


def sources() -> dict[str, bytes]:
    """The modules of the guest by file name."""
    folder = Path(__file__).parent
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.py"))}


def sources_sha256() -> str:
    """One hash that names this guest, whatever Python packed it."""
    digest = hashlib.sha256()
    for name, text in sources().items():
        digest.update(b"%s\0%d\0" % (name.encode(), len(text)) + text)
    return digest.hexdigest()


@functools.lru_cache(maxsize=None)
def bundle() -> bytes:
    """The guest as a zip: sources, and their code objects for a python3 of the host's own version.

    A python3 whose bytecode differs skips the .pyc by its magic number and compiles the source.
    """
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, text in sources().items():
            if name in NOT_PACKED:
                continue
            archive.writestr(_entry(name), text)
            archive.writestr(_entry(name + "c"), _bytecode(name, text))
    return out.getvalue()


def preamble() -> bytes:
    """What a fresh container is sent before the first frame."""
    packed = bundle()
    return struct.pack(">Q", len(packed)) + packed


def _entry(name: str) -> zipfile.ZipInfo:
    # ZipInfo's default date is the zip epoch, so the same sources give the same bytes.
    return zipfile.ZipInfo("guest/" + name)


def _bytecode(name: str, text: bytes) -> bytes:
    code = compile(text, "guest/" + name, "exec", dont_inherit=True, optimize=0)
    unchecked_hash = struct.pack("<I", 0b01) + importlib.util.source_hash(text)
    return importlib.util.MAGIC_NUMBER + unchecked_hash + marshal.dumps(code)
