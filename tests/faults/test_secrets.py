"""Answers that lie where the graded code can read them, and keys that end up in logs: nothing of ours goes in."""

from __future__ import annotations

import re
import secrets
import shutil
from pathlib import Path

import pytest
import zstandard
from meddling import TASK, carry_out, plan_for

from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.errors import InputError
from takeover.tiers.load import TIERS, load_task
from takeover.trials.agents import Agent
from takeover.trials.regrade import regrade
from takeover.trials.running import RunResult
from takeover.trials.signing import Signer, signer

pytestmark = pytest.mark.docker

# Reads whatever it can read, and says which marks it found and how much there was.
LOOK = """
import os, re, stat, subprocess
MARK = re.compile(rb"tkm-([a-z]+)-[0-9a-f]{32}")
def look(tops=("/",), git=True):
    seen, count = set(), 0
    def take(data):
        seen.update(one.decode() for one in MARK.findall(data))
    for top in tops:
        for folder, folders, names in os.walk(top):
            folders[:] = [one for one in folders if os.path.join(folder, one) not in ("/proc", "/sys")]
            for name in names:
                path = os.path.join(folder, name)
                take(os.fsencode(path))
                try:
                    about = os.lstat(path)
                    if stat.S_ISLNK(about.st_mode): take(os.fsencode(os.readlink(path)))
                    if not stat.S_ISREG(about.st_mode): continue
                    with open(path, "rb") as file: take(file.read(64 << 20))
                    count += 1
                except OSError: pass
    for pid in ["self", *filter(str.isdigit, os.listdir("/proc"))]:
        for part in ("environ", "cmdline", "mountinfo", "status", "maps", "root/etc/passwd", "cwd/x"):
            try:
                with open("/proc/%s/%s" % (pid, part), "rb") as file: take(file.read()); count += 1
            except OSError: pass
    if git:
        for ask in (["cat-file", "--batch-all-objects", "--batch"], ["log", "--all", "--reflog", "-p"], ["fsck", "--unreachable"]):
            done = subprocess.run(["git", *ask], cwd="/workspace", capture_output=True)
            take(done.stdout); count += done.returncode == 0
    return sorted(seen), count
"""
# The same as code that is graded: the first question of the checks is answered with what can be seen there.
PLANTED = (
    LOOK
    + """
def hold_hours(*args, **kwargs):
    return look(("/workspace", "/run", "/tmp", "/takeover-home", "/dev/shm", "/etc"), git=False)
"""
)
PROBE = f"{LOOK}\nprint('MARKS', look(), flush=True)\nopen('ledger/rules.py', 'w').write({PLANTED!r})\n"


def mark(kind: str) -> str:
    return f"tkm-{kind}-{secrets.token_hex(16)}"


def marked_task(folder: Path) -> Path:
    """The task with a mark in everything that is ours: checks, solution, notes, task.yaml, the prompt of session 1."""
    root = folder / TASK
    shutil.copytree(TIERS / TASK, root, ignore=shutil.ignore_patterns("__pycache__"))

    def edit(path: str, old: str, new: str) -> None:
        text = (root / path).read_text()
        assert old in text, path
        (root / path).write_text(text.replace(old, new, 1))

    edit("prompts/sprint.md", "\n\n", f"\n\n{mark('prompt')}\n\n")
    edit("prompts/notes.md", "\n", f" {mark('notes')}\n")
    edit("workspace/ledger/rules.py", "#:if R1\n", f"#:if R1\n# {mark('solution')}\n")
    edit("task.yaml", "\n", f"\n# {mark('task')}\n")
    for check in (root / "checks").glob("test_*.py"):
        check.write_text(check.read_text() + f"\n# {mark('checks')}\n")
    return root


@pytest.fixture(scope="module")
def probed(engine: DockerEngine, tmp_path_factory: pytest.TempPathFactory) -> tuple[RunResult, Signer, str]:
    """A run whose agent looks everywhere in both sessions, and then leaves code that looks while it is graded."""
    folder = tmp_path_factory.mktemp("probed")
    secret = mark("environment")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", secret)
        patch.setenv("TAKEOVER_SIGNING_KEY", str(folder / mark("key") / "signing.key"))
        key = signer()
        agent = Agent(name="probe", image="sandbox", command=("python3", "-c", PROBE))
        plan = plan_for(agent, task=load_task(marked_task(folder)))
        result, _ = carry_out(engine, folder / "run", plan, key)
    return result, key, secret


def marks(result: RunResult, session: int) -> tuple[list[str], int]:
    log = result.paths.trial(result.planned[0]).step(session, "session").output.read_text()
    found = re.search(r"MARKS \((\[.*?\]), (\d+)\)", log)
    assert found, log
    return re.findall(r"[a-z]+", found[1]), int(found[2])


def test_a_session_sees_its_own_prompt_and_nothing_else_of_ours(probed: tuple[RunResult, Signer, str]) -> None:
    """Of every file, process, mount and git object: session 1 finds its prompt, session 2 not even that."""
    result, _, _ = probed

    assert marks(result, 1)[0] == ["prompt"]
    assert marks(result, 2)[0] == []
    assert min(marks(result, session)[1] for session in (1, 2)) > 1000


def test_graded_code_sees_nothing_of_ours_either(probed: tuple[RunResult, Signer, str]) -> None:
    """While the checks ask it, the code finds no check, no solution, no parameter and no key."""
    result, _, _ = probed
    (card,) = result.scorecards.values()
    assert card.retention is not None, card.failure
    evidence = next(check.evidence for check in card.retention.checks if check.id == "R1")

    assert re.search(r"returned \(\[\], \d{2,}\)", evidence), evidence


def test_no_artifact_holds_a_key(probed: tuple[RunResult, Signer, str]) -> None:
    """Neither the environment of the command nor its signing key is in any file of the run's folder."""
    result, _, secret = probed
    needles = [secret.encode(), b"PRIVATE KEY", b"tkm-key-"]

    for file in result.paths.root.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            if file.name.endswith(".tar.zst"):
                data = zstandard.ZstdDecompressor().stream_reader(data).read()
            assert not [needle for needle in needles if needle in data], file


def test_a_task_from_elsewhere_is_graded_again(probed: tuple[RunResult, Signer, str], engine: DockerEngine) -> None:
    """Its folder is named by who asks, never by the run: checks are code. Then the verdict comes out as it was."""
    result, _, _ = probed
    again = regrade(result.paths, result.planned[0], engine, result.paths.root.parent / TASK)

    assert again is not None
    assert again.how == "same"
    with pytest.raises(InputError, match="has changed"):
        regrade(result.paths, result.planned[0], engine)
