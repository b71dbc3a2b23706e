"""The honest roles. Session 1 has the requirements in its prompt; a later one knows what it finds in the workspace."""

from __future__ import annotations

from workshop import NOTES, STATE


def work(role, shop):
    """One session of a role."""
    ROLES[role](shop)


def oracle(shop):
    """Knows the reference solution and writes it."""
    start(shop)
    shop.learn_from_solution()
    finish(shop)


def nop(shop):
    """Does nothing at all."""
    shop.say("nothing to do")


def note_taker(shop):
    """Writes the requirements into state.md before it edits, where there is one, and reads it in later sessions."""
    take_over(shop, STATE if shop.has(STATE) else None)


def amnesiac(shop):
    """Works on what the prompt states and leaves no notes; the next session finds passing tests and is content."""
    take_over(shop, None)


def diligent(shop):
    """Takes notes in every arm, in a file of its own where the arm gives none."""
    take_over(shop, STATE if shop.has(STATE) else NOTES)


def first_only(shop):
    """Meets the first requirement that the prompt states, and stops there."""
    start(shop)
    shop.learn_from_prompt()
    shop.implement(shop.first())
    shop.run_tests()
    shop.commit("Add the first requirement")


def liar(shop):
    """Edits nothing and claims that all is done."""
    for name in sorted(shop.skills["requirements"]):
        shop.say("%s: implemented, tested, committed" % name)
    shop.say("All requirements are complete and every test passes.")


def literalist(shop):
    """Takes notes like the note-taker, but follows the rules of the arm to the letter: only what is new, if they say so."""
    take_over(shop, STATE if shop.has(STATE) else None, only_new=shop.only_new_notes())


def start(shop):
    """Build the baseline first, where the task leaves that to the agent, and commit it."""
    if shop.build():
        shop.run_tests()
        shop.commit("Build what TASK.md describes")


def take_over(shop, notes, only_new=False):
    """What a willing agent does: learn what there is to learn, note it down where it may, then do it."""
    start(shop)
    shop.learn_from_notes()
    shop.learn_from_prompt()
    shop.say("knows %s" % (", ".join(shop.known) or "of no open requirement"))
    if notes and shop.known and (shop.asked or not only_new):
        shop.write_notes(notes, only_asked=only_new)
    finish(shop)


def finish(shop):
    """Implement what is known, the first requirement first; test; commit."""
    shop.implement()
    shop.run_tests()
    shop.commit("Complete the open requirements")


ROLES = {
    "oracle": oracle,
    "nop": nop,
    "note-taker": note_taker,
    "amnesiac": amnesiac,
    "diligent": diligent,
    "first-only": first_only,
    "literalist": literalist,
    "liar": liar,
}
