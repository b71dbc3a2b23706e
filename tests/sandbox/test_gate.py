"""Gate I: what becomes of each path, what a signed manifest is refused for, and what a reader is shown."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from takeover.sandbox import dsse, gate
from takeover.sandbox.dsse import Refusal
from takeover.sandbox.errors import InputError
from takeover.sandbox.gate import Status
from takeover.sandbox.gate_manifest import PAYLOAD_TYPE, Fault, encode
from takeover.sandbox.gate_model import Entry, FindingKind, Record
from takeover.sandbox.gate_walk import Caps
from takeover.sandbox.snapshot import Omission
from takeover.sandbox.tree import Manifest, TreeItem

KEY = dsse.generate_key()
OTHER = dsse.generate_key()


@pytest.fixture(name="tree")
def _tree(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    (root / "billing").mkdir(parents=True)
    (root / "billing" / "tax.py").write_text("def tax(cents):\n    return cents * 7 // 100\n")
    (root / "billing" / "__init__.py").write_text("")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "link").symlink_to("billing/tax.py")
    for path in (root, root / "billing"):
        path.chmod(0o755)
    for name in ("billing/tax.py", "billing/__init__.py", "run.sh"):
        (root / name).chmod(0o644)
    return root


def _restore_time(root: Path) -> None:
    path = root / "billing" / "tax.py"
    status = path.stat()
    path.write_bytes(path.read_bytes().replace(b"7", b"8"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _replace(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        (root / "run.sh").unlink()
        make(root / "run.sh")

    return change


CHANGES: dict[str, tuple[Callable[[Path], object], dict[str, Status]]] = {
    "nothing": (lambda root: None, {}),
    "content, size and time kept": (_restore_time, {"billing/tax.py": Status.DRIFTED}),
    "line ends": (
        lambda root: (root / "billing/tax.py").write_bytes(
            (root / "billing/tax.py").read_bytes().replace(b"\n", b"\r\n")
        ),
        {"billing/tax.py": Status.DRIFTED},
    ),
    "only the time": (lambda root: os.utime(root / "run.sh", (1, 1)), {}),
    "same bytes written anew": (lambda root: (root / "run.sh").write_text("#!/bin/sh\n"), {}),
    "a file more": (lambda root: (root / "evil.py").write_text(""), {"evil.py": Status.ADDED}),
    "a folder more": (lambda root: (root / "x").mkdir(), {"x": Status.ADDED}),
    "a file less": (lambda root: (root / "run.sh").unlink(), {"run.sh": Status.REMOVED}),
    "executable": (lambda root: (root / "run.sh").chmod(0o755), {"run.sh": Status.MODE_CHANGED}),
    "folder closed": (lambda root: (root / "billing").chmod(0o700), {"billing": Status.MODE_CHANGED}),
    "file into link": (_replace(lambda path: path.symlink_to("/etc/passwd")), {"run.sh": Status.TYPE_CHANGED}),
    "file into folder": (_replace(lambda path: path.mkdir()), {"run.sh": Status.TYPE_CHANGED}),
    "file into FIFO": (_replace(os.mkfifo), {"run.sh": Status.TYPE_CHANGED}),
    "link turned": (
        lambda root: ((root / "link").unlink(), (root / "link").symlink_to("/etc/shadow")),
        {"link": Status.DRIFTED},
    ),
    "folder into link to its twin": (
        lambda root: (shutil.move(root / "billing", root / "b2"), (root / "billing").symlink_to("b2")),
        {
            "b2": Status.ADDED,
            "b2/__init__.py": Status.ADDED,
            "b2/tax.py": Status.ADDED,
            "billing": Status.TYPE_CHANGED,
            "billing/__init__.py": Status.REMOVED,
            "billing/tax.py": Status.REMOVED,
        },
    ),
}


@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES)
def test_each_change_has_its_name(change: Callable[[Path], object], expected: dict[str, Status], tree: Path) -> None:
    """Exactly the changed paths are not intact, each with the status that says how."""
    before = gate.record_folder(tree)
    change(tree)
    result = gate.check(before, gate.record_folder(tree))

    assert expected == {file.path: file.status for file in result.files if file.status is not Status.INTACT}
    assert result.clean is (not expected)
    assert (result.root_before == result.root_now) is (not expected)


def test_a_record_says_what_was_there(tree: Path) -> None:
    """Path, kind, mode, size, SHA-256 and link text of everything, folders included."""
    content = (tree / "run.sh").read_bytes()

    record = gate.record_folder(tree)

    assert list(record.entries) == ["billing", "billing/__init__.py", "billing/tax.py", "link", "run.sh"]
    assert Entry("run.sh", "file", 0o644, len(content), hashlib.sha256(content).hexdigest()) == record.entries["run.sh"]
    assert Entry("link", "link", 0o777, target="billing/tax.py") == record.entries["link"]
    assert record.complete


def test_a_sandbox_manifest_and_a_folder_give_the_same_record(tree: Path) -> None:
    """The record of an exported tree equals the record of the folder with the same content."""
    folder = gate.record_folder(tree)
    kinds = {"file": "f", "directory": "d", "link": "l"}
    items = {
        e.path: TreeItem(e.path, kinds[e.kind], e.mode, e.size, e.sha256, e.target)  # type: ignore[arg-type]
        for e in folder.entries.values()
    }

    exported = gate.record_manifest(Manifest(items), lambda path: (tree / path).read_bytes())

    assert folder == exported
    assert folder.root == exported.root


def test_what_an_export_left_out_is_unproven_not_removed(tree: Path) -> None:
    """A path under something omitted is not called removed, and the gate stays shut."""
    before = gate.record_folder(tree)
    now = gate.record_manifest(Manifest({}), omitted=[Omission("billing", "depth")])

    statuses = {file.path: file.status for file in gate.check(before, now).files}

    assert statuses["billing/tax.py"] == Status.UNPROVEN
    assert statuses["run.sh"] == Status.REMOVED
    assert not now.complete


def test_a_special_file_that_an_export_left_out_changed_its_type(tree: Path) -> None:
    """An export cannot carry a FIFO, and the file in whose place it stands is not called removed."""
    before = gate.record_folder(tree)
    items = {e.path: TreeItem(e.path, "d", e.mode) for e in before.entries.values() if e.kind == "directory"}

    now = gate.record_manifest(Manifest(items), omitted=[Omission("run.sh", "fifo")])
    statuses = {file.path: file.status for file in gate.check(before, now).files}

    assert statuses["run.sh"] == Status.TYPE_CHANGED
    assert now.complete


def test_an_incomplete_export_removes_nothing(tree: Path) -> None:
    """Where an export does not say what it left out nothing that is missing counts as removed."""
    now = gate.record_manifest(Manifest({}), complete=False)

    assert {file.status for file in gate.check(gate.record_folder(tree), now).files} == {Status.UNPROVEN}


def test_a_file_too_large_to_read_is_never_intact(tree: Path) -> None:
    """Where no content was hashed nothing is claimed, though both sides look alike."""
    record = gate.record_folder(tree, caps=Caps(file_bytes=5))

    result = gate.check(record, gate.record_folder(tree, caps=Caps(file_bytes=5)))

    assert {"billing/tax.py", "run.sh"} == {file.path for file in result.drift}
    assert not result.clean


def test_signed_and_opened(tree: Path) -> None:
    """A signed manifest gives back the record, its subject and its key."""
    record = gate.record_folder(tree)

    opened = gate.verify(gate.sign(record, KEY, subject="tier2/1"), KEY.public, subject="tier2/1")

    assert opened
    assert (record, "tier2/1", KEY.public.id) == (opened.record, opened.subject, opened.key_id)


def test_signing_twice_gives_the_same_bytes(tree: Path) -> None:
    """A manifest is a function of the tree, the subject and the key."""
    assert gate.sign(gate.record_folder(tree), KEY, subject="x") == gate.sign(
        gate.record_folder(tree), KEY, subject="x"
    )


RECORD = Record([Entry("a", "directory", 0o755), Entry("a/b.py", "file", 0o644, 1, "0" * 64)])
PAYLOAD = json.loads(encode(RECORD, "s"))


def signed(change: Callable[[dict], object], key: dsse.SigningKey = KEY) -> bytes:
    """A manifest with its object changed, its root made right again, rightly signed."""
    value = json.loads(json.dumps(PAYLOAD))
    change(value)
    return dsse.sign(json.dumps(value, separators=(",", ":")).encode() + b"\n", PAYLOAD_TYPE, key)


def entry(path: str, **fields: object) -> dict[str, object]:
    return {"path": path, "kind": "file", "mode": "0644", "size": 1, "sha256": "0" * 64} | fields


def with_entries(*entries: dict[str, object]) -> Callable[[dict], object]:
    return lambda value: value.update(entries=list(entries))


def swap_payload(envelope: bytes) -> bytes:
    ours, theirs = json.loads(envelope), json.loads(gate.sign(Record([]), OTHER, subject="s"))
    ours["payload"] = theirs["payload"]
    return json.dumps(ours, separators=(",", ":")).encode() + b"\n"


REFUSED: dict[str, tuple[bytes, object, str]] = {
    "wrong key": (gate.sign(RECORD, OTHER, subject="s"), Refusal.WRONG_KEY, OTHER.public.id),
    "swapped payload": (swap_payload(gate.sign(RECORD, KEY, subject="s")), Refusal.BAD_SIGNATURE, "does not match"),
    "another kind of document": (dsse.sign(b"{}", "text/plain", KEY), Refusal.WRONG_TYPE, "text/plain"),
    "another subject": (gate.sign(RECORD, KEY, subject="t"), "wrong_subject", "'t'"),
    "not JSON": (dsse.sign(b"\xff", PAYLOAD_TYPE, KEY), Fault.MALFORMED, "not JSON"),
    "deep JSON": (dsse.sign(b"[" * 100_000, PAYLOAD_TYPE, KEY), Fault.MALFORMED, "not JSON"),
    "a later version": (signed(lambda v: v.update(schema_version=2)), Fault.MALFORMED, "schema_version"),
    "extra field": (signed(lambda v: v.update(note="")), Fault.EXTRA_FIELD, "note"),
    "extra field of an entry": (signed(with_entries(entry("a", mtime=1))), Fault.EXTRA_FIELD, "entries.0.mtime"),
    "size as text": (signed(with_entries(entry("a", size="1"))), Fault.MALFORMED, "entries.0.size"),
    "negative size": (signed(with_entries(entry("a", size=-1))), Fault.MALFORMED, "entries.0.size"),
    "boolean size": (signed(with_entries(entry("a", size=True))), Fault.MALFORMED, "entries.0.size"),
    "short hash": (signed(with_entries(entry("a", sha256="00"))), Fault.MALFORMED, "entries.0.sha256"),
    "hash and newline": (signed(with_entries(entry("a", sha256="0" * 64 + "\n"))), Fault.MALFORMED, "sha256"),
    "mode as number": (signed(with_entries(entry("a", mode=420))), Fault.MALFORMED, "entries.0.mode"),
    "unknown kind": (signed(with_entries(entry("a", kind="door"))), Fault.MALFORMED, "entries.0.kind"),
    "duplicate path": (signed(with_entries(entry("a"), entry("a"))), Fault.DUPLICATE_PATH, "'a'"),
    "parent path": (signed(with_entries(entry("../a"))), Fault.UNSAFE_PATH, "'../a'"),
    "parent inside": (signed(with_entries(entry("a/../../b"))), Fault.UNSAFE_PATH, "'a/../../b'"),
    "absolute path": (signed(with_entries(entry("/etc/passwd"))), Fault.UNSAFE_PATH, "'/etc/passwd'"),
    "empty path": (signed(with_entries(entry(""))), Fault.UNSAFE_PATH, "''"),
    "NUL in a path": (signed(with_entries(entry("a\0b"))), Fault.UNSAFE_PATH, "x00"),
    "a path that is no bytes": (signed(with_entries(entry("\ud800"))), Fault.UNSAFE_PATH, "ud800"),
    "file below a file": (signed(with_entries(entry("a"), entry("a/b"))), Fault.IMPOSSIBLE_TREE, "below a file"),
    "link with a hash": (
        signed(with_entries({"path": "a", "kind": "link", "mode": "0777", "sha256": "0" * 64, "target": "b"})),
        Fault.IMPOSSIBLE_TREE,
        "fields of another kind",
    ),
    "out of order": (signed(with_entries(entry("b"), entry("a"))), Fault.NOT_CANONICAL, "out of order"),
    "wrong root": (signed(with_entries(entry("a"))), Fault.WRONG_ROOT, RECORD.root),
    "key named twice": (
        dsse.sign(encode(RECORD, "s").replace(b"{", b'{"subject":"t",', 1), PAYLOAD_TYPE, KEY),
        Fault.NOT_CANONICAL,
        "one form",
    ),
    "indented": (dsse.sign(json.dumps(PAYLOAD, indent=1).encode(), PAYLOAD_TYPE, KEY), Fault.NOT_CANONICAL, "form"),
    "completeness denied": (signed(lambda v: v.update(complete=False)), Fault.NOT_CANONICAL, "one form"),
}


@pytest.mark.parametrize(("envelope", "reason", "detail"), REFUSED.values(), ids=REFUSED)
def test_a_bad_manifest_is_refused_with_its_reason(envelope: bytes, reason: object, detail: str) -> None:
    """Signed nonsense is refused like unsigned sense: no record, one precise reason, the hash of what was judged."""
    opened = gate.verify(envelope, KEY.public, subject="s")

    assert (False, None, reason) == (bool(opened), opened.record, opened.refusal)
    assert detail in opened.detail
    assert hashlib.sha256(envelope).hexdigest() == opened.envelope_sha256


def test_undecodable_names_survive_signing(tmp_path: Path) -> None:
    """A file name that is not UTF-8 is recorded, signed, opened and found again."""
    (tmp_path / os.fsdecode(b"\xff\xfe.py")).write_text("x")
    record = gate.record_folder(tmp_path)

    opened = gate.verify(gate.sign(record, KEY, subject="s"), KEY.public)

    assert record == opened.record
    assert [finding.kind for finding in record.findings] == [FindingKind.ODD_NAME]


def test_rendered_lines(tree: Path) -> None:
    """One line per difference, one per finding, one of counts, one of roots; names cannot reach the terminal raw."""
    before = gate.record_folder(tree)
    (tree / "billing" / "tax.py").write_text("")
    (tree / "run.sh").chmod(0o755)
    (tree / "a\x1b[2J\n.py").write_text("")

    lines = gate.render_check(gate.check(before, gate.record_folder(tree))).splitlines()

    assert lines[0] == r"ADDED    a\x1b[2J\n.py"
    assert lines[1].startswith("DRIFT    billing/tax.py  sha256 ")
    assert lines[2] == "MODE     run.sh  mode 0644 -> 0755"
    assert lines[3].startswith(r"FINDING  odd-name  a\x1b[2J\n.py")
    assert lines[4] == "Gate I: 3 intact, 1 drifted, 1 added, 1 mode-changed"
    assert lines[5].startswith("root ")


def test_rendering_is_bounded(tmp_path: Path) -> None:
    """Ten thousand differences are a hundred lines and a count."""
    now = Record([Entry(f"{i}", "file", 0o644, 0, "0" * 64) for i in range(10_000)])

    text = gate.render_check(gate.check(Record([]), now), limit=100)

    assert "... and 9900 more" in text
    assert text.count("\n") == 103


@pytest.mark.parametrize("name", ["absent", "file"])
def test_a_root_that_is_no_folder_is_an_input_error(name: str, tmp_path: Path) -> None:
    """Only the root itself may make the record fail, in words that name it."""
    (tmp_path / "file").write_text("")

    with pytest.raises(InputError, match=name):
        gate.record_folder(tmp_path / name)
