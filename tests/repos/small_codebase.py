"""A codebase small enough to be read at a glance, and its task folder."""

from __future__ import annotations

from collections.abc import Callable

from takeover.repos.task import RepoTask

Shipped = Callable[..., RepoTask]

RELEASE = {
    "PKG-INFO": b"Name: tally\n",
    "README.md": b"# tally\n",
    "src/tally/__init__.py": b'__version__ = "1.0"\n',
    "src/tally/sums.py": b"def total(xs):\n    return sum(xs[1:])\n\n\ndef mean(xs):\n    return total(xs)\n",
    "tests/test_sums.py": b"from tally.sums import total\n\n\ndef test_nothing():\n    assert total([]) == 0\n",
    "setup.cfg": b"[tool:pytest]\n",
}
TASK = """\
schema_version: 1
id: tally
tier: 3
title: Hidden bugs of tally 1.0
summary: a library that adds up
budget_tokens: 1000
budget_reason: It is as small as a codebase can be.
steps:
  - session: {prompt: audit.md, cutoff: first-edit}
  - session: {prompt: continue.md}
folders: [src]
package: tally
dropped: [PKG-INFO]
protected: ["tests/", setup.cfg]
visible:
  image: repos-tally
  python: python3
  arguments: [tests]
  canaries: tests
  passed: 1
history:
  - author: Ida <ida@tally.example>
    date: 2021-01-01T00:00:00+00:00
    message: Start
    adds: [.gitignore, README.md, setup.cfg]
  - author: Ida <ida@tally.example>
    date: 2021-01-02T00:00:00+00:00
    message: Add it up
    adds: ["src/", "tests/"]
"""
BUGS = """\
schema_version: 1
project: tally
version: "1.0"
sdist: tally-1.0.tar.gz
sha256: {sha256}
bugs:
  - id: total-first
    area: tally.sums:total
    hint: adding up
    specification: total adds every number, the first one, too.
    probe: |
      from tally.sums import total
      result = total([1, 2])
    base: 2
    expected: 3
  - id: mean-divides
    canonical: false
    area: tally.sums:mean
    specification: mean is the total by the count.
    probe: |
      from tally.sums import mean
      result = mean([4, 4])
    base: 4
    expected: 4.0
"""
REFERENCE = """\
schema_version: 1
patches:
  total-first:
    - {path: src/tally/sums.py, find: "sum(xs[1:])", by: sum(xs)}
  mean-divides:
    - {path: src/tally/sums.py, find: return total(xs), by: return sum(xs) / len(xs)}
"""
