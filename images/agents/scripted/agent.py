"""A scripted agent: `python3 agent.py ROLE`.

It is an agent like any other: it reads its prompt from the file that TAKEOVER_PROMPT_FILE names, works in the current
directory, prints what it does, and exits. Beside it lie a skill pack (how to program this task, without a single value
of what was asked for) and, for the oracle alone, the values. Standard library only, Python 3.8 or newer.
"""

from __future__ import annotations

import importlib
import json
import os
import sys

from roles import ROLES, work
from workshop import Workshop

# Who is no honest role; loaded when one is asked for, for that takes as long as all else at the start.
OTHERS = "others"


def main(argv):
    """Do what the role does in this session; exit status 0, or 2 for an unknown role."""
    role = argv[1] if len(argv) == 2 else ""
    others = None if role in ROLES else importlib.import_module(OTHERS)
    if others and role not in others.NAMES:
        print("usage: agent.py ROLE, one of: " + ", ".join(sorted([*ROLES, *others.NAMES])), file=sys.stderr)
        return 2
    shop = open_workshop(os.path.dirname(os.path.abspath(__file__)))
    if others:
        others.play(role, shop)
    else:
        work(role, shop)
    return 0


def open_workshop(folder):
    """The workspace, the prompt and the packs."""
    with open(os.environ["TAKEOVER_PROMPT_FILE"], encoding="utf-8") as file:
        prompt = file.read()
    session = int(os.environ.get("TAKEOVER_SESSION", "1"))
    return Workshop(os.getcwd(), prompt, session, pack(folder, "skill_pack.json"), pack(folder, "solution_pack.json"))


def pack(folder, name):
    """A pack as data; None where the role does not have it."""
    try:
        with open(os.path.join(folder, name), encoding="ascii") as file:
            return json.load(file)
    except FileNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv))
