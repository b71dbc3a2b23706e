"""Every cutoff rule in a real container, and what the report says of files that were not finished."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Opener
from guest_client import Client, Outcome, rule

pytestmark = pytest.mark.docker

FILES = {"pkg/": b"", **{f"pkg/f{n}.py": b"x = 1\n" for n in range(8)}, "pkg/notes.txt": b"n\n"}


@pytest.fixture
def workspace(shared_guest: Client) -> Client:
    """A guest with eight small source files."""
    assert shared_guest.sh("find /workspace -mindepth 1 -delete", cwd="/tmp").exit["code"] == 0
    assert shared_guest.load(FILES)["t"] == "loaded"
    return shared_guest


def edits(outcome: Outcome) -> list[str]:
    return [event["path"] for event in outcome.events if event["t"] == "edit"]


def execs(outcome: Outcome) -> list[tuple[str, Any]]:
    return [(" ".join(event["argv"]), event.get("code", "running")) for event in outcome.events if event["t"] == "exec"]


def test_edits_n(workspace: Client) -> None:
    """edits:3 lets two edits pass and ends at the third; a file written again with other content counts again."""
    outcome = workspace.sh(
        "echo a > pkg/f0.py; echo a > pkg/f0.py; echo b > pkg/f0.py; echo n > pkg/notes.txt; echo c > pkg/f1.py; "
        "echo d > pkg/f2.py; echo e > pkg/f3.py",
        cutoff=rule("edits", 3),
    )

    assert outcome.cut["path"] == "pkg/f1.py"
    assert (outcome.cut["rule"], outcome.cut["n"], outcome.cut["exact"]) == ("edits", 3, True)
    assert edits(outcome) == ["pkg/f0.py", "pkg/f0.py", "pkg/f1.py"]
    assert [event["n"] for event in outcome.events] == [1, 2, 3]
    assert outcome.exit["first_edit"] == "pkg/f0.py"
    assert outcome.exit["edited"] == ["pkg/f0.py", "pkg/f1.py"]
    assert outcome.exit["edits"] == 3


def test_seconds(workspace: Client) -> None:
    """seconds:N ends at the time, edits or not, and lists what was open."""
    outcome = workspace.sh("echo a > pkg/f0.py; exec 3>> pkg/f1.py; echo b >&3; sleep 20", cutoff=rule("seconds", 0.4))

    assert outcome.started["mode"] is None
    assert outcome.cut["how"] == "time"
    assert (outcome.cut["path"], outcome.cut["late"], outcome.cut["open"]) == (None, [], ["pkg/f1.py"])
    assert outcome.cut["exact"]
    assert 0.3 < outcome.exit["seconds"] < 5
    assert edits(outcome) == ["pkg/f0.py"]


def test_none_ends_nothing_and_tells_everything(workspace: Client) -> None:
    """The uninterrupted baseline runs to its own end, with the same report."""
    outcome = workspace.sh("echo a > pkg/f0.py; echo b > pkg/f1.py; exit 3", cutoff=rule("none"))

    assert (outcome.exit["how"], outcome.exit["code"]) == ("exited", 3)
    assert outcome.exit["cutoff"] is None
    assert edits(outcome) == ["pkg/f0.py", "pkg/f1.py"]
    assert outcome.exit["edited"] == ["pkg/f0.py", "pkg/f1.py"]
    assert not outcome.started["barrier"]


def test_the_last_act_of_a_session_is_an_edit(workspace: Client) -> None:
    """An edit by which the session ends is a cutoff each time, not a matter of which signal came first."""
    for content in range(20):
        outcome = workspace.sh(f"echo {content} >> pkg/f0.py", cutoff=rule())

        assert outcome.cut["path"] == "pkg/f0.py"
        assert (outcome.exit["code"], outcome.exit["signal"]) == (None, None)


def test_a_session_without_an_edit_ends_by_itself(workspace: Client) -> None:
    """No edit, no cutoff: the agent's own exit code is reported."""
    outcome = workspace.sh("echo x > pkg/notes.txt; exit 7", cutoff=rule())

    assert (outcome.exit["how"], outcome.exit["code"], outcome.exit["cutoff"]) == ("exited", 7, None)
    assert (outcome.exit["first_edit"], outcome.exit["edited"]) == (None, [])


TEST = "python3 -m unittest pkg.test_x"
SETUP = "printf 'import unittest\\nclass T(unittest.TestCase):\\n def test_a(self): pass\\n' > pkg/test_x.py; "
BROKEN = "printf 'import unittest\\nclass T(unittest.TestCase):\\n def test_a(self): 1/0\\n' > pkg/test_x.py; "


def test_first_validation(workspace: Client) -> None:
    """Test commands before any edit do not count; the first one after an edit ends the session as it ends."""
    outcome = workspace.sh(
        SETUP
        + f"{TEST}; echo a > pkg/f0.py; echo b > pkg/f1.py; grep unittest pkg/test_x.py; {TEST}; echo c > pkg/f2.py",
        cutoff=rule("first-validation"),
    )

    assert outcome.cut["how"] == "validation"
    assert (outcome.cut["rule"], outcome.cut["n"], outcome.cut["path"]) == ("first-validation", 2, None)
    assert outcome.cut["exact"]
    assert edits(outcome) == ["pkg/f0.py", "pkg/f1.py"]
    assert [code for argv, code in execs(outcome) if code != "running"] == [0, 0]
    assert all(argv == TEST for argv, _ in execs(outcome))


def test_first_validation_counts_failures_too(workspace: Client) -> None:
    """A failing test command validates as well."""
    outcome = workspace.sh(
        BROKEN + f"echo a > pkg/f0.py; {TEST} 2>/dev/null; echo c > pkg/f2.py", cutoff=rule("first-validation")
    )

    assert outcome.cut["n"] == 1
    assert execs(outcome)[-1] == (TEST, 1)


def test_after_failed_repair(workspace: Client) -> None:
    """Passing tests and failures before an edit let the session go on; the first failure after an edit ends it."""
    outcome = workspace.sh(
        BROKEN + f"{TEST} 2>/dev/null; echo a > pkg/f0.py; " + SETUP + f"{TEST} 2>/dev/null; " + BROKEN
        + f"{TEST} 2>/dev/null; echo c > pkg/f2.py",
        cutoff=rule("after-failed-repair"),
    )  # fmt: skip

    assert outcome.cut["how"] == "validation"
    assert [code for _, code in execs(outcome) if code != "running"] == [1, 0, 1]
    assert edits(outcome) == ["pkg/f0.py"]


def test_a_test_command_that_a_signal_ends_has_failed(workspace: Client) -> None:
    """A test run that is killed never calls exit; it counts as a failure all the same."""
    outcome = workspace.sh(
        "printf 'import time; time.sleep(60)' > pkg/test_x.py; echo a > pkg/f0.py; timeout -s KILL 0.5 python3 "
        "pkg/test_x.py; sleep 5; echo c > pkg/f2.py",
        cutoff=rule("after-failed-repair"),
    )

    assert outcome.cut["how"] == "validation"
    assert execs(outcome) == [("python3 pkg/test_x.py", "running"), ("python3 pkg/test_x.py", None)]
    assert edits(outcome) == ["pkg/f0.py"]


def test_only_the_outermost_test_command_counts(workspace: Client) -> None:
    """A test that starts a test runner, or forks, is still one test command, which ends when it ends."""
    workspace.load({
        "pkg/": b"",
        "pkg/test_out.py": b"import os, subprocess, sys\n"
        b"subprocess.run([sys.executable, 'pkg/test_in.py'])\n"
        b"if os.fork() == 0:\n    os._exit(0)\nos.wait()\nopen('pkg/done.txt', 'w').close()\nsys.exit(4)\n",
        "pkg/test_in.py": b"",
    })  # fmt: skip
    outcome = workspace.sh("echo a > pkg/f0.py; python3 pkg/test_out.py; echo never", cutoff=rule("first-validation"))

    assert execs(outcome)[-1] == ("python3 pkg/test_out.py", 4)
    assert outcome.out == ""
    assert workspace.sh("ls pkg/done.txt").exit["code"] == 0


def test_a_task_may_name_its_own_test_command(workspace: Client) -> None:
    """Patterns of the task replace the guest's own."""
    outcome = workspace.sh(
        "echo a > pkg/f0.py; python3 -m unittest pkg.f1 2>/dev/null; /bin/true --verify; echo b > pkg/f1.py",
        cutoff=rule("first-validation", tests=["true --verify$"]),
    )

    assert [argv for argv, code in execs(outcome) if code == 0] == ["/bin/true --verify"]
    assert edits(outcome) == ["pkg/f0.py"]


@pytest.mark.parametrize(
    ("cutoff", "why"),
    [
        (rule("turns", 3), "no cutoff rule"),
        (rule("first-edit", armed="lunch"), "armed"),
        (rule("edits", 0), "positive"),
        ("first-edit", "not an object"),
    ],
)
def test_rules_that_are_refused(workspace: Client, cutoff: Any, why: str) -> None:
    """A rule the guest cannot hold is a `failed` frame and not a session without a cutoff."""
    outcome = workspace.sh("echo a > pkg/f0.py", cutoff=cutoff)

    assert why in outcome.failed["why"]
    assert not outcome.started


def test_a_descriptor_kept_open_is_listed(workspace: Client) -> None:
    """What was written to and not closed is no edit; at the cut it is told apart from what came late."""
    code = (
        "a = open('pkg/f5.py', 'w'); a.write('half'); a.flush()\n"
        "b = open('pkg/f6.py', 'w')\nopen('pkg/f0.py', 'w').write('y')\nopen('pkg/f1.py', 'w').write('never')"
    )
    outcome = workspace.run(["python3", "-c", code], cutoff=rule())

    assert outcome.cut["path"] == "pkg/f0.py"
    assert (outcome.cut["exact"], outcome.cut["late"]) == (True, [])
    assert outcome.cut["open"] == ["pkg/f5.py", "pkg/f6.py"]  # opening f6 emptied it
    assert outcome.exit["edited"] == ["pkg/f0.py", "pkg/f5.py", "pkg/f6.py"]


def test_what_comes_late_is_said(workspace: Client) -> None:
    """Files that were opened long before and are written in the instant of the cut: the report says so, or none was."""
    script = (
        "import os, time\nfiles = [open('pkg/f%d.py' % n, 'w') for n in range(1, 8)]\n"
        "time.sleep(0.5)\nopen('pkg/f0.py', 'w').write('y')\n"
        "while True:\n    for f in files:\n        f.write('late'); f.flush()\n"
    )
    outcome = workspace.run(["python3", "-c", script], cutoff=rule())

    assert outcome.cut["path"] == "pkg/f0.py"
    assert outcome.cut["exact"] is (outcome.cut["late"] == [])
    assert sorted(outcome.cut["late"] + outcome.cut["open"]) == [f"pkg/f{n}.py" for n in range(1, 8)]
    if outcome.cut["late"]:
        assert "after the cut" in outcome.cut["why_not"]
        assert outcome.cut["late"][0] == "pkg/f1.py"


WRITERS = {
    "xargs": "ls pkg/f*.py | xargs -P4 -n1 sed -i s/1/2/",
    "shells": "for n in 1 2 3 4; do (echo y >> pkg/f$n.py) & done; wait",
    "pool": "python3 -c \"import multiprocessing as m\ndef f(n):\n p='pkg/f%d.py'%n; t=open(p).read(); "
    "open(p,'w').write(t+'y')\nwith m.Pool(4) as p: p.map(f, range(8), 1)\"",
    "threads": "python3 -c \"import threading\ndef f(n): open('pkg/f%d.py'%n,'w').write('y')\n"
    "t=[threading.Thread(target=f,args=(n,)) for n in range(8)]\n[x.start() for x in t]; [x.join() for x in t]\"",
}  # fmt: skip


@pytest.mark.parametrize("writers", WRITERS)
def test_several_writers_at_once(workspace: Client, writers: str) -> None:
    """Processes and threads that write side by side take turns, so that one edit is one edit."""
    for _ in range(5):
        workspace.load(FILES)
        outcome = workspace.sh(WRITERS[writers], cutoff=rule())

        assert outcome.cut["exact"], outcome.cut
        assert len(outcome.exit["edited"]) == 1


def test_a_slow_writer_does_not_stop_the_others(workspace: Client) -> None:
    """Taking turns is for a moment: a file that stays open holds nobody up for long."""
    outcome = workspace.sh(
        "(exec 3>> pkg/f1.py; echo y >&3; sleep 20) & sleep 0.1; sh -c 'echo z > pkg/f0.py'", cutoff=rule()
    )

    assert outcome.cut["path"] == "pkg/f0.py"
    assert outcome.cut["open"] == ["pkg/f1.py"]
    assert outcome.exit["seconds"] < 5


def test_many_edits_are_many_frames_but_not_too_many(workspace: Client) -> None:
    """The wire carries the first thousand edits; the report counts all."""
    outcome = workspace.run(
        ["python3", "-c", "for n in range(1500):\n with open('pkg/n%d.py' % n, 'w') as f: f.write('x')"],
        cutoff=rule("none"),
    )

    assert len(edits(outcome)) == 1000
    assert outcome.exit["edits"] == 1500
    assert len(outcome.exit["edited"]) == 1000
    assert outcome.exit["edited_more"] == 500


def test_an_event_storm_is_survived(workspace: Client) -> None:
    """More events than the kernel's queue holds: nothing is lost in the end, and the report admits it."""
    code = "import os\nfor n in range(30000):\n    for m in (0, 1):\n        open('pkg/log%d' % m, 'a').write('x')\n"
    outcome = workspace.run(["python3", "-c", code + "open('pkg/f0.py', 'w').write('y')"], cutoff=rule())

    assert outcome.cut["path"] == "pkg/f0.py"
    assert outcome.cut["exact"] or "queue" in outcome.cut["why_not"]


def test_a_long_look_goes_on_by_itself(workspace: Client) -> None:
    """More to look at than one slice of time holds, and nobody who makes a call: the cut comes all the same."""
    code = (
        "import os, time\nos.makedirs('.tox/new')\nfor n in range(4000):\n    with open('.tox/new/f%d.py' % n, 'w') as f:\n"
        "        f.write('x' * 20000)\nos.rename('.tox/new', 'new')\ntime.sleep(25)"
    )
    outcome = workspace.run(["python3", "-c", code], cutoff=rule("edits", 4000))

    assert outcome.cut["n"] == 4000
    assert outcome.cut["exact"]
    assert outcome.exit["seconds"] < 20


def test_a_workspace_that_changes_under_the_watch(workspace: Client) -> None:
    """Directories that are made, moved out, moved in and deleted keep being watched under their right name."""
    outcome = workspace.sh(
        "mkdir -p a/b/c && mv a d && rm -r d/b/c && mkdir d/b/e && mv d /tmp/d && touch /tmp/d/b/e/out.txt && "
        "mv /tmp/d . && mv d pkg/d && echo x > pkg/d/b/e/new.py; echo never > pkg/f0.py",
        cutoff=rule(),
    )

    assert outcome.cut["path"] == "pkg/d/b/e/new.py"
    assert outcome.exit["edited"] == ["pkg/d/b/e/new.py"]


def test_a_directory_that_left_is_not_watched(workspace: Client) -> None:
    """What happens to a directory outside of the workspace, where it was moved to, is no edit."""
    code = (
        "import os\nos.makedirs('pkg/sub/deep')\nos.mkdir('pkg/.venv')\nos.rename('pkg/sub', 'pkg/.venv/sub')\n"
        "open('pkg/.venv/sub/deep/x.py', 'w').write('x')\nopen('pkg/f3.py', 'w').write('z')"
    )
    outcome = workspace.run(["python3", "-c", code], cutoff=rule())

    assert outcome.cut["path"] == "pkg/f3.py"
    assert outcome.cut["n"] == 1


def test_without_the_barrier_the_cut_is_approximate(open_guest: Opener) -> None:
    """Where the kernel has no user notification, inotify alone serves, and the report says so every time."""
    with open_guest() as (guest, _):
        ready = guest.hello(barrier=False)
        guest.load(FILES)
        outcome = guest.sh("echo a > pkg/f0.py; sleep 5; echo b > pkg/f1.py", cutoff=rule())
        refused = guest.sh("true", cutoff=rule("first-validation"))

    assert (ready["barrier"], ready["barrier_reason"]) == (False, "the host wants none")
    assert (outcome.started["barrier"], outcome.started["mode"]) == (False, "approximate")
    assert outcome.started["why"] == outcome.cut["why_not"] == "the host wants none"
    assert outcome.cut["path"] == "pkg/f0.py"
    assert not outcome.cut["exact"]
    assert outcome.exit["seconds"] < 3
    assert "barrier" in refused.failed["why"]
