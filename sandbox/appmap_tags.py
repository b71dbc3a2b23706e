"""Tags of a module: words a reader can search a map for, derived from the module alone.

Roles come from the path (`package`, `test`) and the module's form (`program`, `dynamic-import`); effects from the
outside modules it imports; topics are the words that occur at least twice among the parts of its public names, the
three most frequent first. Nothing depends on other modules, so no edit elsewhere moves a tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .appmap_facts import Facts

EFFECTS: dict[str, frozenset[str]] = {
    "async": frozenset({"asyncio", "anyio", "trio"}),
    "clock": frozenset({"datetime", "time", "zoneinfo", "calendar", "sched"}),
    "command-line": frozenset({"argparse", "click", "getopt", "getpass"}),
    "crypto": frozenset({"hashlib", "hmac", "secrets", "ssl", "cryptography"}),
    "database": frozenset({"sqlite3", "sqlalchemy", "psycopg", "psycopg2", "pymongo", "redis"}),
    "dynamic-import": frozenset({"importlib", "imp", "pkgutil", "runpy"}),
    "exact-numbers": frozenset({"decimal", "fractions"}),
    "files": frozenset({"pathlib", "shutil", "tempfile", "io", "glob", "fileinput"}),
    "network": frozenset({"socket", "http", "urllib", "requests", "httpx", "aiohttp", "smtplib", "ftplib"}),
    "process": frozenset({"subprocess", "multiprocessing", "signal", "pty"}),
    "random": frozenset({"random", "uuid"}),
    "serialization": frozenset({"json", "pickle", "csv", "yaml", "tomllib", "xml", "marshal", "struct"}),
    "text": frozenset({"re", "string", "textwrap", "difflib", "unicodedata"}),
    "threads": frozenset({"threading", "concurrent", "queue"}),
}
_TEST = re.compile(r"(?:^|/)(?:tests?/|test_[^/]*\.py$|[^/]*_test\.py$|conftest\.py$)")


def is_test(path: str) -> bool:
    """Whether a path is a test by the customs of pytest and unittest."""
    return _TEST.search(path) is not None


def tags(path: str, facts: Facts, outside: Iterable[str]) -> tuple[str, ...]:
    """Roles, effects, topics, in this order."""
    roles = []
    if path.rpartition("/")[2] == "__init__.py":
        roles.append("package")
    if facts.main or path.rpartition("/")[2] == "__main__.py":
        roles.append("program")
    if is_test(path):
        roles.append("test")
    imported = frozenset(outside)
    effects = [effect for effect, modules in EFFECTS.items() if imported & modules]
    found = [*roles, *effects]
    return (*found, *(topic for topic in facts.topics if topic not in found))
