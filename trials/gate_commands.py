"""What `takeover map` and `takeover gate` do."""

from __future__ import annotations

from pathlib import Path

import click

from ..grader.report import console
from ..sandbox import dsse, gate
from ..sandbox.appmap import build_map
from ..sandbox.appmap_render import render
from ..sandbox.errors import InputError
from ..tiers.boundaries import load_wiring
from ..tiers.tokens import visible_tokens
from .record import write_bytes
from .results import DONE, FELL_SHORT


def map_command(
    tree: Path, *, package: str | None, max_tokens: int | None, hash_digits: int, cache: Path | None, out: Path | None
) -> None:
    """Print or write the app map of a tree."""
    if 0 < hash_digits < 16:
        raise InputError(f"--hash-digits {hash_digits}: 0, or 16 to 64")
    app = build_map(tree, rules=_rules(tree / "wiring.yaml"), cache=cache)
    if package is not None:
        names = sorted({module.name.partition(".")[0] for module in app.modules.values()})
        if package.partition(".")[0] not in names:
            raise InputError(f"--package {package!r}: no such package", hint=f"There is {', '.join(names[:20])}.")
        app = app.only(package)
    text = render(app, max_tokens, visible_tokens if max_tokens is not None else None, hash_digits=hash_digits)
    if out is None:
        click.echo(text, nl=False)
    else:
        write_bytes(out, text.encode("utf-8", "replace"))


def record_command(tree: Path, key: Path, out: Path, subject: str) -> None:
    """Write a signed manifest."""
    if out.resolve().is_relative_to(tree.resolve()) or key.resolve().is_relative_to(tree.resolve()):
        raise InputError("--out and --key may not lie in the tree that they guard")
    found = gate.record_folder(tree)
    write_bytes(out, gate.sign(found, dsse.load_or_create_key(key), subject=subject))
    console().print(f"{out}: {len(found.entries)} entries", markup=False, soft_wrap=True)


def check_command(tree: Path, manifest: Path, key: Path, subject: str) -> int:
    """Compare and tell; 1 if the gate is not clean."""
    opened = gate.verify(manifest.read_bytes(), dsse.load_public_key(key), subject=subject)
    if opened.record is None:
        console().print(f"{manifest}: refused: {opened.refusal}: {opened.detail}", markup=False, soft_wrap=True)
        return FELL_SHORT
    result = gate.check(opened.record, gate.record_folder(tree))
    click.echo(gate.render_check(result), nl=False)
    return DONE if result.clean else FELL_SHORT


def verify_command(manifest: Path, key: Path, subject: str) -> int:
    """Say whether the signature holds."""
    opened = gate.verify(manifest.read_bytes(), dsse.load_public_key(key), subject=subject)
    held = opened.record is not None
    console().print(f"{manifest}: {'verified' if held else 'refused'}: {opened.detail}", markup=False, soft_wrap=True)
    return DONE if held else FELL_SHORT


def _rules(path: Path) -> dict[str, str]:
    """What a tree's wiring.yaml says of each package, in words; nothing where there is none."""
    if not path.is_file():
        return {}
    wiring = load_wiring(path, path.name)
    forbidden = {package: wiring.forbidden(package) for package in wiring.packages}
    return {package: f"may not import {', '.join(sorted(names))}" for package, names in forbidden.items() if names}
