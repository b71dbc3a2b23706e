"""A release is what its hash says, wherever it comes from."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

import httpx
import pytest

from takeover.repos.add import packed
from takeover.repos.registry import JSON_API, Settings, Unreachable, download, listed, parse_settings
from takeover.repos.source import SourceArchive, archive_bytes, files_of
from takeover.repos.unpack import unpack
from takeover.sandbox.errors import InputError

DATA = packed({"a.py": b"x = 1\n"}, "p-1")
ARCHIVE = SourceArchive("p", "1", "p-1.tar.gz", hashlib.sha256(DATA).hexdigest())


def nowhere(project: str, file: str) -> bytes:
    raise Unreachable("no route to it")


def test_an_archive_is_fetched_once(tmp_path: Path) -> None:
    """The second time it comes from the cache, and no index is asked."""
    assert files_of(ARCHIVE, tmp_path, lambda project, file: DATA) == {"a.py": b"x = 1\n"}
    assert files_of(ARCHIVE, tmp_path, nowhere) == {"a.py": b"x = 1\n"}


def test_a_spoilt_cache_is_fetched_again(tmp_path: Path) -> None:
    """What lies in the cache is held against the hash, too."""
    archive_bytes(ARCHIVE, tmp_path, lambda project, file: DATA)
    kept = tmp_path / ARCHIVE.sha256 / ARCHIVE.file
    kept.write_bytes(b"spoilt")
    assert archive_bytes(ARCHIVE, tmp_path, lambda project, file: DATA) == DATA
    assert kept.read_bytes() == DATA


def test_other_bytes_are_refused(tmp_path: Path) -> None:
    """An index that gives something else makes no task, and leaves nothing in the cache."""
    with pytest.raises(InputError, match=r"p-1\.tar\.gz: its SHA-256 is"):
        archive_bytes(ARCHIVE, tmp_path, lambda project, file: DATA + b"\n")
    assert not any(tmp_path.rglob("*.gz"))


def test_without_cache_and_index_one_line_says_so(tmp_path: Path) -> None:
    """What is missing, and why."""
    with pytest.raises(InputError) as caught:
        archive_bytes(ARCHIVE, tmp_path, nowhere)
    message = str(caught.value)
    assert message == "p 1 is neither cached nor to be had from the package index: no route to it"
    assert "p-1.tar.gz" in (caught.value.hint or "")


def index(request: httpx.Request) -> httpx.Response:
    """An index that speaks JSON at /json/ and HTML at /html/."""
    host, path = request.url.host, request.url.path
    if path == "/f/p-1.tar.gz":
        return httpx.Response(200, content=DATA)
    if path == "/json/p-q/":
        page = {"files": [{"filename": "p-1.tar.gz", "url": "../../f/p-1.tar.gz", "hashes": {"sha256": "a" * 64}}]}
        return httpx.Response(200, content=json.dumps(page), headers={"content-type": JSON_API})
    if path == "/html/p-q/":
        text = f'<a href="https://{host}/f/p-1.tar.gz#sha256={"a" * 64}">p-1.tar.gz</a><a>none</a>'
        return httpx.Response(200, content=text, headers={"content-type": "text/html"})
    return httpx.Response(404)


@pytest.mark.parametrize("kind", ["json", "html"])
def test_both_forms_of_the_simple_api_are_read(kind: str) -> None:
    """The file is found by its name, relative addresses included, and the hash that the index tells."""
    http, settings = httpx.Client(transport=httpx.MockTransport(index)), Settings((f"https://index.example/{kind}",))
    assert download("P_q", "p-1.tar.gz", settings, most=1 << 20, http=http) == DATA
    assert listed("P_q", settings, http) == [("p-1.tar.gz", "a" * 64)]


def test_indexes_are_asked_in_order() -> None:
    """One that does not have it is no obstacle; if none has, all that they said is told."""
    http = httpx.Client(transport=httpx.MockTransport(index))
    both = Settings(("https://index.example/none", "https://index.example/html"))
    assert download("p-q", "p-1.tar.gz", both, most=1 << 20, http=http) == DATA
    with pytest.raises(Unreachable, match="404"):
        download("p-q", "p-1.tar.gz", Settings(("https://index.example/none",)), most=1 << 20, http=http)
    with pytest.raises(Unreachable, match="no index"):
        download("p-q", "p-1.tar.gz", Settings(()), most=1 << 20, http=http)
    with pytest.raises(Unreachable, match="larger than 10 bytes"):
        download("p-q", "p-1.tar.gz", both, most=10, http=http)


def test_a_mirror_on_disk_serves(tmp_path: Path) -> None:
    """pip's file: indexes are folders."""
    page = tmp_path / "simple" / "p-q"
    page.mkdir(parents=True)
    (page / "index.html").write_text('<a href="p-1.tar.gz">p-1.tar.gz</a>')
    (page / "p-1.tar.gz").write_bytes(DATA)
    settings = Settings(((tmp_path / "simple").as_uri(),))
    assert download("p-q", "p-1.tar.gz", settings, most=1 << 20) == DATA


def test_pips_settings_are_read_as_pip_ranks_them() -> None:
    """The environment before the files, a command's own section before the global one."""
    listing = (
        ":env:.cert='/e.crt'\nglobal.cert='/g.crt'\nglobal.index-url='https://g.example/simple'\n"
        "download.index-url='https://d.example/simple'\nnonsense\nglobal.proxy=\n"
    )
    assert parse_settings(listing) == {"cert": "/e.crt", "index-url": "https://d.example/simple"}


def archive_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as archive:
        for member, data in members:
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return raw.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize(
    "bad",
    [
        member("p/../../etc/passwd"),
        member("/etc/passwd"),
        member("p/link", tarfile.SYMTYPE, "/etc/passwd"),
        member("p/link", tarfile.LNKTYPE, "p/a"),
        member("p/device", tarfile.CHRTYPE),
        member("p/fifo", tarfile.FIFOTYPE),
        member("p/line\nbreak"),
        member("q/second-top"),
        member("p/a"),
    ],
    ids=lambda info: f"{info.name!a}-{info.type.decode()}",
)
def test_a_strange_member_makes_the_archive_unfit(bad: tarfile.TarInfo) -> None:
    """Nothing of such an archive is used."""
    with pytest.raises(InputError, match=r"^p\.tar\.gz: "):
        unpack(archive_of((member("p/a"), b"x"), (bad, b"")), "p.tar.gz")


def test_what_is_no_archive_is_refused() -> None:
    """Cut short, empty, or not a tar at all."""
    for data in (b"", b"no", DATA[:40], archive_of()):
        with pytest.raises(InputError, match=r"^p\.tar\.gz: "):
            unpack(data, "p.tar.gz")
