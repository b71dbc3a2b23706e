"""Graders that a workspace brings down: what a sandbox may hold costs the trusted side bounded memory and time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Judges a hostile workspace with at most 1.5 GiB of addresses, and says what was found.
JUDGE = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 << 29, 3 << 29))
from takeover.grader.boundaries import check_boundaries
from takeover.grader.grade import readable_sources
from takeover.sandbox.tree import Manifest, TreeItem
from takeover.tiers.boundaries import Boundary
files, links = {}, {}
exec(sys.stdin.read())
items = {path: TreeItem(path, "f", 0o644, len(data), "0" * 64) for path, data in files.items()}
items |= {path: TreeItem(path, "l", 0o777, target=target) for path, target in links.items()}
manifest = Manifest(items)
wanted = readable_sources(manifest)
sources = {path: data for path, data in files.items() if path in wanted}
found = check_boundaries(manifest, sources, (Boundary("rbac", ("audit",), "", "x"),), ("rbac", "audit"))
print(len(found.violations), len(found.dynamic), len(found.unparsable))
"""
FLOODS = {
    # A name that grows with each line: 1.5 MB of source were 3.4 GB of names.
    "growing names": "lines = ''.join(f'a{i + 1} = a{i}.{\"x\" * 280}\\n' for i in range(5000))\n"
    "files['rbac/evil.py'] = b'import os as a0\\n' + lines.encode() + b'a4999.q\\n'",
    # Each link is a second name of every module behind it.
    "links to many modules": "files |= {f'm/f{i}.py': b'' for i in range(40000)}\n"
    "links |= {f'rbac/l{i}': '../m' for i in range(40000)}",
    "links to nothing": "files |= {f'm/f{i}.py': b'' for i in range(40000)}\n"
    "links |= {f'n{i}': 'nowhere' for i in range(40000)}",
    "violations": "files |= {f'rbac/f{i}.py': b'from audit import x\\n' * 20000 for i in range(20)}",
    "dynamic imports": "files |= {f'rbac/f{i}.py': b'exec(x)\\n' * 20000 for i in range(20)}",
    "sources without end": "files |= {f'f{i}.py': b'x = ' for i in range(20000)}",
}


@pytest.mark.parametrize("flood", FLOODS)
def test_a_hostile_workspace_is_judged_in_little_memory(flood: str, tmp_path: Path) -> None:
    """Names that grow, links that multiply, and millions of things to report are cut off and told."""
    done = subprocess.run(
        [sys.executable, "-c", JUDGE], input=FLOODS[flood], capture_output=True, text=True, check=False, timeout=120
    )

    assert done.returncode == 0, done.stderr[-2000:]
    violations, dynamic, _ = map(int, done.stdout.split())
    assert violations <= 500
    assert dynamic <= 200
