"""The subject worker: an answer for every question, whatever the code behind it does."""

from __future__ import annotations

import ast
import importlib.util
import os
import py_compile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeover.grader.local import unsafe_local_channel
from takeover.grader.subject import Subject
from takeover.grader.worker import source

HONEST = """
def right():
    return 208
"""

# What a module of the agent does when it is imported or called, and what the question `right()` must then come to.
# None: exactly what the honest module answers.
HOSTILE = {
    "exits with success at import": ("import os; os._exit(0)", "exit code 0"),
    "exits with success in the call": ("import os\ndef right(): os._exit(0)", "exit code 0"),
    "raises SystemExit at import": ("raise SystemExit(0)", "SystemExit"),
    "raises KeyboardInterrupt": ("def right(): raise KeyboardInterrupt", "KeyboardInterrupt"),
    "hangs in the call": ("def right():\n    while True: pass", "gave no answer"),
    "hangs at import": ("import time; time.sleep(60)", "gave no answer"),
    "stops itself": ("import os, signal\ndef right(): os.kill(os.getpid(), signal.SIGSTOP)", "gave no answer"),
    "recurses": ("def right(): return right()", "RecursionError"),
    "overflows the C stack": (
        (
            "import sys\nsys.setrecursionlimit(10**9)\ndef right():\n    x = []\n"
            "    for _ in range(10**6): x = [x]\n    return repr(x)"
        ),
        "without an answer|RecursionError|MemoryError|gave no answer",
    ),
    "allocates": ("def right(): return bytearray(10**12)", "MemoryError"),
    "aborts": ("import os\ndef right(): os.abort()", "signal 6"),
    "writes to every descriptor": (
        (
            'import os\ndef right():\n    for fd in range(256):\n        try: os.write(fd, b\'{"how": "answered"}\\n\')\n'
            "        except OSError: pass\n    return 208"
        ),
        "not an answer",
    ),
    "answers a value that is too large": ("def right(): return 'x' * 10**8", "too large"),
    "answers a value that holds itself": ("x = []\nx.append(x)\ndef right(): return x", "deeper than"),
    "answers a value that is too wide": ("def right(): return [None] * 10**6", "parts"),
    "answers an int of too many digits": ("def right(): return 1 << 10**7", "too large"),
    "is not Python": ("def right(:", "SyntaxError"),
    "holds null bytes": ("x = '\0'", "SyntaxError|ValueError"),
    "replaces builtins": (
        (
            "import builtins\nbuiltins.len = builtins.type = builtins.isinstance = builtins.list = lambda *a: 0\n"
            "def right(): return 209"
        ),
        "209|without an answer|not an answer",
    ),
    "replaces the json module": (
        "import json\njson.dumps = lambda *a, **k: '{}'\njson.JSONEncoder.encode = lambda *a: '{}'\n" + HONEST,
        None,
    ),
    "prints our own words": (
        "print('PASSED ' * 10**6)\nprint('{\"how\": \"answered\"}')\nimport sys\nsys.stderr.write('x' * 10**6)\n"
        + HONEST,
        None,
    ),
    "closes every descriptor": ("import os\nos.closerange(0, 1000)\n" + HONEST, "without an answer"),
    "leaves a daemon behind": (
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(60)\n    os._exit(0)\n"
        + HONEST,
        None,
    ),
    "answers by a child and dies": (
        "import os, time\ndef right():\n    if os.fork(): os._exit(0)\n    return 208",
        "208|exit code 0",
    ),
    "starts threads that never end": (
        "import threading, time\nfor _ in range(20): threading.Thread(target=time.sleep, args=(60,)).start()\n"
        + HONEST,
        None,
    ),
    "ignores signals": (
        (
            "import signal\nfor s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(s, signal.SIG_IGN)\n"
            "def right():\n    while True: pass"
        ),
        "gave no answer",
    ),
    "hides behind atexit": (
        "import atexit, os\natexit.register(os.write, 1, b'PASSED')\n" + HONEST,
        None,
    ),
    "kills the worker": ("import os, signal\ndef right(): os.kill(os.getppid(), signal.SIGKILL)", "worker"),
    "raises an error without a message": (
        "class E(Exception):\n    def __str__(self): raise self\ndef right(): raise E",
        "no message",
    ),
    "raises an exception that fights back": (
        (
            "class E(ValueError):\n    def __str__(self): raise E(self)\n    __repr__ = __str__\n"
            "    __dict__ = property(lambda self: exec('raise E(self)', {'E': E, 'self': self}))\ndef right(): raise E"
        ),
        "raised agent.E",
    ),
    "answers an object that fights back": (
        (
            "class E:\n    __dict__ = property(lambda self: exit())\n    __class__ = property(lambda self: 1 / 0)\n"
            "def right(): return E()"
        ),
        "ZeroDivisionError",
    ),
    "lies about its class": (
        (
            "class E(int):\n    __class__ = int\n    def __eq__(self, other): return True\n    __hash__ = None\n"
            "def right(): return E(208)"
        ),
        "returned a agent.E",
    ),
    "equals everything": (
        "class E:\n    def __eq__(self, other): return True\n    def __repr__(self): return '208'\ndef right(): return E()",
        "returned a agent.E",
    ),
}


@pytest.fixture(name="workspace")
def _workspace(tmp_path: Path) -> Path:
    (tmp_path / "honest.py").write_text(HONEST)
    return tmp_path


@pytest.fixture(name="subject")
def _subject(workspace: Path) -> Iterator[Subject]:
    with unsafe_local_channel(workspace) as channel:
        yield Subject(channel, limit=3.0)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_code_is_an_answer_and_costs_one_question(name: str, workspace: Path, subject: Subject) -> None:
    """Code that attacks the worker earns what it answers, and the next question is answered as ever."""
    code, expected = HOSTILE[name]
    (workspace / "agent.py").write_text(code)

    observed = subject.call("agent:right")

    if expected is None:
        assert observed == 208
    else:
        assert (observed == 208) is False or "208" in expected.split("|")
        assert any(part in repr(observed) for part in expected.split("|")), repr(observed)
    assert subject.call("honest:right") == 208


def test_nothing_outlives_a_question(workspace: Path, subject: Subject) -> None:
    """A process that detached twice is gone before the answer is given."""
    mark = workspace / "pid"
    (workspace / "agent.py").write_text(
        "import os, time\n"
        "def right():\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        if os.fork() == 0:\n"
        f"            open({str(mark)!r}, 'w').write(str(os.getpid()))\n"
        "            time.sleep(60)\n"
        "        os._exit(0)\n"
        f"    while not os.path.exists({str(mark)!r}) or not open({str(mark)!r}).read(): time.sleep(0.01)\n"
        "    return 1\n"
    )

    assert subject.call("agent:right") == 1

    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)


def test_questions_share_nothing(workspace: Path, subject: Subject) -> None:
    """What one question changed in memory is unknown to the next."""
    (workspace / "agent.py").write_text("n = 0\ndef right():\n    global n\n    n += 1\n    return n")

    assert [subject.call("agent:right").value for _ in range(3)] == [1, 1, 1]


@pytest.mark.parametrize(
    "name", ["json", "os", "decimal", "sitecustomize", "usercustomize", "encodings", "struct", "re"]
)
def test_the_workspace_shadows_nothing(name: str, workspace: Path) -> None:
    """A module of the workspace with a name of the standard library is never taken for it, nor run at start."""
    (workspace / f"{name}.py").write_text("raise SystemExit('shadowed')")
    with unsafe_local_channel(workspace) as channel:
        assert Subject(channel).call("honest:right") == 208


def test_stale_bytecode_is_not_run(workspace: Path, subject: Subject) -> None:
    """A .pyc that claims to be a module's compiled form is not looked at: the source is what runs."""
    source_path = workspace / "agent.py"
    source_path.write_text("def right(): return 208")
    py_compile.compile(str(source_path), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    assert Path(importlib.util.cache_from_source(str(source_path))).exists() or (workspace / "__pycache__").exists()
    source_path.write_text("def right(): return 209")

    assert subject.call("agent:right") == 209
    assert subject.call("agent:right") == 209


def test_a_question_of_many_sees_the_imports(workspace: Path, subject: Subject) -> None:
    """Which module of the workspace imports which is told, however it is done."""
    (workspace / "low").mkdir()
    (workspace / "low" / "__init__.py").write_text("")
    (workspace / "low" / "a.py").write_text(
        "import json\nfrom . import b\nimport honest\ndef f():\n    import importlib\n"
        "    return importlib.import_module('low.c') and 1"
    )
    (workspace / "low" / "b.py").write_text("")
    (workspace / "low" / "c.py").write_text("")

    assert subject.call("low.a:f") == 1
    assert {("low.a", "low.b"), ("low.a", "honest"), ("low.a", "low.c")} <= subject.imports
    assert not any(imported.startswith("json") for _, imported in subject.imports)


LOADS = {
    "a spec of the file": (
        "import importlib.util as u\ndef f():\n    s = u.spec_from_file_location('x', 'low/b.py')\n"
        "    m = u.module_from_spec(s)\n    s.loader.exec_module(m)\n    return m.B"
    ),
    "its text": "def f():\n    d = {}\n    exec(open('low/b.py').read(), d)\n    return d['B']",
    "a name put together": "def f(): return __import__(''.join(reversed('b.wol'))).b.B",
    "importlib, built": "import importlib\ndef f(): return importlib.import_module('low' + '.b').B",
    "runpy": "import runpy\ndef f(): return runpy.run_path('low/b.py')['B']",
}


@pytest.mark.parametrize("name", LOADS)
def test_a_load_by_the_back_door_is_seen(name: str, workspace: Path, subject: Subject) -> None:
    """A module that is loaded without an import statement is noted with who loaded it, every time."""
    (workspace / "low").mkdir()
    (workspace / "low" / "b.py").write_text("B = 7")
    (workspace / "agent.py").write_text(LOADS[name])

    for _ in range(2):
        subject.imports.clear()
        assert subject.call("agent:f") == 7
        assert ("agent", "low.b") in subject.imports


def test_set_order_is_the_same_in_every_worker(workspace: Path) -> None:
    """Code that leans on the order of a set of strings answers alike in two workers."""
    (workspace / "agent.py").write_text("def right(): return list({'a', 'b', 'c', 'd', 'e', 'f', 'g'})")
    answers = []
    for _ in range(3):
        with unsafe_local_channel(workspace) as channel:
            answers.append(Subject(channel).call("agent:right").value)

    assert answers[0] == answers[1] == answers[2]


def test_a_hang_costs_its_limit_and_no_more(workspace: Path) -> None:
    """A question's time limit is the worker's own to keep."""
    (workspace / "agent.py").write_text("def right():\n    while True: pass")
    with unsafe_local_channel(workspace) as channel:
        begun = time.monotonic()
        observed = Subject(channel, limit=0.5).call("agent:right")

    assert "gave no answer in 0.5 seconds" in repr(observed)
    assert time.monotonic() - begun < 4


def test_the_worker_keeps_to_old_python_and_the_standard_library() -> None:
    """The one text that is sent parses as Python 3.8 and imports nothing of ours."""
    tree = ast.parse(source(), feature_version=(3, 8))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]

    assert imports == []
    assert len(source().encode()) < 128 * 1024, "one argument of execve holds no more"
