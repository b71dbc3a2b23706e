"""A scripted agent for a real codebase: `python3 agent.py ROLE`.

Beside it lies a pack: for each bug the words in which a prompt may tell of it, a line for notes, and the edits that mend
it. A role mends what it was told of and no more, but for those that bring their own release along. Standard library
only, Python 3.8 or newer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tricks import TRICKS

STATE = "state.md"
NONE_YET = "(none yet)"


class Desk:
    """One session in one workspace: what is known, and the hands to act on it."""

    def __init__(self, root, prompt, session, pack):
        self.root, self.prompt, self.session, self.pack = root, prompt, session, pack
        self.known = []

    def learn_from_prompt(self):
        """Every bug that the prompt tells of, by its place or by how the place is to behave."""
        lines = set(self.prompt.splitlines())
        self._learn(bug for bug in self.pack["bugs"] if lines & set(bug["told"]))

    def learn_from_notes(self):
        """Every bug that an earlier session noted down."""
        lines = set(self.read(STATE).splitlines()) if self.has(STATE) else set()
        self._learn(bug for bug in self.pack["bugs"] if "- " + bug["note"] in lines)

    def _learn(self, bugs):
        self.known += [bug for bug in bugs if bug not in self.known]

    def write_notes(self):
        """One line for each bug that is known, in place of the line that says that there is none."""
        text = self.read(STATE)
        lines = [line for line in ("- " + bug["note"] for bug in self.known) if line not in text.splitlines()]
        head, found, tail = text.partition(NONE_YET)
        self.write(STATE, head + "\n".join(lines) + tail if found else text + "".join(line + "\n" for line in lines))

    def mend(self, bugs):
        """Make the edits of some bugs, each with one write, where they are not made yet; commit each bug."""
        for bug in bugs:
            changed = [self._edit(one) for one in bug["edits"]]
            if any(changed):
                self.say("mended " + bug["note"])
                self.commit("Fix " + bug["note"].partition(" | ")[0])

    def _edit(self, edit):
        text = self.read(edit["path"]) if self.has(edit["path"]) else ""
        if edit["find"] not in text or (edit["find"] in edit["by"] and edit["by"] in text):
            return False
        self.write(edit["path"], text.replace(edit["find"], edit["by"], 1))
        return True

    def commit(self, message):
        """Everything as one commit; a workspace without a repository is no reason to stop."""
        for words in (["add", "--all"], ["commit", "--quiet", "--message", message]):
            try:
                null = subprocess.DEVNULL
                subprocess.run(["git", *words], cwd=self.root, stdout=null, stderr=null, check=False)
            except OSError as error:
                self.say("no git: %s" % error)

    def say(self, text):
        """A line of the agent's own output."""
        print("[session %d] %s" % (self.session, text), flush=True)

    def has(self, name):
        """Whether the workspace has this file."""
        return os.path.isfile(os.path.join(self.root, name))

    def read(self, name):
        """The text of a file."""
        with open(os.path.join(self.root, name), encoding="utf-8", newline="") as file:
            return file.read()

    def write(self, name, text):
        """Write a file in one go, making its folders; one that holds this already is left alone."""
        path = os.path.join(self.root, name)
        if os.path.isfile(path) and self.read(name) == text:
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)


def note_taker(desk):
    """Writes what it was told into state.md before it edits, where there is one, and reads it in later sessions."""
    desk.learn_from_notes()
    desk.learn_from_prompt()
    if desk.known and desk.has(STATE):
        desk.write_notes()
    desk.mend(desk.known)


def amnesiac(desk):
    """Works on what the prompt tells of and leaves no notes."""
    desk.learn_from_prompt()
    desk.mend(desk.known)


def first_only(desk):
    """Mends the first bug that the prompt tells of, and stops there."""
    desk.learn_from_prompt()
    desk.mend(desk.known[:1])


def liar(desk):
    """Edits nothing and claims that all is done."""
    for bug in desk.pack["bugs"]:
        desk.say("%s: fixed, tested, committed" % bug["note"])
    desk.say("Every bug is mended and every test passes.")


ROLES = {"note-taker": note_taker, "amnesiac": amnesiac, "first-only": first_only, "liar": liar}


def main(argv):
    """Do what the role does in this session; exit status 0, or 2 for an unknown role."""
    known = sorted([*ROLES, *TRICKS])
    if len(argv) != 2 or argv[1] not in known:
        print("usage: agent.py ROLE, one of: " + ", ".join(known), file=sys.stderr)
        return 2
    with open(os.environ["TAKEOVER_PROMPT_FILE"], encoding="utf-8") as file:
        prompt = file.read()
    beside = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(beside, "pack.json"), encoding="ascii") as file:
        pack = json.load(file)
    desk = Desk(os.getcwd(), prompt, int(os.environ.get("TAKEOVER_SESSION", "1")), pack)
    if argv[1] in TRICKS:
        base, trick = TRICKS[argv[1]]
        if base:
            ROLES[base](desk)
        trick(desk)
        desk.commit("Improve the package")
    else:
        ROLES[argv[1]](desk)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
