"""How the receivers read and edit text: what a hunk is for, and how a requirement goes into a file as it is."""

from __future__ import annotations

import difflib
import re

IMPORT = re.compile(r"\s*(?:from|import)\s+([A-Za-z_]\w*)")
DEFINED = re.compile(r"(?:def|class) ([A-Za-z_]\w*)")


def edited(shop):
    """Pairs of path and new text for what is known and open; requirements are merged into the files as they are."""
    known = [name for name in shop.skills["requirements"] if name in shop.known]
    known.sort(key=lambda name: int(name[1:]))
    paths = []
    for name in known:
        paths += [path for path in shop.skills["requirements"][name]["files"] if path not in paths]
    for path in paths:
        wanted = [name for name in known if path in shop.skills["requirements"][name]["files"]]
        text = shop.read(path) if shop.has(path) else ""
        new = merged(nearest(shop, path, wanted, text), shop.rendered(path, wanted), text)
        if new != text:
            yield path, new


def nearest(shop, path, wanted, text):
    """What the file was before somebody else changed it: the state of the work that is most like it."""
    states = [shop.rendered(path, wanted[:count]) for count in range(len(wanted) + 1)]
    likeness = [difflib.SequenceMatcher(None, one.splitlines(), text.splitlines()).ratio() for one in states]
    return states[likeness.index(max(likeness))]


def merged(base, target, text):
    """The text with what has to be done to make `base` into `target` done to it."""
    old, new, lines = (one.splitlines(True) for one in (base, target, text))
    places = {len(old): len(lines)}
    for here, there, size in difflib.SequenceMatcher(None, old, lines, autojunk=False).get_matching_blocks():
        places.update({here + step: there + step for step in range(size)})
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for tag, i1, i2, j1, j2 in reversed(codes):
        if tag == "equal":
            continue
        begin = places.get(i1, places[min(n for n in places if n >= i1)])
        # Behind the last line that is still there: what somebody added in between stays where it is.
        end = 1 + max([places[n] for n in range(i1, i2) if n in places] or [begin - 1])
        lines[begin:end] = new[j1:j2]
    return "".join(lines)


def hunks(old, new, keep):
    """The new text with only those hunks that `keep` wants, and the changed lines of the others."""
    before, after = old.splitlines(True), new.splitlines(True)
    out, taken = [], []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        changed = after[j1:j2] or before[i1:i2]
        if tag == "equal" or keep(changed):
            out += after[j1:j2]
        else:
            out += before[i1:i2]
            taken += [line.strip() for line in changed if line.strip()]
    return "".join(out), taken


def explained(path, lines, notes):
    """Whether a note speaks of this file and of something that these lines define or change.

    Blank lines explain themselves.
    """
    text = "".join(lines)
    if not text.strip():
        return True
    stem = path[: -len(".py")] if path.endswith(".py") else path
    said = [line for line in notes.splitlines() if stem in line]
    defined = DEFINED.findall(text)
    return any(re.search(r"\b%s\b" % re.escape(name), line) for name in defined for line in said)


def careful(path, text, wiring):
    """The text without imports that wiring.yaml forbids to its package, and those lines."""
    package = path.split("/")[0]
    forbidden = set()
    for owner, listed in re.findall(r"- package: (\w+)\s+may_not_import: \[([^\]]*)\]", wiring):
        if owner == package:
            forbidden.update(name.strip() for name in listed.split(","))
    kept, removed = [], []
    for line in text.splitlines(True):
        match = IMPORT.match(line)
        if match and match.group(1) in forbidden:
            removed.append(line.strip())
        else:
            kept.append(line)
    return "".join(kept), removed
