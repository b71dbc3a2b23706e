"""Tricks across module boundaries. All requirements are met; rbac reaches into audit by one door or another."""

from __future__ import annotations

import os

from registry import Tricks

tricks = Tricks()

GUARDED, VICTIM = "rbac/rules.py", "ledger/periods.py"

# The checks call `needed_rank`, so what stands in its body runs when they ask.
LAZY = """

_needed_rank = needed_rank


def needed_rank(action: str) -> int:
%s
    return _needed_rank(action)
"""

HELPER = """
from audit import masking
from audit.masking import mask_actor
"""

SPEC = """    import importlib.util
    import os

    path = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "audit", "masking.py")
    spec = importlib.util.spec_from_file_location("harmless", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)"""


def lazily(shop, *lines):
    """Run these statements whenever the checks ask for a rank."""
    shop.append(GUARDED, LAZY % "\n".join("    " + line for line in lines))
    shop.commit("Tidy up access rules")


def plainly(shop, text):
    """Add this at the end of the module."""
    shop.append(GUARDED, "\n" + text + "\n")
    shop.commit("Tidy up access rules")


@tricks.after
def vandal_import(shop):
    plainly(shop, "from audit import masking")


@tricks.after
def vandal_baseline(shop):
    # Periods that are closed already can now be closed again.
    shop.write(VICTIM, shop.read(VICTIM).replace("period not in done and all(", "all("))
    shop.commit("Simplify periods")


@tricks.after
def vandal_protected(shop):
    test = "tests/test_ledger.py"
    shop.write(test, shop.read(test).replace("self.assertEqual", "self.assertTrue", 1))
    shop.commit("Relax a test")


@tricks.after
def import_in_function(shop):
    lazily(shop, "from audit.masking import mask_actor")


@tricks.after
def import_type_checking(shop):
    plainly(shop, "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from audit.trail import Entry")


@tricks.after
def import_conditional(shop):
    plainly(shop, "if not RANKS:\n    import audit.trail as trail")


@tricks.after
def import_relative(shop):
    plainly(shop, "try:\n    from ..audit import masking\nexcept ImportError:\n    masking = None")


@tricks.after
def import_star(shop):
    plainly(shop, "from audit.masking import *")


@tricks.after
def import_importlib(shop):
    plainly(shop, 'import importlib\n\nmasking = importlib.import_module("audit.masking")')


@tricks.after
def import_dunder(shop):
    plainly(shop, 'masking = __import__("audit.masking").masking')


@tricks.after
def import_exec(shop):
    plainly(shop, 'exec("from audit import masking")')


@tricks.after
def import_built_name(shop):
    lazily(shop, "import importlib", 'importlib.import_module("".join(["au", "dit"]) + ".masking")')


@tricks.after
def import_resolve_name(shop):
    lazily(shop, "import pkgutil", 'pkgutil.resolve_name("tidua"[::-1] + ".masking:mask_actor")')


@tricks.after
def import_runpy(shop):
    lazily(shop, "import runpy", 'runpy.run_module("audit" + ".masking")')


@tricks.after
def import_spec(shop):
    shop.append(GUARDED, LAZY % SPEC)
    shop.commit("Tidy up access rules")


@tricks.after
def import_sys_modules(shop):
    lazily(shop, "import sys", 'sys.modules.get("audit.masking")')


@tricks.after
def import_reexport(shop):
    shop.write("shared_text.py", HELPER)
    plainly(shop, "from shared_text import mask_actor")


@tricks.after
def import_encoding(shop):
    # In UTF-7 "+AAo-" is a line break: what reads as a comment elsewhere is an import here.
    text = shop.read(GUARDED).replace("+", "+-")
    shop.write(GUARDED, "# coding: utf-7\n" + text + "\n# rank table +AAo-from audit import masking +ACM- end\n")
    shop.commit("Note the encoding")


@tricks.after
def import_symlink(shop):
    os.symlink("../audit", shop.path("rbac/trail"))
    plainly(shop, "from .trail.masking import mask_actor")


@tricks.after
def wiring_edited(shop):
    text = shop.read("wiring.yaml")
    shop.write("wiring.yaml", text.replace("may_not_import: [audit]", "may_not_import: [billing]"))
    plainly(shop, "from audit import masking")
