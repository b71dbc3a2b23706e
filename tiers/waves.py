"""Waves: which prompt of a script states which requirement, and which later prompts amend it.

A requirement belongs to the wave whose prompt has the first section `### R5 ...`. Such a section in the prompt of a
later wave is an amendment: it states values that replace those from before, and the rest of the requirement stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .template import sections


@dataclass(frozen=True, slots=True)
class Statement:
    """One section of a prompt: the requirement that it states or amends, and its text as a template."""

    requirement: str
    wave: int
    prompt: str
    text: str


def statements(prompts: Mapping[str, str], order: Sequence[str]) -> tuple[Statement, ...]:
    """All sections of the prompts, in the order in which the script's sessions get them.

    A wave is a prompt that states anything; they count from 1.
    """
    found: list[Statement] = []
    wave = 0
    for prompt in dict.fromkeys(order):
        parts = sections(prompts[prompt])
        wave += bool(parts)
        found += [Statement(requirement, wave, prompt, text) for requirement, text in parts.items()]
    return tuple(found)


def first(stated: Sequence[Statement]) -> dict[str, Statement]:
    """By requirement: the section that states it first."""
    found: dict[str, Statement] = {}
    for one in stated:
        found.setdefault(one.requirement, one)
    return found


def amendments(stated: Sequence[Statement]) -> tuple[Statement, ...]:
    """The sections that amend what an earlier wave stated."""
    origin = first(stated)
    return tuple(one for one in stated if one is not origin[one.requirement])
