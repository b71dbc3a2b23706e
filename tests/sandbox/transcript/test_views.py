"""Views and edits from shell commands and from tools; nothing is run to find them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeover.sandbox.transcript.model import Agent, Observation, Result, Step, ToolCall, Transcript
from takeover.sandbox.transcript.patch import FileChange, changed_ranges, parse_patch
from takeover.sandbox.transcript.shell import parse_script
from takeover.sandbox.transcript.shell_spans import shell_spans
from takeover.sandbox.transcript.structured import tool_spans
from takeover.sandbox.transcript.views import extract_spans
from takeover.sandbox.transcript.windowed import windowed_spans

DIFF = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,4 @@\n a\n+b\n c\n d\n"
PATCH = "*** Begin Patch\n*** Update File: a/b.py\n@@\n-x\n+y\n*** Add File: new.txt\n+1\n+2\n*** Delete File: old\n*** End Patch\n"

# script -> what it shows (v) and changes (e), as path:start-end; `*` where the lines are not known, `$` for the end
SCRIPTS: dict[str, str] = {
    "sed -n '10,20p' src/a.py": "v src/a.py:10-20",
    "sed -n -e 4,6p -e 9p a.py": "v a.py:4-6, v a.py:9-9",
    "sed -n '3p;8,$p' a.py": "v a.py:3-3, v a.py:8-$",
    "sed '5,9!d' a.py": "v a.py:5-9",
    "sed 20q a.py": "v a.py:1-20",
    "nl -ba src/a.py | sed -n '5,9p'": "v src/a.py:5-9",
    "cat -n a.py | head -n 20 | tail -n +5": "v a.py:5-20",
    "cat a.py b.py": "v a.py:1-$, v b.py:1-$",
    "head -30 a.py": "v a.py:1-30",
    "head a.py": "v a.py:1-10",
    "head -c 20 a.py": "v a.py:*",
    "tail -n 5 a.py": "v a.py:*",
    "tail -n +7 a.py": "v a.py:7-$",
    "awk 'NR>=3 && NR<=7' a.py": "v a.py:3-7",
    "bat -r 3:9 a.py": "v a.py:3-9",
    "cat < a.py": "v a.py:1-$",
    "grep -n 'def f' src/a.py": "v src/a.py:*",
    "grep -A3 -e foo a.py b.py": "v a.py:*, v b.py:*",
    "grep -rn foo src/": "",
    "grep -c foo a.py": "",
    "rg foo src/a.py": "v src/a.py:*",
    "git show HEAD:src/q.py | sed -n 1,4p": "v src/q.py:1-4",
    "cat a.py | wc -l": "",
    "cat a.py > /dev/null": "",
    "cat a.py > b.py": "e b.py:1-$",
    "cat <<'EOF' > n.py\na\nb\nEOF\ncat n.py": "e n.py:1-2, v n.py:1-$",
    "cat > n.py << EOF\nx > y && cat z\nEOF": "e n.py:1-1",
    "cat <<-E | tee -a y.txt\n\tfoo\n\tE": "e y.txt:*",
    "tee out.txt <<< hello": "e out.txt:1-1",
    "echo hi >> log.txt": "e log.txt:*",
    "printf 'a\\nb\\n' > p.txt": "e p.txt:1-2",
    "> empty.txt": "e empty.txt:1-1",
    "pytest -q 2> err.log": "",
    "make &> build.log": "e build.log:1-$",
    "sed -i 's/a;b/c/' f.py && cat f.py": "e f.py:*, v f.py:1-$",
    "sed -i '12,15d' f.py": "e f.py:12-15",
    "sed -i.bak -e '3s/x/y/' f.py": "e f.py:3-3",
    "sed --in-place -E 's/x/y/' f.py g.py": "e f.py:*, e g.py:*",
    "perl -pi -e 's/a/b/' w.py": "e w.py:*",
    f"git apply <<'EOF'\n{DIFF}EOF": "e x.py:2-2",
    f"git -C sub apply <<'EOF'\n{DIFF}EOF": "e sub/x.py:2-2",
    f"patch -p1 <<'EOF'\n{DIFF}EOF": "e x.py:2-2",
    f"apply_patch <<'EOF'\n{PATCH}EOF": "e a/b.py:*, e new.txt:1-2",
    "git checkout -- a.py": "e a.py:*",
    "git checkout main": "",
    "mv a.py b.py": "e b.py:*",
    "cp a.py lib/": "e lib/a.py:*",
    "python3 - <<'PY'\nfrom pathlib import Path\np = Path('a/b.py')\np.write_text(p.read_text())\nPY": "e a/b.py:*",
    "python -c \"print(open('q.py').read())\"": "v q.py:*",
    "python3 - <<'PY'\nthis is no Python(\nPY": "",
    "python script.py": "",
    "bash -lc 'cat z.py'": "v z.py:1-$",
    "bash <<'E'\ncat z.py\nE": "v z.py:1-$",
    "cd src && cat a.py; (cd lib; cat b.py); cat c.py": "v src/a.py:1-$, v src/lib/b.py:1-$, v src/c.py:1-$",
    "cd $DIR && cat a.py; cat /workspace/b.py": "v b.py:1-$",
    'F=src/a.py; sed -n "1,5p" "$F"': "v src/a.py:1-5",
    'cat "my file.py" # cat other.py': "v my file.py:1-$",
    "cat my\\ file.py": "v my file.py:1-$",
    "cat *.py": "",
    "for f in a b; do cat $f; done": "",
    "if [ -f a.py ]; then cat a.py; else echo cat b.py; fi": "v a.py:1-$",
    "sudo timeout -k 1 5 env A=b cat t.py": "v t.py:1-$",
    "cat /workspace/src/../a.py": "v a.py:1-$",
    "cat /etc/passwd": "v /etc/passwd:1-$",
    "cat ../outside": "v /outside:1-$",
    "cat /dev/null": "",
    "echo 'cat a.py'": "",
    "cat a.py |\n head -3": "v a.py:1-3",
    "cat a.py || cat b.py": "v a.py:1-$, v b.py:1-$",
    "diff <(cat a.py) b.py": "",
    "x=$(cat a.py) y": "",
    "cat 'unclosed": "v unclosed:1-$",
    "": "",
}


def _shown(kind: str, path: str, start: int | None, end: int | None) -> str:
    lines = "*" if start is None else f"{start}-{'$' if end is None else end}"
    return f"{kind[0]} {path}:{lines}"


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_shows_and_changes_what_it_says(script: str) -> None:
    """Pipes narrow, redirections write, `cd` moves, and what only a running shell could know is left out."""
    found = [_shown(one.kind, one.path, one.start, one.end) for one in shell_spans(script, "/workspace", "/workspace")]

    assert SCRIPTS[script] == ", ".join(found)


CUT_UP: dict[str, list[list[str]]] = {
    "a b\\ c 'd e' \"f $g\"": [["a", "b c", "d e", "f $g"]],
    "a;b&&c||d|e&f\ng": [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]],
    "a # comment; b\nc": [["a"], ["c"]],
    "a#b": [["a#b"]],
    "a 'it''s' \"q\\\"q\"": [["a", "its", 'q"q']],
    "a \\\n  b": [["a", "b"]],
    "a $(b; c) `d; e` ${f:-g h}": [["a", "$(b; c)", "`d; e`", "${f:-g h}"]],
    "a >b 2>&1 <c": [["a"]],
    "cat <<A <<B\n1\nA\n2\nB\nnext": [["cat"], ["next"]],
}


@pytest.mark.parametrize("script", CUT_UP)
def test_a_script_is_cut_where_a_shell_cuts_it(script: str) -> None:
    """Quotes, escapes, operators, comments, substitutions and here-documents."""
    assert CUT_UP[script] == [[word.text for word in command.words] for command in parse_script(script)]


def test_a_here_document_is_the_input_of_its_command() -> None:
    """Two here-documents on one line are read one after the other; the last one counts."""
    command = parse_script("cat <<A <<'B'\n1\nA\n2\n3\nB\n")[0]

    assert ("1\n", "2\n3\n") == (command.redirects[0].body, command.heredoc)


@settings(max_examples=300, deadline=None, database=None)
@given(st.text(alphabet="ab./ \n'\"\\$`()<>|&;#-0129npsedcatEOF{}=*~", max_size=60))
def test_no_script_can_make_the_reader_fail(script: str) -> None:
    """Whatever the text, there is an answer."""
    shell_spans(script, "/workspace", "/workspace")


TOOLS: list[tuple[str, dict[str, Any], str, str]] = [
    ("Read", {"file_path": "a.py"}, "", "v a.py:1-$"),
    ("Read", {"file_path": "a.py", "offset": 5, "limit": 10}, "", "v a.py:5-14"),
    ("Read", {"file_path": "a.py", "offset": 5, "limit": 10}, "     5\tx\n     6\ty", "v a.py:5-6"),
    ("read", {"filePath": "a.py", "offset": 5, "limit": 10}, "", "v a.py:6-15"),
    ("read_file", {"absolute_path": "/w/a.py", "offset": 0, "limit": 4}, "", "v /w/a.py:1-4"),
    ("read_file", {"path": "a.py", "start_line": 3, "end_line": 9}, "", "v a.py:3-9"),
    ("read_many_files", {"paths": ["a.py", "*.md"]}, "", "v a.py:*"),
    ("str_replace_editor", {"command": "view", "path": "a.py", "view_range": [3, -1]}, "", "v a.py:3-$"),
    ("str_replace_editor", {"command": "view", "path": "src"}, "Here's the files and directories up to 2", ""),
    ("str_replace_editor", {"command": "create", "path": "a.py", "file_text": "x\ny\n"}, "", "e a.py:1-2"),
    (
        "str_replace_editor",
        {"command": "insert", "path": "a.py", "insert_line": 4, "new_str": "x\ny"},
        "",
        "e a.py:5-6",
    ),
    (
        "file_editor",
        {"command": "str_replace", "path": "a.py", "new_str": "b\nc"},
        "  7\ta\n  8\tb\n  9\tc",
        "e a.py:8-9",
    ),
    ("edit", {"path": "a.py", "content": "x\ny", "start": 3, "end": 9}, "", "e a.py:3-4"),
    ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, "ok", "e a.py:*"),
    ("MultiEdit", {"file_path": "a.py", "edits": []}, "", "e a.py:*"),
    ("Write", {"file_path": "a.py", "content": "x\ny\nz"}, "", "e a.py:1-3"),
    ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "x"}, "", "e a.ipynb:*"),
    ("Grep", {"pattern": "x", "path": "src/a.py"}, "", "v src/a.py:*"),
    ("Grep", {"pattern": "x", "path": "src"}, "", ""),
    ("apply_patch", {"input": PATCH}, "", "e a/b.py:*, e new.txt:1-2"),
    ("file_change", {"changes": [{"path": "a", "kind": "add"}, {"path": "b", "kind": "delete"}]}, "", "e a:*"),
    ("run_ipython", {"code": "open('a.py', 'w')"}, "", "e a.py:*"),
    ("Read", {"file_path": 7, "offset": "x"}, "", ""),
    ("TodoWrite", {"todos": []}, "", ""),
]


@pytest.mark.parametrize(("name", "arguments", "answer", "expected"), TOOLS)
def test_a_tool_shows_and_changes_what_it_was_asked(
    name: str, arguments: dict[str, Any], answer: str, expected: str
) -> None:
    """Each agent's tools by their own arguments, the printed line numbers where they tell more."""
    found = [_shown(one.kind, one.path, one.start, one.end) for one in tool_spans(name, arguments, answer, None)]

    assert expected == ", ".join(found)


def test_the_window_tells_what_a_windowed_command_does_not() -> None:
    """`scroll_down` names no file and no line; the header and the numbers of what it printed do."""
    window = "[File: /w/a.py (90 lines total)]\r\n(40 more lines above)\r\n41:x\r\n42:y\r\n(48 more lines below)"

    found = windowed_spans("scroll_down", "scroll_down", window, None)

    assert ["v /w/a.py:41-42"] == [_shown(one.kind, one.path, one.start, one.end) for one in found]


def _transcript(call: ToolCall, result: Result | None, **fields: Any) -> Transcript:
    last = Step(step_id=2, source="agent", message="done")
    observation = Observation(results=(result,)) if result else None
    first = Step(step_id=1, source="agent", message="", tool_calls=(call,), observation=observation, **fields)
    return Transcript(agent=Agent(name="a", version="1"), steps=(first, last), extra={"cwd": "/w"})


def test_what_failed_or_never_ran_does_not_count() -> None:
    """A refused edit changed nothing; a call that was never answered did not run."""
    edit = ToolCall(tool_call_id="c", function_name="Edit", arguments={"file_path": "/w/a.py"})
    refused = Result(source_call_id="c", content="not found", extra={"is_error": True})
    unanswered = edit.model_copy(update={"extra": {"unanswered": True}})

    assert 1 == len(extract_spans(_transcript(edit, Result(source_call_id="c", content="ok"))))
    assert () == extract_spans(_transcript(edit, refused))
    assert () == extract_spans(_transcript(unanswered, None))


@pytest.mark.parametrize(
    "answer",
    ["error: the text occurs 0 times", "Error: no such text", "[An error occurred during execution.]", " ERROR : x"],
)
def test_a_format_without_a_flag_for_failures_has_them_in_the_text(answer: str) -> None:
    """A tool's short answer that begins by telling of an error; not one that tells of errors further on."""
    edit = ToolCall(tool_call_id="c", function_name="edit", arguments={"path": "/w/a.py", "old": "x", "new": "y"})

    assert () == extract_spans(_transcript(edit, Result(source_call_id="c", content=answer)))
    assert 1 == len(extract_spans(_transcript(edit, Result(source_call_id="c", content=f"edited; {answer}"))))
    assert 1 == len(extract_spans(_transcript(edit, Result(source_call_id="c", content="errors = []\n"))))


def test_a_file_that_was_not_there_was_not_seen() -> None:
    """A view of which the shell said that there is no such file does not count; the other one does."""
    call = ToolCall(tool_call_id="c", function_name="bash", arguments={"command": "cat a.py b.py"})
    result = Result(source_call_id="c", content="cat: a.py: No such file or directory\nx = 1\n")

    assert ["b.py"] == [span.path for span in extract_spans(_transcript(call, result))]


def test_copied_steps_count_only_when_asked_for() -> None:
    """What stands in a step copied over a handoff was seen by the session before."""
    call = ToolCall(tool_call_id="c", function_name="bash", arguments={"command": "cat a.py"})
    transcript = _transcript(call, None, is_copied_context=True)

    assert () == extract_spans(transcript)
    assert 1 == len(extract_spans(transcript, copied=True))


def test_codex_words_are_a_script() -> None:
    """Codex once gave a command as words, mostly those of a shell with a script."""
    call = ToolCall(
        tool_call_id="c",
        function_name="shell",
        arguments={"command": ["bash", "-lc", "sed -n 1,3p a.py"], "workdir": "s"},
    )

    assert ["s/a.py"] == [span.path for span in extract_spans(_transcript(call, None))]


def test_a_patch_names_the_lines_of_the_file_after_it() -> None:
    """Added lines are counted in the new file; where something only went, the line that stands there now."""
    assert [(2, 2)] == changed_ranges(1, [" a", "+b", " c"])
    assert [(1, 2), (4, 4)] == changed_ranges(1, ["-x", "+a", "+b", " c", "-d", " e"])
    removed = "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    assert [FileChange("x", ((1, 1),), removed=True)] == parse_patch(removed)
    assert [] == parse_patch("no patch at all")
