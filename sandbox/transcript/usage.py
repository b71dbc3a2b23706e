"""Token usage of one model call, brought from the provider's own convention to ATIF's: all input in `prompt_tokens`.

OpenAI and Gemini count cached input inside their input, Anthropic counts it beside. A count that is no count
(negative, a fraction, absurd) is left out and said, never guessed: what is unknown must not read as zero.
"""

from __future__ import annotations

import math
from typing import Any

from .model import MAX_COUNT, Metrics
from .node import Node
from .report import Tally


def openai(usage: Node, tally: Tally, cost: float | None = None) -> Metrics | None:
    """Usage of Chat Completions or Responses, or of what speaks like them."""
    counts = _counts(usage, tally, "prompt_tokens", "input_tokens", "completion_tokens", "output_tokens")
    prompt = _first(counts, "prompt_tokens", "input_tokens")
    completion = _first(counts, "completion_tokens", "output_tokens")
    cached = reasoning = None
    for name in ("prompt_tokens_details", "input_tokens_details"):
        cached = _first(_counts(usage.at(name), tally, "cached_tokens"), "cached_tokens") if cached is None else cached
    for name in ("completion_tokens_details", "output_tokens_details"):
        found = _counts(usage.at(name), tally, "reasoning_tokens")
        reasoning = found.get("reasoning_tokens", reasoning)
    return metrics(prompt, completion, cached, cost, reasoning_tokens=reasoning)


def anthropic(usage: Node, tally: Tally, cost: float | None = None) -> Metrics | None:
    """Usage of Messages: what was read from and written to the cache stands beside `input_tokens`."""
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    counts = _counts(usage, tally, *names)
    read, written = counts.get(names[2]), counts.get(names[3])
    fresh = counts.get("input_tokens")
    prompt = None if fresh is None else fresh + (read or 0) + (written or 0)
    return metrics(prompt, counts.get("output_tokens"), read, cost, cache_creation_tokens=written)


def gemini(tokens: Node, tally: Tally) -> Metrics | None:
    """Usage as Gemini CLI keeps it: `input` holds the cached part; thoughts and tool prompts stand beside."""
    counts = _counts(tokens, tally, "input", "output", "cached", "thoughts", "tool")
    if "input" not in counts and "output" not in counts:
        return None
    prompt = counts["input"] + counts.get("tool", 0) if "input" in counts else None
    completion = counts["output"] + counts.get("thoughts", 0) if "output" in counts else None
    return metrics(prompt, completion, counts.get("cached"), None, reasoning_tokens=counts.get("thoughts"))


def codex(usage: Node, tally: Tally) -> Metrics | None:
    """Usage as Codex keeps it: the Responses convention with flat names."""
    names = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_output_tokens")
    counts = _counts(usage, tally, *names)
    reasoning = counts.get("reasoning_output_tokens")
    return metrics(counts.get(names[0]), counts.get(names[1]), counts.get(names[2]), None, reasoning_tokens=reasoning)


def inspect(usage: Node, tally: Tally) -> Metrics | None:
    """Usage as Inspect keeps it: cached input stands inside or beside the input, which the total tells."""
    names = ("input_tokens", "output_tokens", "input_tokens_cache_read", "input_tokens_cache_write", "total_tokens")
    counts = _counts(usage, tally, *names, "reasoning_tokens")
    fresh, out = counts.get("input_tokens"), counts.get("output_tokens")
    read, written = counts.get("input_tokens_cache_read"), counts.get("input_tokens_cache_write")
    beside = (read or 0) + (written or 0)
    prompt = fresh
    if fresh is not None and beside and counts.get("total_tokens") == fresh + beside + (out or 0):
        prompt = fresh + beside
    reasoning = counts.get("reasoning_tokens")
    return metrics(prompt, out, read, None, reasoning_tokens=reasoning, cache_creation_tokens=written)


def openhands(usage: Node, tally: Tally, cost: float | None = None) -> Metrics | None:
    """Usage as OpenHands keeps it, for one call or accumulated: the cached part is inside the prompt."""
    names = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
    counts = _counts(usage, tally, *names)
    reasoning, written = counts.get("reasoning_tokens") or None, counts.get("cache_write_tokens") or None
    extra = {"reasoning_tokens": reasoning, "cache_creation_tokens": written}
    return metrics(counts.get(names[0]), counts.get(names[1]), counts.get(names[2]), cost, **extra)


def metrics(
    prompt: int | None, completion: int | None, cached: int | None, cost: float | None, **extra: int | None
) -> Metrics | None:
    """The metrics, or nothing when nothing is known."""
    if prompt is None and completion is None and cached is None and cost is None:
        return None
    kept: dict[str, Any] = {name: value for name, value in extra.items() if value is not None}
    return Metrics(
        prompt_tokens=prompt, completion_tokens=completion, cached_tokens=cached, cost_usd=cost, extra=kept or None
    )


def difference(now: Metrics, before: Metrics | None) -> Metrics:
    """What was added between two accumulated usages; a count that fell began anew."""

    def less(name: str) -> Any:
        later, earlier = getattr(now, name), getattr(before, name) if before is not None else None
        return later if later is None or earlier is None or later < earlier else later - earlier

    return Metrics(
        prompt_tokens=less("prompt_tokens"),
        completion_tokens=less("completion_tokens"),
        cached_tokens=less("cached_tokens"),
        cost_usd=less("cost_usd"),
    )


def cost_of(node: Node) -> float | None:
    """A cost in US dollars, if it is one."""
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        value = float(value)
    except OverflowError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _counts(usage: Node, tally: Tally, *names: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in names:
        node = usage.at(name)
        if node.value is None:
            continue
        count = node.number()
        if count is None or not 0 <= count <= MAX_COUNT // 8:
            tally.drop("usage", "a token count that is no count")
            tally.warn(f"{node.place}: {node.path}: is no count of tokens; left out")
        else:
            found[name] = count
    return found


def _first(counts: dict[str, int], *names: str) -> int | None:
    return next((counts[name] for name in names if name in counts), None)
