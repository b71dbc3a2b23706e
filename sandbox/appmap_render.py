"""An app map as `app_map.md`: sections for people and agents, and the hashes that Gate I compares.

The hashes stand at the end as `sha256sum` writes them, sorted by path; every other line that could hold text of
a source starts with "#", "-" or a space, so no docstring can pass for a hash.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import accumulate

from .appmap import AppMap, Module
from .errors import InputError
from .gate_model import shown
from .tree import canonical_key

TokenCounter = Callable[[str], int]

_LISTED_WITHIN_BUDGET = 10


def render(
    app: AppMap, max_tokens: int | None = None, count_tokens: TokenCounter | None = None, *, hash_digits: int = 64
) -> str:
    """The text of `app_map.md`, within `max_tokens` as `count_tokens` counts.

    Within a budget the most relevant modules have sections, up to where the hashes of all the others still fit or
    half of the budget is spent; then come hashes alone; what has neither is counted at the end.
    `hash_digits`: 16 to 64, since hashes cost a model many tokens; 0 leaves them out.
    """
    if hash_digits and not 16 <= hash_digits <= 64:
        raise InputError(f"hash_digits: {hash_digits} is neither 0 nor between 16 and 64")
    limit = None if max_tokens is None else _LISTED_WITHIN_BUDGET
    ordered = app.by_relevance
    sections = [_section(module, app, limit) for module in ordered]
    hashes = [f"{m.sha256[:hash_digits]}  {quoted(m.path)}\n" if hash_digits else "" for m in ordered]
    if max_tokens is None:
        return _assemble(app, sections, hashes)
    if count_tokens is None:
        raise InputError("a token budget needs something that counts tokens")
    full, listed = _fit(sections, hashes, max_tokens - count_tokens(_assemble(app, [], hashes[:0])), count_tokens)
    while count_tokens(text := _assemble(app, sections[:full], hashes[:listed])) > max_tokens:
        # Tokens of parts do not add up exactly; the last ones in give way.
        if listed > full:
            listed -= 1
        elif full:
            full, listed = full - 1, listed - 1
        else:
            raise InputError(f"{max_tokens} tokens are too few for a map: its frame alone takes {count_tokens(text)}")
    return text


def quoted(path: str) -> str:
    """A path as a hash line has it: as it is, or as a JSON string where it has characters that do not show."""
    plain = path.isprintable() and not path.startswith(('"', " ")) and not path.endswith(" ")
    return path if plain else json.dumps(path)


def _fit(sections: Sequence[str], hashes: Sequence[str], budget: int, count: TokenCounter) -> tuple[int, int]:
    """How many modules get a section and a hash, and how many a hash at all."""
    hash_costs = [count(line) for line in hashes]
    costs = list(accumulate((count(s) + h for s, h in zip(sections, hash_costs, strict=True)), initial=0))
    rest = list(accumulate(reversed(hash_costs), initial=0))[::-1]
    fits = [k for k in range(len(sections) + 1) if costs[k] + min(rest[k], budget // 2) <= budget]
    full = max(fits, default=0)
    listed, left = full, budget - costs[full]
    while listed < len(hashes) and hash_costs[listed] <= left:
        left -= hash_costs[listed]
        listed += 1
    return full, listed


def _assemble(app: AppMap, sections: Sequence[str], hashes: Sequence[str]) -> str:
    total = len(app.modules)
    parts = [
        "# App map\n\n",
        f"{total} modules, most relevant first: tests last, then by importers, then by public names.\n",
    ]
    if len(sections) < total:
        parts.append(f"- {total - len(sections)} modules have no section here for want of room.\n")
    parts += ["\n" + section for section in sections]
    broken = [f"- {quoted(module.path)}: {module.error}" for module in app.modules.values() if module.error]
    broken += [f"- {quoted(unread.path or '.')}: not read: {unread.reason}" for unread in app.unread]
    if broken and len(sections) < total:
        broken = [f"- {len(broken)} files"]
    if broken:
        parts += ["\n## Not parsed\n\n", *(shown(line) + "\n" for line in broken)]
    listed = sorted(filter(None, hashes), key=lambda line: canonical_key(line.partition("  ")[2]))
    if listed:
        parts += ["\n## Hashes\n\n", "SHA-256 of each module when this map was made.\n\n", "```\n", *listed, "```\n"]
    if len(hashes) < total:
        parts.append(f"- {total - len(hashes)} modules have no hash here for want of room.\n")
    return "".join(parts)


def _section(module: Module, app: AppMap, limit: int | None) -> str:
    def listing(what: str, names: Sequence[str]) -> list[str]:
        more = f" and {len(names) - limit} more" if limit is not None and len(names) > limit else ""
        return [f"- {what}: {', '.join(names[:limit])}{more}"] if names else []

    lines = [f"## {quoted(module.path)}"]
    if module.purpose:
        lines.append(f"- {module.purpose}")
    if module.error:
        lines.append(f"- does not parse: {module.error}")
    if module.rule:
        lines.append(f"- boundary: {module.rule}")
    lines += listing("tags", module.tags)
    lines += listing("imports", [app.name(path) for path in module.imports])
    lines += listing("imports from outside", module.outside)
    lines += listing("imported by", [app.name(path) for path in module.imported_by])
    for symbol in module.symbols[: limit and 3 * limit]:
        lines.append(f"- {symbol.kind} {symbol.name}{symbol.signature}")
        lines += [f"  - {member.kind} {member.name}{member.signature}" for member in symbol.members[:limit]]
        if limit and len(symbol.members) > limit:
            lines.append(f"  - and {len(symbol.members) - limit} more methods")
    if limit and len(module.symbols) > 3 * limit:
        lines.append(f"- and {len(module.symbols) - 3 * limit} more public names")
    return "".join(shown(line) + "\n" for line in lines)
