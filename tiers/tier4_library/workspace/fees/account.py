"""The account of a member: what was charged and paid, oldest first. Charges are positive, payments negative."""

from __future__ import annotations

from typing import List, Tuple
#:if R11

from house.policy import BLOCK_CENTS
#:end

from .errors import FeeError, Overpaid

Entry = Tuple[str, int]


def balance(entries: List[Entry]) -> int:
    """What is owed."""
    return sum(cents for _, cents in entries)


def charge(entries: List[Entry], what: str, cents: int) -> List[Entry]:
    """The account with one more charge."""
    if cents <= 0:
        raise FeeError(f"a charge of {cents} cents")
    return [*entries, (what, cents)]


def pay(entries: List[Entry], cents: int) -> List[Entry]:
    """The account with one more payment."""
    if cents <= 0:
        raise FeeError(f"a payment of {cents} cents")
    if cents > balance(entries):
        raise Overpaid(f"{cents} cents paid, {balance(entries)} owed")
    return [*entries, ("payment", -cents)]


def open_items(entries: List[Entry]) -> List[Entry]:
    """What is still to be paid of each charge, when payments settle what was charged first."""
    paid = -sum(cents for _, cents in entries if cents < 0)
    found: List[Entry] = []
    for what, cents in entries:
        if cents > 0:
            settled = min(paid, cents)
            paid -= settled
            if cents > settled:
                found.append((what, cents - settled))
    return found
#:if R11


def blocked(entries: List[Entry], *, <<block_kw>>: bool = False) -> bool:
    """Whether a member owes too much to borrow."""
    return balance(entries) <<block_op>> (<<block_low>> if <<block_kw>> else BLOCK_CENTS)
#:end
#:if R36


def instalments(cents: int, *, <<ins_kw>>: int = <<ins_part>>) -> List[int]:
    """The parts in which a debt may be paid."""
    if cents <<ins_op>> <<ins_min>>:
        return [cents]
    whole, rest = divmod(cents, <<ins_kw>>)
    parts = [<<ins_kw>>] * whole
    if rest:
        parts.insert(<<ins_rest.code>>, rest)
    return parts
#:end
