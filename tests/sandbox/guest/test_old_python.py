"""The guest under the oldest Python that it promises, as PID 1 of namespaces of its own on this machine."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from takeover.sandbox.guest import boot
from takeover.sandbox.guest.frames import Decoder, encode

CANDIDATES = sorted(Path("~/.pyenv/versions").expanduser().glob("3.8.*/bin/python3.8"))


@pytest.fixture
def old_python() -> str:
    """A Python 3.8 of this machine."""
    found = os.environ.get("TAKEOVER_PYTHON38") or next(map(str, CANDIDATES), None) or shutil.which("python3.8")
    if found is None or os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs Python 3.8 (TAKEOVER_PYTHON38), root and unshare")
    return found


class Pipes:
    """The wire as two pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process, self._decoder = process, Decoder()

    def send(self, kind: str, body: bytes = b"", **fields: Any) -> None:
        assert self._process.stdin
        self._process.stdin.write(encode({"t": kind, **fields}, body))
        self._process.stdin.flush()

    def take(self, *kinds: str) -> tuple[dict[str, Any], bytes]:
        """The next frame of one of these kinds."""
        assert self._process.stdout
        while True:
            frame = self._decoder.next()
            if frame is None:
                ready, _, _ = select.select([self._process.stdout], [], [], 60)
                assert ready, "the guest has said nothing for a minute"
                data = os.read(self._process.stdout.fileno(), 1 << 16)
                assert data, "the guest is gone"
                self._decoder.feed(data)
            elif frame[0]["t"] in kinds:
                return frame


@pytest.fixture
def old_guest(old_python: str, tmp_path: Path) -> Iterator[Pipes]:
    """A greeted guest; its workspace is a folder of this machine, its /run a tmpfs of its own."""
    for name in ("workspace", "home"):
        (tmp_path / name).mkdir()
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents[:3]:
        parent.chmod(parent.stat().st_mode | 0o011)  # the agent has to get there
    # A new network namespace has its loopback down, unlike a container's.
    up = "import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sh', b'lo', 1))"
    setup = f'mount -t tmpfs none /run && "$0" -c "{up}" && exec "$0" -I -S -B -c "$1"'
    argv = ["unshare", "-p", "-m", "-n", "-f", "--mount-proc", "sh", "-c", setup, old_python, boot.BOOT]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        process.stdin.write(boot.preamble())
        pipes = Pipes(process)
        pipes.send(
            "hello",
            v=1,
            user="12345",
            home=str(tmp_path / "home"),
            workspace=str(tmp_path / "workspace"),
            dns=False,
            gateway=True,
        )
        ready, _ = pipes.take("ready", "unfit")
        assert ready["t"] == "ready", ready
        assert ready["python"].startswith("3.8.")
        yield pipes
        process.stdin.close()
        assert process.wait(10) == 0


def test_a_session_under_python_3_8(old_guest: Pipes, tmp_path: Path) -> None:
    """Load, run, an exact cut, and export."""
    item = ["a.py", "f", 0o644, 6, 0, 6]
    old_guest.send("load", id=1, root="workspace")
    old_guest.send("tree", b"x = 1\n", id=1, items=[item], last=True)
    assert old_guest.take("loaded", "failed")[0]["t"] == "loaded"

    script = "echo out; echo 'x = 2' > a.py; echo never > b.py"
    env = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    old_guest.send(
        "run", id=2, argv=["sh", "-c", script], env=env, cwd=str(tmp_path / "workspace"), cutoff={"rule": "first-edit"}
    )
    exit_frame, _ = old_guest.take("exit", "failed")
    assert exit_frame["how"] == "cutoff", json.dumps(exit_frame)
    assert exit_frame["cutoff"]["path"] == "a.py"
    assert exit_frame["cutoff"]["exact"]

    old_guest.send("run", id=3, argv=["sh", "-c", "python3 -m unittest a 2>/dev/null; id -u; sleep 0.1"], env=env,
                   cwd=str(tmp_path / "workspace"), cutoff={"rule": "first-validation"})  # fmt: skip
    assert old_guest.take("exit", "failed")[0]["how"] == "exited"

    old_guest.send("export", id=4, root="workspace", max_files=9, max_bytes=99, max_depth=9, max_path=99)
    header, body = old_guest.take("tree")
    assert [entry[0] for entry in header["items"]] == ["a.py"]
    assert body == b"x = 2\n"
    assert old_guest.take("exported")[0]["complete"]


def test_http_under_python_3_8(old_guest: Pipes, tmp_path: Path) -> None:
    """The gateway's door, and a rule that a commit arms."""
    code = (
        "import urllib.request as u\nprint(u.urlopen('http://127.0.0.1:4000/v1?x', b'ask', 20).read().decode(), flush=True)\n"
        "import os\nos.makedirs('.git/refs/heads')\nopen('.git/HEAD', 'w').write('ref: refs/heads/x')\n"
        "open('.git/refs/heads/x', 'w').write('a' * 40)\nopen('a.py', 'w').write('x')\nopen('b.py', 'w').write('x')"
    )
    env = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    cutoff = {"rule": "first-edit", "armed": "first-commit", "armed_test": ["true"]}
    old_guest.send("run", id=2, argv=["python3", "-c", code], env=env, cwd=str(tmp_path / "workspace"), cutoff=cutoff,
                   gateway=True)  # fmt: skip
    header, body = old_guest.take("request", "exit", "failed")
    assert (header["t"], header["path"], body) == ("request", "/v1?x", b"ask"), header
    old_guest.send("response", b"tell", id=header["id"], status=200, headers=[["A", "b"]], more=False)
    assert old_guest.take("output")[1] == b"tell\n"
    assert old_guest.take("armed")[0]["commit"] == "a" * 40
    exit_frame, _ = old_guest.take("exit")

    assert (exit_frame["cutoff"]["path"], exit_frame["armed"]) == ("a.py", True)
