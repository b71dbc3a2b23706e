"""`armed: first-commit`: edits count from the first commit with which the visible tests pass."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Opener
from guest_client import Client, Outcome, rule

pytestmark = pytest.mark.docker

BASE = (
    "rm -rf /tmp/base; mkdir -p /tmp/base/pkg && cd /tmp/base && printf 'x = 1\\n' | tee pkg/a.py > pkg/b.py && "
    "printf 'n = 1\\n' > notes.txt && git init -q -b main && git add -A && git commit -qm base && "
    "git checkout -q -b old && git commit -q --allow-empty -m old && git checkout -q main && "
    "git commit -q --allow-empty -m second"
)
RESET = "find /workspace -mindepth 1 -delete; rm -rf /tmp/ran /tmp/out; cp -a /tmp/base/. /workspace/"
# The visible tests: they pass when pkg/a.py holds what was asked for, and leave a line for each time they run.
PASS = ["sh", "-c", "echo run >> /tmp/ran; grep -q done pkg/a.py"]
DONE, HALF = "echo done > pkg/a.py", "echo half > pkg/a.py"
COMMIT = "git commit -qam x"
# What must not come: the edit that ends the session is followed by these.
AFTER = "echo z > pkg/second.py; git add -A; git commit -qm caught"


@pytest.fixture(scope="module")
def repository(shared_guest: Client) -> Client:
    made = shared_guest.sh(BASE, cwd="/tmp")
    assert made.exit["code"] == 0, made.err
    return shared_guest


@pytest.fixture
def workspace(repository: Client) -> Client:
    """A guest with a small repository."""
    done = repository.sh(RESET, cwd="/tmp")
    assert done.exit["code"] == 0, done.err
    return repository


def armed(
    name: str = "first-edit", n: float | None = None, test: list[str] | None = PASS, **fields: Any
) -> dict[str, Any]:
    return rule(name, n, armed="first-commit", armed_test=test, **fields)


def armings(outcome: Outcome) -> list[str]:
    return [event["commit"] for event in outcome.events if event["t"] == "armed"]


def runs(guest: Client) -> int:
    """How often the visible tests ran."""
    return len(guest.sh("cat /tmp/ran", cwd="/tmp").out.split())


@pytest.mark.parametrize(
    ("before", "tests"),
    [
        (f"{DONE}; {COMMIT}", 1),
        (f"{HALF}; {COMMIT}; {DONE}; {COMMIT}", 2),
        (f"{HALF}; {COMMIT}; {DONE}; git commit -qa --amend -m y", 2),
        (f"{DONE}; git checkout -q -b topic; {COMMIT}", 1),
        (f"{DONE}; git checkout -q --detach; {COMMIT}", 1),
        (f"{DONE}; git add -A; git update-ref refs/heads/main $(git commit-tree -p HEAD -m x $(git write-tree))", 1),
        (f"{DONE}; git pack-refs --all; {COMMIT}; git pack-refs --all", 1),
        (f"{DONE}; git checkout -q old; git checkout -q main; git stash -q; git stash pop -q; {COMMIT}", 1),
        (f"{DONE}; rm -rf .git; git init -q; git add -A; {COMMIT}", 1),
        (f"{DONE}; {COMMIT}; echo n > notes.txt; {COMMIT}", 1),
        (f"{DONE}; printf '#!/bin/sh\\nexit 0\\n' > .git/hooks/post-commit; chmod +x .git/hooks/post-commit; {COMMIT}", 1),
    ],
    ids=["commit", "second commit passes", "amend", "another branch", "detached", "plumbing", "packed", "moves are none",
         "repository made anew", "two that pass", "hook"],
)  # fmt: skip
def test_the_first_edit_after_the_commit_ends_it(workspace: Client, before: str, tests: int) -> None:
    """What was edited before counts for nothing; the next edit ends the session, and nothing follows it."""
    outcome = workspace.sh(f"{before}; git rev-parse HEAD > /tmp/out; echo y >> pkg/b.py; {AFTER}", cutoff=armed())

    assert outcome.started["mode"] == "exact"
    assert outcome.cut == {
        "rule": "first-edit", "n": 1, "path": "pkg/b.py", "how": "written",
        "exact": True, "why_not": None, "late": [], "open": [],
    }  # fmt: skip
    assert outcome.exit["armed"] is True
    assert (outcome.exit["edits"], outcome.exit["edited"], outcome.exit["first_edit"]) == (1, ["pkg/b.py"], "pkg/b.py")
    look = workspace.sh("cat /tmp/out; ls pkg; git log --oneline | grep -c caught")
    commit, *names, caught = look.out.split()
    assert (names, caught) == (["a.py", "b.py"], "0")
    assert len(armings(outcome)) == 1
    if "notes" not in before:  # there the second commit came after the one that armed
        assert armings(outcome) == [commit]
    assert runs(workspace) == tests


@pytest.mark.parametrize(
    ("script", "tests"),
    [
        (f"{DONE}; echo y > pkg/b.py; echo z > pkg/c.py", 0),
        (f"{HALF}; {COMMIT}; echo y > pkg/b.py", 1),
        ("git checkout -q old; echo y > pkg/b.py; git reset -q --hard HEAD~1; echo z > pkg/b.py", 0),
        (f"{DONE}; git add -A; git update-ref refs/heads/other $(git commit-tree -m x $(git write-tree)); echo y > pkg/b.py", 0),
        (f"{DONE}; rm .git/HEAD; mkfifo .git/HEAD; echo y > pkg/b.py", 0),
        (f"{DONE}; mv .git /tmp/git; ln -s /tmp/git .git; {COMMIT}; echo y > pkg/b.py; rm -rf /tmp/git", 0),
        (f"{DONE}; {COMMIT} --dry-run; git commit -qm nothing; echo y > pkg/b.py", 0),
    ],
    ids=["no commit", "tests fail", "old commits", "not HEAD's branch", "HEAD is a pipe", ".git is a link", "no change"],
)  # fmt: skip
def test_what_does_not_arm(workspace: Client, script: str, tests: int) -> None:
    """The session goes to its own end; the report says that the rule slept."""
    outcome = workspace.sh(f"{script}; exit 5", cutoff=armed())

    assert (outcome.exit["how"], outcome.exit["code"], outcome.exit["cutoff"]) == ("exited", 5, None)
    assert (outcome.exit["armed"], armings(outcome)) == (False, [])
    assert outcome.exit["edits"] > 0
    assert runs(workspace) == tests


def test_without_tests_any_commit_arms(workspace: Client) -> None:
    """The task has no visible tests: the commit is enough."""
    outcome = workspace.sh(f"{HALF}; {COMMIT}; echo y >> pkg/b.py; {AFTER}", cutoff=armed(test=None))

    assert (outcome.cut["path"], outcome.cut["exact"], outcome.exit["armed"]) == ("pkg/b.py", True, True)


def test_edits_are_counted_from_the_commit(workspace: Client) -> None:
    """edits:2 means two after it; going back to what was committed is no edit, as at the start of a session."""
    outcome = workspace.sh(
        f"{DONE}; echo 1 > pkg/c.py; {COMMIT}; echo y > pkg/b.py; printf 'x = 1\\n' > pkg/b.py; echo done > pkg/a.py; "
        f"echo 2 > pkg/c.py; {AFTER}",
        cutoff=armed("edits", 2),
    )

    assert (outcome.cut["path"], outcome.cut["n"], outcome.cut["exact"]) == ("pkg/c.py", 2, True)
    told = [(event["path"], event["n"]) if event["t"] == "edit" else "armed" for event in outcome.events]
    assert told == [("pkg/a.py", 1), ("pkg/c.py", 2), "armed", ("pkg/b.py", 1), ("pkg/c.py", 2)]
    assert outcome.exit["edited"] == ["pkg/c.py"]


def test_everybody_waits_for_the_tests(workspace: Client) -> None:
    """While the tests run no call goes on, of whatever process; the wire answers all the time."""
    slow = ["sh", "-c", "sleep 1; ls pkg > /tmp/ran; grep -q done pkg/a.py"]
    number, outcome = workspace.start(
        ["sh", "-c", f"{DONE}; {COMMIT}; (echo y > pkg/early.py) & echo z > pkg/second.py; wait"],
        cutoff=armed(test=slow),
    )
    for _ in range(20):
        workspace.ping()
    workspace.finish(number)

    assert outcome.cut["exact"]
    assert outcome.cut["path"] in ("pkg/early.py", "pkg/second.py")
    assert workspace.sh("cat /tmp/ran").out.split() == ["a.py", "b.py"]
    assert len(outcome.exit["edited"]) == 1


def test_what_the_tests_leave_behind_is_gone(workspace: Client) -> None:
    """They run outside of the barrier, so nothing of theirs may live on; what they wrote is no edit of the session."""
    code = (
        "import os, sys, time\n"
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(0.5)\n"
        "        open('pkg/ghost.py', 'w').write('boo')\n        time.sleep(60)\n    os._exit(0)\n"
        "os.wait()\nopen('pkg/made.py', 'w').write('x')\nprint(sorted(os.environ), os.getgroups())\n"
        "assert os.environ['PYTHONDONTWRITEBYTECODE'] == '1' and os.environ['MINE'] == '2' and os.getcwd() == '/workspace'\n"
        "assert os.getuid() == 1000"
    )
    outcome = workspace.sh(
        f"cd pkg; echo done > a.py; {COMMIT}; touch x; sleep 1; ls > /tmp/out; echo y >> b.py",
        env={"PATH": "/usr/bin:/bin", "MINE": "2", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a", "GIT_COMMITTER_NAME": "a",
             "GIT_COMMITTER_EMAIL": "a"}, cutoff=armed(test=["python3", "-c", code]),
    )  # fmt: skip

    assert (outcome.cut["path"], outcome.cut["exact"]) == ("pkg/b.py", True)
    assert outcome.exit["edited"] == ["pkg/b.py"]
    assert workspace.sh("cat /tmp/out").out.split() == ["a.py", "b.py", "made.py", "x"]
    assert outcome.out == ""


@pytest.mark.parametrize("test", [["no-such-program"], ["/workspace"], ["sh", "-c", "kill -9 $$"], ["false"]])
def test_tests_that_cannot_pass(workspace: Client, test: list[str]) -> None:
    """A program that is not there, or is killed, does not arm, and the session goes on."""
    outcome = workspace.sh(f"{DONE}; {COMMIT}; echo y > pkg/b.py; exit 3", cutoff=armed(test=test))

    assert (outcome.exit["code"], outcome.exit["armed"]) == (3, False)


def test_a_session_that_ends_while_the_tests_run(workspace: Client) -> None:
    """Its end does not wait for them, and they are gone with it."""
    slow = ["sh", "-c", "touch /tmp/ran; sleep 30"]
    outcome = workspace.sh(f"{DONE}; {COMMIT} & while [ ! -e /tmp/ran ]; do :; done", cutoff=armed(test=slow), wall=20)

    assert (outcome.exit["how"], outcome.exit["armed"]) == ("exited", False)
    assert outcome.exit["seconds"] < 10
    assert "sleep" not in workspace.sh("cat /proc/[0-9]*/comm", cwd="/tmp").out.split()


def test_tests_that_cannot_start_yet(open_guest: Opener) -> None:
    """The agent has used up all processes: everybody waits until the tests can be started, and they are."""
    code = (
        "import os, signal, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nos.makedirs('.git/refs/heads')\nopen('.git/HEAD', 'w').write('ref: refs/heads/x')\n"
        "try:\n    while True:\n        if os.fork() == 0:\n            time.sleep(1)\n            os._exit(0)\n"
        "except OSError:\n    pass\nopen('.git/refs/heads/x', 'w').write('a' * 40)\nopen('a.py', 'w').write('x')\n"
        "open('b.py', 'w').write('x')"
    )
    with open_guest(pids_limit=30) as (guest, _):
        guest.hello()
        outcome = guest.run(["python3", "-c", code], cutoff=armed(test=["true"]))

    assert (outcome.cut["path"], outcome.exit["armed"], outcome.exit["edits"]) == ("a.py", True, 1)
    assert outcome.events[0]["at"] > 0.5


def test_only_so_many_commits_are_looked_at(workspace: Client) -> None:
    """Fifty failures are enough: after them the session is not slowed any more."""
    outcome = workspace.sh(
        f"for n in $(seq 60); do git commit -q --allow-empty -m $n; done; {DONE}; {COMMIT}; echo y > pkg/b.py",
        cutoff=armed(),
    )

    assert outcome.exit["armed"] is False
    assert runs(workspace) == 50


@pytest.mark.parametrize(("name", "n"), [("seconds", 0.5), ("first-validation", None), ("none", None)])
def test_other_rules_sleep_as_well(workspace: Client, name: str, n: float | None) -> None:
    """Time runs, and tests validate, from the commit on; `none` only tells of it."""
    check = "python3 -m unittest pkg.a 2>/dev/null"
    outcome = workspace.sh(
        f"sleep 0.6; {DONE}; {check}; {COMMIT}; {check}; echo y > pkg/b.py; {check}; echo y > pkg/second.py; sleep 0.7; exit 4",
        cutoff=armed(name, n),
    )

    assert outcome.exit["armed"] is True
    if name == "none":
        assert (outcome.exit["code"], outcome.exit["edited"]) == (4, ["pkg/b.py", "pkg/second.py"])
    else:
        assert outcome.cut["how"] == {"seconds": "time"}.get(name, "validation")
        assert outcome.exit["edited"] == (["pkg/b.py"] if name == "first-validation" else ["pkg/b.py", "pkg/second.py"])


@pytest.mark.parametrize("fields", [{"armed": "lunch"}, {"armed_test": "true"}, {"armed_test": [""], "armed": None},
                                    {"armed_test": ["a\0"]}])  # fmt: skip
def test_what_cannot_be_armed(workspace: Client, fields: dict[str, Any]) -> None:
    """An event that is not known, tests that are no command: refused, and not a session without a rule."""
    assert workspace.sh("true", cutoff={**armed(), **fields}).failed["why"]


def test_a_plain_rule_is_not_armed(workspace: Client) -> None:
    """The report tells rules that never slept from those that still do."""
    assert workspace.sh("true", cutoff=rule()).exit["armed"] is None
    assert workspace.sh("true").exit["armed"] is None


def test_without_the_barrier(open_guest: Opener) -> None:
    """By looking at .git every 50 ms: the commit is found, the next edit ends it, and the report says approximate."""
    with open_guest() as (guest, _):
        guest.hello(barrier=False)
        guest.sh(f"{BASE}; {RESET}", cwd="/tmp")
        outcome = guest.sh(f"{HALF}; {COMMIT}; sleep 0.5; {DONE}; {COMMIT}; sleep 0.5; echo y >> pkg/b.py; sleep 5; {AFTER}",
                           cutoff=armed())  # fmt: skip
        assert runs(guest) == 2

    assert (outcome.started["mode"], outcome.exit["armed"]) == ("approximate", True)
    assert (outcome.cut["path"], outcome.cut["n"], outcome.cut["exact"]) == ("pkg/b.py", 1, False)
    assert outcome.exit["seconds"] < 5
