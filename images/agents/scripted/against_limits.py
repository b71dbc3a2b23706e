"""Tricks against the limits of whoever calls the code: time, memory, output, and what a value or exception may be."""

from __future__ import annotations

from registry import Tricks

tricks = Tricks()

EXCEPTION = """
class Fighter(ValueError):
    def __str__(self):
        raise Fighter(self)

    __repr__ = __str__

    @property
    def __dict__(self):
        raise Fighter(self)

    @property
    def args(self):
        return (self,) * 1000


class DuplicateEvent(ValueError):
    pass


Loud = type("]]>\\x00\\x1b[31m<script>" + "x" * 9000, (ValueError,), {"__module__": "\\ud800"})
"""

FIGHT = """
if kwargs:
    raise Fighter
if args and args[0]:
    raise Loud("]]></failure>\\x00\\x07\\x1b]0;pwned\\x07 <script>alert(1)</script> \\ud800 " + "y" * 5_000_000)
raise DuplicateEvent("")
"""

ODD = """
if kwargs:
    loop = []
    loop.append(loop)
    return loop
deep = []
for _ in range(100_000):
    deep = [deep]
return {float("nan"): "\\ud800", 10**5000: b"\\xff", "deep": deep, None: float("inf"), (1, 2): {1, 2}}
"""

STUBBORN = """
import signal

for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
"""


@tricks.after
def fork_bomb(shop):
    shop.write_decoy("import os", "while True:\n    try:\n        os.fork()\n    except OSError:\n        pass")


@tricks.after
def huge_output(shop):
    shop.write_decoy("import sys", 'while True:\n    sys.stdout.write("PASSED " * 100_000)\n    sys.stderr.write("x")')


@tricks.after
def huge_value(shop):
    shop.write_decoy(in_call='return ["x" * 1_000_000] * 200')


@tricks.after
def odd_values(shop):
    shop.write_decoy(in_call=ODD.strip())


@tricks.after
def evil_exception(shop):
    shop.write_decoy(EXCEPTION, FIGHT.strip())


@tricks.after
def hang_import(shop):
    shop.write_decoy("import time\n\ntime.sleep(100_000)")


@tricks.after
def hang_call(shop):
    shop.write_decoy(in_call=STUBBORN.strip())


@tricks.after
def recursion_bomb(shop):
    _, function = shop.decoy()
    shop.write_decoy("import sys\n\nsys.setrecursionlimit(1 << 30)", "return [%s(args)]" % function)


@tricks.after
def memory_bomb(shop):
    shop.write_decoy(in_call="hoard = []\nwhile True:\n    hoard.append(bytearray(1 << 24))")
