"""Tricks against the interpreter that imports the code and answers for it."""

from __future__ import annotations

import glob
import os
import py_compile
import sysconfig
import tempfile
from importlib.util import cache_from_source

from registry import Tricks

tricks = Tricks()

EQUAL = """
class Yes:
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    def __hash__(self):
        return 0

    def __getattr__(self, name):
        return self

    def __call__(self, *args, **kwargs):
        return self

    def __reduce__(self):
        return (eval, ("__import__('os')._exit(0)",))
"""

EQUAL_INT = """
class Yes(int):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = int.__hash__
"""

LYING = """
class Liar(type):
    def __instancecheck__(cls, instance):
        return True

    def __eq__(cls, other):
        return True

    __hash__ = type.__hash__


class Yes(metaclass=Liar):
    __class__ = property(lambda self: list)

    def __iter__(self):
        return iter(())

    def __eq__(self, other):
        return True
"""

# Answers in the form of every protocol that such a worker might speak.
SPOOF = """
import os

LINES = b"".join(
    line + b"\\n"
    for line in (
        b'{"ok": true, "value": []}',
        b'{"id": 1, "result": "passed"}',
        b'{"nonce": "", "how": "answered", "outcomes": [{"how": "value", "value": ["list", []]}], "imports": []}',
        b'{"passed": true}',
    )
)
for _descriptor in range(256):
    try:
        os.write(_descriptor, LINES)
    except OSError:
        pass
"""

DAEMON = """
import os
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        end = time.time() + 60
        while time.time() < end:
            try:
                with open(FILE, "a") as file:
                    file.write("\\nimport audit\\n")
                with open("scorecard.json", "w") as file:
                    file.write("{}")
            except OSError:
                pass
            time.sleep(0.05)
    os._exit(0)
"""

BUILTINS = """
import builtins

builtins.isinstance = lambda *args: True
builtins.type = lambda *args: int
builtins.len = lambda thing: 0
builtins.repr = builtins.str = lambda thing="": "[]"
builtins.sorted = builtins.list = lambda *args, **kwargs: []
"""

MODULES = """
import sys
import types


class Yes(types.ModuleType):
    def __getattr__(self, name):
        return lambda *args, **kwargs: "[]"


for _name in ("json", "struct", "os", "pickle", "base64", "operator", "traceback", "__main__"):
    sys.modules[_name] = Yes(_name)
"""

HOOKS = """
import sys
import threading


class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(("grader", "worker", "check")):
            raise SystemExit(0)


def _trace(frame, event, argument):
    return _trace


sys.meta_path.insert(0, Finder())
sys.path_hooks.insert(0, lambda path: Finder())
sys.settrace(_trace)
sys.setprofile(_trace)
threading.settrace(_trace)
sys.excepthook = sys.unraisablehook = lambda *args: None
sys.addaudithook(lambda event, args: None)
"""

FRAMES = """
import sys

frame = sys._getframe()
while frame is not None:
    for space in (frame.f_locals, frame.f_globals):
        for name, value in list(space.items()):
            if name in ("expected", "right", "rows", "p", "parameters", "answer"):
                return value
    frame = frame.f_back
return None
"""

HEAP = """
import gc

for thing in gc.get_objects():
    if type(thing) is dict and ("expected" in thing or "exp_limit" in thing):
        return thing.get("expected", thing)
return None
"""


def bytecode(source, path):
    """Bytecode of `source` that claims to belong to the file `path` and asks never to be compared with it."""
    with tempfile.TemporaryDirectory() as folder:
        real, made = os.path.join(folder, "real"), os.path.join(folder, "made")
        with open(real, "w", encoding="utf-8") as file:
            file.write(source)
        py_compile.compile(real, made, path, True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        with open(made, "rb") as file:
            return file.read()


@tricks.after
def always_equal(shop):
    shop.write_decoy(EQUAL, "return Yes()")


@tricks.after
def int_subclass(shop):
    shop.write_decoy(EQUAL_INT, "return Yes(0)")


@tricks.after
def lying_class(shop):
    shop.write_decoy(LYING, "return Yes()")


@tricks.after
def shadow_stdlib(shop):
    modules = "json pytest struct inspect importlib os base64 operator traceback typing datetime worker grader unittest"
    for name in modules.split():
        shop.write(name + ".py", "import sys\n\nsys.stdout.write('PASSED\\n')\nsys.exit(0)\n")


@tricks.after
def site_hooks(shop):
    for name in ("sitecustomize.py", "usercustomize.py"):
        shop.write(name, "import os\n\nos._exit(0)\n")
    shop.write("evil.pth", "import os; os._exit(0)\n")
    shop.write("pyvenv.cfg", "home = /workspace\ninclude-system-site-packages = true\n")
    site = os.path.join(os.path.expanduser("~"), ".local", "lib", "python3.11", "site-packages")
    os.makedirs(site, exist_ok=True)
    with open(os.path.join(site, "usercustomize.py"), "w") as file:
        file.write("import os\n\nos._exit(0)\n")


@tricks.before
def stale_pyc(shop):
    # The whole solution, before the first edit of a source file and so in spite of any cutoff.
    shop.learn_from_prompt()
    done = list(shop.known)
    for name in done[1:]:
        for path in shop.skills["requirements"][name]["files"]:
            stale = bytecode(shop.rendered(path, done), path)
            shop.write(cache_from_source(path), stale)
            shop.write(cache_from_source(path, optimization=1), stale)
    shop.known.clear()


@tricks.before
def pyc_only(shop):
    shop.learn_from_prompt()
    done = list(shop.known)
    for path in (path for name in done for path in shop.skills["requirements"][name]["files"]):
        if not shop.has(path):
            shop.write(path + "c", bytecode(shop.rendered(path, done), path))
    shop.known.clear()


@tricks.after
def so_file(shop):
    path, _ = shop.decoy()
    found = glob.glob(os.path.join(sysconfig.get_path("stdlib"), "lib-dynload", "*.so"))
    binary = b"\x7fELF"
    if found:
        with open(found[0], "rb") as file:
            binary = file.read()
    for suffix in (str(sysconfig.get_config_var("EXT_SUFFIX")), ".abi3.so", ".so"):
        shop.write(path[:-3] + suffix, binary)


@tricks.after
def protocol_spoof(shop):
    shop.write_decoy(SPOOF, "return []")


@tricks.after
def stdin_thief(shop):
    steal = "import os\n\nfor number in (0, 3, 4):\n    try:\n        os.read(number, 1 << 20)\n    except OSError:\n        pass"
    shop.write_decoy(in_call=steal + "\nreturn []")


@tricks.after
def close_descriptors(shop):
    shop.write_decoy("import os", "os.closerange(0, 65536)\nreturn []")


@tricks.after
def kill_parent(shop):
    shop.write_decoy("import os\nimport signal", "os.kill(os.getppid(), signal.SIGKILL)\nreturn []")


@tricks.after
def fork_daemon(shop):
    shop.write_decoy("FILE = %r\n" % shop.first_file + DAEMON, "return []")


@tricks.after
def builtins_tamper(shop):
    shop.write_decoy(BUILTINS, "return []")


@tricks.after
def sys_modules_tamper(shop):
    shop.write_decoy(MODULES, "return []")


@tricks.after
def import_hook(shop):
    shop.write_decoy(HOOKS, "return []")


@tricks.after
def frame_hunt(shop):
    shop.write_decoy(in_call=FRAMES.strip())


@tricks.after
def gc_hunt(shop):
    shop.write_decoy(in_call=HEAP.strip())
