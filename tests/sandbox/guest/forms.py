"""Every form an edit can take, with what must come of it. Shared by the tests and the benchmark.

A form is a shell script or a Python program, run in a workspace that `BASE` made. What follows it at once
(`FOLLOWERS`) must never happen if the form is an edit; if it is none, the follower's own edit is the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Follower = Literal["commit", "second"]

# Builds the pristine repository once, in /tmp/base; `RESET` copies it into the workspace.
BASE: Final = r"""
set -e
rm -rf /tmp/base /tmp/base-other && mkdir -p /tmp/base /tmp/base-other/newpkg && cd /tmp/base
mkdir -p pkg lib tests
printf 'x = 1\n' > pkg/rules.py
printf 'o = 1\n' > pkg/other.py
printf 'c = 1\r\nd = 1\r\n' > pkg/crlf.py
printf 'e = 1' > pkg/bare.py
printf 'n = 1\n' > pkg/notes.txt
: > pkg/__init__.py
printf 'm = 1\n' > lib/mod.py
printf 'def test_x(): pass\n' > tests/test_x.py
ln -s rules.py pkg/alias.py
git init -q -b main . && git add -A && git commit -qm base
git checkout -qb next && printf 'x = 7\n' > pkg/rules.py && git commit -qam next && git checkout -q main
git diff main next > /tmp/base-other/change.patch
printf 'x = 3\n' > /tmp/base-other/rules.py
printf 'p = 1\n' > /tmp/base-other/newpkg/mod.py
cd /tmp/base-other && mkdir -p t/pkg && printf 'x = 4\n' > t/pkg/rules.py && tar -C t -cf change.tar pkg
"""
RESET: Final = (
    "find /workspace -mindepth 1 -delete; rm -rf /tmp/other; cp -a /tmp/base-other /tmp/other; "
    "cp -a /tmp/base/. /workspace/ && git -C /workspace status >/dev/null"
)
# Prints "COMMITS SECOND": the number of commits on main, and whether the second edit is there.
INSPECT: Final = (
    "echo $(git -C /workspace rev-list --count main) $([ -e /workspace/pkg/second.py ] && echo yes || echo no)"
)
COMMITS: Final = 1
SECOND: Final = "pkg/second.py"

_SHELL_FOLLOWERS: Final = {
    "commit": "git add -A && git commit -qm caught",
    "second": "echo 'z = 1' > pkg/second.py; echo 'z = 1' > pkg/third.py",
}
_PYTHON_FOLLOWERS: Final = {
    "commit": "import subprocess\nsubprocess.run('git add -A && git commit -qm caught', shell=True)",
    "second": "open('pkg/second.py', 'w').write('z = 1\\n')\nopen('pkg/third.py', 'w').write('z = 1\\n')",
}


@dataclass(frozen=True, slots=True)
class Form:
    """`path` is the edit the session ends with, None if the form is no edit; `still_open` is what is written to then."""

    name: str
    script: str
    path: str | None
    how: str | None = None
    python: bool = False
    still_open: tuple[str, ...] = ()

    def command(self, follower: Follower | None) -> list[str]:
        """What to run: the form and, at once, what follows it."""
        if self.python:
            return ["python3", "-c", self.script + "\n" + (_PYTHON_FOLLOWERS[follower] if follower else "")]
        return ["sh", "-c", self.script + "\n" + (_SHELL_FOLLOWERS[follower] if follower else "")]


def _shell(name: str, script: str, path: str, how: str = "written") -> Form:
    return Form(name, script, path, how)


def _python(name: str, code: str, path: str, how: str = "written") -> Form:
    return Form(name, code, path, how, python=True)


def _none(name: str, script: str, *, python: bool = False, still_open: tuple[str, ...] = ()) -> Form:
    return Form(name, script, None, python=python, still_open=still_open)


RULES: Final = "pkg/rules.py"

SHELL_EDITS: Final = (
    _shell("redirect", "echo 'x = 2' > pkg/rules.py", RULES),
    _shell("append", "echo 'y = 2' >> pkg/rules.py", RULES),
    _shell("tee", "echo 'y = 2' | tee -a pkg/rules.py >/dev/null", RULES),
    _shell("here document", "cat > pkg/rules.py <<'END'\nx = 2\nEND", RULES),
    _shell("empty new file", ": > pkg/new.py", "pkg/new.py"),
    _shell("touch new", "touch pkg/new.py", "pkg/new.py"),
    _shell("sed -i", "sed -i s/1/2/ pkg/rules.py", RULES, "renamed"),
    _shell("sed -i.bak", "sed -i.bak s/1/2/ pkg/rules.py", RULES, "renamed"),
    _shell("perl -pi", "perl -pi -e s/1/2/ pkg/rules.py", RULES, "renamed"),
    _shell("mv within", "mv pkg/notes.txt pkg/rules.py", RULES, "renamed"),
    _shell("mv from /tmp", "mv /tmp/other/rules.py pkg/rules.py", RULES),
    _shell("mv .py to new name", "mv pkg/other.py pkg/moved.py", "pkg/moved.py", "renamed"),
    _shell("cp", "cp pkg/other.py pkg/rules.py", RULES),
    _shell("cp --remove-destination", "cp --remove-destination pkg/other.py pkg/rules.py", RULES),
    _shell("install", "install -m 644 pkg/other.py pkg/rules.py", RULES),
    _shell("dd", "dd if=pkg/other.py of=pkg/rules.py conv=notrunc status=none", RULES),
    _shell("truncate(1)", "truncate -s 3 pkg/rules.py", RULES),
    _shell("tar", "tar -xf /tmp/other/change.tar", RULES),
    _shell("git apply", "git apply /tmp/other/change.patch", RULES),
    _shell("git checkout file", "git checkout -q next -- pkg/rules.py", RULES),
    _shell("git checkout branch", "git checkout -q next", RULES),
    _shell("git merge", "git merge -q next", RULES),
    _shell("git cherry-pick", "git cherry-pick next", RULES),
    _shell("git restore", "git restore --source=next pkg/rules.py", RULES),
    _shell("git mv", "git mv pkg/other.py pkg/moved.py", "pkg/moved.py", "renamed"),
    _shell("hard link", "ln pkg/notes.txt pkg/linked.py", "pkg/linked.py", "linked"),
    _shell("hard link over", "ln -f pkg/notes.txt pkg/rules.py", RULES, "renamed"),
    _shell("symlink", "ln -s notes.txt pkg/sym.py", "pkg/sym.py", "symlinked"),
    _shell("symlink over", "ln -sf notes.txt pkg/rules.py", RULES, "renamed"),
    _shell("through a symlink", "echo 'x = 2' > pkg/alias.py", RULES),
    _shell("rename directory", "mv lib lib2", "lib2/mod.py", "renamed"),
    _shell("directory from outside", "mv /tmp/other/newpkg .", "newpkg/mod.py"),
    _shell("directory copied", "cp -r /tmp/other/newpkg .", "newpkg/mod.py"),
    _shell(
        "directory built aside",
        "mkdir -p .tox/new/deep && echo 'a = 1' > .tox/new/deep/mod.py && mv .tox/new .",
        "new/deep/mod.py",
        "renamed",
    ),
    _shell("new directory", "mkdir -p new/deep && echo 'a = 1' > new/deep/mod.py", "new/deep/mod.py"),
    _shell("editor, rename away first", "mv pkg/rules.py pkg/rules.py~; echo 'x = 2' > pkg/rules.py", RULES),
    _shell("editor, rename into place", "echo 'x = 2' > pkg/.r.tmp && mv pkg/.r.tmp pkg/rules.py", RULES, "renamed"),
    _shell("CRLF", "sed -i 's/c = 1/c = 2/' pkg/crlf.py", "pkg/crlf.py", "renamed"),
    _shell("CRLF added", "printf 'x = 1\\r\\n' > pkg/rules.py", RULES),
    _shell("final newline added", "echo >> pkg/bare.py", "pkg/bare.py"),
    _shell("edit then revert", "echo 'x = 2' > pkg/rules.py; git checkout -q pkg/rules.py", RULES),
    _shell("delete then other content", "rm pkg/rules.py; echo 'x = 2' > pkg/rules.py", RULES),
    _shell("background child", "(sleep 0.02; echo 'y = 2' >> pkg/rules.py) & wait", RULES),
    _shell("inherited descriptor", "(echo 'y = 2' >&3; echo 'y = 3' >&3) 3>> pkg/rules.py", RULES),
    _shell("descriptor closed at last", "exec 3>> pkg/rules.py; echo 'y = 2' >&3; exec 3>&-", RULES),
    _shell("newline in the name", "echo 'x = 2' > \"$(printf 'pkg/a\\nb.py')\"", "pkg/a\nb.py"),
    _shell("escape in the name", "echo 'x = 2' > \"$(printf 'pkg/\\033[31m.py')\"", "pkg/\033[31m.py"),
    _shell("invalid UTF-8 in the name", "echo 'x = 2' > \"$(printf 'pkg/\\377.py')\"", "pkg/\udcff.py"),
    _shell("name of 255 bytes", f"echo 'x = 2' > pkg/{'n' * 252}.py", f"pkg/{'n' * 252}.py"),
    _shell("hidden name", "echo 'x = 2' > pkg/.py", "pkg/.py"),
    _shell("large file", "head -c 9000000 /dev/zero > pkg/large.py", "pkg/large.py"),
)

PYTHON_EDITS: Final = (
    _python("write", "open('pkg/rules.py', 'w').write('x = 2\\n')", RULES),
    _python("pathlib", "import pathlib\npathlib.Path('pkg/rules.py').write_text('x = 2\\n')", RULES),
    _python("os.replace", "import os\nos.replace('pkg/notes.txt', 'pkg/rules.py')", RULES, "renamed"),
    _python("os.link", "import os\nos.link('pkg/notes.txt', 'pkg/linked.py')", "pkg/linked.py", "linked"),
    _python("os.symlink", "import os\nos.symlink('notes.txt', 'pkg/sym.py')", "pkg/sym.py", "symlinked"),
    _python("truncate(2)", "import os\nos.truncate('pkg/rules.py', 3)", RULES, "truncated"),
    _python("truncate(2), longer", "import os\nos.truncate('pkg/rules.py', 99)", RULES, "truncated"),
    _python("ftruncate(2)", "f = open('pkg/rules.py', 'r+')\nf.truncate(3)\nf.close()", RULES),
    _python(
        "mmap",
        "import mmap, os\nf = os.open('pkg/rules.py', os.O_RDWR)\nm = mmap.mmap(f, 0)\nos.close(f)\n"
        "m[0:1] = b'q'\nm.close()",
        RULES,
    ),
    _python(
        "duplicated descriptor",
        "import os\nf = os.open('pkg/rules.py', os.O_WRONLY)\nd = os.dup(f)\nos.write(f, b'x = 2')\nos.close(f)\n"
        "os.write(d, b'y')\nos.close(d)",
        RULES,
    ),
    _python(
        "O_TMPFILE",
        "import ctypes, os\nf = os.open('pkg', os.O_TMPFILE | os.O_RDWR, 0o644)\nos.write(f, b'x = 2\\n')\n"
        "assert ctypes.CDLL(None).linkat(-100, b'/proc/self/fd/%d' % f, -100, b'pkg/new.py', 0x400) == 0",
        "pkg/new.py",
        "linked",
    ),
    _python(
        "renameat2, exchange",
        "import ctypes\nl = ctypes.CDLL(None)\n"
        "assert l.renameat2(-100, b'pkg/rules.py', -100, b'pkg/notes.txt', 2) == 0",
        RULES,
        "renamed",
    ),
    _python(
        "copy_file_range",
        "import os\na = os.open('pkg/other.py', os.O_RDONLY)\nb = os.open('pkg/rules.py', os.O_WRONLY)\n"
        "os.copy_file_range(a, b, 6)\nos.close(b)",
        RULES,
    ),
    _python(
        "sendfile",
        "import os\na = os.open('pkg/other.py', os.O_RDONLY)\nb = os.open('pkg/rules.py', os.O_WRONLY)\n"
        "os.sendfile(b, a, 0, 6)\nos.close(b)",
        RULES,
    ),
    _python(
        "fallocate",
        "import os\nf = os.open('pkg/rules.py', os.O_WRONLY)\nos.posix_fallocate(f, 0, 99)\nos.close(f)",
        RULES,
    ),
    _python(
        "reopened through /proc",
        "import os\nf = os.open('pkg/rules.py', os.O_RDONLY)\nopen('/proc/self/fd/%d' % f, 'w').write('x = 2\\n')",
        RULES,
    ),
    _python(
        "file of mode 000",
        "import os\nf = os.open('pkg/locked.py', os.O_WRONLY | os.O_CREAT, 0)\nos.write(f, b'x = 2\\n')\nos.close(f)",
        "pkg/locked.py",
    ),
    _python(
        "two files within a millisecond",
        "open('pkg/rules.py', 'w').write('x = 2\\n')\nopen('pkg/other.py', 'w').write('o = 2\\n')",
        RULES,
    ),
    _python(
        "process that ends without closing",
        "import os\nif os.fork() == 0:\n    os.write(os.open('pkg/rules.py', os.O_WRONLY), b'x = 2\\n')\n    os._exit(0)\n"
        "os.wait()",
        RULES,
    ),
    _python(
        "process that is killed before closing",
        "import os\nif os.fork() == 0:\n    os.write(os.open('pkg/rules.py', os.O_WRONLY), b'x = 2\\n')\n"
        "    os.kill(os.getpid(), 9)\nos.wait()",
        RULES,
    ),
    _python(
        "written by a thread",
        "import threading\nt = threading.Thread(target=lambda: open('pkg/rules.py', 'w').write('x = 2\\n'))\n"
        "t.start()\nt.join()",
        RULES,
    ),
    _python(
        "descriptor sent over a socket",
        "import os, socket\na, b = socket.socketpair()\nf = os.open('pkg/rules.py', os.O_WRONLY)\n"
        "socket.send_fds(a, [b'x'], [f])\nos.close(f)\n_, (g,), _, _ = socket.recv_fds(b, 1, 1)\n"
        "os.write(g, b'x = 2\\n')\nos.close(g)",
        RULES,
    ),
)

NO_EDITS: Final = (
    _none("touch", "touch pkg/rules.py"),
    _none("same content", "echo 'x = 1' > pkg/rules.py"),
    _none("same content by rename", "cp pkg/rules.py pkg/r.tmp && mv pkg/r.tmp pkg/rules.py"),
    _none("changed and changed back before closing", "exec 3<> pkg/rules.py; echo 'x = 2' >&3; exec 4<> pkg/rules.py; "
          "echo 'x = 1' >&4; exec 3>&-; exec 4>&-"),
    _none("opened for writing only", ": >> pkg/rules.py"),
    _none("chmod", "chmod 600 pkg/rules.py"),
    _none("deleted", "rm pkg/other.py"),
    _none("moved away", "mv pkg/other.py /tmp/gone.py"),
    _none("moved to another suffix", "mv pkg/other.py pkg/other.txt"),
    _none(".PY", "echo 'x = 2' > pkg/RULES.PY"),
    _none(".pyi", "echo 'x: int' > pkg/rules.pyi"),
    _none(".pyc", "python3 -m compileall -q pkg"),
    _none("text", "echo 'x = 2' > pkg/notes.txt"),
    _none("tests folder", "mkdir -p pkg/tests && echo 'x = 2' > pkg/tests/helper.py"),
    _none("test_*.py", "echo 'x = 2' > pkg/test_new.py"),
    _none("*_test.py", "echo 'x = 2' > pkg/new_test.py"),
    _none("conftest.py", "echo 'x = 2' > conftest.py"),
    _none("in /tmp", "echo 'x = 2' > /tmp/scratch.py"),
    _none("in HOME", "echo 'x = 2' > ~/scratch.py"),
    _none("in .git", "echo 'x = 2' > .git/scratch.py"),
    _none("in a virtual environment", "mkdir -p venv/lib/python3/site-packages && echo > venv/lib/python3/site-packages/p.py"),
    _none("directory named .py", "mkdir pkg/folder.py"),
    _none("FIFO named .py", "mkfifo pkg/fifo.py"),
    _none("link to a directory", "ln -s /tmp/other pkg/link"),
    _none("git commands that write no source", "git add -A; git stash list; git gc -q; git branch b; git tag t"),
    _none("descriptor kept open", "exec 3>> pkg/rules.py; echo 'y = 2' >&3", still_open=(RULES,)),
    _none("socket named .py", "import socket\ns = socket.socket(socket.AF_UNIX)\ns.bind('pkg/sock.py')", python=True),
    _none("unlinked before it was closed", "import os\nf = open('pkg/u.py', 'w')\nos.unlink('pkg/u.py')\nf.write('x')\n"
          "f.close()", python=True),
    _none("O_TMPFILE that gets no name", "import os\nf = os.open('pkg', os.O_TMPFILE | os.O_RDWR)\nos.write(f, b'x')\n"
          "os.close(f)", python=True),
    _none("openat2 is not there", "import ctypes, os\nl = ctypes.CDLL(None, use_errno=True)\n"
          "assert l.syscall(437, -100, b'pkg/rules.py', 0, 0) == -1 and ctypes.get_errno() == 38", python=True),
    _none("io_uring is not there", "import ctypes, os\nl = ctypes.CDLL(None, use_errno=True)\n"
          "assert l.syscall(425, 1, 0) == -1 and ctypes.get_errno() in (1, 38)", python=True),
    _none("mknod makes no regular file", "import os\ntry:\n    os.mknod('pkg/m.py')\n    raise SystemExit(1)\n"
          "except PermissionError:\n    pass", python=True),
)  # fmt: skip

EDITS: Final = SHELL_EDITS + PYTHON_EDITS
FORMS: Final = EDITS + NO_EDITS
