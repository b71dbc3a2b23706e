"""How a trick is registered: by its function's name, to run before the honest work of a session or after it."""

from __future__ import annotations


def nothing(shop):
    """What most tricks do at one of the two moments."""


class Trick:
    """What a dishonest agent does around the work of its honest base."""

    def __init__(self):
        self.before = self.after = nothing


class Tricks(dict):
    """The tricks of one file, by name."""

    def before(self, function):
        """Registers what happens before the work, so before the first edit."""
        self._of(function).before = function
        return function

    def after(self, function):
        """Registers what happens after the work."""
        self._of(function).after = function
        return function

    def _of(self, function):
        return self.setdefault(function.__name__.replace("_", "-"), Trick())
