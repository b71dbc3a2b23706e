"""Changes one Python source by its meaning; `sandbox.children.ask` runs this file, and nothing imports it.

A question is one line of JSON and then the source. The line holds `do` and what that needs, and `libraries`: where
the parent has libcst, since a child has no site-packages of its own. The source is parsed, changed and written
again with its formatting; it is never imported or run. The answer is the new source in base64, or why there is no
place for the change.
"""

from __future__ import annotations

import ast
import base64
import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import libcst as cst

# Methods that compare two values, and one that takes the second for its message and is content with any first.
COMPARING, CONTENT = ("assertEqual", "assertEquals", "assertIs", "assertAlmostEqual"), "assertIsNotNone"


class NoPlace(Exception):
    """What was to be changed is not there."""


def answer(data: bytes) -> dict[str, str]:
    """The new source, or the reason why there is none."""
    line, _, source = data.partition(b"\n")
    wish = json.loads(line)
    sys.path.extend(path for path in wish["libraries"] if path not in sys.path)
    import libcst

    try:
        module = libcst.parse_module(source)
        changed = Change(libcst, wish).of(module)
        new = changed.bytes
        ast.parse(new)
    except NoPlace as reason:
        return {"refused": str(reason)}
    except (libcst.ParserSyntaxError, SyntaxError, ValueError, LookupError) as error:
        return {"refused": f"not Python that can be changed: {type(error).__name__}"}
    except RecursionError:
        return {"refused": "nested too deeply to be changed"}
    if new == source:
        return {"refused": "the change would change nothing"}
    return {"source": base64.b64encode(new).decode("ascii")}


class Change:
    """One change, as the question asks for it."""

    def __init__(self, library: Any, wish: dict[str, Any]) -> None:
        self.cst = library
        self.wish = wish

    def of(self, module: cst.Module) -> cst.Module:
        """The changed module."""
        ways: dict[str, Callable[[cst.Module], cst.Module]] = {
            "regress": self.regress,
            "import": self.add_import,
            "weaken": self.weaken,
            "comment": self.comment,
            "docstring": self.docstring,
        }
        return ways[self.wish["do"]](module)

    def regress(self, module: cst.Module) -> cst.Module:
        """The function that is meant returns a little less (or more) where one parameter is above a threshold."""
        function = self.function(module, self.wish["function"])
        parameter = self.wish["parameter"]
        if parameter not in self.parameters(function):
            raise NoPlace(f"{self.wish['function']} has no parameter {parameter}")
        statement, value = self.last_return(function)
        old = module.code_for_node(value)
        plain = isinstance(value, self.cst.Name)
        shown = old if plain else f"({old})"
        off = f"{shown} {self.wish['sign']} {0 if self.wish['twin'] else self.wish['by']}"
        new = self.cst.parse_expression(f"{off} if {parameter} > {self.wish['over']} else {shown}")
        line = self.cst.SimpleStatementLine([self.cst.Return(value=new)], leading_lines=self.marked(statement))
        return self.replaced(module, statement, line)

    def add_import(self, module: cst.Module) -> cst.Module:
        """One more import, after the last one that stands at the top level."""
        text = self.wish["statement"]
        known = {module.code_for_node(part) for line in module.body if (part := self.only(line)) is not None}
        if self.wish["meant"] in known:
            raise NoPlace(f"it has `{self.wish['meant']}` already")
        body = list(module.body)
        kinds = (self.cst.Import, self.cst.ImportFrom)
        at = [n for n, line in enumerate(body) if isinstance(part := self.only(line), kinds) and part]
        if not at:
            raise NoPlace("no import stands at its top level")
        new = cast("cst.SimpleStatementLine", self.cst.parse_statement(text, config=module.config_for_parsing))
        body.insert(at[-1] + 1, new.with_changes(leading_lines=self.comments()))
        return module.with_changes(body=body)

    def weaken(self, module: cst.Module) -> cst.Module:
        """The first comparison in a test that calls what is meant no longer compares (a twin: is only written anew)."""
        wanted = self.wish["calls"]
        for call in self.all(module, self.cst.Call):
            name = call.func.attr.value if isinstance(call.func, self.cst.Attribute) else ""
            if name in COMPARING and len(call.args) == 2 and wanted in module.code_for_node(call.args[0]):
                return self.replaced(module, call, self.weak_call(call, len(CONTENT) - len(name)))
        for check in self.all(module, self.cst.Assert):
            test = check.test
            if isinstance(test, self.cst.Comparison) and wanted in module.code_for_node(test.left):
                return self.replaced(module, check, self.weak_assert(module, check))
        raise NoPlace(f"no test compares what {wanted} gives")

    def weak_call(self, call: cst.Call, longer: int) -> cst.Call:
        """The call under the other name; the twin as much longer by blanks."""
        first, second = call.args
        if not self.wish["twin"]:
            return call.with_changes(func=call.func.with_changes(attr=self.cst.Name(CONTENT)))
        blank = self.cst.SimpleWhitespace(" " * (1 + longer))
        return call.with_changes(args=[first.with_changes(comma=self.cst.Comma(whitespace_after=blank)), second])

    def weak_assert(self, module: cst.Module, check: cst.Assert) -> cst.Assert:
        test = cast("cst.Comparison", check.test)
        left = module.code_for_node(test.left)
        right = module.code_for_node(test.comparisons[0].comparator)
        text = f"assert {left}=={right}" if self.wish["twin"] else f"assert {left}, {right}"
        line = cast("cst.SimpleStatementLine", self.cst.parse_statement(text, config=module.config_for_parsing))
        return cast("cst.Assert", line.body[0])

    def comment(self, module: cst.Module) -> cst.Module:
        """Comment lines at the top (below the docstring and the future), above the last function, or at the end."""
        position = self.wish["position"]
        if position == "end":
            lines = [*module.footer, self.cst.EmptyLine(indent=False), *self.comments()]
            return module.with_changes(footer=lines)
        functions = [n for n, part in enumerate(module.body) if isinstance(part, self.cst.FunctionDef)]
        if position == "middle":
            if not functions:
                raise NoPlace("it has no function at its top level")
            at = functions[-1]
        else:
            at = next((n for n, part in enumerate(module.body) if not self.early(part)), -1)
            if at < 0:
                raise NoPlace("nothing stands in it")
        body = list(module.body)
        body[at] = body[at].with_changes(leading_lines=[*body[at].leading_lines, *self.comments()])
        return module.with_changes(body=body)

    def docstring(self, module: cst.Module) -> cst.Module:
        """Another docstring in the place of the module's own."""
        first = module.body[0] if module.body else None
        part = self.only(first) if first is not None else None
        if first is None or not isinstance(part, self.cst.Expr) or not isinstance(part.value, self.cst.SimpleString):
            raise NoPlace("it has no docstring")
        text = "\n".join(self.wish["lines"]).replace("\\", "\\\\").replace('"', '\\"')
        new = part.with_changes(value=self.cst.SimpleString(f'"""{text}"""'))
        return self.replaced(module, part, new)

    def function(self, module: cst.Module, name: str) -> cst.FunctionDef:
        """The definition that a dotted name means: the last one of that name, as Python takes it."""
        body: Sequence[Any] = module.body
        found: Any = None
        for part in name.split("."):
            kinds = (self.cst.FunctionDef, self.cst.ClassDef)
            named = [node for node in body if isinstance(node, kinds) and node.name.value == part]
            if not named:
                raise NoPlace(f"it has no {name}")
            found = named[-1]
            body = found.body.body
        if not isinstance(found, self.cst.FunctionDef):
            raise NoPlace(f"{name} is no function")
        return cast("cst.FunctionDef", found)

    def parameters(self, function: cst.FunctionDef) -> list[str]:
        """The names of everything that it takes."""
        given = function.params
        return [one.name.value for one in (*given.posonly_params, *given.params, *given.kwonly_params)]

    def last_return(self, function: cst.FunctionDef) -> tuple[cst.SimpleStatementLine, cst.BaseExpression]:
        """The statement with which it ends, and what that returns."""
        body: Any = function.body
        last = body.body[-1] if isinstance(body, self.cst.IndentedBlock) else None
        part = self.only(last) if last is not None else None
        if not isinstance(part, self.cst.Return) or part.value is None:
            raise NoPlace(f"{function.name.value} does not end by returning a value")
        return cast("cst.SimpleStatementLine", last), part.value

    def marked(self, statement: cst.SimpleStatementLine) -> list[cst.EmptyLine]:
        """The lines above a statement, and the comment if one is wanted."""
        return [*statement.leading_lines, *self.comments()]

    def comments(self) -> list[cst.EmptyLine]:
        """The wanted comment, line by line."""
        lines = [line.rstrip() for line in self.wish.get("lines") or ()]
        made = [self.cst.Comment(f"# {line}".rstrip()) for line in lines]
        return [self.cst.EmptyLine(comment=comment) for comment in made]

    def only(self, line: object) -> Any:
        """The one small statement of a line; None if it is something else."""
        if isinstance(line, self.cst.SimpleStatementLine) and len(line.body) == 1:
            return line.body[0]
        return None

    def early(self, line: object) -> bool:
        """Whether it must come before anything else: a docstring, an import from the future."""
        part = self.only(line)
        if isinstance(part, self.cst.Expr):
            return isinstance(part.value, self.cst.SimpleString)
        module = getattr(part, "module", None) if isinstance(part, self.cst.ImportFrom) else None
        return isinstance(module, self.cst.Name) and module.value == "__future__"

    def all(self, module: cst.Module, kind: Any) -> list[Any]:
        """Every node of a kind, in the order of the source."""
        found: list[Any] = []
        todo: list[Any] = [module]
        while todo:
            node = todo.pop()
            found += [node] if isinstance(node, kind) else []
            todo.extend(reversed(node.children))
        return found

    def replaced(self, module: cst.Module, old: object, new: object) -> cst.Module:
        """The module with one node, and no other like it, replaced."""
        return cast("cst.Module", module.deep_replace(cast(Any, old), cast(Any, new)))
