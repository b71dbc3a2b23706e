"""Which files a snippet of Python writes or prints, read from its syntax tree; nothing is run, and much stays unseen."""

from __future__ import annotations

import ast
import warnings

from .spans import Found, edit, unique, view

MAX_CODE = 200_000
_WRITERS = {"write_text", "write_bytes"}
_READERS = {"read_text", "read_bytes"}


def python_spans(code: str) -> list[Found]:
    """Files opened for writing are edits; files that are read while something is printed are views."""
    if len(code) > MAX_CODE:
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    names = _constants(tree)
    prints = any(isinstance(node, ast.Call) and _name(node.func) == "print" for node in ast.walk(tree))
    found: list[Found] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        path, writes = _access(node, names)
        if path is not None and writes:
            found.append(edit(path))
        elif path is not None and prints:
            found.append(view(path))
    return unique(found)


def _constants(tree: ast.AST) -> dict[str, str]:
    """Names that stand for one path: `p = "x"` and `p = Path("x")`."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            path = _path(node.value, names)
            if path is not None:
                names[node.targets[0].id] = path
    return names


def _path(node: ast.expr | None, names: dict[str, str]) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Call) and _name(node.func) == "Path" and len(node.args) == 1:
        return _path(node.args[0], names)
    return None


def _access(node: ast.Call, names: dict[str, str]) -> tuple[str | None, bool]:
    """The file that a call opens, and whether for writing."""
    name = _name(node.func)
    if name == "open" and isinstance(node.func, ast.Name):
        mode = node.args[1] if len(node.args) > 1 else next((k.value for k in node.keywords if k.arg == "mode"), None)
        text = mode.value if isinstance(mode, ast.Constant) and isinstance(mode.value, str) else "r"
        return _path(node.args[0] if node.args else None, names), bool(set(text) & set("wax+"))
    if isinstance(node.func, ast.Attribute):
        if name in _WRITERS | _READERS:
            return _path(node.func.value, names), name in _WRITERS
        if name == "open":
            mode = node.args[0] if node.args else None
            text = mode.value if isinstance(mode, ast.Constant) and isinstance(mode.value, str) else "r"
            return _path(node.func.value, names), bool(set(text) & set("wax+"))
    return None, False


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
