"""What there is to judge by, however it was made."""

from __future__ import annotations

from collections.abc import Mapping

from takeover.poison.evidence import Aftermath
from takeover.poison.look import GitFacts
from takeover.poison.places import Facts
from takeover.poison.record import PlantRecord
from takeover.sandbox.store import SnapshotStore


def test_notes_of_many_lines_are_read_in_one_go(facts: Facts, files: Mapping[str, bytes], store: SnapshotStore) -> None:
    """A receiver that rewrites two megabytes of short lines holds nobody up, and what it added is known."""
    long = b"".join(b"%d\n" % number for number in range(200_000))
    planted = store.put_files({**files, "NOTES.md": long})
    final = store.put_files({**files, "NOTES.md": b"AGENTS.md is odd\n" + long})
    record = PlantRecord(
        pill="p", title="t", twin=False, task="x", variant="0", start=planted.sha256, snapshot=planted.sha256, places=[]
    )
    after = Aftermath(record, facts, (), store, planted, final, GitFacts("a"), output="")

    assert after.own_lines == ("AGENTS.md is odd",)
