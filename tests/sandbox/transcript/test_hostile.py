"""Files made to hurt: whatever they are, what comes out is a transcript or an InputError."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from takeover.sandbox.errors import InputError
from takeover.sandbox.transcript.model import plain
from takeover.sandbox.transcript.reading import DEFAULT_CAPS, Caps
from takeover.sandbox.transcript.sniff import import_file
from takeover.sandbox.transcript.views import extract_spans

SAMPLES = Path(__file__).parent / "samples"
FILES = sorted(path for path in SAMPLES.iterdir() if path.is_file())
HEAD = json.dumps({"type": "session_meta", "payload": {"id": "x"}}) + "\n"


def _said(text: str) -> str:
    payload = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    return json.dumps({"type": "response_item", "payload": payload}) + "\n"


def _refused(path: Path, says: str, caps: Caps = DEFAULT_CAPS) -> None:
    with pytest.raises(InputError, match=says):
        import_file(path, caps=caps)


CONTENT: dict[str, tuple[str, str]] = {
    "brackets without end": ("[" * 100_000, "nested deeper than 128"),
    "deep and closed": ('{"schema_version":"ATIF-v1.8","x":' + "[" * 300 + "]" * 300 + "}", "nested deeper than 128"),
    "a number without end": ('{"schema_version":"ATIF-v1.8","x":' + "9" * 5000 + "}", "too many digits"),
    "NaN": ('{"schema_version":"ATIF-v1.8",\n"steps":[{"m":NaN}]}', r"\$\.steps\[0\]\.m: is NaN or infinite"),
    "minus infinity": ('{"schema_version":"ATIF-v1.8","x":[1,-Infinity]}', r"\$\.x\[1\]: is NaN or infinite"),
    "beyond a double": ('{"schema_version":"ATIF-v1.8","x":{"y":1e999}}', r"\$\.x\.y: is NaN or infinite"),
    "a key twice": ('{"schema_version":"ATIF-v1.8","schema_version":"ATIF-v1.7"}', "key 'schema_version' twice"),
    "NaN in a line": (HEAD + '{"type":"response_item","payload":{"a":NaN}}\n', r":2: \$\.payload\.a: is NaN"),
    "a line that is none": (HEAD + "oops\n" + _said("x"), ":2: not JSON"),
    "a line that is no object": (HEAD + "[]\n", r":2: \$: must be an object"),
}


@pytest.mark.parametrize("name", CONTENT)
def test_bad_json_is_named_with_its_place(tmp_path: Path, name: str) -> None:
    """Depth, numbers that JSON does not have, keys twice: refused, and where."""
    content, says = CONTENT[name]
    path = tmp_path / "t.json"
    path.write_text(content)

    _refused(path, says)


def test_invalid_utf8_is_refused_with_its_line(tmp_path: Path) -> None:
    """Bytes that are no text are not guessed at."""
    path = tmp_path / "t.json"
    path.write_bytes(b'{\n"schema_version": "\xff"}')

    _refused(path, r"byte 21 \(line 2\) is not UTF-8")


def test_lone_surrogates_become_replacement_characters(tmp_path: Path) -> None:
    """JavaScript cuts emoji in half and escapes what is left, which UTF-8 cannot carry."""
    path = tmp_path / "t.jsonl"
    path.write_text(HEAD + _said("x").replace('"x"', '"a\\ud83d"'))

    transcript, _ = import_file(path)

    assert "a\ufffd" == plain(transcript.steps[0].message)
    json.dumps(transcript.to_json(), ensure_ascii=False).encode()


CAPPED: dict[str, tuple[Caps, str]] = {
    "document": (replace(DEFAULT_CAPS, document=100), "larger than 100 bytes|known format"),
    "parts": (replace(DEFAULT_CAPS, parts=10), "more than 10 parts|known format"),
    "steps": (replace(DEFAULT_CAPS, steps=1), "more than 1 steps"),
    "depth": (replace(DEFAULT_CAPS, depth=2), "nested deeper than 2 levels|known format"),
}


@pytest.mark.parametrize("name", CAPPED)
@pytest.mark.parametrize("sample", ["mini_v2_tools.traj.json", "atif_1_8.json", "gemini.json"])
def test_every_cap_holds_for_documents(name: str, sample: str) -> None:
    """Size, parts, depth and steps are bounded, and the message says by what."""
    caps, says = CAPPED[name]

    _refused(SAMPLES / sample, says, caps)


def test_every_cap_holds_for_streams(tmp_path: Path) -> None:
    """A stream is bounded as a whole, by line, and by its steps."""
    path = tmp_path / "t.jsonl"
    path.write_text(HEAD + _said("x") * 100)

    _refused(path, "more than 50 steps", replace(DEFAULT_CAPS, steps=50))
    _refused(path, "larger than 2,000 bytes", replace(DEFAULT_CAPS, stream=2000))
    _refused(path, ":2: is longer than 80 bytes", replace(DEFAULT_CAPS, line=80))


def test_a_folder_of_too_many_files_is_refused() -> None:
    """The number of files and their size are bounded."""
    _refused(SAMPLES / "openhands_sdk", "more than 3 files", replace(DEFAULT_CAPS, files=3))
    _refused(SAMPLES / "openhands_sdk", "the folder is larger than", replace(DEFAULT_CAPS, stream=1000))


def test_links_pipes_and_devices_are_refused_at_once(tmp_path: Path) -> None:
    """A link could lead anywhere, and a pipe would be waited for."""
    link, pipe = tmp_path / "link.json", tmp_path / "pipe.json"
    link.symlink_to(SAMPLES / "atif_1_8.json")
    os.mkfifo(pipe)

    _refused(link, "is a symbolic link")
    _refused(pipe, "is not a regular file")
    _refused(Path("/dev/zero"), "is not a regular file")
    _refused(tmp_path / "none.json", "No such file")
    _refused(tmp_path / ("x" * 300), "cannot be opened|no file name")
    _refused(Path("a\0b"), "is no file name")


def test_links_inside_a_folder_are_not_followed(tmp_path: Path) -> None:
    """An event that is a link to somewhere else is left alone."""
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps({"id": 1, "action": "message", "source": "user", "args": {"content": "secret"}}))
    events = tmp_path / "session" / "events"
    events.mkdir(parents=True)
    (events / "0.json").write_text(
        json.dumps({"id": 0, "action": "message", "source": "user", "args": {"content": "a"}})
    )
    (events / "1.json").symlink_to(secret)

    transcript, _ = import_file(tmp_path / "session")

    assert ["a"] == [plain(step.message) for step in transcript.steps]


def test_a_name_full_of_control_characters_is_escaped_in_the_message(tmp_path: Path) -> None:
    """A file's name is a stranger's text as well."""
    path = tmp_path / "a\x1b[31m\u202eb.json"
    path.write_text("{")

    with pytest.raises(InputError) as caught:
        import_file(path)
    assert "a\\e[31m\\u202eb.json" in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_ids_that_recur_a_hundred_thousand_times_cost_no_more_than_their_lines(tmp_path: Path) -> None:
    """Calls under one id in one step are renamed, and results for none of them are counted."""
    call = {"type": "function_call", "name": "shell", "call_id": "same"}
    lines = [
        json.dumps({"type": "response_item", "payload": {**call, "arguments": json.dumps({"command": f"cat {n}"})}})
        for n in range(20_000)
    ]
    answer = {"type": "function_call_output", "call_id": "same", "output": "x"}
    lines += [json.dumps({"type": "response_item", "payload": answer})] * 30_000
    path = tmp_path / "t.jsonl"
    path.write_text(HEAD + "\n".join(lines) + "\n")

    transcript, report = import_file(path)

    calls = transcript.steps[0].tool_calls
    assert calls is not None
    assert 20_000 == len({one.tool_call_id for one in calls})
    assert ("duplicate", 10_000) in [(one.kind, one.count) for one in report.dropped]
    assert 1 == len(report.warnings)


# --- ZIP


def _member(name: str, data: bytes, method: int = 93, packed: bytes | None = None) -> tuple[zipfile.ZipInfo, bytes]:
    info = zipfile.ZipInfo(name)
    if packed is None:
        packed = {
            0: lambda raw: raw,
            8: lambda raw: zlib.compress(raw, wbits=-15),
            93: lambda raw: zstandard.ZstdCompressor().compress(raw),
        }[method](data)
    info.compress_type, info.file_size, info.compress_size, info.CRC = method, len(data), len(packed), zlib.crc32(data)
    return info, packed


def _archive(path: Path, members: list[tuple[zipfile.ZipInfo, bytes]]) -> Path:
    """A ZIP written by hand, so that any method and any lie fits in it."""
    body, directory = bytearray(), bytearray()
    for info, packed in members:
        info.header_offset = len(body)
        name = info.filename.encode()
        common = (20).to_bytes(2, "little") + info.flag_bits.to_bytes(2, "little")
        common += info.compress_type.to_bytes(2, "little") + bytes(4)
        common += b"".join(n.to_bytes(4, "little") for n in (info.CRC, info.compress_size, info.file_size))
        common += len(name).to_bytes(2, "little") + bytes(2)
        body += b"PK\x03\x04" + common + name + packed
        directory += b"PK\x01\x02" + bytes(2) + common + bytes(10) + info.header_offset.to_bytes(4, "little") + name
    counts = len(members).to_bytes(2, "little") * 2
    end = b"PK\x05\x06" + bytes(4) + counts + len(directory).to_bytes(4, "little") + len(body).to_bytes(4, "little")
    path.write_bytes(bytes(body + directory) + end + bytes(2))
    return path


def _log(method: int = 93) -> list[tuple[zipfile.ZipInfo, bytes]]:
    document = json.loads((SAMPLES / "inspect.json").read_text())
    sample = document.pop("samples")[0]
    return [
        _member("header.json", json.dumps(document).encode(), method),
        _member("samples/cart-7_epoch_1.json", json.dumps(sample).encode(), method),
    ]


@pytest.mark.parametrize("method", [0, 8, 93])
def test_an_archive_reads_like_its_document(tmp_path: Path, method: int) -> None:
    """Stored, deflated or Zstandard, `.eval` and `.json` give the same transcript."""
    path = _archive(tmp_path / "log.eval", _log(method))

    assert import_file(SAMPLES / "inspect.json")[0] == import_file(path)[0]


def test_a_log_without_a_header_yet_is_read(tmp_path: Path) -> None:
    """An evaluation that was killed has samples and a journal, and no header."""
    header, sample = _log()
    header[0].filename = "_journal/start.json"

    transcript, _ = import_file(_archive(tmp_path / "log.eval", [header, sample]))

    assert "made-up/one" == transcript.agent.model_name


def _lie(**fields: Any) -> Callable[[list[tuple[zipfile.ZipInfo, bytes]]], None]:
    def change(members: list[tuple[zipfile.ZipInfo, bytes]]) -> None:
        for name, value in fields.items():
            setattr(members[1][0], name, value)

    return change


BOMB = zstandard.ZstdCompressor().compress(bytes(50_000_000))
ARCHIVES: dict[str, tuple[Callable[[list[tuple[zipfile.ZipInfo, bytes]]], Any], str]] = {
    "a wrong checksum": (_lie(CRC=1), "is damaged"),
    "a size that is too small": (_lie(file_size=10), "is damaged"),
    "a size that is too large": (_lie(file_size=900_000), "is damaged"),
    "a huge size": (_lie(file_size=2**31), "larger than"),
    "an unknown method": (_lie(compress_type=99), "is damaged"),
    "encryption": (_lie(flag_bits=1), "is encrypted"),
    "a bomb": (
        lambda m: m.__setitem__(1, _member("samples/a_epoch_1.json", bytes(50_000_000), packed=BOMB)),
        "as a bomb is",
    ),
    "a bomb that lies": (
        lambda m: m.__setitem__(1, (_member("samples/a_epoch_1.json", b"x" * 1000)[0], BOMB)),
        "is damaged",
    ),
    "a member twice": (lambda m: m.append(m[1]), "twice"),
    "no sample": (lambda m: m.pop(), "holds no samples"),
    "a sample that is no JSON": (lambda m: m.__setitem__(1, _member("samples/a_epoch_1.json", b"{")), "not JSON"),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_bad_archive_is_refused(tmp_path: Path, name: str) -> None:
    """Whatever a ZIP claims is compared with what it holds, within bounds."""
    change, says = ARCHIVES[name]
    members = _log()
    change(members)

    _refused(_archive(tmp_path / "log.eval", members), says)


def test_an_archive_of_too_many_members_is_refused(tmp_path: Path) -> None:
    """Members and the directory are bounded before they are read."""
    members = [*_log(), *(_member(f"m{n}", b"", 0) for n in range(50))]
    path = _archive(tmp_path / "log.eval", members)

    _refused(path, "more than 20 members", replace(DEFAULT_CAPS, members=20))
    _refused(path, "directory larger than 1,000 bytes", replace(DEFAULT_CAPS, directory=1000))


def test_attachments_cannot_multiply_without_bound(tmp_path: Path) -> None:
    """One long string referred to often would grow without bound."""
    document = json.loads((SAMPLES / "inspect.json").read_text())
    sample = document["samples"][0]
    name = next(iter(sample["attachments"]))
    sample["attachments"][name] = "x" * 100_000
    sample["messages"][3]["content"] = f"attachment://{name} " * 50
    path = tmp_path / "log.json"
    path.write_text(json.dumps(document))

    assert 5_000_050 == len(plain(import_file(path)[0].steps[2].observation.results[0].content))  # type: ignore[union-attr]
    _refused(path, "add up to more than may be read", replace(DEFAULT_CAPS, document=200_000))
    sample["attachments"] = {}
    path.write_text(json.dumps(document))
    _refused(path, "refers to attachment .* which the sample does not have")


# --- anything


def _survives(path: Path) -> None:
    """The one promise for any bytes: a transcript, whose views can be read, or an InputError."""
    try:
        transcript, _ = import_file(path, caps=replace(DEFAULT_CAPS, document=2_000_000))
    except InputError as e:
        str(e).encode()
        return
    extract_spans(transcript)
    json.dumps(transcript.to_json(), ensure_ascii=False).encode()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
SLOW = settings(
    max_examples=150, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@SLOW
@given(data=st.binary(max_size=400))
def test_random_bytes_raise_nothing_else(tmp_path: Path, data: bytes) -> None:
    """No bytes at all end in a traceback."""
    path = tmp_path / "any"
    path.write_bytes(data)
    _survives(path)


@SLOW
@given(data=st.data())
def test_bent_samples_raise_nothing_else(tmp_path: Path, data: st.DataObject) -> None:
    """Samples with bytes changed, cut or doubled end in a transcript or an InputError."""
    sample = data.draw(st.sampled_from(FILES))
    raw = bytearray(sample.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 30))] = data.draw(st.binary(max_size=10))
    path = tmp_path / "bent"
    path.write_bytes(bytes(raw))
    _survives(path)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        found += _places(value[key], (*path, key))
    return found


@SLOW
@given(data=st.data())
def test_samples_with_other_values_raise_nothing_else(tmp_path: Path, data: st.DataObject) -> None:
    """Valid JSON of the wrong shape: any value anywhere in place of another, or missing."""
    sample = data.draw(st.sampled_from(FILES))
    lines = [sample.read_text()] if sample.suffix != ".jsonl" else sample.read_text().splitlines()
    index = data.draw(st.integers(0, len(lines) - 1))
    try:
        document = json.loads(lines[index])
    except ValueError:
        return
    for _ in range(data.draw(st.integers(1, 3))):
        places = _places(document)
        if not places:
            break
        place = data.draw(st.sampled_from(places))
        holder = document
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = data.draw(VALUES)
    lines[index] = json.dumps(document)
    path = tmp_path / "other"
    path.write_text("\n".join(lines) + "\n")
    _survives(path)
