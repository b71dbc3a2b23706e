"""The register of members, by number."""

from __future__ import annotations

#:if R18
from typing import Dict, List, Tuple
#:else
from typing import Dict, List
#:end

from .cards import Member
from .errors import MemberError, UnknownMember

Registry = Dict[int, Member]


def next_number(registry: Registry) -> int:
    """The number that the next member gets."""
    return max(registry, default=0) + 1


def add(registry: Registry, member: Member) -> Registry:
    """The register with one more member."""
    if member["number"] != next_number(registry):
        raise MemberError(f"number {member['number']} is not the next one")
    if not member["name"].strip():
        raise MemberError("a member needs a name")
    return {**registry, member["number"]: member}


def find(registry: Registry, number: int) -> Member:
    """The member with a number."""
    if number not in registry:
        raise UnknownMember(f"no member {number}")
    return registry[number]


def in_category(registry: Registry, category: str) -> List[int]:
    """The numbers of all members with a kind of card, ascending."""
    return sorted(number for number, member in registry.items() if member["category"] == category)
#:if R18


def twins(registry: Registry) -> List[Tuple[int, int]]:
    """Pairs of members who may be one person."""
    found = []
    for low, one in sorted(registry.items()):
        for high, other in sorted(registry.items()):
            apart = abs((one["born"] - other["born"]).days)
            if low < high and one["name"].lower() == other["name"].lower() and apart <<twin_op>> <<twin_days>>:
                found.append(<<twin_pair.code>>)
    return found
#:end
