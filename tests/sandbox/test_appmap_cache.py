"""The cache of the app map: it saves time, and nothing that it holds can make a map wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeover.sandbox.appmap import build_map
from takeover.sandbox.children import ChildLimits
from takeover.sandbox.errors import MachineryError

FILES = {
    "billing/__init__.py": b'"""What customers owe."""\nfrom .tax import tax_cents\n',
    "billing/tax.py": b'"""Tax in whole cents."""\nimport decimal\ndef tax_cents(amount: int) -> int: ...\n',
    "broken.py": b"(",
}


def test_unchanged_files_come_from_the_cache(tmp_path: Path) -> None:
    """With a cache nothing is parsed twice: where no child can be started the map is made all the same."""
    cache = tmp_path / "deep" / "cache"
    first = build_map(FILES, cache=cache)

    again = build_map(FILES, cache=cache, limits=ChildLimits(memory=0))

    assert first == again
    with pytest.raises(MachineryError):
        build_map(FILES | {"new.py": b"x"}, cache=cache, limits=ChildLimits(memory=0))


def _damage(cache: Path, change: bytes) -> None:
    tag, _, rest = cache.read_bytes().partition(b"\n")
    cache.write_bytes(tag + b"\n" + rest.replace(b'"purpose"', change))


DAMAGE = {
    "not JSON": lambda cache: _damage(cache, b"purpose"),
    "another field": lambda cache: _damage(cache, b'"surprise"'),
    "another version": lambda cache: cache.write_bytes(b"x" + cache.read_bytes()),
    "torn": lambda cache: cache.write_bytes(cache.read_bytes()[:500]),
    "rubbish": lambda cache: cache.write_bytes(b"\xff\x00" * 1000),
    "gone": lambda cache: cache.unlink(),
    "a folder": lambda cache: (cache.unlink(), cache.mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_cache_costs_time_only(damage, tmp_path: Path) -> None:
    """Whatever the cache file holds, the map is right."""
    cache = tmp_path / "cache"
    expected = build_map(FILES, cache=cache)
    damage(cache)

    assert build_map(FILES, cache=cache) == expected


def test_an_error_is_cached_and_a_death_is_not(tmp_path: Path) -> None:
    """That a file does not parse is a fact of the file; that a process died may be a fact of the machine."""
    files = {"bad.py": b"(", "slow.py": b"x = (" + b"1+" * 900 + b"1)\n" + b"y = 1\n" * 300_000}
    build_map(files, cache=tmp_path / "cache", limits=ChildLimits(cpu_seconds=0.05))

    again = build_map(files, cache=tmp_path / "cache").modules

    assert again["bad.py"].error
    assert again["slow.py"].error is None
