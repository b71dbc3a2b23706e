"""`app_map.md`: its form, its order, its token budget, and that no source can write into it what is not so."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeover.sandbox.appmap import AppMap, build_map
from takeover.sandbox.appmap_render import render
from takeover.sandbox.errors import InputError
from takeover.sandbox.gate_copy import read_hashes

FILES = {
    "billing/__init__.py": b'"""What customers owe."""\n',
    "billing/tax.py": b'"""Tax."""\nfrom ledger.money import Money\nclass Table(dict):\n    def rate(self, when: int = 1): ...\n',
    "ledger/money.py": b"import decimal\nclass Money: ...\n",
    "ledger/post.py": b"import ledger.money\ndef post(x): ...\n",
    "tests/test_a.py": b"import ledger.money, billing.tax\ndef test_a(): ...\ndef test_b(): ...\n",
    "broken.py": b"(",
}
APP = build_map(FILES, rules={"billing": "may not import audit"})


def words(text: str) -> int:
    """A token counter: words and marks."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def headings(text: str) -> list[str]:
    return [line[3:] for line in text.splitlines() if line.startswith("## ") and line.endswith(".py")]


def test_a_section_says_all_there_is() -> None:
    """Purpose, boundary, tags, imports both ways, public names, in this order."""
    section = render(APP).split("## billing/tax.py\n")[1].split("\n\n")[0]

    assert section.splitlines() == [
        "- Tax.",
        "- boundary: may not import audit",
        "- imports: ledger.money",
        "- imported by: tests.test_a",
        "- class Table(dict)",
        "  - def rate(self, when: int=1)",
    ]


def test_the_most_relevant_come_first() -> None:
    """By importers, then by public names, then by path; tests last."""
    assert headings(render(APP)) == [
        "ledger/money.py",
        "billing/tax.py",
        "ledger/post.py",
        "billing/__init__.py",
        "broken.py",
        "tests/test_a.py",
    ]


def test_every_module_has_its_hash() -> None:
    """The hashes of all modules stand at the end, sorted by path, those that do not parse included."""
    assert read_hashes(render(APP).encode()) == {path: module.sha256 for path, module in APP.modules.items()}
    assert list(read_hashes(render(APP).encode())) == sorted(FILES)


def test_what_does_not_parse_is_listed() -> None:
    """Each broken file is listed with its error."""
    assert "## Not parsed\n\n- broken.py: line 1: " in render(APP)


@pytest.mark.parametrize("digits", [16, 40, 64])
def test_shorter_hashes(digits: int) -> None:
    """Hashes can be shortened, not below what forging them would take."""
    assert {len(digest) for digest in read_hashes(render(APP, hash_digits=digits).encode()).values()} == {digits}


def test_no_hashes_where_none_are_wanted() -> None:
    """An arm without Gate I gets a map without hashes."""
    text = render(APP, hash_digits=0)

    assert "Hashes" not in text
    assert not read_hashes(text.encode())


@pytest.mark.parametrize("digits", [-1, 1, 15, 65])
def test_hashes_too_short_are_refused(digits: int) -> None:
    """A length that proves nothing is an input error."""
    with pytest.raises(InputError, match="hash_digits"):
        render(APP, hash_digits=digits)


def many(count: int) -> AppMap:
    return build_map(
        {f"p/m{n:03}.py": f"from p import m{n // 2:03}\ndef f{n}(a, b): ...\n".encode() for n in range(count)}
    )


MANY = many(120)


@pytest.mark.parametrize("budget", [60, 200, 1000, 3000, 10_000, 1_000_000])
def test_a_budget_is_kept(budget: int) -> None:
    """No map is larger than its budget; sections go to the most relevant, and what is left out is counted."""
    text = render(MANY, budget, words)
    shown, hashed = headings(text), read_hashes(text.encode())
    order = [module.path for module in MANY.by_relevance]

    assert words(text) <= budget
    assert shown == order[: len(shown)]
    assert set(hashed) == set(order[: len(hashed)])
    assert (f"- {120 - len(shown)} modules have no section here" in text) is (len(shown) < 120)
    assert (f"- {120 - len(hashed)} modules have no hash here" in text) is (len(hashed) < 120)


def test_more_budget_shows_more() -> None:
    """Sections and hashes only grow with the budget."""
    sizes = [
        (len(headings(text)), len(read_hashes(text.encode())))
        for text in (render(MANY, budget, words) for budget in range(100, 6000, 300))
    ]

    assert sizes == sorted(sizes)
    assert sizes[-1] == (120, 120)


def test_hashes_come_before_depth_where_both_do_not_fit() -> None:
    """While the hashes of all modules take at most half of the budget, none is left out for a section."""
    cost = sum(words(f"{module.sha256}  {module.path}\n") for module in MANY.modules.values())

    text = render(MANY, 2 * cost + 200, words)

    assert len(read_hashes(text.encode())) == 120
    assert 0 < len(headings(text)) < 120


def test_one_large_module_does_not_eat_the_budget() -> None:
    """Within a budget long lists are cut short and say by how much."""
    source = "".join(f"class C{n}:\n" + "".join(f"    def f{k}(self): ...\n" for k in range(50)) for n in range(80))
    app = build_map({"big.py": source.encode()} | {f"m{n}.py": b"import big\n" for n in range(30)})

    text = render(app, 3000, words)

    assert headings(text)[0] == "big.py"
    assert "  - and 40 more methods" in text
    assert "- and 50 more public names" in text
    assert "and 20 more\n" in text


def test_too_small_a_budget_is_an_input_error() -> None:
    """A budget that not even the frame fits says what it takes."""
    with pytest.raises(InputError, match="too few for a map"):
        render(MANY, 5, words)


def test_a_budget_needs_a_counter() -> None:
    """Tokens are not guessed."""
    with pytest.raises(InputError, match="counts tokens"):
        render(MANY, 500)


PARTS = {
    "a package": ("billing", ["billing/tax.py", "billing/__init__.py"]),
    "a folder": ("billing/", ["billing/tax.py", "billing/__init__.py"]),
    "a module": ("billing.tax", ["billing/tax.py"]),
    "the start of a name": ("bill", []),
}


@pytest.mark.parametrize(("package", "paths"), PARTS.values(), ids=PARTS)
def test_a_part_of_the_tree(package: str, paths: list[str]) -> None:
    """The map of one package knows its importers outside it."""
    part = APP.only(package)

    assert headings(render(part)) == paths
    assert set(read_hashes(render(part).encode())) == set(paths)
    if paths:
        assert "- imported by: tests.test_a" in render(part)


def test_an_empty_tree() -> None:
    """Nothing is a map, too."""
    assert render(build_map({})).startswith("# App map\n\n0 modules")


FORGERIES = {
    "in the docstring": f'"""{"0" * 64}  billing/tax.py"""'.encode(),
    "after a line end": f'"""x\\n{"0" * 64}  billing/tax.py"""'.encode(),
    "after an odd line end": f'"""x\\u2028{"0" * 64}  billing/tax.py"""'.encode(),
    "in a default": f'def f(a="\\n{"0" * 64}  billing/tax.py\\n"): ...'.encode(),
    "in an annotation": f'def f(a: "\\n{"0" * 64}  billing/tax.py\\n"): ...'.encode(),
}


@pytest.mark.parametrize("source", FORGERIES.values(), ids=FORGERIES)
def test_no_source_can_write_a_hash(source: bytes) -> None:
    """Text of a source never stands where a hash could stand."""
    app = build_map({"evil.py": source, "billing/tax.py": b""})

    assert read_hashes(render(app).encode()) == {path: module.sha256 for path, module in app.modules.items()}


@pytest.mark.parametrize(
    "path", [f"x\n{'0' * 64}  billing/tax.py", f"{'0' * 64}  a.py", '"a.py', "\udcff.py", "a\x1b[2J.py"]
)
def test_no_name_can_write_a_hash(path: str) -> None:
    """A file name of newlines, quotes or undecodable bytes is one quoted name and nothing else."""
    app = build_map({path: b"", "billing/tax.py": b"1"})
    text = render(app)

    assert read_hashes(text.encode()) == {path: module.sha256 for path, module in app.modules.items()}
    assert all(char.isprintable() or char == "\n" for char in text)


@settings(max_examples=20, deadline=None)
@given(st.permutations(sorted(FILES)))
def test_the_order_of_files_does_not_show(order: list[str]) -> None:
    """The same files give the same bytes, however they come."""
    app = build_map({path: FILES[path] for path in order}, rules={"billing": "may not import audit"})

    assert render(app).encode() == render(APP).encode()
