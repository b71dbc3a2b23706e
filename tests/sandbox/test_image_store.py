"""Old images of ours go, and nobody else's do."""

from __future__ import annotations

import io
import secrets
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.image_store import BASE, Cleared, StoredImage, clear_images, outdated
from takeover.sandbox.images import recipes
from takeover.trials.engine_commands import print_cleared

NAMES = ("sandbox", "codex", BASE)
A, B = "0123456789ab", "ba9876543210"


def image(number: int, *tags: str, label: str = "") -> StoredImage:
    return StoredImage(f"sha256:{number}", tags, created=number, label=label)


# Images of an engine -> the tags that may go.
ENGINES = {
    "one of each": ([image(1, f"takeover-sandbox:{A}", "takeover-sandbox:latest"), image(2, f"takeover-base:{A}")], []),
    "a replaced one": (
        [image(1, f"takeover-sandbox:{A}"), image(2, f"takeover-sandbox:{B}", "takeover-sandbox:latest")],
        [f"takeover-sandbox:{A}"],
    ),
    "latest is an older one": (
        [image(1, f"takeover-codex:{A}", "takeover-codex:latest"), image(2, f"takeover-codex:{B}")],
        [f"takeover-codex:{B}"],
    ),
    "none is latest": ([image(1, f"takeover-base:{A}"), image(2, f"takeover-base:{B}")], [f"takeover-base:{A}"]),
    "podman's names": (
        [
            image(1, f"localhost/takeover-codex:{A}"),
            image(2, f"localhost/takeover-codex:{B}", "localhost/takeover-codex:latest"),
        ],
        [f"localhost/takeover-codex:{A}"],
    ),
    "a recipe that is gone, by its label": (
        [image(1, f"takeover-old:{A}", label="old"), image(2, f"takeover-old:{B}", "takeover-old:latest", label="old")],
        [f"takeover-old:{A}"],
    ),
    "somebody's image of a like name": ([image(1, f"takeover-mine:{A}"), image(2, f"takeover-mine:{B}")], []),
    "built on one of ours, label inherited": ([image(1, f"takeover-mine:{A}", label="sandbox"), image(2, "x:1")], []),
    "another tag, another registry, no tag": (
        [
            image(1, "takeover-codex:1.0"),
            image(2, f"registry.example/takeover-codex:{A}"),
            image(3, f"takeover-codex:{A}0"),
            image(4, label="codex"),
            image(5, f"takeover-codex:{B}", "takeover-codex:latest"),
        ],
        [],
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
def test_which_images_are_outdated(engine: str) -> None:
    """A tag of ours that is not current, and nothing else."""
    images, expected = ENGINES[engine]
    assert list(outdated(images, NAMES)) == expected
    assert list(outdated(images[::-1], NAMES)) == expected


def test_where_names_are_given_no_other_is_touched() -> None:
    """Not even one that its label says is ours."""
    images = [image(1, f"takeover-old:{A}", label="old"), image(2, f"takeover-old:{B}", label="old")]
    assert list(outdated(images, ["x"])) == [f"takeover-old:{A}"]
    assert list(outdated(images, ["x"], labelled=False)) == []


TAGS = st.lists(
    st.sampled_from(
        [f"{one}:{tag}" for one in ("takeover-sandbox", "takeover-x", "x") for tag in (A, B, "latest", "1")]
    ),
    max_size=3,
)


@given(st.lists(st.tuples(TAGS, st.sampled_from(["", "sandbox", "x"])), max_size=6))
def test_no_name_loses_its_last_image(rows: list[tuple[list[str], str]]) -> None:
    """Whatever an engine holds: what goes has our form and is not latest, and an image of every name stays."""
    images = [image(n, *tags, label=label) for n, (tags, label) in enumerate(rows)]
    gone = outdated(images, NAMES)
    for tag, identity in gone.items():
        name = tag.partition(":")[0]
        assert tag.endswith((A, B))
        assert [one for one in images if one.id != identity and any(t.startswith(f"{name}:") for t in one.tags)]


def put(engine: DockerEngine, repository: str, tag: str, size: int) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        info = tarfile.TarInfo("data")
        info.size = size
        tar.addfile(info, io.BytesIO(secrets.token_bytes(size)))
    engine.client.import_image_from_data(archive.getvalue(), repository=repository, tag=tag)


@pytest.mark.docker
def test_outdated_images_are_removed_from_an_engine(docker_engine: DockerEngine) -> None:
    """The old one goes, the newest and everybody else's stay, one that a container uses waits for it to be removed."""
    client, name = docker_engine.client, f"test{secrets.token_hex(4)}"
    mine = f"takeover-{name}"
    old, busy, foreign = f"{mine}:{A}", f"{mine}:{B}", f"{name}:{A}"
    here = lambda: {tag for one in client.images() for tag in one["RepoTags"] or () if name in tag}
    container = None
    try:
        for tag in (old, busy, foreign):
            put(docker_engine, *tag.split(":"), 300_000)
        put(docker_engine, mine, "c" * 12, 10)
        client.tag(f"{mine}:{'c' * 12}", mine, "latest")
        current = {f"{mine}:{'c' * 12}", f"{mine}:latest", foreign}
        container = client.create_container(busy, command=["x"])["Id"]

        first = clear_images(client, [name])
        assert (first.removed, first.used) == ((old,), (busy,))
        assert here() == {busy, *current}
        client.remove_container(container)
        container = None
        second = clear_images(client, [name])
        assert (second.removed, second.used) == ((busy,), ())
        assert here() == current
        assert clear_images(client, [name]).removed == ()
    finally:
        if container is not None:
            client.remove_container(container)
        for tag in here():
            client.remove_image(tag)


def test_what_is_said() -> None:
    """What went, what stays and why, how much that freed, and what is nobody's to remove unasked."""
    out = Console(file=io.StringIO(), width=200)
    print_cleared(Cleared((f"takeover-codex:{A}",), (f"takeover-codex:{B}",), 412_000_000, 9_610_000_996), out)
    assert isinstance(out.file, io.StringIO)
    assert out.file.getvalue().splitlines() == [
        f"takeover-codex:{A}: removed",
        f"takeover-codex:{B}: kept, a container uses it",
        "1 images removed, 412 MB freed",
        "9,610 MB in the builder's cache, which all builds on this engine share: `docker builder prune` frees it",
    ]


def test_the_base_is_no_recipe() -> None:
    """Its name is added to those of the recipes, which would otherwise leave its old builds behind."""
    assert BASE not in recipes()
