"""Starts aider on the session's prompt, set so that nothing but its edits stays in the workspace.

aider neither lists nor reads files by itself: it is given the repository's text files, as far as they fit. Those that
the prompt names come first, then source and notes.
"""

import os
import subprocess
import sys
from pathlib import Path

MOST_BYTES = 256 * 1024


def names(prompt):
    """Tracked files and new ones that are not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    listed = subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout
    found = [os.fsdecode(name) for name in listed.split(b"\0") if name]
    return sorted(found, key=lambda name: (name not in prompt, not name.endswith((".py", ".md")), name))


def text_files(prompt):
    """The files, each as far as it is text and fits into what is left."""
    room = MOST_BYTES
    for name in names(prompt):
        path = Path(name)
        if path.is_symlink() or not path.is_file() or path.stat().st_size > room:
            continue
        data = path.read_bytes()
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            continue
        if b"\0" not in data:
            room -= len(data) + len(name)
            yield name


def main():
    home = Path(os.environ["HOME"])
    prompt = Path(os.environ["TAKEOVER_PROMPT_FILE"]).read_text(encoding="utf-8")
    for what in ("INPUT_HISTORY", "CHAT_HISTORY", "LLM_HISTORY"):
        os.environ[f"AIDER_{what}_FILE"] = str(home / f"aider-{what.lower()}")
    model = f"openai/{os.environ.get('TAKEOVER_MODEL', 'takeover-model')}"
    program = str(Path(sys.executable).with_name("aider"))
    os.execv(
        program,
        [
            program,
            *("--model", model, "--weak-model", model),
            *("--edit-format", "diff", "--map-tokens", "0", "--no-pretty", "--yes-always"),
            *("--message-file", os.environ["TAKEOVER_PROMPT_FILE"]),
            "--",
            *text_files(prompt),
        ],
    )


if __name__ == "__main__":
    main()
