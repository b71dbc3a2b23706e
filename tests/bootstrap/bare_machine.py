"""A machine that has only the commands it is given."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = [
    "awk",
    "bash",
    "cat",
    "chmod",
    "cp",
    "cut",
    "dirname",
    "env",
    "find",
    "grep",
    "head",
    "id",
    "ln",
    "mkdir",
    "mktemp",
    "mv",
    "paste",
    "rm",
    "sed",
    "setsid",
    "sha256sum",
    "sleep",
    "sort",
    "tail",
    "tee",
    "touch",
    "tr",
]
NOBODY = 65534


@dataclass
class Machine:
    """Runs scripts with a PATH of its own; `root` is the copied repository."""

    root: Path
    bin: Path
    env: dict[str, str] = field(default_factory=dict)

    def command(self, name: str, script: str) -> Path:
        """Puts a shell script on the PATH."""
        return self.program(self.bin / name, script)

    @staticmethod
    def program(path: Path, script: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(f"#!{shutil.which('bash')}\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    def run(
        self, argv: Sequence[str], *, env: Mapping[str, str] = {}, nobody: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """The ended process; as nobody, if asked, where these tests run as root."""
        drop = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if nobody and os.getuid() == 0 else {}
        return subprocess.run(
            argv,
            cwd=self.root,
            env={"PATH": str(self.bin), "HOME": str(self.root), **self.env, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            **drop,
        )

    def bash(self, code: str, **options: object) -> subprocess.CompletedProcess[str]:
        """Runs code after sourcing the scripts' common part."""
        return self.run(["bash", "-c", f"set -euo pipefail; source images/lib.sh; {code}"], **options)
