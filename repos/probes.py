"""The bugs of a base release, which of them a trial is about, and their probes as hidden checks."""

from __future__ import annotations

import atexit
import functools
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..sandbox.errors import InputError
from ..tiers.yamlfile import read_yaml
from .schema import BugsForm
from .source import SourceArchive

Hints = Literal["none", "areas", "specifications"]
HINTS: tuple[Hints, ...] = ("none", "areas", "specifications")
# Every bug by its id; a trial's folder has a hash for what is long.
MAX_TEXT = 2000

_CHECKS = '''\
"""Made from bugs.yaml: one check for each bug. Trusted side; no line of this enters a sandbox but a probe's source."""

PROBES = {probes!r}


def _check(source, folders, expected):
    def check(subject):
        assert subject.probe(source, *folders) == expected

    return check


globals().update({{"test_" + name: _check(*probe) for name, probe in PROBES.items()}})
'''


@dataclass(frozen=True, slots=True)
class Bug:
    """One wrong behaviour. `probe` leaves what it sees in `result`: at base that is `base`, and `expected` is right."""

    id: str
    canonical: bool
    area: str
    hint: str | None
    specification: str
    upstream: str | None
    fixed_in: str | None
    probe: str
    base: object
    expected: object

    @property
    def place(self) -> str:
        """What a hint calls it."""
        return self.hint or self.area


@dataclass(frozen=True, slots=True)
class Bugs:
    """The release, and all that is known to be wrong with it."""

    archive: SourceArchive
    newest: str | None
    bugs: tuple[Bug, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which bugs, and how much a prompt gives away. The same text always selects the same."""

    words: tuple[str, ...] = ("canonical",)
    hints: Hints = "none"

    @property
    def text(self) -> str:
        """The form that a scorecard keeps as the variant; `0` is the canonical set, unhinted."""
        if self.words == ("canonical",) and self.hints == "none":
            return "0"
        return ",".join([*self.words, *([] if self.hints == "none" else [f"hints={self.hints}"])])


def load_bugs(path: Path, name: str) -> Bugs:
    """bugs.yaml; InputError with file, line and field. `name` is what errors call the file."""
    form, _ = read_yaml(path, BugsForm, name)
    archive = SourceArchive(form.project, form.version, form.sdist, form.sha256)
    return Bugs(
        archive,
        form.newest,
        tuple(
            Bug(
                b.id,
                b.canonical,
                b.area,
                b.hint,
                " ".join(b.specification.split()),
                b.upstream,
                b.fixed_in,
                b.probe,
                b.base,
                b.expected,
            )
            for b in form.bugs
        ),
    )


def selection(bugs: str = "canonical", hints: str = "none") -> Selection:
    """A selection from what `--bugs` and `--hints` say: `all`, `canonical`, ids, `area:NAME`, joined by commas."""
    words = tuple(dict.fromkeys(word for word in (part.strip() for part in bugs.split(",")) if word))
    if hints not in HINTS:
        raise InputError(f"--hints: no such amount {hints!r}", hint=f"One of {', '.join(HINTS)}.")
    if not words:
        raise InputError("--bugs: names nothing", hint="`all`, `canonical`, ids or `area:NAME`, joined by commas.")
    chosen = Selection(words, hints)
    if len(chosen.text) > MAX_TEXT:
        raise InputError(f"--bugs: longer than {MAX_TEXT} characters", hint="Name an area, or fewer bugs.")
    return chosen


def parse_variant(variant: int | str) -> Selection:
    """The selection that a scorecard's variant names; the inverse of `Selection.text`."""
    text = str(variant)
    if text == "0":
        return Selection()
    parts = text.split(",")
    hints = [part.removeprefix("hints=") for part in parts if part.startswith("hints=")]
    words = [part for part in parts if not part.startswith("hints=")]
    return selection(",".join(words) or "canonical", hints[-1] if hints else "none")


def select(bugs: Sequence[Bug], chosen: Selection) -> tuple[Bug, ...]:
    """The bugs that a selection names, in the file's order; InputError for a word that names none."""
    found: set[str] = set()
    for word in chosen.words:
        named = {bug.id for bug in bugs if _names(word, bug)}
        if not named:
            raise InputError(
                f"--bugs: {word!r} names no bug",
                hint=f"Areas: {', '.join(_areas(bugs))}. `takeover repos list TASK` shows the ids.",
            )
        found |= named
    return tuple(bug for bug in bugs if bug.id in found)


def _names(word: str, bug: Bug) -> bool:
    if word == "all":
        return True
    if word == "canonical":
        return bug.canonical
    if word.startswith("area:"):
        return _in_area(word.removeprefix("area:"), bug)
    return word == bug.id


def _in_area(name: str, bug: Bug) -> bool:
    """Whether a bug's hint is called so, or its module, or a name in it: `core`, `click.core`, `comment-handling`."""
    wanted = name.strip().casefold()
    if bug.hint and wanted in (bug.hint.casefold(), bug.hint.casefold().replace(" ", "-")):
        return True
    for place in bug.area.casefold().split(" / "):
        whole = place.replace(":", ".")
        bare = whole.partition(".")[2]
        for one in (whole, bare):
            if one == wanted.replace(":", ".") or one.startswith(wanted.replace(":", ".") + "."):
                return True
    return False


def _areas(bugs: Iterable[Bug]) -> list[str]:
    modules = {place.partition(":")[0].partition(".")[2] for bug in bugs for place in bug.area.split(" / ")}
    return sorted(f"area:{module}" for module in modules)


def checks_source(bugs: Sequence[Bug], folders: Sequence[str]) -> str:
    """The hidden checks of these bugs as one pytest file, for the trusted side alone."""
    return _CHECKS.format(probes={bug.id: (bug.probe, tuple(folders), bug.expected) for bug in bugs})


@functools.lru_cache(maxsize=64)
def checks_folder(source: str) -> Path:
    """A private folder that holds a check file for the life of this process."""
    folder = tempfile.TemporaryDirectory(prefix="takeover-repos-")
    atexit.register(folder.cleanup)
    path = Path(folder.name)
    (path / "test_probes.py").write_text(source, encoding="utf-8")
    return path
