"""run.json is read through one form, and the toolkit that wrote it is known to the byte."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from trialruns import plan_of

from takeover.sandbox.cutoff import CutoffRule
from takeover.sandbox.errors import InputError
from takeover.tiers.schema import FORMS
from takeover.tiers.schema import schema_bytes as form_schema
from takeover.trials.identity import RunIdentity, parse_identity, read_identity, schema_bytes
from takeover.trials.model import ModelSettings
from takeover.trials.plan import Plan, Settings
from takeover.trials.toolkit import ROOMS, ROOT, SOURCES, toolkit_sha256

SCHEMAS = ROOT / "docs" / "schemas"


def identity() -> dict[str, object]:
    settings = Settings(CutoffRule("edits", 3), 60.0, 1000, ModelSettings())
    return json.loads(json.dumps(Plan(plan_of(["nop"]).trials, settings).identity({"sandbox": "sha256:1"}, "0" * 64)))


def test_what_a_plan_freezes_is_read_back() -> None:
    """All that `Plan.identity` writes has its field, and nothing is lost."""
    read = parse_identity(identity(), "run.json")

    assert read.settings.model is not None
    assert (read.settings.cutoff, read.settings.model.source) == ("edits:3", "api")
    assert read.model_dump(mode="json", exclude_unset=True) == identity()


# What somebody changed -> the field that is named.
BAD = {
    "another version": ({"schema_version": 2}, "schema_version"),
    "a field that is unknown": ({"more": 1}, "more"),
    "trials outside": ({"trials": ["../../x"]}, "trials: not names of trials"),
    "trials that are hidden": ({"trials": [".x"]}, "trials: not names of trials"),
    "trials that are no list": ({"trials": 3}, "trials"),
    "a trial that is no text": ({"trials": ["a", 3]}, "trials.1"),
    "a task without a hash": ({"tasks": [{"id": "x", "variant": "0"}]}, "tasks.0.sha256"),
    "images that are none": ({"images": ["x"]}, "images"),
    "tokens below nothing": ({"settings": {"declared_tokens": -1}}, "settings.declared_tokens"),
    "a setting that is unknown": ({"settings": {"fast": True}}, "settings.fast"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_wrong_identity_is_refused(tmp_path: Path, name: str) -> None:
    """In one line, with the file and the field, and with what it means."""
    changed, where = BAD[name]
    (tmp_path / "run.json").write_text(json.dumps({**identity(), **changed}))
    with pytest.raises(InputError) as caught:
        read_identity(tmp_path / "run.json")

    assert str(caught.value).startswith(f"{tmp_path / 'run.json'}: {where}")
    assert "\n" not in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize("field", RunIdentity.model_fields)
def test_a_field_that_is_missing_is_named(field: str) -> None:
    """Whatever is left out, the message says so; what has a default may be missing."""
    rest = {key: value for key, value in identity().items() if key != field}
    if not RunIdentity.model_fields[field].is_required():
        parse_identity(rest, "run.json")
        return
    with pytest.raises(InputError, match=rf"^run\.json: {field}: "):
        parse_identity(rest, "run.json")


def test_the_schemas_are_current() -> None:
    """docs/schemas holds what the modules print: run.json, and what people write for tasks and arms."""
    expected = {"run": schema_bytes(), **{name: form_schema(name) for name in FORMS}}
    assert {name: (SCHEMAS / f"{name}.json").read_bytes() for name in expected} == expected
    assert {path.stem for path in SCHEMAS.glob("*.json")} == {*expected, "scorecard"}


def test_a_schema_tells_task_authors_the_names_they_write() -> None:
    """The range of a parameter reads `from` and `to`, as in a task.yaml."""
    parameter = json.loads((SCHEMAS / "task.json").read_bytes())["$defs"]["ParameterForm"]
    assert {"default", "choices", "from", "to", "step"} <= set(parameter["properties"])
    assert parameter["additionalProperties"] is False


def copy(target: Path) -> Path:
    for room in ROOMS:
        for path in (ROOT / room).rglob("*"):
            if path.suffix in SOURCES:
                (target / path.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target / path.relative_to(ROOT))
    for path in ROOT.glob("*.py"):
        shutil.copyfile(path, target / path.name)
    return target


def test_the_toolkit_is_known_by_its_sources(tmp_path: Path) -> None:
    """The same sources elsewhere are the same toolkit, whatever Python left beside them; a changed byte, a new file
    and another name are not."""
    root = copy(tmp_path)
    hashed = toolkit_sha256.__wrapped__
    first = hashed(root)
    (root / "trials" / "__pycache__").mkdir()
    (root / "trials" / "__pycache__" / "plan.cpython-311.pyc").write_bytes(b"x")
    (root / "runs").mkdir()
    (root / "runs" / "x.py").write_bytes(b"x")
    assert hashed(root) == first

    seen = {first}
    (root / "grader" / "grade.py").write_bytes((root / "grader" / "grade.py").read_bytes() + b"#")
    seen.add(hashed(root))
    (root / "sandbox" / "new.py").touch()
    seen.add(hashed(root))
    (root / "sandbox" / "new.py").rename(root / "sandbox" / "newer.py")
    seen.add(hashed(root))
    assert len(seen) == 4


def test_the_toolkit_is_frozen_with_a_run() -> None:
    """What made a verdict is in run.json, and asking twice costs nothing."""
    assert identity()["toolkit_sha256"] == toolkit_sha256()
    assert toolkit_sha256.cache_info().hits > 0
