"""A run's verdicts in the formats that other tools read: Markdown, JUnit, SARIF."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote
from xml.etree import ElementTree as ET

from .. import __version__
from .report import number
from .scorecard import Retention, Scorecard
from .summary import RunSummary, reason
from .text import REPLACEMENT, one_line

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
RULES = {
    "check-failed": ("A hidden check of a requirement failed.", "warning"),
    "baseline-broken": ("Behaviour that held at the start no longer holds.", "error"),
    "boundary-crossed": ("A module imports what the module boundaries forbid.", "error"),
    "protected-changed": ("A file that had to stay as it was did not.", "error"),
    "trial-failed": ("A trial has no verdict.", "error"),
    "nothing-planted": ("The workspace had no place for a trial's poison.", "note"),
}
# XML 1.0 has no way at all to write the rest.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!&])")


def summary_markdown(summary: RunSummary) -> str:
    """summary.md: a table for a pull request or a job summary."""
    totals = summary.totals
    lines = [
        f"# Run {_markdown(summary.run)}",
        "",
        "| task | agent | arm | n | raw | net | TES | tokens | why |",
        "|---|---|---|--:|--:|--:|--:|--:|---|",
    ]
    for cell in summary.cells:
        task = cell.task if cell.variant == "0" else f"{cell.task}@{cell.variant}"
        scores = [
            f"{number(value)}/{cell.total}" if value is not None and cell.total else "-"
            for value in (cell.raw, cell.net)
        ]
        row = [_markdown(task), _markdown(cell.agent), _markdown(cell.arm), str(cell.counted), *scores]
        row += [number(cell.tes), number(cell.tokens), _markdown(one_line("; ".join(cell.reasons), 300))]
        lines.append(f"| {' | '.join(row)} |")
    lines += [f"| {_markdown(name)} | | | 0 | - | - | - | - | pending: no scorecard |" for name in totals.missing]
    lines += ["", totals.sentence, ""]
    for table in summary.tables:
        lines += [f"## {_markdown(table.title)}", "", _row(table.headings), "|---" * len(table.headings) + "|"]
        lines += [*map(_row, table.rows), ""]
    return "\n".join(lines)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(_markdown(one_line(cell)) for cell in cells)} |"


def junit_xml(summary: RunSummary) -> bytes:
    """junit.xml: a suite for each trial, a case for each check; a failure of the machinery is an error."""
    root = ET.Element("testsuites", name=_xml(f"takeover {summary.run}"))
    for name, card in summary.trials:
        suite = ET.SubElement(root, "testsuite", name=_xml(name))
        if card is None or card.retention is None:
            case = ET.SubElement(suite, "testcase", classname=_xml(name), name="verdict")
            tags = {"agent_failure": "failure", "refused": "skipped"}
            tag = "error" if card is None else tags.get(card.outcome, "error")
            message = _xml(reason(card) or "no verdict")
            told = ET.SubElement(case, tag, message=message)
            told.text = message
            if tag != "skipped":
                told.set("type", "trial")
        else:
            _cases(suite, name, card.retention)
        _count(suite)
    _count(root)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'.encode()


def sarif(summary: RunSummary) -> bytes:
    """results.sarif: a result for each failed check, crossed boundary, changed file and trial without a verdict."""
    results = [result for name, card in summary.trials for result in _results(name, card)]
    rules = [
        {"id": key, "shortDescription": {"text": text}, "defaultConfiguration": {"level": level}}
        for key, (text, level) in RULES.items()
    ]
    driver = {"name": "takeover", "version": __version__, "semanticVersion": __version__, "rules": rules}
    log = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}
    return (json.dumps(log, ensure_ascii=True, sort_keys=True, indent=2) + "\n").encode("ascii")


def _cases(suite: ET.Element, name: str, verdict: Retention) -> None:
    for check in verdict.checks:
        case = ET.SubElement(suite, "testcase", classname=_xml(f"{name}.{check.kind}"), name=_xml(check.id))
        if not check.passed:
            failure = ET.SubElement(case, "failure", message=_xml(check.evidence), type=check.error_kind or "assertion")
            failure.text = _xml("\n".join([check.evidence, *check.observed]))
    for kind, broken in (
        ("protected files", [f"{edit.path} {edit.how}" for edit in verdict.protected_edited]),
        (
            "module boundaries",
            [f"{v.path}:{v.line or '-'} imports {v.imports} ({v.how})" for v in verdict.boundary_violations],
        ),
    ):
        case = ET.SubElement(suite, "testcase", classname=_xml(f"{name}.workspace"), name=kind)
        if broken:
            failure = ET.SubElement(case, "failure", message=_xml(one_line("; ".join(broken))), type="workspace")
            failure.text = _xml("\n".join(broken))


def _count(element: ET.Element) -> None:
    for key, tag in (
        ("tests", "testcase"),
        ("failures", "failure"),
        ("errors", "error"),
        ("skipped", "skipped"),
    ):
        element.set(key, str(sum(1 for _ in element.iter(tag))))


def _results(name: str, card: Scorecard | None) -> Iterator[dict[str, object]]:
    if card is None or card.retention is None:
        rule = "nothing-planted" if card is not None and card.outcome == "refused" else "trial-failed"
        yield _result(rule, name, reason(card) or "no verdict", None, None)
        return
    for check in card.retention.checks:
        if not check.passed:
            rule = "check-failed" if check.kind == "requirement" else "baseline-broken"
            yield _result(rule, name, f"{check.id}: {check.evidence}", None, None)
    for edit in card.retention.protected_edited:
        yield _result("protected-changed", name, f"{edit.path} was {edit.how}", edit.path, None)
    for crossed in card.retention.boundary_violations:
        text = f"{crossed.package} may not import {crossed.imports} ({crossed.how})"
        yield _result("boundary-crossed", name, text, crossed.path, crossed.line)


def _result(rule: str, trial: str, text: str, path: str | None, line: int | None) -> dict[str, object]:
    result: dict[str, object] = {
        "ruleId": rule,
        "level": RULES[rule][1],
        "message": {"text": one_line(f"{trial}: {text}", 1000)},
        "properties": {"trial": trial},
    }
    if path is None:
        result["locations"] = [{"logicalLocations": [{"fullyQualifiedName": trial, "kind": "module"}]}]
        return result
    place: dict[str, object] = {"artifactLocation": {"uri": quote(path), "uriBaseId": "WORKSPACE"}}
    if line:
        place["region"] = {"startLine": line}
    result["locations"] = [{"physicalLocation": place}]
    return result


def _xml(text: str) -> str:
    return _NOT_XML.sub(REPLACEMENT, text)


def _markdown(text: str) -> str:
    """Text that stays text in a cell of a Markdown table."""
    return _MARKDOWN.sub(r"\\\1", one_line(text, 400))
