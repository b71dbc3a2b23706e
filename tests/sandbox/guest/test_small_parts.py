"""The parts of the guest that need no container: streams, users, names, paths, sizes."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import random
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from takeover.sandbox.guest import boot, dns, files, home
from takeover.sandbox.guest.capture import TAIL, Capture
from takeover.sandbox.tree import is_safe_path

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
GUEST = Path(boot.__file__).parent
PASSWD = (
    "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/none:/x\nagent:x:1000:1000::/home/agent:/bin/sh\n"
    "dev:x:1234:99::/home/dev:/bin/sh\nbroken line\nodd:x:a:b:c:d:e\n"
)
GROUP = "root:x:0:\nstaff:x:50:agent\n"


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("", (1000, 1000, "/home/agent")), ("agent", (1000, 1000, "/home/agent")), ("dev", (1234, 99, "/home/dev")),
        ("1234", (1234, 99, "/home/dev")), ("4242", (4242, 4242, "")), ("4242:7", (4242, 7, "")),
        ("dev:staff", (1234, 50, "/home/dev")), ("root", (1000, 1000, "/home/agent")), ("0", (1000, 1000, "/home/agent")),
        ("0:0", (1000, 1000, "/home/agent")), ("root:root", (1000, 1000, "/home/agent")), ("1000:0", (1000, 0, "/home/agent")),
        ("ghost", None), ("dev:ghosts", None), ("odd", None), ("4294967296", None),
    ],
)  # fmt: skip
def test_who_the_agent_is(wanted: str, expected: tuple[int, int, str] | None) -> None:
    """An image's USER text as Docker reads it, except that nobody is root."""
    user = home.resolve(wanted, PASSWD, GROUP)

    assert (None if user is None else (user.uid, user.gid, user.home)) == expected


@relaxed
@given(st.lists(st.binary(max_size=50), max_size=30), st.integers(0, 200), st.booleans())
def test_a_stream_keeps_head_and_tail(pieces: list[bytes], limit: int, head_only: bool) -> None:
    """What is kept is the true beginning and the true end, never more than the limit, and the gap is counted."""
    capture, whole = Capture(limit, head_only), b"".join(pieces)
    head = b"".join(capture.feed(piece) for piece in pieces)
    tail = capture.end()

    assert len(head) + len(tail) <= limit
    assert len(head) + capture.gap + len(tail) == len(whole) == capture.total
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert capture.truncated is (len(whole) > limit)


def test_a_tail_is_bounded() -> None:
    """However large the limit, no more than 64 KiB wait for the end."""
    capture = Capture(1 << 30, head_only=False)

    assert len(capture.feed(bytes((1 << 20) + 5))) == (1 << 20) + 5
    assert TAIL == 1 << 16


QUERY = bytes.fromhex("abcd01000001000000000000") + b"\x07example\x03com\x00\x00\x01\x00\x01"


def test_no_name_is_known() -> None:
    """A question gets NXDOMAIN with its own id and its own question."""
    reply = dns.answer(QUERY)

    assert reply is not None
    assert reply[:2] == QUERY[:2]
    assert reply[2] & 0x80
    assert reply[3] & 0x0F == 3
    assert reply[12:] == QUERY[12:]


def test_extensions_are_cut_off() -> None:
    """An EDNS record after the question is not repeated."""
    query = QUERY[:11] + b"\x01" + QUERY[12:] + b"\x00\x00\x29\x10\x00\x00\x00\x00\x00\x00\x00"

    assert dns.answer(query) == dns.answer(QUERY)


@relaxed
@given(st.one_of(st.binary(max_size=600), st.binary(max_size=40).map(lambda rest: QUERY[:12] + rest)))
def test_dns_takes_any_datagram(datagram: bytes) -> None:
    """Whatever comes: an answer marked as one and, but for the address, no longer than the question, or silence."""
    reply = dns.answer(datagram)

    assert reply is None or (reply[2] & 0x80 and len(reply) <= len(datagram) + 28)


@pytest.mark.parametrize(
    ("kind", "address"), [(1, bytes([127, 0, 0, 1])), (28, bytes(15) + b"\1"), (16, b""), (255, b"")]
)
def test_localhost_is_known(kind: int, address: bytes) -> None:
    """By both its addresses and in any case; of another kind there is nothing to tell, and it exists all the same."""
    query = QUERY[:12] + b"\x09LocalHost\0" + struct.pack(">HH", kind, 1)
    reply = dns.answer(query)

    assert reply is not None
    assert reply[3] & 0x0F == 0
    assert reply[7] == bool(address)
    assert reply[12:].startswith(query[12:])
    assert reply[len(query) :][12:] == address


@pytest.mark.parametrize("name", [b"\x09localhosu\0", b"\x09localhost\1x\0", b"\1x\x09localhost\0", b"\0"])
def test_what_resembles_localhost_is_not_it(name: bytes) -> None:
    """NXDOMAIN."""
    reply = dns.answer(QUERY[:12] + name + b"\0\1\0\1")

    assert reply is not None
    assert reply[3] & 0x0F == 3


def test_dns_does_not_answer_answers() -> None:
    """Else two servers could talk for ever."""
    reply = dns.answer(QUERY)

    assert reply is not None
    assert dns.answer(reply) is None


@relaxed
@given(st.one_of(st.text(max_size=20), st.binary(max_size=20).map(os.fsdecode)))
def test_paths_that_lead_elsewhere_are_refused(path: str) -> None:
    """The guest and the host agree on what is a path below a root."""
    try:
        parts = files.split_safely(path)
    except files.TreeError:
        assert not is_safe_path(path) or not _encodable(path)
    else:
        assert is_safe_path(path)
        assert b"/".join(parts) == os.fsencode(path)


def _encodable(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


@pytest.mark.parametrize("path", sorted(GUEST.glob("*.py")), ids=lambda path: path.name)
def test_the_guest_is_python_3_8_and_short(path: Path) -> None:
    """Every module parses as Python 3.8 and has at most 400 lines."""
    text = path.read_text()

    ast.parse(text, feature_version=(3, 8))
    assert len(text.splitlines()) <= 400


@pytest.mark.parametrize("path", sorted(GUEST.glob("*.py")), ids=lambda path: path.name)
def test_the_guest_needs_the_standard_library_only(path: Path) -> None:
    """No module of it imports anything that an image's bare python3 might lack."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level <= 1
            names = [] if node.level else [node.module or ""]
        assert [name for name in names if name.split(".")[0] not in sys.stdlib_module_names] == []


def test_the_bundle_is_the_same_every_time() -> None:
    """The same sources give the same bytes, without the parts that are not the guest's."""
    first = boot.bundle()
    boot.bundle.cache_clear()

    assert boot.bundle() == first
    names = zipfile.ZipFile(io.BytesIO(first)).namelist()
    assert {"guest/__init__.py", "guest/init.py", "guest/init.pyc"} <= set(names)
    assert not {"guest/boot.py", "guest/worker.py"} & set(names)
    assert boot.preamble() == len(first).to_bytes(8, "big") + first


def test_boot_refuses_an_old_python() -> None:
    """Python below 3.8 ends with status 97 and one line that says why."""
    lied = "import sys; sys.version_info = (3, 7, 1)\n" + boot.BOOT
    done = subprocess.run([sys.executable, "-c", lied], input=b"", capture_output=True, check=False)

    assert done.returncode == boot.UNFIT_STATUS
    assert done.stderr.decode() == "takeover: the image's python3 is 3.7; 3.8 or later is needed\n"


def test_boot_refuses_an_incomplete_python() -> None:
    """So does a python3 without a module that the guest needs."""
    lied = "import sys; sys.modules['select'] = None\n" + boot.BOOT
    done = subprocess.run([sys.executable, "-c", lied], input=boot.preamble(), capture_output=True, check=False)

    assert done.returncode == boot.UNFIT_STATUS
    assert done.stderr.decode().startswith("takeover: the image's python3 is incomplete: ")


def test_boot_ends_quietly_when_nobody_is_there() -> None:
    """A host that hangs up before it has sent the guest leaves nothing behind."""
    done = subprocess.run([sys.executable, "-c", boot.BOOT], input=b"\0\0", capture_output=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def exported(root: Path, cap: int) -> tuple[list[str], files.Exporter]:
    exporter = files.Exporter(str(root), files.Caps(cap, 1 << 30, 100, 4096))
    return [item[0] for header, _ in exporter.frames() for item in header["items"]], exporter


NAMES = st.lists(st.text("ab", min_size=1, max_size=2), min_size=1, max_size=4).map("/".join)


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(NAMES, max_size=25), st.integers(0, 30), st.randoms(use_true_random=False))
def test_what_an_export_leaves_out_depends_on_the_tree_alone(
    tmp_path_factory: pytest.TempPathFactory, paths: list[str], cap: int, order: random.Random
) -> None:
    """Beyond the cap the first items in canonical order are taken, in whatever order they were made and are listed."""
    root = tmp_path_factory.mktemp("tree")
    order.shuffle(paths)
    for path in paths:
        with contextlib.suppress(OSError):  # a file where another path has a folder
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).touch()
    everything, _ = exported(root, 1000)
    taken, exporter = exported(root, cap)

    assert everything == sorted(
        (str(path.relative_to(root)) for path in root.rglob("*")), key=lambda path: path.split("/")
    )
    assert taken == everything[:cap]
    assert exporter.complete is (cap >= len(everything))
    cut = [path for path, reason in exporter.omitted if reason == "files"]
    assert len(cut) == len(set(cut))
    # Each folder that misses something is named, or lies in one that is not there at all.
    missing = {str(Path(path).parent).strip(".") for path in everything[cap:]}
    assert {path for path in missing if not path or path in taken} == set(cut)


def test_an_export_holds_no_more_names_than_it_may_take(tmp_path: Path) -> None:
    """A folder of many names costs the memory of the cap, not that of the folder."""
    for name in range(20_000):
        (tmp_path / f"{name:06}{'x' * 200}").touch()

    def peak(cap: int) -> int:
        tracemalloc.start()
        exported(tmp_path, cap)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    assert peak(10) < 1 << 20 < peak(20_000)
