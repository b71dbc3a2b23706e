"""Requests to the gateway pass the barrier: none reaches the host after the edit that ends a session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from http_kit import Asker, echo

from takeover.sandbox.cutoff import CutoffRule, parse
from takeover.sandbox.gateway.exchange import Gone, HttpRequest, ResponsePart, whole
from takeover.sandbox.items import plain_tree
from takeover.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.docker


EDIT = "open('a.py', 'w').write('x = 2\\n')\n"
FOLLOWERS = {
    "new connection": EDIT + "ask('/after', b'x')",
    "kept connection": "c = http.client.HTTPConnection('127.0.0.1', 4000)\nc.request('GET', '/before')\nc.getresponse().read()\n"
    + EDIT + "c.request('GET', '/after')\nc.getresponse()",
    "request half sent": "s = socket.create_connection(('127.0.0.1', 4000))\nd = post(b'x' * 900000)\ns.sendall(d[:-1])\n"
    "ask('/before')\n" + EDIT + "s.sendall(d[-1:])\nread(s)",
    "another process": "p = subprocess.Popen([sys.executable, '-c', \"import socket, sys; s = socket.create_connection(('127.0.0.1', "
    "4000)); print(flush=True); sys.stdin.read(1); s.sendall(b'GET /after HTTP/1.0\\\\r\\\\n\\\\r\\\\n'); s.recv(1)\"], "
    "stdin=-1, stdout=-1)\np.stdout.read(1)\nask('/before')\nf = open('a.py', 'w')\nf.write('y')\nf.close()\n"
    "p.stdin.write(b'x')\np.stdin.flush()\np.wait()",
}  # fmt: skip


@pytest.mark.parametrize("how", FOLLOWERS)
def test_no_model_call_after_the_edit(ask: Asker, sandbox: Sandbox, how: str) -> None:
    """A request that is the very next thing after the edit never reaches the host."""
    for _ in range(10):
        seen = []

        def answer(request: HttpRequest, gone: Gone, seen: list[str] = seen) -> Iterator[ResponsePart]:
            seen.append(request.path)
            yield from echo(request, gone)

        sandbox.load(plain_tree({"a.py": b"x = 1\n"}))
        result = ask(FOLLOWERS[how], answer, cutoff=parse("first-edit"))

        assert result.how == "cutoff", result
        assert result.cutoff is not None
        assert result.cutoff.exact
        assert set(seen) <= {"/before"}


@pytest.mark.parametrize("how", FOLLOWERS)
def test_without_a_cutoff_the_call_would_have_come(ask: Asker, sandbox: Sandbox, how: str) -> None:
    """The same programs under the rule `none` do ask, so the test above can fail."""
    seen = []

    def answer(request: HttpRequest, gone: Gone) -> Iterator[ResponsePart]:
        seen.append(request.path)
        yield from whole(200, (("Connection", "close"),), b"")

    sandbox.load(plain_tree({"a.py": b"x = 1\n"}))
    ask(FOLLOWERS[how].replace("read(s)", "s.recv(9)"), answer, cutoff=parse("none"))

    assert set(seen) - {"/before"}


def test_a_call_waits_while_a_rule_is_armed(ask: Asker, sandbox: Sandbox) -> None:
    """Requests wait for the visible tests as every other call does, and go out when they have ended."""
    git = "git init -q && git add -A && git -c user.name=a -c user.email=a commit -qm x"
    rule = CutoffRule(armed="first-commit", armed_test=("sh", "-c", "sleep 0.5; date +%s.%N > /tmp/tested"))
    times = []

    def answer(request: HttpRequest, gone: Gone) -> Iterator[ResponsePart]:
        times.append(request.path)
        yield from whole(200, (), b"")

    sandbox.load(plain_tree({"a.py": b"x = 1\n"}))
    result = ask(
        f"subprocess.run({git!r}, shell=True)\nask('/' + ('tested' if os.path.exists('/tmp/tested') else 'early'))\n" + EDIT
        + "ask('/never')",
        answer, cutoff=rule,
    )  # fmt: skip

    assert (result.how, result.armed, result.edited) == ("cutoff", True, ("a.py",))
    assert times == ["/tested"]
