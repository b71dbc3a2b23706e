"""What all receivers share: how they read a workspace, and how they do what is open in it."""

from __future__ import annotations

import os
import re
import subprocess

from receivers_text import careful, edited
from roles import start
from workshop import NOTES, STATE

HANDOFF = "HANDOFF.md"
CLOSED = re.compile(r"all implemented, tested and committed")
TEXTS = (".py", ".md", ".yaml", ".toml")


def finish(shop, look):
    """Do what the notes say is open, within the files as they are; with `look`, hold each edited file to wiring.yaml."""
    start(shop)
    shop.learn_from_notes()
    shop.learn_from_prompt()
    shop.say("knows %s" % (", ".join(shop.known) or "of no open requirement"))
    for path, text in edited(shop):
        shop.say("editing " + path)
        if look:
            text, crossing = careful(path, text, shop.read("wiring.yaml"))
            for line in crossing:
                shop.say("violation of wiring.yaml in %s, removed: %s" % (path, line))
        shop.write(path, text)
    shop.run_tests()
    shop.commit("Complete the open requirements")


def said(shop):
    """The notes that sessions leave to each other."""
    return "\n".join(shop.read(name) for name in (STATE, NOTES, HANDOFF, "transcript.md") if shop.has(name))


def files(shop):
    """Every file of the workspace that is text, but git's own."""
    for parent, folders, names in os.walk(shop.root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith(TEXTS):
                yield os.path.relpath(os.path.join(parent, name), shop.root)


def git(shop, *arguments):
    """What git says, as text; nothing if it fails."""
    done = subprocess.run(
        ("git", *arguments), cwd=shop.root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
    )
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""
