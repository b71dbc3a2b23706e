"""Starts mini-swe-agent on the session's prompt.

Its model is the run's, in runs that have one. Where there is none, or where somebody gave commands, canned commands
take its place. The commands are a JSON list of shell commands, one for each turn: in MINI_COMMANDS, in the file that
MINI_COMMANDS_FILE names, in ~/mini/session-N.json or in ~/mini/commands.json; else a few that read the
prompt, keep a note of it and add a comment to a source file.
"""

import json
import os
import sys
from pathlib import Path

SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
DEFAULT = [
    "git log --oneline | head -n 5; ls",
    'cat "$TAKEOVER_PROMPT_FILE" >> state.md',
    'echo "# seen in session $TAKEOVER_SESSION" >> "$(git ls-files "*.py" | grep -v test | head -n 1)"',
    "git add -A && git commit -q -m 'Note the task'",
]


def commands(home):
    """The first list of commands that somebody gave, if any."""
    given = os.environ.get("MINI_COMMANDS")
    if given:
        return json.loads(given)
    session = os.environ.get("TAKEOVER_SESSION", "1")
    names = [os.environ.get("MINI_COMMANDS_FILE"), f"mini/session-{session}.json", "mini/commands.json"]
    for name in filter(None, names):
        path = home / name
        if path.is_file():
            return json.loads(path.read_text(encoding="utf-8"))
    return None


def turn(command):
    """One answer of the model, in the form that mini-swe-agent's deterministic model replays."""
    return {"role": "assistant", "content": command, "extra": {"actions": [{"command": command}]}}


def model(home):
    """Which model mini-swe-agent is to use, in the words of its own configuration."""
    name, given = os.environ.get("TAKEOVER_MODEL"), commands(home)
    if given is None and (name or os.environ.get("TAKEOVER_GATEWAY")):
        return {"model_name": f"openai/{name or 'takeover-model'}"}
    return {
        "model_name": "canned",
        "model_class": "minisweagent.models.test_models.DeterministicModel",
        "outputs": [turn(command) for command in [*(DEFAULT if given is None else given), SUBMIT]],
    }


def main():
    home = Path(os.environ["HOME"])
    prompt = Path(os.environ["TAKEOVER_PROMPT_FILE"]).read_text(encoding="utf-8")
    config = {"run": {"task": prompt}, "model": model(home)}
    path = home / "mini-config.yaml"  # JSON is YAML
    path.write_text(json.dumps(config), encoding="utf-8")
    program = str(Path(sys.executable).with_name("mini"))
    output = str(home / "trajectory.json")
    os.execv(
        program,
        [program, "-c", "mini.yaml", "-c", str(path), "-y", "--exit-immediately", "-l", "0", "-o", output],
    )


if __name__ == "__main__":
    main()
