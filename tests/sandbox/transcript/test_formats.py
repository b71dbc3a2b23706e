"""One list of claims that every format must meet: the same short session, written by each agent in its own way."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from takeover.sandbox.errors import InputError
from takeover.sandbox.transcript.model import Transcript, plain
from takeover.sandbox.transcript.sniff import FORMATS, import_file
from takeover.sandbox.transcript.views import extract_spans

SAMPLES = Path(__file__).parent / "samples"
TASK = "The total of the cart leaves out the first item."


@dataclass(frozen=True)
class Expected:
    """What a sample holds: the spans of src/cart.py, the tokens (prompt, completion, cached), what was left out."""

    format: str
    view: tuple[int | None, int | None] = (1, 4)
    edit: tuple[int | None, int | None] = (3, 3)
    tokens: tuple[int, int, int] | None = (250, 18, 90)
    dropped: set[str] = field(default_factory=set)
    prompt: bool = True
    item: str | None = None


EXPECTED = {
    "atif_1_8.json": Expected("atif"),
    "claude_session.jsonl": Expected(
        "claude-session",
        view=(1, 3),
        tokens=(150, 22, 80),
        dropped={"branch", "compaction", "duplicate", "event", "hidden_reasoning", "side_chain", "torn_line"},
    ),
    "claude_stream.jsonl": Expected(
        "claude-stream", view=(1, 3), tokens=(220, 18, 91), dropped={"side_chain", "superseded_call"}, prompt=False
    ),
    "codex_exec.jsonl": Expected("codex-exec", edit=(None, None), prompt=False),
    "codex_rollout.jsonl": Expected(
        "codex-rollout", edit=(None, None), dropped={"compaction", "event", "hidden_reasoning"}
    ),
    "gemini.json": Expected("gemini", edit=(None, None), dropped={"event"}),
    "gemini.jsonl": Expected("gemini", edit=(None, None), dropped={"branch"}),
    "inspect.json": Expected("inspect", edit=(None, None), tokens=(250, 18, 170), dropped={"compaction"}),
    "mini_v0.traj.json": Expected("mini-swe-agent", tokens=None),
    "mini_v1.traj.json": Expected("mini-swe-agent", tokens=None),
    "mini_v2_text.traj.json": Expected("mini-swe-agent", tokens=(600, 30, 300)),
    "mini_v2_tools.traj.json": Expected("mini-swe-agent", tokens=(600, 30, 300)),
    "mini_v2_responses.traj.json": Expected("mini-swe-agent", tokens=(600, 30, 300), dropped={"hidden_reasoning"}),
    "openhands_calls": Expected("openhands-calls", view=(1, 3)),
    "openhands_flat.json": Expected(
        "openhands-events", view=(1, 3), tokens=(300, 20, 90), dropped={"compaction", "cut_output", "event"}
    ),
    "openhands_output.jsonl": Expected(
        "openhands-events",
        view=(1, 3),
        tokens=(300, 20, 90),
        dropped={"compaction", "cut_output", "event", "item"},
        item="shop__cart-7",
    ),
    "openhands_session": Expected(
        "openhands-events", view=(1, 3), tokens=(300, 20, 90), dropped={"compaction", "cut_output", "event"}
    ),
    "openhands_sdk": Expected("openhands-sdk", view=(1, 3), dropped={"branch", "compaction", "event"}),
    "sweagent_editor.traj": Expected("swe-agent", view=(1, 3), tokens=None, dropped={"attempt"}),
    "sweagent_windowed.traj": Expected(
        "swe-agent", view=(41, 43), edit=(43, 43), tokens=(900, 80, 0), dropped={"demo"}
    ),
}


def _load(name: str) -> tuple[Transcript, Expected]:
    expected = EXPECTED[name]
    return import_file(SAMPLES / name, item=expected.item)[0], expected


@pytest.mark.parametrize("name", EXPECTED)
def test_the_format_is_found_and_what_was_left_out_is_said(name: str) -> None:
    """Nobody declares a format, and the report names each kind of thing that is not in the transcript."""
    expected = EXPECTED[name]

    _, report = import_file(SAMPLES / name, item=expected.item)

    assert report.format == expected.format
    assert {dropped.kind for dropped in report.dropped} == expected.dropped
    assert all(dropped.count > 0 and dropped.note for dropped in report.dropped)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_file_read_and_the_file_edited_are_found(name: str) -> None:
    """Every format yields the view of src/cart.py, the one edit of it, and no other edit."""
    transcript, expected = _load(name)

    spans = extract_spans(transcript, root="/workspace")

    cart = [span for span in spans if span.path == "src/cart.py"]
    assert expected.view == next((span.start, span.end) for span in cart if span.kind == "view")
    assert [expected.edit] == [(span.start, span.end) for span in spans if span.kind == "edit"]


@pytest.mark.parametrize("name", EXPECTED)
def test_tokens_follow_one_convention(name: str) -> None:
    """Cached input is counted inside the prompt, once, whatever the provider's own rule; unknown stays unknown."""
    transcript, expected = _load(name)

    final = transcript.final_metrics

    if expected.tokens is None:
        assert final is None or final.total_prompt_tokens is None
    else:
        assert final is not None
        found = (final.total_prompt_tokens, final.total_completion_tokens, final.total_cached_tokens or 0)
        assert expected.tokens == found


@pytest.mark.parametrize("name", EXPECTED)
def test_the_task_is_there_where_the_format_has_it(name: str) -> None:
    """The prompt is a step of the user; streams that do not carry it say so."""
    transcript, expected = _load(name)

    prompts = [plain(step.message) for step in transcript.steps if step.source == "user"]

    assert expected.prompt == any(TASK in prompt for prompt in prompts)


@pytest.mark.parametrize("name", EXPECTED)
def test_an_import_reads_again_as_atif(name: str, tmp_path: Path) -> None:
    """What an import makes is a valid ATIF document, and reading that changes nothing."""
    transcript, _ = _load(name)
    path = tmp_path / "transcript.json"
    path.write_text(json.dumps(transcript.to_json()))

    again, report = import_file(path)

    assert transcript == again
    assert (report.format, report.dropped, report.warnings) == ("atif", (), ())


@pytest.mark.parametrize("name", EXPECTED)
def test_every_result_belongs_to_a_call_and_no_id_recurs_in_a_step(name: str) -> None:
    """In the samples every result finds its call."""
    transcript, _ = _load(name)

    for step in transcript.steps:
        for result in step.observation.results if step.observation else ():
            assert result.source_call_id in {call.tool_call_id for call in step.tool_calls or ()}


def test_every_format_has_a_sample() -> None:
    """A format without a sample would be a promise without a proof."""
    assert {one.name for one in FORMATS} == {expected.format for expected in EXPECTED.values()}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is empty"),
        ("   \n", "is empty"),
        ("hello\n", "not JSON"),
        ('{"a": 1}', "no transcript of a known format"),
        ("[]", "no transcript of a known format"),
        ("[1, 2]", "no transcript of a known format"),
        ('{"type": "user"}\n{"type": "user"}\n', "not JSON"),
        ("\x1f\x8b\x08", "decompress it first"),
    ],
)
def test_what_is_no_transcript_is_refused_by_name(tmp_path: Path, content: str, says: str) -> None:
    """The refusal names the file and why."""
    path = tmp_path / "some.json"
    path.write_bytes(content.encode("latin-1"))

    with pytest.raises(InputError, match=says) as caught:
        import_file(path)
    assert str(path) in str(caught.value)


def test_a_file_of_several_wants_one_named(tmp_path: Path) -> None:
    """An evaluation's output holds many instances; taking the first silently would be a guess."""
    with pytest.raises(InputError, match=r"holds 2 instances.*shop__cart-7, shop__cart-8"):
        import_file(SAMPLES / "openhands_output.jsonl")
    with pytest.raises(InputError, match="no instance 'nope'"):
        import_file(SAMPLES / "openhands_output.jsonl", item="nope")

    transcript, _ = import_file(SAMPLES / "openhands_output.jsonl", item="shop__cart-8")

    assert [step.source for step in transcript.steps] == ["user", "agent"]


def test_a_pretty_printed_recording_is_no_jsonl() -> None:
    """JSONL and a document of the same agent are told apart by what the first line is, not by the name."""
    assert import_file(SAMPLES / "gemini.json")[1].version == "json"
    assert import_file(SAMPLES / "gemini.jsonl")[1].version == "jsonl"
