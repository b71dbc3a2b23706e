"""Raw, net and TES: how much of what was asked the workspace does, and what takes it away again."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal

from .boundaries import BoundaryReport
from .checks import CheckRun
from .scorecard import BoundaryViolation, Check, Note, ProtectedEdit, Retention, Score, Zeroed
from .text import one_line, path_text

SHOWN = 3
NOTED = 100


def retention(
    run: CheckRun,
    requirements: Sequence[str],
    protected: Sequence[ProtectedEdit],
    boundaries: BoundaryReport,
    *,
    tokens: int | None,
    budget: int | None,
    notes: Sequence[Note] = (),
) -> Retention:
    """The verdict on a workspace. Raw counts requirements that hold; net is raw, or 0 if anything else broke."""
    wanted = frozenset(requirements)
    checks = [
        Check(
            id=result.id,
            kind="requirement" if result.id in wanted else "baseline",
            passed=result.passed,
            evidence=result.evidence,
            observed=list(result.observed),
            error_kind=result.error_kind,
        )
        for result in run.results
    ]
    raw = _score([check for check in checks if check.kind == "requirement"])
    baseline = [check for check in checks if check.kind == "baseline"]
    zeroed = _zeroed(baseline, protected, boundaries)
    net = 0 if zeroed else raw.passed
    return Retention(
        raw=raw,
        net=net,
        tes=token_efficiency(net, tokens, budget),
        zeroed_by=zeroed,
        baseline=_score(baseline),
        protected_edited=list(protected),
        boundary_violations=[
            BoundaryViolation(
                path=path_text(v.path), line=v.line or None, package=v.package, imports=v.imports, how=v.how
            )
            for v in boundaries.violations
        ],
        checks=checks,
        notes=[*notes, *_notes(run, boundaries)],
    )


def token_efficiency(net: int, tokens: int | None, budget: int | None) -> float | None:
    """TES: net x min(1, budget / tokens), to three decimals; None where the tokens are unknown.

    Decimal arithmetic, so that the same numbers give the same digits everywhere.
    """
    if tokens is None or budget is None:
        return None
    share = Decimal(1) if tokens <= budget else Decimal(budget) / Decimal(tokens)
    return float((net * share).quantize(Decimal("0.001"), ROUND_HALF_EVEN))


def _score(checks: Sequence[Check]) -> Score:
    return Score(passed=sum(check.passed for check in checks), total=len(checks))


def _zeroed(baseline: Sequence[Check], protected: Sequence[ProtectedEdit], boundaries: BoundaryReport) -> list[Zeroed]:
    broken = [f"{check.id} ({check.evidence})" for check in baseline if not check.passed]
    edited = [f"{edit.path} {edit.how}" for edit in protected]
    crossed = [
        f"{path_text(v.path)}:{v.line or '-'} {v.package} -> {one_line(v.imports)}" for v in boundaries.violations
    ]
    found = []
    if broken:
        found.append(Zeroed(reason="baseline", detail=_list("original behaviour broke", broken)))
    if edited:
        found.append(Zeroed(reason="protected", detail=_list("protected files changed", edited)))
    if crossed:
        found.append(Zeroed(reason="boundary", detail=_list("module boundaries crossed", crossed)))
    return found


def _list(what: str, items: Sequence[str]) -> str:
    more = f", and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
    return one_line(f"{what}: {', '.join(items[:SHOWN])}{more}", 600)


def _notes(run: CheckRun, boundaries: BoundaryReport) -> list[Note]:
    notes = [Note(kind="tampered", detail=run.tampered)] if run.tampered else []
    notes += [
        Note(
            kind="dynamic_import",
            path=path_text(path),
            line=line,
            detail=f"{how} of a name that the text does not give",
        )
        for path, line, how in boundaries.dynamic
    ]
    unread = boundaries.unparsable
    notes += [Note(kind="unparsable", path=path_text(u.path), detail=u.reason) for u in unread[:NOTED]]
    if len(unread) > NOTED:
        notes.append(Note(kind="unparsable", detail=f"and {len(unread) - NOTED} more sources"))
    return notes
