"""The micro template, forwards and backwards."""

from __future__ import annotations

import pytest

from takeover.tiers.template import TemplateError, choose, names, recover, render, sections, strings

NESTED = """\
a
  #:if R1
b <<x>>
#:if not R2
c
#:else
d
#:end
#:else
e
#:end
f
"""

BROKEN = {
    "unknown value": ("a\n<<nope>>\n", 2, "unknown value <<nope>>"),
    "unknown flag": ("#:if R9\n#:end\n", 1, "unknown flag R9"),
    "no end": ("a\n#:if R1\nb\n", 2, "#:if without #:end"),
    "end alone": ("a\n#:end\n", 2, "#:end without #:if"),
    "else alone": ("#:else\n", 1, "#:else without #:if"),
    "two elses": ("#:if R1\n#:else\n#:else\n#:end\n", 3, "#:else without #:if"),
    "if without a name": ("#:if\n#:end\n", 1, "#:if takes a name, #:else and #:end take none"),
    "end with a name": ("#:if R1\n#:end R1\n", 2, "#:if takes a name, #:else and #:end take none"),
    "misspelt": ("#:fi R1\n", 1, "not a directive: #:fi R1"),
}

SPECS = {
    "op": {"kind": "str", "words": {">": "more than", ">=": "at least"}, "code": {}},
    "cents": {"kind": "int", "words": {}, "code": {}},
    "key": {"kind": "str", "words": {}, "code": {}},
    "order": {"kind": "str", "words": {}, "code": {"up": "False", "down": "True"}},
}
VALUES = {"op": ">=", "cents": -40, "key": "left_over", "order": "down"}


class TestRender:
    @pytest.mark.parametrize(
        ("flags", "expected"),
        [
            ({"R1": False, "R2": False}, "a\ne\nf\n"),
            ({"R1": True, "R2": False}, "a\nb 7\nc\nf\n"),
            ({"R1": True, "R2": True}, "a\nb 7\nd\nf\n"),
        ],
    )
    def test_conditions_nest(self, flags: dict[str, bool], expected: str) -> None:
        """Lines are chosen by the innermost condition and all around it."""
        assert render(NESTED, {"x": "7"}, flags) == expected

    def test_values_of_other_branches_are_not_needed(self) -> None:
        """A requirement that is not met needs no values."""
        assert render(NESTED, {}, {"R1": False, "R2": False}) == "a\ne\nf\n"

    @pytest.mark.parametrize("name", list(BROKEN))
    def test_errors_say_where(self, name: str) -> None:
        """File, line and what is wrong."""
        text, line, what = BROKEN[name]
        with pytest.raises(TemplateError) as caught:
            render(text, {}, {"R1": True}, "some/file")

        assert (caught.value.file, caught.value.line, caught.value.what) == ("some/file", line, what)

    def test_line_ends_stay(self) -> None:
        """CRLF, a missing last newline and shifts (`1 << 3 >> 1`) are left alone."""
        assert render("a\r\n1 << 3 >> 1", {}, {}) == "a\r\n1 << 3 >> 1"

    def test_names_come_from_every_branch(self) -> None:
        """What a text needs does not depend on which lines are chosen."""
        assert names(NESTED + "<<y.words>>") == ({"x", "y"}, {"R1", "R2"})


class TestRecover:
    def test_every_form_of_a_value(self) -> None:
        """Numbers, names, and choices by their words, their code or themselves."""
        text = "With <<op.words>> <<cents>> cents, `<<key>>` is sorted by reverse=<<order.code>>; <<key>> again."
        shown = render(text, strings(SPECS, VALUES), {})

        assert recover(text, SPECS, f"before. {shown} after") == VALUES

    def test_line_breaks_do_not_matter(self) -> None:
        """Text that was wrapped is recognised."""
        assert recover("is <<op.words>> <<cents>> cents", SPECS, "is more\n  than 12\ncents") == {
            "op": ">",
            "cents": 12,
        }

    def test_repeated_values_must_agree(self) -> None:
        """A note that contradicts itself is not recognised."""
        assert recover("<<key>> and <<key>>!", SPECS, "a and b!") is None

    def test_the_whole_of_a_text(self) -> None:
        """A file is recognised by the lines that were chosen for it, and by nothing shorter or longer."""
        chosen = {met: choose(NESTED, {"R1": met, "R2": True}) for met in (True, False)}
        assert chosen == {True: "a\nb <<x>>\nd\nf\n", False: "a\ne\nf\n"}
        specs = {"x": {"kind": "int", "words": {}, "code": {}}}
        assert recover(chosen[True], specs, "a\nb 7\nd\nf", whole=True) == {"x": 7}
        assert recover(chosen[False], specs, "a\nb 7\nd\nf", whole=True) is None
        assert recover(chosen[False], specs, "a\ne\nf\ng", whole=True) is None

    def test_other_text_is_not_recognised(self) -> None:
        """No guess is made."""
        assert recover("cap <<cents>>", SPECS, "cap none") is None


def test_sections_of_a_prompt() -> None:
    """A requirement's section ends at the next heading of any kind."""
    text = "# Sprint\nintro\n### R2 Two\nb\n#### detail\nc\n### R1 One\na\n## Rest\nz\n"
    assert sections(text) == {"R2": "### R2 Two\nb\n#### detail\nc", "R1": "### R1 One\na"}
