"""Starts aider on the session's prompt, set so that nothing but its edits stays in the workspace.

aider neither lists nor reads files by itself: it is given the repository's text files, as far as they fit.
"""

import os
import subprocess
import sys
from pathlib import Path

MOST_BYTES = 256 * 1024


def text_files():
    """Tracked files and new ones that are not ignored, in git's order, until they would be too much."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    listed = subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout
    room = MOST_BYTES
    for name in filter(None, listed.split(b"\0")):
        path = Path(os.fsdecode(name))
        if path.is_symlink() or not path.is_file() or path.stat().st_size > room:
            continue
        data = path.read_bytes()
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            continue
        if b"\0" not in data:
            room -= len(data)
            yield str(path)


def main():
    home = Path(os.environ["HOME"])
    for what in ("INPUT_HISTORY", "CHAT_HISTORY", "LLM_HISTORY"):
        os.environ[f"AIDER_{what}_FILE"] = str(home / f"aider-{what.lower()}")
    program = str(Path(sys.executable).with_name("aider"))
    os.execv(
        program,
        [
            program,
            *("--model", f"openai/{os.environ.get('TAKEOVER_MODEL', 'takeover-model')}"),
            *("--edit-format", "diff", "--map-tokens", "0", "--no-pretty", "--yes-always"),
            *("--message-file", os.environ["TAKEOVER_PROMPT_FILE"]),
            "--",
            *text_files(),
        ],
    )


if __name__ == "__main__":
    main()
