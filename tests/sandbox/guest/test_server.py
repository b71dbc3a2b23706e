"""HTTP from a process in a container to a Python function on the host, and back."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from http_kit import KIT, Asker, echo, said

from takeover.sandbox.gateway.exchange import Gone, HttpRequest, ResponsePart, whole
from takeover.sandbox.gateway.gateway import Gateway
from takeover.sandbox.gateway.script import turn
from takeover.sandbox.gateway.scripted import Scripted
from takeover.sandbox.sandbox import CommandFailed, Sandbox

pytestmark = pytest.mark.docker


def test_a_request_and_its_response(ask: Asker) -> None:
    """Method, path, headers and body arrive as they were sent; status, headers and body come back."""
    seen = []

    def answer(request: HttpRequest, gone: Gone) -> Iterator[ResponsePart]:
        seen.append(request)
        yield ResponsePart(b"I'm a teapot", False, 418, (("X-Kind", "caf\xe9"), ("X-Kind", "two")))

    out = said(ask(
        "c = http.client.HTTPConnection('127.0.0.1', 4000)\nc.request('PUT', '/a/b?c=%20d', b'\\0\\xff', {'X-Mine': 'yes'})\n"
        "r = c.getresponse()\nprint(r.status, r.headers.get_all('x-kind'), r.read(), r.version, sys.flags.utf8_mode and '')",
        answer,
    ))  # fmt: skip

    assert out.startswith("418 ['caf\xe9', 'two'] b\"I'm a teapot\" 11")
    assert [(r.method, r.path, r.body, r.header("x-mine")) for r in seen] == [("PUT", "/a/b?c=%20d", b"\0\xff", "yes")]


def test_ten_mebibytes_up_and_down(ask: Asker) -> None:
    """Large bodies arrive whole, counted and chunked, both ways."""
    size, block = 10 << 20, bytes(range(256)) * 4096

    def answer(request: HttpRequest, gone: Gone) -> Iterator[ResponsePart]:
        if request.path == "/down":
            yield from whole(200, (), block * 10)
        else:
            yield from echo(request, gone)

    out = said(ask(
        f"data = bytes(range(256)) * {size // 256}\ndigest = hashlib.sha256(data).hexdigest()\n"
        "print(json.loads(ask('/up', data))[2:] == [len(data), digest])\n"
        "c = http.client.HTTPConnection('127.0.0.1', 4000)\n"
        "c.request('POST', '/up', (data[i:i + 100000] for i in range(0, len(data), 100000)), encode_chunked=True)\n"
        "print(json.loads(c.getresponse().read())[2:] == [len(data), digest])\n"
        "c.request('GET', '/down')\nprint(hashlib.sha256(c.getresponse().read()).hexdigest() == digest)",
        answer,
    ))  # fmt: skip

    assert out.split() == ["True"] * 3


def test_a_stream_comes_as_it_is_made(ask: Asker) -> None:
    """Each piece is there before the next is made: the host waits until the client has told of the last one."""
    got = [threading.Event() for _ in range(4)]

    def answer(request: HttpRequest, gone: Gone) -> Iterator[ResponsePart]:
        if request.path != "/stream":
            got[int(request.path[1:])].set()
            yield from whole(200, (), b"")
            return
        for number in range(4):
            yield ResponsePart(b"event %d\n" % number, True, None if number else 200)
            assert got[number].wait(20)
        yield ResponsePart(b"", False)

    out = said(ask(
        "with urllib.request.urlopen('http://127.0.0.1:4000/stream') as r:\n    print(r.headers['Transfer-Encoding'])\n"
        "    for line in r:\n        print(line.decode(), end='')\n        ask('/' + line.decode().split()[1])",
        answer,
    ))  # fmt: skip

    assert out.split("\n")[:-1] == ["chunked", *(f"event {n}" for n in range(4))]


def test_many_at_once(ask: Asker) -> None:
    """Twenty requests are all with the host before the first is answered, and each gets its own answer."""
    barrier = threading.Barrier(20)

    def answer(request: HttpRequest, gone: Gone) -> Iterator[ResponsePart]:
        barrier.wait(20)
        yield from whole(200, (), request.body * 1000)

    out = said(ask(
        "def one(n):\n    found[n] = ask('/x', b'%d,' % n) == b'%d,' % n * 1000\nfound = {}\n"
        "ts = [threading.Thread(target=one, args=(n,)) for n in range(20)]\n[t.start() for t in ts]; [t.join() for t in ts]\n"
        "print(sorted(found.items()) == [(n, True) for n in range(20)])",
        answer,
    ))  # fmt: skip

    assert out == "True\n"


def test_more_than_there_is_room_for(ask: Asker) -> None:
    """A hundred connections that are kept open: idle ones make way, those that wait for an answer do not."""
    out = said(ask(
        "socks = [socket.create_connection(('127.0.0.1', 4000), 20) for _ in range(100)]\ntime.sleep(0.3)\n"
        "print(json.loads(ask('/echo', b'x'))[2])\n"
        "def one(n):\n    found.append(json.loads(ask('/slow'))[1])\nfound = []\n"
        "ts = [threading.Thread(target=one, args=(n,)) for n in range(100)]\n[t.start() for t in ts]; [t.join() for t in ts]\n"
        "print(len(found))",
        slow,
    ))  # fmt: skip

    assert out.split() == ["1", "100"]


def slow(request: HttpRequest, gone: Gone) -> Iterator[ResponsePart]:
    if request.path == "/slow":
        time.sleep(0.05)
    yield from echo(request, gone)


def test_a_connection_is_kept(ask: Asker) -> None:
    """Many requests on one connection, pipelined ones in their order, a body with a line too many behind it."""
    out = said(ask(
        "c = http.client.HTTPConnection('127.0.0.1', 4000)\nfor n in range(50):\n    c.request('POST', '/%d' % n, b'x' * n)\n"
        "    assert json.loads(c.getresponse().read())[:3] == ['POST', '/%d' % n, n]\n"
        "found = raw(post(b'a') + post(b'bb') + b'\\r\\n' + post(b'ccc'), post(b'dddd', 'Connection: close'))\n"
        "print(found.count(b'HTTP/1.1 200 OK'), [found.find(b'\"/echo\", %d,' % n) for n in (1, 2, 3, 4)])",
    ))  # fmt: skip

    count, places = out.split(" ", 1)
    assert count == "4"
    assert sorted(json.loads(places)) == json.loads(places)
    assert -1 not in json.loads(places)


def test_expect_continue(ask: Asker) -> None:
    """A client that asks first is told to go on, and one that does not wait is served as well."""
    out = said(ask(
        "s = socket.create_connection(('127.0.0.1', 4000), 20)\ns.sendall(post(b'abc', 'Expect: 100-continue')[:-3])\n"
        "print(s.recv(100))\ns.sendall(b'abc')\nprint(b'200 OK' in s.recv(1000))\n"
        "print(raw(post(b'abc', 'Expect: 100-continue', 'Connection: close')).count(b'HTTP/1.1'))",
    ))  # fmt: skip

    assert out.split("\n")[:3] == ["b'HTTP/1.1 100 Continue\\r\\n\\r\\n'", "True", "1"]


def test_old_clients(ask: Asker) -> None:
    """HTTP/1.0: the end of the connection is the end of a response that is streamed. HEAD has no body."""

    def answer(request: HttpRequest, gone: Gone) -> Iterator[ResponsePart]:
        yield ResponsePart(b"one ", True, 200, (("Content-Length", "7"),))
        yield ResponsePart(b"two", False)

    out = said(ask(
        "print(raw(b'GET / HTTP/1.0\\r\\n\\r\\n'))\nprint(raw(b'HEAD / HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n'))",
        answer,
    ))  # fmt: skip

    assert out.split("\n")[:2] == [
        "b'HTTP/1.1 200 OK\\r\\nConnection: close\\r\\n\\r\\none two'",
        "b'HTTP/1.1 200 OK\\r\\nContent-Length: 7\\r\\nConnection: close\\r\\n\\r\\n'",
    ]


def test_a_response_that_broke_looks_broken(ask: Asker) -> None:
    """The client sees an error, not an end: while it streams, and before it began."""

    def answer(request: HttpRequest, gone: Gone) -> Iterator[ResponsePart]:
        if request.path == "/late":
            yield ResponsePart(b"one ", True, 200)
        yield ResponsePart(cut=True)

    out = said(ask(
        "for path in ('/late', '/early'):\n    try:\n        print(ask(path))\n"
        "    except (http.client.HTTPException, OSError) as e:\n        print(type(e).__name__)",
        answer,
    ))  # fmt: skip

    assert len(out.split()) == 2
    assert set(out.split()) <= {"IncompleteRead", "ConnectionResetError", "RemoteDisconnected", "URLError"}


def test_nobody_is_there_without_a_gateway(sandbox: Sandbox) -> None:
    """A command that was not given one finds the port closed, also after one that was."""
    code = KIT + "try:\n    ask()\nexcept urllib.error.URLError as e:\n    print(e.reason)"
    assert sandbox.run(["python3", "-c", KIT + "ask()"], on_request=echo).ok

    assert b"refused" in sandbox.run(["python3", "-c", code]).stdout.lower()


def test_the_port_is_taken(sandbox: Sandbox) -> None:
    """Another program of the agent sits on the port: the command is refused, and the machinery is fine."""
    code = "s = socket.create_server(('127.0.0.1', 4000))\nfor line in sys.stdin: print(line, end='', flush=True)"
    with sandbox.open_process(["python3", "-c", KIT + code]) as process:
        process.ask(b"x", 20)
        with pytest.raises(CommandFailed):
            sandbox.run(["true"], on_request=echo)
    assert sandbox.run(["true"], on_request=echo).ok


def test_the_end_of_the_session_ends_the_calls(ask: Asker) -> None:
    """A response under way when the wall falls is told to stop, and nobody waits for it."""
    over = threading.Event()

    def answer(request: HttpRequest, gone: Gone) -> Iterator[ResponsePart]:
        yield ResponsePart(b"x", True, 200)
        assert gone.wait(20)
        over.set()

    begun = time.monotonic()
    result = ask("ask('/')", answer, wall=0.5)

    assert result.how == "wall"
    assert time.monotonic() - begun < 5
    assert over.wait(20)


def test_the_gateway_itself_answers(ask: Asker) -> None:
    """A streamed chat completion from a scripted model, asked for in the sandbox."""
    with Gateway(Scripted([turn(say="Hello there.")])) as gateway:
        out = said(ask(
            "body = {'model': 'm', 'stream': True, 'messages': [{'role': 'user', 'content': 'hi'}],\n"
            "        'tools': [{'type': 'function', 'function': {'name': 'bash', 'parameters': {}}}]}\nfound = ''\n"
            "r = urllib.request.Request('http://127.0.0.1:4000/v1/chat/completions', json.dumps(body).encode(), "
            "{'Content-Type': 'application/json'})\n"
            "for line in urllib.request.urlopen(r, timeout=20):\n    if line.startswith(b'data: {'):\n"
            "        for c in json.loads(line[6:])['choices']:\n            found += c['delta'].get('content') or ''\n"
            "print(found)",
            gateway.handle,
        ))  # fmt: skip
        report = gateway.report()

    assert out == "Hello there.\n"
    assert report.totals.to_json()


def test_how_long_a_call_takes(ask: Asker, record_property: Callable[[str, object], None]) -> None:
    """A call over a kept connection takes a few milliseconds at most, under load too; the benchmark measures it."""
    out = said(ask(
        "c = http.client.HTTPConnection('127.0.0.1', 4000)\ntimes = []\nfor n in range(300):\n    t = time.perf_counter()\n"
        "    c.request('POST', '/x', b'y' * 2000)\n    c.getresponse().read()\n    times.append(time.perf_counter() - t)\n"
        "times.sort()\nprint(*(round(1000 * times[n], 3) for n in (30, 150, 270)))",
    ))  # fmt: skip

    p10, p50, p90 = map(float, out.split())
    record_property("milliseconds", (p10, p50, p90))
    assert p10 < 50
