"""Random trees, as hostile as a filesystem allows."""

from __future__ import annotations

from hypothesis import strategies as st

from takeover.sandbox.tree import TreeItem, canonical_key, decode_path

Content = tuple[TreeItem, bytes]

_plain = st.sampled_from(
    [b"a", b"b", b"a.py", b"-rf", b"...", b"a b", b"\xff\xfe", b"\xc3", "é".encode(), b"\n", b"%s"]
)
_odd = st.binary(min_size=1, max_size=255).filter(lambda raw: b"/" not in raw and b"\0" not in raw)
names = st.one_of(_plain, _odd).filter(lambda raw: raw not in (b".", b".."))
contents = st.one_of(st.binary(max_size=2000), st.sampled_from([b"", b"x" * 512, b"y" * 511, b"z" * 70_000]))
targets = st.one_of(
    st.sampled_from([b"/etc/shadow", b"..", b"a", b"../" * 300, b"\xff"]),
    st.binary(min_size=1, max_size=300).filter(lambda raw: b"\0" not in raw),
)
modes = st.sampled_from([0o644, 0o755, 0o000, 0o777, 0o444])


@st.composite
def trees(draw: st.DrawFn, max_items: int = 20) -> list[Content]:
    """A well-formed tree in canonical order."""
    directories = [""]
    made: dict[str, Content] = {}
    for _ in range(draw(st.integers(0, max_items))):
        parent = draw(st.sampled_from(directories))
        path = f"{parent}/{decode_path(draw(names))}".lstrip("/") if parent else decode_path(draw(names))
        if path in made or len(path) > 2000:
            continue
        match draw(st.sampled_from("fdl")):
            case "f":
                data = draw(contents)
                made[path] = TreeItem(path, "f", draw(modes), len(data)), data
            case "d":
                made[path] = TreeItem(path, "d", draw(modes)), b""
                directories.append(path)
            case _:
                made[path] = TreeItem(path, "l", 0o777, target=decode_path(draw(targets))), b""
    return [made[path] for path in sorted(made, key=canonical_key)]
