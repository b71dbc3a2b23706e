"""Nothing in the repository ties it to the place where it was made."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# In pieces, so that this file does not name them itself.
HOSTS = [
    ("py", "pi.org"),
    ("files.python", "hosted.org"),
    ("deb.", "debian.org"),
    ("security.", "debian.org"),
    ("snapshot.", "debian.org"),
    ("archive.", "ubuntu.com"),
    ("registry", "-1.docker.io"),
    ("index.", "docker.io"),
    ("hub.", "docker.com"),
    ("docker.io", "/"),
    ("registry.npm", "js.org"),
    ("gh", "cr.io"),
    ("qu", "ay.io"),
    ("static.", "crates.io"),
    ("proxy.go", "lang.org"),
]
PLACES = [
    r"(?<![\w.~-])/wo" + r"rk/",
    r"\.\./sha" + r"red/",
    r"/root/\.pyenv",
]
FORBIDDEN = re.compile("|".join([*(re.escape(a + b) for a, b in HOSTS), *PLACES]))


def texts() -> list[tuple[str, str]]:
    """Every committed file that is text."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout.decode()
    found = []
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        if data and b"\0" not in data:
            found.append((name, data.decode("utf-8", "replace")))
    return found


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()[:120]}"
        for name, text in texts()
        if pattern.search(text)
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_file_names_a_package_registry_or_a_workplace() -> None:
    """Packages come from wherever the host's own tools take them; paths of one machine mean nothing on another."""
    assert lines_with(FORBIDDEN) == []


def test_the_rule_bites() -> None:
    """The pattern finds what it forbids, and leaves an ordinary path alone."""
    assert FORBIDDEN.search("https://py" + "pi.org/simple")
    assert FORBIDDEN.search("cd /wo" + "rk/main")
    assert not FORBIDDEN.search("cd /srv/work/main; ls /workspace; apt-get install docker.io")


def test_no_file_is_a_leftover() -> None:
    """Nothing generated or half merged is committed."""
    names = [name for name, _ in texts()]
    assert [
        n for n in names if re.search(r"(^|/)(__pycache__|\.venv|[^/]+\.egg-info)(/|$)|\.(orig|rej|swp|pyc)$", n)
    ] == []
    assert lines_with(re.compile(r"^(<{7}|>{7})( |$)")) == []
