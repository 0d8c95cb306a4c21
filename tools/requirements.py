"""The requirements of schedule primitives in their source, and their code with changes.

A requirement is a `raise ScheduleError(...)`, or a call of a function `require_*` for nothing but
its refusal, in `tilewright.tir.schedule`.
"""

from __future__ import annotations

import ast
import builtins
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
    """A statement that refuses, or one of several reasons for which it does.

    Attributes:
        module: the module's name in the package, such as ``primitives.split``.
        line: of the statement.
        text: the message, or the call; with the reason.
        function: the name and the first line of the outermost function around it.
        reason: the position of the reason among those of the branch that the statement is in; None
            for the statement.
    """

    module: str
    line: int
    text: str
    function: tuple[str, int]
    reason: int | None = None


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
            found += _reasons(module, node, (function.name, first))
    return sorted(found, key=lambda item: (item.line, -1 if item.reason is None else item.reason))


def _reasons(module: str, node: ast.AST, function: tuple[str, int]) -> Iterator[Requirement]:
    """The reasons of a branch that refuses, if there are several."""
    if isinstance(node, ast.If) and (reasons := _alternatives(node.test)) is not None:
        for statement in node.body:
            text = requirement_text(statement)
            if text is not None and isinstance(statement, ast.Raise):
                for position, reason in enumerate(reasons.values):
                    named = f"{text} (`{ast.unparse(reason)}`)"
                    yield Requirement(module, statement.lineno, named, function, position)


def _alternatives(condition: ast.expr) -> ast.BoolOp | None:
    """The `or` that a condition is, or the `and` of which it is the contrary."""
    if isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not):
        inside, kind = condition.operand, ast.And
    else:
        inside, kind = condition, ast.Or
    return inside if isinstance(inside, ast.BoolOp) and isinstance(inside.op, kind) else None


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """The functions of a module and the methods of its classes."""
    for item in tree.body:
        for candidate in item.body if isinstance(item, ast.ClassDef) else [item]:
            if isinstance(candidate, ast.FunctionDef):
                yield candidate


def requirement_text(node: ast.stmt) -> str | None:
    """What a statement requires; None if it is not a requirement."""
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


class _Drop(ast.NodeTransformer):
    """Makes a requirement do nothing."""

    def __init__(self, requirement: Requirement) -> None:
        self._requirement = requirement

    def _is_meant(self, node: ast.AST) -> bool:
        return (
            isinstance(node, ast.stmt)
            and node.lineno == self._requirement.line
            and requirement_text(node) is not None
        )

    def visit(self, node: ast.AST) -> Any:
        reason = self._requirement.reason
        if reason is None and self._is_meant(node):
            return ast.copy_location(ast.Pass(), node)
        if reason is not None and isinstance(node, ast.If) and any(map(self._is_meant, node.body)):
            reasons = _alternatives(node.test)
            assert reasons is not None
            never = ast.Constant(isinstance(reasons.op, ast.And))
            reasons.values[reason] = ast.copy_location(never, node)
        return self.generic_visit(node)


class _Note(ast.NodeTransformer):
    """Makes statements that refuse tell so, by a call of `requirement_refuses`."""

    def __init__(self, numbers: dict[int, int]) -> None:
        self._numbers = numbers

    def visit(self, node: ast.AST) -> Any:
        if not isinstance(node, ast.stmt) or requirement_text(node) is None:
            return self.generic_visit(node)
        call = f"requirement_refuses({self._numbers[node.lineno]})"
        (noted,) = ast.parse(f"try: pass\nexcept BaseException:\n {call}\n raise").body
        assert isinstance(noted, ast.Try)
        noted.body = [node]
        return ast.fix_missing_locations(ast.copy_location(noted, node))


def drop(requirement: Requirement) -> None:
    """Make a requirement do nothing in the code that is loaded."""
    _exchange(requirement.module, {requirement.function}, _Drop(requirement))


def note_refusals(found: Sequence[Requirement], note: Callable[[int], object]) -> None:
    """Let `note` be called with the position in `found` of each statement that refuses."""
    builtins.requirement_refuses = note  # type: ignore[attr-defined]
    for module in dict.fromkeys(item.module for item in found):
        own = [(n, r) for n, r in enumerate(found) if r.module == module and r.reason is None]
        numbers = {item.line: number for number, item in own}
        _exchange(module, {item.function for _, item in own}, _Note(numbers))


def _exchange(
    module: str, functions: set[tuple[str, int]], transformer: ast.NodeTransformer
) -> None:
    """Exchange the code of functions that are loaded by that of a changed module."""
    path = PACKAGE.joinpath(*module.split(".")).with_suffix(".py")
    tree = transformer.visit(ast.parse(path.read_text()))
    codes = dict(_codes(compile(tree, str(path), "exec")))
    loaded = dict(_loaded(importlib.import_module(f"tilewright.tir.schedule.{module}")))
    for key in functions:
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
