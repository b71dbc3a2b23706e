"""What the documentation tells people to type exists, and its links lead somewhere."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from takeover.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
# A command stands in a block, in backticks, or in the ARGS of make.
COMMAND = re.compile(r"(?:^|`|\s)takeover ((?:[a-z][a-z-]*)(?: [^`\n]*)?)", re.MULTILINE)
MAKE_ARGS = re.compile(r'make [a-z]+ ARGS="([^"]+)"')
MAKE = re.compile(r"(?:^|`)make ([a-z-]+)", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def commands(text: str) -> Iterator[list[str]]:
    """The words after `takeover` in each command of a page."""
    code = "\n".join(_code(text))
    for found in (*COMMAND.findall(code), *MAKE_ARGS.findall(text)):
        try:
            yield shlex.split(found.split("#")[0])
        except ValueError:
            continue


def _code(text: str) -> list[str]:
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    return [*blocks, *re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))]


def complaint(words: list[str]) -> str | None:
    """What is wrong with a command: an unknown name or an unknown option."""
    command: click.Command = main
    rest = list(words)
    while isinstance(command, click.Group):
        name = rest.pop(0) if rest else ""
        if name not in command.commands:
            # Prose: "takeover measures ..." is no command.
            return None if command is main and not any(word.startswith("--") for word in rest) else f"no {name!r}"
        command = command.commands[name]
        if not rest:
            return None
    known = {option for param in command.params for option in (*param.opts, *param.secondary_opts)} | {"--help"}
    unknown = [word for word in rest if word.startswith("--") and word.split("=")[0] not in known]
    return f"no option {unknown[0]}" if unknown else None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_documented_commands_exist(page: Path) -> None:
    """Every command and option that a page names is one of the command line's."""
    wrong = {" ".join(words): told for words in commands(page.read_text()) if (told := complaint(words))}

    assert wrong == {}


def test_a_wrong_command_is_seen() -> None:
    """The rule above bites."""
    assert complaint(["run", "x", "--nope"])
    assert complaint(["nope", "--x"])
    assert complaint(["gate", "nope"]) is not None
    assert complaint(["run", "tier2_fintech", "--arm", "Vanilla"]) is None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_documented_targets_and_links_exist(page: Path) -> None:
    """Every make target and every relative link of a page is there."""
    text = page.read_text()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    links = [link for link in LINK.findall(text) if "://" not in link]

    assert set(MAKE.findall(text)) - targets == set()
    assert [link for link in links if not (page.parent / link).exists()] == []
