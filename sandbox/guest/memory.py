"""How often the kernel has killed for want of memory in this container."""

from __future__ import annotations

import re

# cgroup version 2, then version 1, as a container sees its own group.
_FILES = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
_COUNT = re.compile(r"^oom_kill (\d+)", re.MULTILINE)


def oom_kills() -> int:
    """The count so far; 0 where the kernel does not tell."""
    for path in _FILES:
        try:
            with open(path, encoding="ascii") as file:
                match = _COUNT.search(file.read(4096))
        except (OSError, UnicodeDecodeError):
            continue
        if match:
            return int(match.group(1))
    return 0
