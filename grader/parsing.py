"""What the boundary check needs to know of one Python source, from its syntax tree. Runs in a child process only.

`sandbox/child.py` loads this file and calls `answer`. Standard library only, and only `ast`: nothing of a source is
executed. Names are not resolved here, where one file is all that is known, but in boundaries.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

# More than anybody writes into one file. What is beyond is not read, and told as `dropped`.
MAX_FACTS = 20_000
MAX_TEXT = 300
IMPORTERS = frozenset({"import_module", "__import__", "run_module", "resolve_name", "find_spec", "import_string"})
RUNNERS = frozenset({"exec", "eval", "compile", "execfile", "exec_module", "load_module"})
LOADERS = frozenset({"spec_from_file_location", "SourceFileLoader", "load_source", "run_path"})
NESTED_SOURCES = 3


class Facts:
    """`imports` are `[line, level, module, name, bound]`, where name is "" for `import module`; `named` are modules
    named in a call as `[line, how, module]`; `chains` are dotted names as `[line, dotted]`, `aliases` are top-level
    `[bound, dotted]`; `dynamic` are `[line, how]` where a module's name cannot be known."""

    def __init__(self) -> None:
        self.imports: list[list[object]] = []
        self.named: list[list[object]] = []
        self.chains: list[list[object]] = []
        self.aliases: list[list[object]] = []
        self.dynamic: list[list[object]] = []
        self.seen: set[str] = set()

    def rows(self) -> dict[str, object]:
        """Everything but what was only needed to collect it; `dropped` counts what is too much."""
        kinds = {name: rows for name, rows in vars(self).items() if name != "seen"}
        dropped = sum(max(0, len(rows) - MAX_FACTS) for rows in kinds.values())
        return {**{name: rows[:MAX_FACTS] for name, rows in kinds.items()}, "dropped": dropped}


def answer(source: bytes) -> dict[str, object]:
    """The facts of a source; `error` alone where it does not parse."""
    try:
        tree = ast.parse(source)
        facts = Facts()
        Reader(facts, constants(tree)).read(tree)
        for statement in tree.body:
            facts.aliases.extend(aliases(statement))
        return facts.rows()
    except SyntaxError as error:
        where = f"line {error.lineno}: " if error.lineno else ""
        return {"error": where + text(error.msg or "syntax error")}
    except (ValueError, RecursionError, MemoryError, LookupError) as error:
        return {"error": text(f"{type(error).__name__}: {error}")}


def text(value: str) -> str:
    """A string of the source, cut to what an answer may hold."""
    return value[:MAX_TEXT]


def constants(tree: ast.Module) -> dict[str, str]:
    """Names that are given one text somewhere, which is enough to hide a module's name from a reader.

    A name that is given two can be either; no module is known by it.
    """
    found: dict[str, str] = {}
    twice: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and (value := folded(node.value, found)) is not None:
            for target in node.targets:
                if isinstance(target, ast.Name) and found.setdefault(target.id, value) != value:
                    twice.add(target.id)
    return {name: value for name, value in found.items() if name not in twice}


def folded(node: ast.expr | None, names: dict[str, str]) -> str | None:
    """The text that an expression is, if it is written out: constants, sums, joins and f-strings of such."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.Name(id=name):
            return names.get(name)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            parts = [folded(left, names), folded(right, names)]
        case ast.JoinedStr(values=values):
            parts = [folded(v.value if isinstance(v, ast.FormattedValue) else v, names) for v in values]
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value=str(between)), attr="join"),
            args=[ast.List(elts=items) | ast.Tuple(elts=items)],
        ):
            joined = [folded(item, names) for item in items]
            return between.join(p for p in joined if p is not None) if None not in joined else None
        case _:
            return None
    return "".join(p for p in parts if p is not None) if None not in parts else None


def dotted(node: ast.expr, names: dict[str, str]) -> str | None:
    """`a.b.c` as text; `getattr(a, "b")` counts as `a.b`."""
    parts: list[str] = []
    while True:
        match node:
            case ast.Attribute(value=inner, attr=name):
                node = inner
            case ast.Call(func=ast.Name(id="getattr"), args=[inner, key, *_]) if name := folded(key, names) or "":
                node = inner
            case ast.Name(id=name):
                return text(".".join([name, *reversed(parts)]))
            case _:
                return None
        parts.append(name)


def aliases(statement: ast.stmt) -> Iterator[list[object]]:
    """`[bound, dotted]` of a top-level `bound = dotted`."""
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name | ast.Attribute | ast.Call):
        value = dotted(statement.value, {})
        for target in statement.targets:
            if value and isinstance(target, ast.Name):
                yield [text(target.id), value]


class Reader:
    """Collects the facts of a tree; a text that is executed is read like the source around it."""

    def __init__(self, facts: Facts, names: dict[str, str], line: int | None = None, depth: int = 0) -> None:
        self.facts = facts
        self.names = names
        self.line = line
        self.depth = depth

    def read(self, tree: ast.AST) -> None:
        """Every node, whatever it stands in: functions, branches never taken, `if TYPE_CHECKING`."""
        for node in ast.walk(tree):
            match node:
                case ast.Import():
                    for alias in node.names:
                        bound = alias.asname or alias.name.partition(".")[0]
                        self.facts.imports.append([self.at(node), 0, text(alias.name), "", text(bound)])
                case ast.ImportFrom():
                    for alias in node.names:
                        bound = text(alias.asname or alias.name)
                        row = [self.at(node), node.level, text(node.module or ""), text(alias.name), bound]
                        self.facts.imports.append(row)
                case ast.Call():
                    self.call(node)
                case ast.Subscript() if self.is_modules(node.value):
                    self.name(node, "sys.modules", node.slice)
                case ast.Attribute(ctx=ast.Load()):
                    self.chain(node)

    def at(self, node: ast.stmt | ast.expr) -> int:
        """The line in the file, also for a node of a text that the file executes."""
        return self.line or node.lineno

    def call(self, node: ast.Call) -> None:
        """An import by a function, or a text that becomes code."""
        function = node.func
        called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        first = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "name"), None)
        if called in IMPORTERS:
            self.name(node, called, first)
        elif called in LOADERS:
            self.load(node, called)
        elif called in RUNNERS and not (called == "compile" and isinstance(function, ast.Attribute)):
            self.run(node, called, first)
        elif called == "get" and isinstance(function, ast.Attribute) and self.is_modules(function.value):
            self.name(node, "sys.modules", first)
        elif called == "getattr":
            self.chain(node)

    def is_modules(self, node: ast.expr) -> bool:
        """Whether an expression is `sys.modules` (or `modules`, imported from there)."""
        return (dotted(node, {}) or "").rpartition(".")[2] == "modules"

    def name(self, node: ast.expr, how: str, argument: ast.expr | None) -> None:
        """A module named in a call or subscript."""
        value = folded(argument, self.names)
        if value is None:
            self.facts.dynamic.append([self.at(node), how])
        else:
            self.facts.named.append([self.at(node), how, text(value.partition(":")[0])])

    def load(self, node: ast.Call, how: str) -> None:
        """A file that is run as a module: every text in the call is taken for a path, or a part of one."""
        self.facts.dynamic.append([self.at(node), how])
        for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
            for inner in ast.walk(argument):
                value = folded(inner, self.names) if isinstance(inner, ast.Constant | ast.Name) else None
                if value and (module := value.removesuffix(".py").strip("/.")):
                    self.facts.named.append([self.at(node), how, text(module.replace("/", "."))])

    def run(self, node: ast.expr, how: str, argument: ast.expr | None) -> None:
        """A text that becomes code: read if it is written out, noted if not."""
        value = folded(argument, self.names)
        if value is None or self.depth >= NESTED_SOURCES:
            self.facts.dynamic.append([self.at(node), how])
            return
        try:
            tree = ast.parse(value)
        except (SyntaxError, ValueError):
            return
        Reader(self.facts, {**self.names, **constants(tree)}, self.at(node), self.depth + 1).read(tree)

    def chain(self, node: ast.expr) -> None:
        """A dotted name, whose parts may lead into another module."""
        value = dotted(node, self.names)
        if value == "sys.path":
            self.facts.dynamic.append([self.at(node), value])
        elif value and "." in value and value not in self.facts.seen:
            # Where a name is used first is enough, and a file may use one many thousand times.
            self.facts.seen.add(value)
            self.facts.chains.append([self.at(node), value])
