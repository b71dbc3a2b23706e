"""The subject worker: runs an agent's code on request and tells what it came to, as typed plain data.

It is sent as one text, `python3 -s -S -B -c SOURCE [--alone] [--load=MODULE,...] ROOT...`, reads one JSON request a
line on stdin and answers one JSON line. Each request runs in a fork of its own that imports from ROOT after everything else; the fork
answers its parent by a pipe, and nothing of it outlives the request. Nothing here knows what answer is expected.
"""

from __future__ import annotations

import builtins
import contextlib
import fcntl
import gc
import importlib
import json
import os
import resource
import select
import signal
import struct
import sys
import time
from typing import Any, Callable, Iterable, Iterator

from .worker_values import ANYTHING, SCALARS, Encoder, Unplain, decode, find, name_of

MAX_ANSWER = 1 << 20
MAX_TEXT = 2000
MAX_IMPORTS = 2000
OUTPUT_TAIL = 2000
# What most code imports, once here instead of once in every fork; `--load` names more of the standard library.
PRELOAD = ("collections.abc", "contextlib", "functools", "re", "typing")
# Of writable memory, not of addresses: an honest program with threads reserves far more than it uses.
MEMORY = 512 << 20
SWEEP_SECONDS = 2.0
PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36

# Taken before any code of the agent can replace them; a child uses these and no others at its end.
_write, _exit, _dumps = os.write, os._exit, json.JSONEncoder(ensure_ascii=True, allow_nan=False).encode


def probe(source: str, folders: list[str]) -> Any:
    """The `result` of a script that finds these folders of the workspace before the workspace itself, if it has any."""
    here = os.getcwd()
    at, paths = sys.path.index(here), [os.path.join(here, folder) for folder in folders]
    sys.path[at:at] = paths
    os.environ["PYTHONPATH"] = os.pathsep.join([*paths, here])  # for an interpreter that the script starts
    names: dict[str, Any] = {"__name__": "probe"}
    exec(compile(source, "<probe>", "exec"), names)
    return names["result"]


def perform(step: dict[str, Any], results: list[Any]) -> Any:
    """Does one step of a script."""
    op = step["op"]
    if op == "import":
        importlib.import_module(step["module"])
        return None
    if op == "probe":
        return probe(step["source"], step["folders"])
    if op == "target":
        return find(step["target"])
    if op == "value":
        return decode(step["value"], results)
    if op == "get":
        return getattr(results[step["on"]], step["name"])
    if op == "item":
        return results[step["on"]][decode(step["key"], results)]
    if op == "look":
        return results[step["on"]]
    called = getattr(results[step["on"]], step["name"]) if op == "method" else find(step["target"])
    args = [decode(arg, results) for arg in step["args"]]
    return called(*args, **{key: decode(value, results) for key, value in step["kwargs"].items()})


def describe(value: Any, opened: bool) -> dict[str, Any]:
    """The outcome of a step that returned."""
    name = name_of(type(value))
    plain = value is None or type(value) in (bool, str, dict) or type(value) in SCALARS
    if opened and plain:
        return {"how": "odd", "type": name, "why": "returned a plain %s, not an object" % name}
    try:
        return {"how": "value", "value": Encoder(opened).encode(value)}
    except Unplain as why:
        if plain or type(value) in (list, tuple, set, frozenset):
            return {"how": "odd", "type": name, "why": "returned a %s that %s" % (name, why)}
    return {"how": "object", "type": name, "fields": Encoder().fields(value)}


def describe_error(error: BaseException) -> dict[str, Any]:
    """The outcome of a step that raised."""
    try:
        message = str(error)
    except ANYTHING as second:
        message = "(no message: its __str__ raised %s)" % name_of(type(second))
    kind = type(error)
    return {
        "how": "raised",
        "type": name_of(kind),
        "mro": [name_of(base) for base in kind.__mro__[:50]],
        "message": message[:MAX_TEXT],
        "fields": Encoder().fields(error),
    }


def run_steps(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The outcomes of a script; after an exception, but for one of an import, nothing is done any more."""
    results: list[Any] = []
    outcomes: list[dict[str, Any]] = []
    for step in steps:
        try:
            value = perform(step, results)
            results.append(value)
            outcomes.append(describe(value, bool(step.get("as_fields"))))
        except ANYTHING as error:
            outcomes.append(describe_error(error))
            if step["op"] != "import":
                break
            results.append(None)
    skipped = {"how": "odd", "type": "", "why": "was not reached: an earlier step raised"}
    return outcomes + [skipped] * (len(steps) - len(outcomes))


def absolute(name: str, level: int, package: str) -> str:
    """The full name of a module that an import statement names."""
    above = package.rsplit(".", level - 1)[0] if level else ""
    return ".".join(part for part in (above, name) if part)


class ImportWatch:
    """Notes who imports what among the modules of the workspace. Hints: the agent's code can silence them."""

    def __init__(self, roots: list[str]) -> None:
        self.roots = [os.path.join(root, "") for root in roots]
        self.tops = {entry.partition(".")[0] for root in roots for entry in os.listdir(root)}
        self.seen: set[tuple[str, str]] = set()
        self.import_, self.import_module = builtins.__import__, importlib.import_module

    def start(self) -> None:
        """Sees import statements, import_module, and every file of a module that is opened, by whatever loader."""
        builtins.__import__ = self.statement
        importlib.import_module = self.function
        sys.addaudithook(self.event)

    def note(self, importer: str, name: str, items: Iterable[str] = ()) -> None:
        known = importer.partition(".")[0] in self.tops and name.partition(".")[0] in self.tops
        if known and len(self.seen) < MAX_IMPORTS:
            self.seen.add((importer, name))
            self.seen.update((importer, "%s.%s" % (name, item)) for item in items)

    def statement(  # its parameters are named as the builtin's are
        self,
        name: str,
        globals: Any = None,  # noqa: A002
        locals: Any = None,  # noqa: A002
        fromlist: Any = (),
        level: int = 0,
    ) -> Any:
        if globals:
            full = absolute(name, level, str(globals.get("__package__") or ""))
            self.note(str(globals.get("__name__", "")), full, fromlist or ())
        return self.import_(name, globals, locals, fromlist, level)

    def function(self, name: str, package: str | None = None) -> Any:
        bare = name.lstrip(".")
        full = absolute(bare, len(name) - len(bare), package or "")
        self.note(str(sys._getframe(1).f_globals.get("__name__", "")), full)
        return self.import_module(name, package)

    def event(self, event: str, args: Any) -> None:
        """An audit event; what goes wrong here must not be felt by the code that is watched."""
        if event != "open" or type(args[0]) is not str:
            return
        try:
            module = self.module_of(args[0])
            frame: Any = sys._getframe(1) if module else None
            while frame is not None:
                importer = frame.f_globals.get("__name__", "")
                if importer.partition(".")[0] in self.tops:
                    self.note(importer, module)
                    return
                frame = frame.f_back
        except ANYTHING:
            return

    def module_of(self, path: str) -> str:
        """The module whose source or compiled form a file is; "" if none."""
        if sys.pycache_prefix and path.startswith(sys.pycache_prefix):
            path = path[len(sys.pycache_prefix) :]
        path = os.path.abspath(path)
        for root in self.roots:
            folder, _, name = path[len(root) :].rpartition("/")
            if path.startswith(root) and (".py" in name):
                stem = name.partition(".")[0]
                return ".".join(part for part in (*folder.split("/"), "" if stem == "__init__" else stem) if part)
        return ""


try:
    import ctypes

    prctl: Callable[..., Any] = ctypes.CDLL(None).prctl
except (ImportError, OSError, AttributeError):  # an interpreter without it
    prctl = max  # takes numbers and does nothing


def child(request: dict[str, Any], roots: list[str], reply: int, output: int) -> None:
    """The fork's whole life: become harmless, run the script, write one frame. Standard input is empty already."""
    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, reply)
    os.closerange(reply + 1, 256)
    for kind, value in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_DATA, MEMORY)):
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
    # The parent stays closed to ptrace and /proc/PID/mem; honest code may read its own /proc/self.
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    try:
        adjust = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        _write(adjust, b"1000")
        os.close(adjust)
    except OSError:
        pass  # then memory runs out for a process of the kernel's choice
    os.chdir(roots[0])
    sys.path.extend(roots)
    sys.argv = [""]
    sys.dont_write_bytecode = sys.pycache_prefix is None
    watch = ImportWatch(roots)
    watch.start()
    outcomes = run_steps(request["steps"])
    pairs = sorted([str(importer)[:300], str(imported)[:300]] for importer, imported in watch.seen)
    body = _dumps({"outcomes": outcomes, "imports": pairs}).encode("ascii")
    frame = struct.pack(">I", len(body)) + body
    while frame:
        frame = frame[_write(reply, frame) :]


def start(request: dict[str, Any], roots: list[str]) -> tuple[int, int, int]:
    """Forks; returns the child's pid and the ends of its two pipes."""
    reply, reply_in = os.pipe()
    output, output_in = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            child(request, roots, reply_in, output_in)
        finally:
            _exit(0)
    os.close(reply_in)
    os.close(output_in)
    return pid, reply, output


def whole(frame: bytes) -> bool:
    """Whether a child has said all that it announced."""
    return len(frame) >= 4 and len(frame) - 4 >= struct.unpack(">I", frame[:4])[0]


def collect(pid: int, reply: int, output: int, limit: float) -> tuple[bytes, bytes, int | None]:
    """Reads a child until it has answered, has ended or its time is up: (answer, output tail, wait status or None)."""
    end = time.monotonic() + limit
    frame, tail = b"", b""
    status: int | None = None
    pipes = [reply, output]
    while (pipes or (status is None and not whole(frame))) and len(frame) <= MAX_ANSWER:
        left = end - time.monotonic()
        if left <= 0:
            break
        over = status is not None or whole(frame)
        ready = select.select(pipes, [], [], 0 if over else min(left, 0.05 if pipes else 0.0005))[0]
        for pipe in ready:
            data = os.read(pipe, 65536)
            if not data:
                pipes.remove(pipe)
            elif pipe == reply:
                frame += data
            else:
                tail = (tail + data)[-OUTPUT_TAIL:]
        if over and not ready:
            break  # there is no more to come; only something that was left behind holds a pipe
        if status is None and not (ready and pipes):
            ended, code = os.waitpid(pid, os.WNOHANG)
            status = code if ended else None
    return frame, tail, status


def descendants() -> list[int]:
    """Every process below this one, wherever it went: orphans come to us, the subreaper."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open("/proc/%s/stat" % entry, "rb") as handle:
                    parents[int(entry)] = int(handle.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError):
                continue
    found = [os.getpid()]
    for pid in found:
        found.extend(child for child, parent in parents.items() if parent == pid)
    return found[1:]


def sweep(alone: bool) -> bool:
    """Kills all that a request left behind; false when something outlives the attempts."""
    end = time.monotonic() + SWEEP_SECONDS
    while time.monotonic() < end:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return True
        victims = [-1] if alone and os.getuid() else descendants()
        for pid in victims:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    return False


def judge(frame: bytes, status: int | None, limit: float) -> dict[str, Any]:
    """Whether a child's bytes are one whole answer; its content is for the trusted side to doubt."""
    if len(frame) > MAX_ANSWER:
        return {"how": "failed", "why": "answered too much"}
    if status is None and not whole(frame):
        return {"how": "failed", "why": "gave no answer in %g seconds" % limit}
    if not frame and status is not None:
        if os.WIFSIGNALED(status):
            return {"how": "failed", "why": "ended by signal %d without an answer" % os.WTERMSIG(status)}
        return {"how": "failed", "why": "ended with exit code %d without an answer" % os.WEXITSTATUS(status)}
    try:
        if struct.unpack(">I", frame[:4])[0] == len(frame) - 4:
            answer = json.loads(frame[4:].decode("ascii"))
            return {"how": "answered", "outcomes": answer["outcomes"], "imports": answer["imports"]}
    except (struct.error, ValueError, RecursionError, KeyError, TypeError):
        pass
    return {"how": "failed", "why": "wrote what is not an answer"}


def serve(line: bytes, roots: list[str], alone: bool) -> tuple[bytes, bool]:
    """Answers one request; also says whether the worker is still fit for another."""
    request = json.loads(line)
    limit = float(request["limit"])
    pid, reply, output = start({"steps": request["steps"]}, roots)
    frame, tail, status = collect(pid, reply, output, limit)
    if status is None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    clean = sweep(alone)
    os.close(reply)
    os.close(output)
    answer = judge(frame, status, limit)
    answer.update(nonce=request["nonce"], output=tail.decode("utf-8", "replace"))
    return json.dumps(answer).encode("ascii") + b"\n", clean


@contextlib.contextmanager
def cache() -> Iterator[None]:
    """A place outside the workspace for compiled modules, which also hides every __pycache__ that was left there."""
    # By hand, and shutil at the end alone: what they and tempfile load would be copied into every fork.
    folder = os.path.join(os.environ.get("TMPDIR") or "/tmp", "worker-" + os.urandom(8).hex())
    try:
        os.mkdir(folder, 0o700)
        sys.pycache_prefix = folder
    except OSError:
        sys.pycache_prefix = None  # no room: each request compiles for itself
    try:
        yield
    finally:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def main(arguments: list[str]) -> None:
    """Serves requests until end of file, on descriptors that no code of the agent is given."""
    alone = "--alone" in arguments[:1]
    loads = [name for one in arguments if one.startswith("--load=") for name in one[7:].split(",")]
    roots = [one for one in arguments if not one.startswith("--")]
    requests, replies = (fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 100) for number in (0, 1))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    for name in (*PRELOAD, *loads):
        importlib.import_module(name)
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    gc.freeze()
    with cache():
        for line in os.fdopen(requests, "rb"):
            answer, fit = serve(line, roots, alone)
            while answer:
                answer = answer[os.write(replies, answer) :]
            if not fit:
                sys.exit(75)


if __name__ == "__main__":
    main(sys.argv[1:])
