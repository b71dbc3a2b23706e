"""Curves, the sweep over cutoff points, and the diffs that open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from takeover.grader.scorecard import Check, Failure, Provenance, Retention, Score, Scorecard, Session, Zeroed
from takeover.sandbox.cutoff import parse
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.errors import InputError
from takeover.sandbox.store import SnapshotStore
from takeover.tiers.arms import load_arm
from takeover.tiers.load import load_task
from takeover.trials.agents import resolve_agent
from takeover.trials.curves import Curves, area, curve_tables, curves_json, parse_curves, wave_curves, write_wave_curves
from takeover.trials.difftext import Shelf, changes
from takeover.trials.plan import Plan, Settings, make_plan
from takeover.trials.plot import curves_svg
from takeover.trials.record import RunPaths, TrialPaths, set_aside, write_bytes
from takeover.trials.running import RunResult
from takeover.trials.sessions import SessionMeta, write_meta
from takeover.trials.stored import reuse
from takeover.trials.sweep import SweepPaths, curve_line, sweep, sweep_command, sweep_plan


def scorecard(
    passed: Sequence[str], total: int = 8, *, agent: str = "a", exit_: str = "cutoff", zeroed: bool = False
) -> Scorecard:
    ids = [f"R{n}" for n in range(1, total + 1)]
    verdict = Retention(
        raw=Score(passed=len(passed), total=total),
        net=0 if zeroed else len(passed),
        tes=None,
        zeroed_by=[Zeroed(reason="boundary", detail="d")] if zeroed else [],
        baseline=Score(passed=1, total=1),
        protected_edited=[],
        boundary_violations=[],
        checks=[Check(id=name, kind="requirement", passed=name in passed, evidence="e") for name in ids],
    )
    return Scorecard(
        task="tier2_fintech",
        variant=0,
        arm="Vanilla",
        agent=agent,
        repetition=1,
        outcome="graded",
        retention=verdict,
        sessions=[Session(exit=exit_, snapshot="sha256:0")],  # type: ignore[arg-type]
        provenance=Provenance(toolkit="t", task_sha256="0"),
    )


def failure(side: str, agent: str = "a") -> Scorecard:
    return scorecard([], agent=agent).model_copy(
        update={
            "outcome": f"{side}_failure",
            "retention": None,
            "sessions": [],
            "failure": Failure(kind="k", side=side, message="m"),  # type: ignore[arg-type]
        }
    )


def plan(agents: Sequence[str] = ("note-taker", "amnesiac"), settings: Settings | None = None) -> Plan:
    task = load_task("tier2_fintech")
    return make_plan([(task, load_arm("Vanilla", task))], [resolve_agent(name) for name in agents], settings=settings)


@dataclass
class Carrier:
    """Answers each cut with scorecards instead of running it; an agent's session 1 ends by itself after `edits`."""

    edits: dict[str, int]
    asked: list[list[str]]

    def __call__(self, part: Plan, run: RunPaths) -> RunResult:
        assert part.settings.cutoff is not None
        k = part.settings.cutoff.n or 0
        self.asked.append([spec.agent.name for spec in part.trials])
        cards = {}
        for spec in part.trials:
            done = k > self.edits[spec.agent.name]
            kept = [f"R{n}" for n in range(1, (8 if done else k) + 1)]
            cards[spec.name] = scorecard(kept, agent=spec.agent.name, exit_="exited" if done else "cutoff")
        return RunResult(paths=run, planned=tuple(cards), scorecards=cards)


@pytest.mark.parametrize(
    ("shares", "expected"),
    [([], None), ([0.5], 0.5), ([0, 1], 0.5), ([0.25, 0.5, 1.0], 0.5625), ([1, 1, 1, 1], 1), ([0.5, None, 1], None)],
)
def test_the_area_is_the_mean_height(shares: list[float | None], expected: float | None) -> None:
    """Trapezoids over equally spaced points, scaled to 0 .. 1; a point without a value leaves none."""
    assert area(shares) == expected


def test_a_sweep_has_one_rule_for_each_cut() -> None:
    """Cut k is the rule edits:k and everything else as it was; nonsense and a second rule are refused."""
    steps = sweep_plan(3, Settings(wall_seconds=9, declared_tokens=5))

    assert [(k, one.cutoff.text if one.cutoff else "") for k, one in steps] == [(n, f"edits:{n}") for n in (1, 2, 3)]
    assert all((one.wall_seconds, one.declared_tokens) == (9, 5) for _, one in steps)
    for cuts, settings in ((0, None), (1000, None), (2, Settings(cutoff=parse("first-edit")))):
        with pytest.raises(InputError, match="--cutoff-sweep"):
            sweep_plan(cuts, settings)


def test_a_sweep_stops_where_session_1_ends_by_itself(tmp_path: Path) -> None:
    """Each cell goes on until its own session 1 is no longer cut; that last trial is kept beside the curve."""
    carrier = Carrier({"note-taker": 2, "amnesiac": 4}, [])
    paths = SweepPaths(tmp_path / "sweep")
    found = sweep(plan(), 9, paths, carrier)
    short, long = found.curves

    assert carrier.asked == [["note-taker", "amnesiac"]] * 3 + [["amnesiac"]] * 2
    assert [point.net for point in short.points] == [1, 2]
    assert short.uncut is not None
    assert (short.uncut.at, short.uncut.net, short.uncut.cut) == (3, 8, 0)
    assert [point.share for point in long.points] == [0.125, 0.25, 0.375, 0.5]
    assert long.area == 0.3125
    assert long.points[2].run == "sweep.edits-3"
    assert curve_line(short) == "tier2_fintech Vanilla note-taker: net at cut 1, 2, ...: 1 2, not cut 8 of 8; area 0.19"
    assert parse_curves(paths.curves.read_bytes(), "curves.json").curves == found.curves
    assert paths.picture.read_bytes().startswith(b"<?xml")


def test_failures_in_a_sweep_count_by_their_side(tmp_path: Path) -> None:
    """A failure of the agent is a 0, one of the machinery a point without a value, and neither ends the curve."""
    answers = iter([scorecard(["R1"]), failure("agent"), failure("machinery"), scorecard([], exit_="exited")])

    def carry(part: Plan, run: RunPaths) -> RunResult:
        card = next(answers).model_copy(update={"agent": "amnesiac"})
        return RunResult(paths=run, planned=("t",), scorecards={"t": card})

    [curve] = sweep(plan(["amnesiac"]), 9, SweepPaths(tmp_path / "s"), carry).curves

    assert [point.net for point in curve.points] == [1, 0, None]
    assert (curve.area, curve.uncut is None) == (None, False)


def test_a_sweep_does_not_run_into_another_folder(tmp_path: Path) -> None:
    """A folder that exists is only gone on with when asked, and a run's never."""
    (tmp_path / "old").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    options = {"cuts": 2, "runs": tmp_path, "parallel": 1, "min_net": None}
    with pytest.raises(InputError, match="exists"):
        sweep_command(plan(["nop"]), run_id="old", resume=False, **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not a sweep"):
        sweep_command(plan(["nop"]), run_id="run", resume=True, **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="--run-id"):
        sweep_command(plan(["nop"]), run_id=None, resume=True, **options)  # type: ignore[arg-type]


WAVES = (("R1", "R2"), ("R3", "R4", "R5", "R6"), ("R7", "R8"))


def test_the_curve_by_wave_counts_each_wave_for_itself(tmp_path: Path) -> None:
    """A point is what is kept of one wave's requirements; what zeroes net zeroes every wave; unknown tasks have none."""
    cards = [scorecard(["R1", "R2", "R3", "R7"]), scorecard(["R1", "R2"], agent="b", zeroed=True)]
    first, second = wave_curves(cards, lambda card: WAVES)

    assert [(point.net, point.total) for point in first.points] == [(2, 2), (1, 4), (1, 2)]
    assert first.area == 0.5
    assert [(point.raw, point.net) for point in second.points] == [(2, 0), (0, 0), (0, 0)]
    assert wave_curves(cards, lambda card: None) == []
    assert wave_curves(cards) == []
    assert write_wave_curves(tmp_path, {"a": cards[0]}) is None


def test_a_run_in_waves_has_a_table_of_them() -> None:
    """What is kept of each wave and the area stand in the run's own table and, as data, in summary.json."""
    cards = {"a": scorecard(["R1", "R2", "R3", "R7"]), "b": scorecard(["R1"], agent="b")}
    (table,) = curve_tables(cards, lambda card: WAVES if card.agent != "b" else WAVES[:2])

    assert table.headings == ("agent", "arm", "wave 1", "wave 2", "wave 3", "area")
    assert [row[2:] for row in table.rows] == [("2/2", "1/4", "1/2", "0.5"), ("1/2", "0/4", "", "0.25")]
    assert [row["area"] for row in table.data] == [0.5, 0.25]
    assert curve_tables(cards, lambda card: None) == ()


def test_curves_are_refused_with_the_field(tmp_path: Path) -> None:
    """A curves.json that is none says where it is wrong."""
    curves = wave_curves([scorecard(["R1"])], lambda card: WAVES)
    data = curves_json(Curves(run="r", curves=curves))

    with pytest.raises(InputError, match=r"x/curves.json: curves.0.points.0.share"):
        parse_curves(data.replace(b'"share": 0.5', b'"share": 7'), "x/curves.json")


def test_a_picture_is_the_same_for_the_same_curves() -> None:
    """Bytes do not vary, and a hostile name is neither mathematics nor markup."""
    card = scorecard(["R1"], agent="$\\frac{</svg><script>\x1b\N{SNOWMAN}")
    curves = wave_curves([card, scorecard(["R2"], agent="_x")], lambda card: WAVES)

    assert curves_svg(curves) == curves_svg(curves)
    assert b"<script" not in curves_svg(curves)


def test_a_recorded_session_is_used_again(tmp_path: Path, store: SnapshotStore) -> None:
    """The latest attempt whose session began alike and whose snapshot is whole gives its session; others do not."""
    trial = TrialPaths(tmp_path / "trials" / "t")
    start, end, other = (store.put_files({"a.py": text}) for text in (b"1", b"2", b"3"))

    def attempt(begin: str, left: str) -> None:
        step = trial.step(1, "session")
        session = Session(exit="cutoff", snapshot=f"sha256:{left}")
        write_bytes(step.output, left.encode())
        write_meta(step, SessionMeta(start=f"sha256:{begin}", image="i", guest={}, omitted=[], session=session))
        set_aside(trial)

    attempt(start.sha256, end.sha256)
    attempt(other.sha256, end.sha256)
    attempt(start.sha256, "0" * 64)
    trial.root.mkdir()
    found = reuse(trial, 1, start, store)

    assert found is not None
    assert found[1].sha256 == end.sha256
    assert trial.step(1, "session").output.read_text() == end.sha256
    assert reuse(trial, 2, start, store) is None


def test_diffs_are_bounded(store: SnapshotStore) -> None:
    """Binary, large, linked and costly files are summed up, a missing last newline is said, and no folder is listed."""
    many = b"".join(b"%d\n" % (n % 20) for n in range(199))
    before = store.put_files({"end.py": b"a\n", "big": b"x", "costly": many * 10, "bin": b"\0", "deep/x": b"same"})
    after = store.put_files(
        {
            "end.py": b"a\nb",
            "big": b"x" * 300_000,
            "costly": many[::-1] * 10,
            "bin": b"\1\0",
            "deep/x": b"same",
            "d/n": b"",
        }
    )
    found = {one.path: one for one in changes(Shelf(store), before.sha256, after.sha256, steps=1_000_000).files}

    assert set(found) == {"end.py", "big", "costly", "bin", "d/n"}
    assert found["end.py"].diff == "@@ -1 +1,2 @@\n a\n+b\n\\ No newline at end of file\n"
    assert found["big"].note == "1 bytes to 300,000 bytes"
    assert found["bin"].note == "binary, 1 bytes to 2 bytes"
    assert found["d/n"].note == "empty"
    assert found["costly"].diff.startswith("@@ -1,1990 +1,")


@pytest.mark.docker
@pytest.mark.slow
def test_a_real_sweep(tmp_path: Path, engine: DockerEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that edits once is cut at its first edit and not at a second; the curve has one point."""
    monkeypatch.setenv("TAKEOVER_SIGNING_KEY", str(tmp_path / "key"))
    code = sweep_command(
        plan(["first-only"]), cuts=5, runs=tmp_path, run_id="s", resume=False, parallel=1, min_net=None
    )
    [curve] = parse_curves((tmp_path / "s" / "curves.json").read_bytes(), "curves.json").curves

    assert code == 0
    assert [(point.at, point.net, point.cut) for point in curve.points] == [(1, 1, 1)]
    assert curve.uncut is not None
    assert (curve.uncut.at, curve.uncut.net) == (2, 1)
