"""The requirements of schedule primitives in their source, and their code with changes.

A requirement is a `raise ScheduleError(...)`, or a call of a function `require_*` for nothing but
its refusal, in `tilewright.tir.schedule`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "tilewright" / "tir" / "schedule"
REQUIRING = re.compile(r"_?require_\w+$")


class Requirement(NamedTuple):
    """A statement that refuses.

    Attributes:
        module: the module's name in the package, such as ``primitives.split``.
        line: of the statement.
        text: the message, or the call.
        function: the name and the first line of the outermost function around it.
    """

    module: str
    line: int
    text: str
    function: tuple[str, int]


# --- finding requirements ---------------------------------------------------------------------


def requirements_of(path: Path) -> list[Requirement]:
    """The requirements in a file, in the order of its text."""
    module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    found = []
    for function in _functions(ast.parse(path.read_text())):
        first = min([function.lineno, *(item.lineno for item in function.decorator_list)])
        for node in ast.walk(function):
            text = requirement_text(node) if isinstance(node, ast.stmt) else None
            if text is not None:
                found.append(Requirement(module, node.lineno, text, (function.name, first)))
    return sorted(found, key=lambda item: item.line)


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """The functions of a module and the methods of its classes."""
    for item in tree.body:
        for candidate in item.body if isinstance(item, ast.ClassDef) else [item]:
            if isinstance(candidate, ast.FunctionDef):
                yield candidate


def requirement_text(node: ast.stmt) -> str | None:
    """What a statement requires; None if it is no requirement."""
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        if getattr(node.exc.func, "id", "") != "ScheduleError":
            return None
        return _message(node.exc.args[0])
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if REQUIRING.match(name):
            return ast.unparse(node.value)
    return None


def _message(node: ast.expr) -> str:
    """A message with dots for what is filled in."""
    if isinstance(node, ast.Constant):
        return re.sub(r"\{\d\}", "…", str(node.value))
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_message, node.values))
    if isinstance(node, ast.BinOp):
        return _message(node.left) + _message(node.right)
    if isinstance(node, ast.IfExp):
        return _message(node.body) + " / " + _message(node.orelse)
    return "…"


def find(modules: Sequence[str]) -> list[Requirement]:
    """The requirements of some modules; of all without any."""
    paths = sorted(PACKAGE.rglob("*.py"), key=lambda path: (path.parent == PACKAGE, path))
    found = [item for path in paths for item in requirements_of(path)]
    known = {item.module.rpartition(".")[2] for item in found}
    if unknown := set(modules) - known:
        raise SystemExit(f"no module with requirements is called {', '.join(sorted(unknown))}")
    return [r for r in found if not modules or r.module.rpartition(".")[2] in modules]


# --- exchanging code --------------------------------------------------------------------------


class _Change(ast.NodeTransformer):
    """Replaces the statements of some lines that are requirements."""

    def __init__(self, lines: set[int], change: Callable[[ast.stmt], ast.stmt]) -> None:
        self._lines = lines
        self._change = change

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.stmt) and node.lineno in self._lines and requirement_text(node):
            return ast.fix_missing_locations(ast.copy_location(self._change(node), node))
        return self.generic_visit(node)


def exchange(
    module: str, requirements: Sequence[Requirement], change: Callable[[ast.stmt], ast.stmt]
) -> None:
    """Change the statements of requirements of one module in the functions that are loaded."""
    path = PACKAGE.joinpath(*module.split(".")).with_suffix(".py")
    tree = _Change({item.line for item in requirements}, change).visit(ast.parse(path.read_text()))
    codes = dict(_codes(compile(tree, str(path), "exec")))
    loaded = dict(_loaded(importlib.import_module(f"tilewright.tir.schedule.{module}")))
    for key in {item.function for item in requirements}:
        loaded[key].__code__ = codes[key]


def _codes(code: types.CodeType) -> Iterator[tuple[tuple[str, int], types.CodeType]]:
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield (const.co_name, const.co_firstlineno), const
            yield from _codes(const)


def _loaded(module: types.ModuleType) -> Iterator[tuple[tuple[str, int], types.FunctionType]]:
    """The functions and methods of a module."""
    for item in vars(module).values():
        members = vars(item).values() if inspect.isclass(item) else [item]
        for member in members:
            function = inspect.unwrap(getattr(member, "fget", getattr(member, "__func__", member)))
            if isinstance(function, types.FunctionType):
                code = function.__code__
                yield (code.co_name, code.co_firstlineno), function
