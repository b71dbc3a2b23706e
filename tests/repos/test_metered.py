"""A run with a model on a codebase: the table has tokens, turns and re-reads that nobody declared."""

from __future__ import annotations

from pathlib import Path

import pytest
from modelkit import http_agent, run_model, script_file

from takeover.sandbox.engine import DockerEngine
from takeover.tiers.arms import load_arm
from takeover.trials.model import ModelSettings
from takeover.trials.plan import Settings, make_plan
from takeover.trials.regrade import regrade
from takeover.trials.results import write_results
from takeover.trials.signing import signer
from takeover.trials.tasks import load_any

pytestmark = pytest.mark.docker

FILE = "src/tally/sums.py"
BEFORE = [{"shell": f"sed -n 1,4p {FILE}"}, {"shell": f"sed -i 's/xs.1:./xs/' {FILE}"}, {"shell": "true"}]
AFTER = [{"shell": f"sed -n 3,6p {FILE}"}, {"shell": "cat README.md"}, {"finish": "Done."}]


def test_what_a_model_was_asked_is_counted(
    engine: DockerEngine, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both arms by session, the multiple of Vanilla, a bug for so many tokens, and the lines that were read twice."""
    monkeypatch.setenv("TAKEOVER_SIGNING_KEY", str(tmp_path / "signing.key"))
    # The small one's own tests have no image.
    text = (folder / "task.yaml").read_text()
    (folder / "task.yaml").write_text(text[: text.index("visible:")] + text[text.index("history:") :])
    task = load_any(folder)
    model = ModelSettings(source="script", file=script_file(tmp_path / "script.yaml", BEFORE, AFTER))
    arms = [load_arm(name, task) for name in ("Vanilla", "State_MD_Only")]
    plan = make_plan([(task, arm) for arm in arms], [http_agent()], settings=Settings(model=model))
    result = run_model(engine, tmp_path / "run", plan, signer())
    (table,) = write_results(result).tables
    plain, noted = table.data
    assert (plain["resolved"], plain["turns"]) == (1.0, (2.0, 3.0))
    assert (plain["repeated_views"], plain["repeated_lines"]) == (1.0, 2.0)
    assert isinstance(plain["total_tokens"], float)
    assert plain["tokens_per_bug"] == plain["total_tokens"] > 0
    assert noted["times_vanilla"] == noted["total_tokens"] / plain["total_tokens"]
    card = result.scorecards[result.planned[0]]
    assert (card.tokens.provenance, card.tokens.total) == ("metered", plain["total_tokens"])
    again = regrade(result.paths, result.planned[0], engine, folder)
    assert again is not None
    assert again.how == "same"
