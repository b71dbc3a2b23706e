"""Clients of the gateway's door that hang up, do not read, or speak no HTTP: nobody else is held up."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from http_kit import Asker, echo, said

from takeover.sandbox.gateway.exchange import Gone, HttpRequest, ResponsePart
from takeover.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.docker


def test_a_client_that_hangs_up(ask: Asker) -> None:
    """The host is told while it waits, and while it streams; a half-sent request never reaches it."""
    seen, told = [], threading.Semaphore(0)

    def answer(request: HttpRequest, gone: Gone) -> Iterator[ResponsePart]:
        seen.append(request.path)
        if request.path == "/stream":
            for _ in range(10_000):
                yield ResponsePart(bytes(10_000), True, None)
                if gone.is_set():
                    break
        assert gone.wait(20)
        told.release()
        yield ResponsePart(b"nobody reads this", False, 200)

    out = said(ask(
        "for n in range(3):\n    s = socket.create_connection(('127.0.0.1', 4000))\n"
        "    s.sendall((b'GET /wait HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n', b'GET /stream HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n', "
        "post(b'x' * 600000)[:-1])[n])\n    time.sleep(0.3)\n    s.close()\ntime.sleep(0.5)\nprint('done')",
        answer,
    ))  # fmt: skip

    assert out == "done\n"
    assert told.acquire(timeout=20)
    assert told.acquire(timeout=20)
    assert seen == ["/wait", "/stream"]


def test_a_client_that_does_not_read(ask: Asker, sandbox: Sandbox) -> None:
    """A response of a gigabyte for nobody: the host is held back, PID 1 stays small, others are served."""
    made = then = 0

    def answer(request: HttpRequest, gone: Gone) -> Iterator[ResponsePart]:
        nonlocal made, then
        if request.path != "/flood":
            then = made
            yield from echo(request, gone)
            return
        for number in range(1 << 10):
            made += 1
            yield ResponsePart(bytes(1 << 20), True, None if number else 200)

    out = said(ask(
        "def size():\n    return int(open('/proc/1/statm').read().split()[1]) * 4096\nbefore = size()\n"
        "s = socket.create_connection(('127.0.0.1', 4000))\ns.sendall(b'GET /flood HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')\n"
        "time.sleep(1)\nprint(json.loads(ask('/echo', b'abc'))[2], size() - before < 16 << 20)",
        answer,
    ))  # fmt: skip

    assert out.split() == ["3", "True"]
    assert 0 < then < 20


GARBAGE = {
    "smuggling": ("b'POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n'", 400),
    "two lengths": ("b'POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 1\\r\\nContent-Length: 2\\r\\n\\r\\nab'", 400),
    "TLS": ("b'\\x16\\x03\\x01\\x02\\0\\x01\\0\\r\\n\\r\\n'", 400),
    "HTTP/2": ("b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n'", 400),
    "a head without end": ("b'GET / HTTP/1.1\\r\\nA: ' + b'b' * 70000", 431),
    "a bad chunk": ("b'POST / HTTP/1.1\\r\\nHost: x\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\nzz\\r\\n'", 400),
    "too large": ("b'POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 67108865\\r\\n\\r\\n', b'x' * 100000", 413),
    "a chunk that is too large": ("b'POST / HTTP/1.1\\r\\nHost: x\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\nfffffff\\r\\n'", 413),
    "another coding": ("b'POST / HTTP/1.1\\r\\nHost: x\\r\\nTransfer-Encoding: gzip\\r\\n\\r\\n'", 501),
}  # fmt: skip


@pytest.mark.parametrize("what", GARBAGE)
def test_what_is_no_request(ask: Asker, what: str) -> None:
    """It is refused with a status that says why, the connection ends, and nothing of it reaches the host."""
    seen = []

    def answer(request: HttpRequest, gone: Gone) -> Iterator[ResponsePart]:
        seen.append(request)
        yield from echo(request, gone)

    text, status = GARBAGE[what]
    out = said(ask(f"t = time.monotonic()\nfound = raw({text})\nprint(found.decode('latin-1'))\nprint(time.monotonic() - t < 4)",
                   answer))  # fmt: skip

    assert out.startswith(f"HTTP/1.1 {status} ")
    assert '{"error": {"message": ' in out
    assert out.endswith("}}\nTrue\n")
    assert seen == []


def test_a_body_that_grows_too_large(ask: Asker) -> None:
    """64 MiB in chunks are too much at the first byte beyond; the host forgets what it had, and others are served."""
    out = said(ask(
        "def chunks():\n    yield b'POST / HTTP/1.1\\r\\nHost: x\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n'\n"
        "    for _ in range(65):\n        yield b'100000\\r\\n' + bytes(1 << 20) + b'\\r\\n'\n    yield b'0\\r\\n\\r\\n'\n"
        "print(raw(*chunks())[:12])\nprint(json.loads(ask('/', bytes(64 << 20)))[2])",
    ))  # fmt: skip

    assert out.split("\n")[:2] == ["b'HTTP/1.1 413'", str(64 << 20)]


def test_slow_and_garbled_clients_hold_nobody_up(ask: Asker) -> None:
    """Sixty-three heads that never end, and a flood of noise, beside an honest client."""
    out = said(ask(
        "socks = []\nfor n in range(63):\n    s = socket.create_connection(('127.0.0.1', 4000), 20)\n"
        "    s.sendall(b'GET / HTTP/1.1\\r\\nHo')\n    socks.append(s)\n"
        "def noise():\n    for n in range(300):\n        try:\n            s = socket.create_connection(('127.0.0.1', 4000), 20)\n"
        "            s.sendall(os.urandom(1000 * (n % 7)))\n            s.close()\n        except OSError:\n            pass\n"
        "t = threading.Thread(target=noise)\nt.start()\nfor n in range(100):\n    assert json.loads(ask('/x', b'x' * n))[2] == n\n"
        "t.join()\nprint('fine')",
    ))  # fmt: skip

    assert out == "fine\n"
