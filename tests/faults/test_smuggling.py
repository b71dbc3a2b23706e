"""Memory that is carried past a new session by other ways than the workspace's files: none arrives."""

from __future__ import annotations

from pathlib import Path

import pytest
from meddling import carry_out, plan_for, scripted

from takeover.sandbox.engine import DockerEngine
from takeover.trials.signing import Signer

pytestmark = pytest.mark.docker

# Session 1 hides a word beside the contents of files and in what programs read when they start.
HIDE = r"""
python3 - <<'END'
import os, pathlib
def tried(what, *args):
    try: what(*args)
    except OSError: pass
tried(os.setxattr, 'README.md', 'user.note', b'smuggled')
os.utime('TASK.md', (1234567, 1234567))
os.chmod('wiring.yaml', 0o6755)
home = pathlib.Path.home()
hooks = home / '.local/lib' / ('python%d.%d' % __import__('sys').version_info[:2]) / 'site-packages'
hooks.mkdir(parents=True)
(hooks / 'usercustomize.py').write_text("print('smuggled')")
for name in ('.bashrc', '.profile', '.gitconfig', '.config/agent/session', '.claude/projects/x.jsonl'):
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).write_text('echo smuggled')
for place in ('/tmp', '/var/tmp', '/dev/shm'):
    (pathlib.Path(place) / 'note').write_text('smuggled')
END
setsid sh -c 'while :; do echo smuggled > /workspace/late; sleep 0.05; done' >/dev/null 2>&1 &
sleep 0.3
"""
LOOK = r"""
sleep 0.5
python3 - <<'END'
import os, pathlib
found = []
for top in (os.path.expanduser('~'), '/tmp', '/var/tmp', '/dev/shm', '/run'):
    for folder, _, names in os.walk(top):
        for name in names:
            path = pathlib.Path(folder, name)
            if path.is_file() and b'smuggled' in path.read_bytes(): found.append(str(path))
try: found += os.listxattr('README.md')
except OSError: pass
if os.stat('TASK.md').st_mtime == 1234567: found.append('mtime')
if os.stat('wiring.yaml').st_mode & 0o6000: found.append('set-id')
before = os.stat('late').st_mtime_ns
found += [path for path in os.environ.values() if 'smuggled' in path]
print('FOUND', found, flush=True)
END
"""


def test_only_the_contents_of_files_are_carried(engine: DockerEngine, tmp_path: Path, key: Signer) -> None:
    """No attribute, time, set-id bit, start-up file, scratch or process of session 1 is there in session 2."""
    script = f"if [ $TAKEOVER_SESSION = 1 ]; then {HIDE}\nelse {LOOK}\nfi"
    result, _ = carry_out(engine, tmp_path / "smuggled", plan_for(scripted("smuggler", script)), key)
    (card,) = result.scorecards.values()
    trial = result.paths.trial(result.planned[0])

    assert [session.code for session in card.sessions] == [0, 0], trial.step(1, "session").output.read_text()
    assert trial.step(2, "session").output.read_text() == "FOUND []\n"
    # What was in the workspace when session 1 ended is part of it, and nobody went on writing it.
    assert "late" not in card.sessions[1].edited
    assert any("left were killed" in text for text in card.sessions[0].scrubbed)
