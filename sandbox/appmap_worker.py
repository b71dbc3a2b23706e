"""What the app map needs to know of one Python source, from its syntax tree. Runs in a child process only.

`child.py` loads this file and calls `answer`. Standard library only, and only `ast`: nothing of a source is executed.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

MAX_TEXT = 200
MAX_SYMBOLS = 1000
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
STOP = re.compile(
    r"add|all|and|any|are|base|can|check|cls|def|del|for|from|get|has|init|into|iter|key|make|max|min|new|next|not|obj|one|out|own|per|put|run"
    r"|self|set|test|tests|the|then|this|use|val|value|values|was|with|call|class|data|func|item|items|kwargs|args|list|dict|str|int|name|names|type"
)
LEAVES = frozenset({ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Raise, ast.Pass, ast.Assert})


Member = tuple[str, str, str]
Symbol = tuple[str, str, str, list[Member]]


def answer(source: bytes) -> dict[str, object]:
    """Purpose, public symbols, imports and whether it is a program; `error` alone where it does not parse."""
    try:
        tree = ast.parse(source)
        public = list(symbols(tree))
        return {
            "purpose": purpose(tree),
            "symbols": public,
            "topics": topics(public),
            "imports": sorted(imports(tree)),
            "main": any(is_main_guard(statement) for statement in tree.body),
        }
    except SyntaxError as error:
        where = f"line {error.lineno}: " if error.lineno else ""
        return {"error": where + text(error.msg or "syntax error")}
    except (ValueError, RecursionError, MemoryError, LookupError) as error:
        return {"error": text(f"{type(error).__name__}: {error}")}


def purpose(tree: ast.Module) -> str:
    """The first line of the module's docstring that says anything."""
    first = tree.body[0] if tree.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return next((text(line) for line in first.value.value.splitlines() if line.strip()), "")
    return ""


def symbols(tree: ast.Module) -> Iterator[Symbol]:
    """`(kind, name, signature, members)` of each public class and function at the top level, in source order."""
    exported = declared_names(tree)
    count = 0
    for node in definitions(tree):
        public = node.name in exported if exported is not None else not node.name.startswith("_")
        if not public:
            continue
        count += 1
        if count > MAX_SYMBOLS:
            return
        if isinstance(node, ast.ClassDef):
            yield "class", text(node.name), text(bases(node)), list(members(node))
        else:
            yield function_kind(node), text(node.name), text(signature(node)), []


def topics(public: list[Symbol]) -> list[str]:
    """The three words that the public names repeat most."""
    names = [name for _, name, _, _ in public]
    names += [name for _, _, _, methods in public for _, name, _ in methods if not name.startswith("_")]
    words = Counter(WORD.findall(" ".join(names)))
    counts: Counter[str] = Counter()
    for word, count in words.items():
        counts[word.lower()] += count
    often = [(-count, word) for word, count in counts.items() if count > 1 and len(word) > 2]
    return [word for _, word in sorted(often) if not STOP.fullmatch(word)][:3]


def members(node: ast.ClassDef) -> Iterator[Member]:
    """`(kind, name, signature)` of a class's public methods and of how it is made and called."""
    count = 0
    for member in definitions(node):
        if isinstance(member, ast.ClassDef) or (
            member.name.startswith("_") and member.name not in ("__init__", "__call__")
        ):
            continue
        count += 1
        if count > MAX_SYMBOLS:
            return
        yield function_kind(member), text(member.name), text(signature(member))


def definitions(
    parent: ast.Module | ast.ClassDef,
) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """Definitions in a body, those under `if`, `try` and `with` too; the later of two with one name wins."""
    found: dict[str, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef] = {}
    todo: list[ast.AST] = list(reversed(parent.body))
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            found[node.name] = node
        elif isinstance(node, (ast.If, ast.Try, ast.TryStar, ast.With, ast.ExceptHandler)):
            todo.extend(reversed([child for block in BLOCKS for child in getattr(node, block, ())]))
    return iter(found.values())


def declared_names(tree: ast.Module) -> frozenset[str] | None:
    """The names of a literal `__all__`, or None."""
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            value = getattr(node, "value", None)
            if isinstance(value, (ast.List, ast.Tuple, ast.Set)):
                names = [item.value for item in value.elts if isinstance(item, ast.Constant)]
                return frozenset(name for name in names if isinstance(name, str))
    return None


def imports(tree: ast.Module) -> set[tuple[int, str, str]]:
    """`(level, module, name)` of every import statement at any depth; name is "" for `import module`."""
    found: set[tuple[int, str, str]] = set()
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        for block in BLOCKS:
            children = getattr(node, block, None)
            if type(children) is not list:
                continue
            for child in children:
                if isinstance(child, ast.Import):
                    found.update((0, identifier(alias.name), "") for alias in child.names)
                elif isinstance(child, ast.ImportFrom):
                    found.update(
                        (child.level, identifier(child.module or ""), identifier(alias.name)) for alias in child.names
                    )
                elif type(child) not in LEAVES:
                    todo.append(child)
    return found


def is_main_guard(statement: ast.stmt) -> bool:
    """Whether the statement is `if __name__ == "__main__":`."""
    return (
        isinstance(statement, ast.If)
        and isinstance(statement.test, ast.Compare)
        and isinstance(statement.test.left, ast.Name)
        and statement.test.left.id == "__name__"
    )


def function_kind(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"


def signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Parameters and result as one line, from the tree: the source's own layout does not show."""
    result = f" -> {unparse(node.returns)}" if node.returns else ""
    return f"({unparse(node.args)}){result}"


def bases(node: ast.ClassDef) -> str:
    parts = [unparse(base) for base in node.bases]
    parts += [
        f"{keyword.arg}={unparse(keyword.value)}" if keyword.arg else f"**{unparse(keyword.value)}"
        for keyword in node.keywords
    ]
    return f"({', '.join(parts)})" if parts else ""


def unparse(node: ast.AST) -> str:
    try:
        return node.id if isinstance(node, ast.Name) else ast.unparse(node)
    except (ValueError, RecursionError):  # some f-strings, and trees deeper than the stack
        return "..."


def text(value: str) -> str:
    """One short printable line: what hostile text may become in a map."""
    value = " ".join(value[: MAX_TEXT * 4].split())
    if not value.isprintable():
        value = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in value)
    return value if len(value) <= MAX_TEXT else value[: MAX_TEXT - 1] + "\N{HORIZONTAL ELLIPSIS}"


def identifier(value: str) -> str:
    return value if len(value) <= MAX_TEXT else value[:MAX_TEXT]
