"""The Merkle tree over a record, and the manifest's own form: properties that hold for every tree."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from takeover.sandbox.gate_manifest import encode, parse
from takeover.sandbox.gate_model import Entry, Finding, FindingKind, Record, leaf, merkle_root
from takeover.sandbox.tree import decode_path

names = st.binary(min_size=1, max_size=12).filter(lambda raw: b"/" not in raw and b"\0" not in raw)
names = names.filter(lambda raw: raw not in (b".", b"..")).map(decode_path)
digests = st.binary(min_size=32, max_size=32).map(bytes.hex)
modes = st.integers(0, 0o777)
files = st.builds(
    Entry, names, st.just("file"), modes, st.integers(0, 1 << 62), st.one_of(st.none(), digests), st.none()
)
links = st.builds(Entry, names, st.just("link"), modes, st.just(0), st.none(), names)
others = st.builds(Entry, names, st.sampled_from(["directory", "fifo", "socket", "char-device"]), modes)
entries = st.one_of(files, links, others)
findings = st.lists(st.builds(Finding, st.sampled_from(FindingKind), names, st.text(max_size=20)), max_size=3)


@st.composite
def records(draw: st.DrawFn, min_size: int = 0) -> list[Entry]:
    """Entries with paths one and two deep, each path once, below directories only."""
    top = draw(st.lists(entries, min_size=min_size, max_size=8, unique_by=lambda e: e.path))
    below = draw(st.lists(entries, max_size=5, unique_by=lambda e: e.path))
    folders = [entry.path for entry in top if entry.kind == "directory"]
    return top + [replace(e, path=f"{folder}/{e.path}") for folder in folders for e in below]


# The reference tree of Certificate Transparency: leaves, and the root over the first n of them.
LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


@pytest.mark.parametrize("count", range(len(ROOTS)))
def test_the_tree_is_that_of_rfc_6962(count: int) -> None:
    """The roots equal those of the reference implementation, odd numbers of leaves included."""
    assert merkle_root([bytes.fromhex(text) for text in LEAVES[:count]]).hex() == ROOTS[count]


def by_the_book(leaves: list[bytes]) -> bytes:
    """RFC 6962, section 2.1, word for word."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return hashlib.sha256(b"\x01" + by_the_book(leaves[:split]) + by_the_book(leaves[split:])).digest()


@given(st.lists(st.binary(max_size=4), max_size=70))
def test_pairing_equals_splitting(leaves: list[bytes]) -> None:
    """Building level by level gives the tree that the RFC defines by recursion."""
    assert merkle_root(leaves) == by_the_book(leaves)


def test_an_inner_node_is_no_leaf() -> None:
    """Two leaves and one leaf made of their hashes have different roots."""
    left, right = (hashlib.sha256(b"\x00" + x).digest() for x in (b"a", b"b"))

    assert merkle_root([left + right]) != merkle_root([b"a", b"b"])
    assert merkle_root([b"a", b"b", b"b"]) != merkle_root([b"a", b"b"])


@given(entries, entries)
def test_leaves_are_injective(one: Entry, other: Entry) -> None:
    """Two entries have the same leaf only if they are the same entry."""
    assert (leaf(one) == leaf(other)) is (one == other)


FORGED_LEAVES = {
    "digits moved between mode and size": (Entry("a", "file", 0o64, 41), Entry("a", "file", 0o644, 1)),
    "separator in a path": (Entry("a,4:file", "file", 0), Entry("a", "file", 0)),
    "path moved into link text": (Entry("ab", "link", 0, target="c"), Entry("a", "link", 0, target="bc")),
    "characters against bytes": (Entry("é", "file", 0), Entry("e\u0301", "file", 0)),
}


@pytest.mark.parametrize(("one", "other"), FORGED_LEAVES.values(), ids=FORGED_LEAVES)
def test_no_leaf_passes_for_another(one: Entry, other: Entry) -> None:
    """Shifting text between fields changes the encoding."""
    assert leaf(one) != leaf(other)


@given(records(), st.randoms())
def test_order_does_not_matter(tree: list[Entry], random) -> None:
    """A record is the same in whatever order its entries come."""
    shuffled = tree.copy()
    random.shuffle(shuffled)

    assert Record(shuffled).root == Record(tree).root
    assert list(Record(shuffled).entries) == list(Record(tree).entries)


@given(records(min_size=1), st.data())
def test_any_change_changes_the_root(tree: list[Entry], data: st.DataObject) -> None:
    """Another path, kind, mode, size, hash or link text, one entry more or less: another root."""
    index = data.draw(st.integers(0, len(tree) - 1))
    old = tree[index]
    change = data.draw(st.sampled_from(["path", "kind", "mode", "size", "sha256", "target", "drop", "add"]))
    changed = tree.copy()
    if change == "drop":
        del changed[index]
    elif change == "add":
        changed.append(Entry("/".join([old.path] * 9), "file", 0))
    else:
        other = {
            "path": old.path + "x" * 30,
            "kind": "block-device",
            "mode": old.mode ^ 1,
            "size": old.size + 1,
            "sha256": hashlib.sha256((old.sha256 or "").encode()).hexdigest(),
            "target": (old.target or "") + "x",
        }
        changed[index] = replace(old, **{change: other[change]})

    assert Record(changed).root != Record(tree).root


def test_a_path_cannot_occur_twice() -> None:
    """Two entries of one path are a mistake of the caller's."""
    with pytest.raises(ValueError, match="twice"):
        Record([Entry("a", "file", 0), Entry("a", "file", 1)])


@given(records(), findings, st.text(max_size=20))
def test_a_manifest_comes_back(tree: list[Entry], found: list[Finding], subject: str) -> None:
    """Every record survives its JSON form, whatever its names are made of, and has exactly one such form."""
    record = Record(tree, found)
    payload = encode(record, subject)

    read = parse(payload)

    assert (read.record, read.subject, read.fault) == (record, subject, None)
    assert payload == encode(Record(reversed(tree), reversed(found)), subject)
    assert payload.isascii()


EXAMPLE = encode(
    Record(
        [
            Entry("a", "directory", 0o755),
            Entry("a/b", "file", 0o644, 3, "ab" * 32),
            Entry("l", "link", 0o777, target="a"),
        ],
        [Finding(FindingKind.GIT_HOOK, "l", "x")],
    ),
    "s",
)


@given(st.integers(0, len(EXAMPLE) - 1), st.integers(1, 255))
def test_a_changed_byte_is_refused_or_means_something_else(at: int, flip: int) -> None:
    """No two payloads are read as the same manifest, and no payload makes the parser raise."""
    changed = bytearray(EXAMPLE)
    changed[at] ^= flip

    read = parse(bytes(changed))

    assert read.record is None or encode(read.record, read.subject) == changed


values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)


@given(st.sampled_from(["schema_version", "subject", "root", "complete", "entries", "findings"]), values)
def test_any_value_in_any_field_is_judged(field: str, value: object) -> None:
    """Whatever stands in a field, the answer is a manifest or a reason."""
    payload = json.loads(EXAMPLE) | {field: value}

    read = parse(json.dumps(payload, separators=(",", ":")).encode() + b"\n")

    assert (read.record is None) is (read.fault is not None)


@given(st.binary(max_size=200))
def test_rubbish_is_refused(rubbish: bytes) -> None:
    """Bytes that are no manifest give a reason."""
    assert parse(rubbish).fault is not None
