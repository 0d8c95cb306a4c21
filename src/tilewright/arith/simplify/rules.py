"""Rewrite rules as text, compiled to functions.

A rule is written as Python expressions over pattern variables::

    Rule("min(max(x, y), x)", "x")
    Rule("x // c1 // c2", "x // (c1 * c2)", "c1 > 0 and c2 > 0")

A name that starts with ``c`` stands for an integer constant and is its value in the condition and
in constant parts of the result; any other name stands for any expression, and the same name for the
same expression. ``and``, ``or``, ``not``, comparisons, ``min``, ``max`` and ``a if p else b`` (a
`Select`) stand for the nodes. A condition may ask ``lower(x)`` and ``upper(x)``, constant bounds.

Three conditions need not be written, the compiler adds them: a part of the left side that is absent
from the right side can be evaluated without failing; a sum below an operator other than a sum does
not wrap around; and computed constants fit their dtype.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tilewright.error import InternalError
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Not,
    Or,
    Select,
    Sub,
)


class Rule(NamedTuple):
    """``lhs`` becomes ``rhs`` where the condition ``when`` holds."""

    lhs: str
    rhs: str
    when: str = "True"


class SumRule(NamedTuple):
    """In a sum, ``ratio * first + second`` becomes ``result`` (and so do multiples of it)."""

    first: str
    ratio: str
    second: str
    result: str
    when: str = "True"


_NODES: dict[type[ast.AST], type[Expr]] = {
    ast.Add: Add, ast.Sub: Sub, ast.Mult: Mul, ast.FloorDiv: FloorDiv, ast.Mod: FloorMod,
    ast.And: And, ast.Or: Or, ast.Lt: LT, ast.LtE: LE, ast.Gt: GT, ast.GtE: GE,
    ast.Eq: EQ, ast.NotEq: NE, ast.Not: Not, ast.IfExp: Select,
}  # fmt: skip
_CALLS: dict[str, type[Expr]] = {"min": Min, "max": Max}
_RING = frozenset({Add, Sub, Mul})
_SLOTS: dict[type[Expr], tuple[str, ...]] = {
    Not: ("a",),
    Select: ("condition", "true_value", "false_value"),
}
_SCOPE: dict[str, Any] = {
    kind.__name__: kind for kind in (*_NODES.values(), *_CALLS.values(), IntImm)
} | {"BOOL": BOOL}


def parts_of(pattern: ast.expr) -> tuple[type[Expr], list[ast.expr]]:
    """The node class that a pattern stands for, and the patterns of its operands."""
    if isinstance(pattern, ast.BinOp):
        return _NODES[type(pattern.op)], [pattern.left, pattern.right]
    if isinstance(pattern, ast.BoolOp) and len(pattern.values) == 2:
        return _NODES[type(pattern.op)], pattern.values
    if isinstance(pattern, ast.Compare) and len(pattern.ops) == 1:
        return _NODES[type(pattern.ops[0])], [pattern.left, pattern.comparators[0]]
    if isinstance(pattern, ast.UnaryOp) and isinstance(pattern.op, ast.Not):
        return Not, [pattern.operand]
    if isinstance(pattern, ast.IfExp):
        return Select, [pattern.test, pattern.body, pattern.orelse]
    if isinstance(pattern, ast.Call) and isinstance(pattern.func, ast.Name):
        return _CALLS[pattern.func.id], pattern.args
    raise InternalError(f"a rule cannot contain {ast.unparse(pattern)}")


def parse(text: str) -> ast.expr:
    """The syntax tree of one side of a rule."""
    return ast.parse(text, mode="eval").body


def names_in(tree: ast.expr) -> list[str]:
    """The pattern variables of a tree, each once."""
    found = {n.id: None for n in ast.walk(tree) if isinstance(n, ast.Name)}
    return [name for name in found if name not in _CALLS]


def is_constant(tree: ast.expr) -> bool:
    """Whether a tree has no pattern variables but constants."""
    return all(name[0] == "c" for name in names_in(tree))


class _Compiler:
    """Writes the body of the function of one rule."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.bound: set[str] = set()
        self.exact: list[str] = []
        self.fresh = 0

    def require(self, condition: str) -> None:
        self.lines.append(f"if not ({condition}): return None")

    def name(self) -> str:
        self.fresh += 1
        return f"t{self.fresh}"

    def match(self, pattern: ast.expr, access: str, in_sum: bool) -> None:
        """Match the node at `access`; `in_sum` if it is an operand of a sum."""
        if isinstance(pattern, ast.Constant):
            self.require(f"{access}.__class__ is IntImm and {access}.value == {pattern.value!r}")
        elif isinstance(pattern, ast.Name):
            self.variable(pattern.id, access)
        else:
            kind, operands = parts_of(pattern)
            self.require(f"{access}.__class__ is {kind.__name__}")
            if kind in _RING and not in_sum:
                self.exact.append(access)
            self.operands(kind, operands, access)

    def operands(self, kind: type[Expr], operands: list[ast.expr], access: str) -> None:
        for slot, operand in zip(_SLOTS.get(kind, ("a", "b")), operands, strict=True):
            local = self.name()
            self.lines.append(f"{local} = {access}.{slot}")
            self.match(operand, local, kind in _RING)

    def variable(self, name: str, access: str) -> None:
        if name[0] == "c":
            self.require(f"{access}.__class__ is IntImm")
            if name in self.bound:
                self.require(f"{access}.value == {name}")
            else:
                self.lines += [f"{name} = {access}.value", f"dtype = {access}.dtype"]
        elif name in self.bound:
            self.require(f"{access} is {name}")
        else:
            self.lines.append(f"{name} = {access}")
        self.bound.add(name)

    def conditions(self, when: str, dropped: list[str]) -> None:
        if when != "True":
            self.require(when.replace("lower(", "s.lower(").replace("upper(", "s.upper("))
        for access in self.exact:
            self.require(f"s.exact({access})")
        for name in dropped:
            self.require(f"s.total({name})")

    def build(self, tree: ast.expr) -> str:
        """Python text that makes the node for `tree`."""
        if isinstance(tree, ast.Constant) and isinstance(tree.value, bool):
            return f"s.constant({int(tree.value)}, BOOL)"
        if isinstance(tree, ast.Name) and tree.id[0] != "c":
            return tree.id
        if is_constant(tree):
            local = self.name()
            self.lines.append(f"{local} = {ast.unparse(tree)}")
            self.require(f"dtype.min_int <= {local} <= dtype.max_int")
            return f"s.constant({local}, dtype)"
        kind, operands = parts_of(tree)
        built = ", ".join(self.build(operand) for operand in operands)
        return f"s.construct({kind.__name__}, {built})"


def _commuted(tree: ast.expr) -> Iterator[ast.expr]:
    """`tree` with the operands of minima and maxima in every order."""
    if isinstance(tree, (ast.Name, ast.Constant)):
        yield tree
        return
    kind, operands = parts_of(tree)
    if kind not in (Min, Max):
        yield tree
        return
    assert isinstance(tree, ast.Call)
    for a in _commuted(operands[0]):
        for b in _commuted(operands[1]):
            yield ast.Call(tree.func, [a, b], [])
            yield ast.Call(tree.func, [b, a], [])


def _compile(name: str, parameters: str, lines: list[str]) -> Any:
    source = f"def {name}({parameters}):\n" + "\n".join(f"    {line}" for line in lines)
    scope: dict[str, Any] = {}
    exec(compile(source, f"<{name}>", "exec"), dict(_SCOPE), scope)
    return scope[name]


def _root_test(pattern: ast.expr) -> type[Expr] | None:
    """The class that an operand must have, or None if several will do."""
    if isinstance(pattern, ast.Constant):
        return IntImm
    if isinstance(pattern, ast.Name):
        return IntImm if pattern.id[0] == "c" else None
    return parts_of(pattern)[0]


_Function = Callable[..., Any]


class RuleTable:
    """The rules of one family: finds those that can apply by the classes of the operands."""

    def __init__(self, rules: list[Rule]) -> None:
        self.rules = rules
        self._compiled: dict[type[Expr], list[tuple[tuple[Any, ...], _Function]]] = {}
        self._applicable: dict[tuple[Any, ...], tuple[_Function, ...]] = {}

    def apply(self, simplifier: Any, kind: type[Any], *operands: Expr) -> Expr | None:
        """What the first rule that applies makes of ``kind(*operands)``, or None."""
        key = (kind, *[operand.__class__ for operand in operands])
        functions = self._applicable.get(key)
        if functions is None:
            functions = self._applicable[key] = self._select(kind, key[1:])
        for function in functions:
            found = function(simplifier, *operands)
            if found is not None:
                return found
        return None

    def _select(self, kind: type[Any], classes: tuple[Any, ...]) -> tuple[_Function, ...]:
        if not self._compiled:
            for rule in self.rules:
                self._add(rule)
        return tuple(
            function
            for tests, function in self._compiled.get(kind, ())
            if all(t is None or t is c for t, c in zip(tests, classes, strict=True))
        )

    def _add(self, rule: Rule) -> None:
        seen: set[str] = set()
        for lhs in _commuted(parse(rule.lhs)):
            if ast.dump(lhs) in seen:
                continue
            seen.add(ast.dump(lhs))
            kind, operands = parts_of(lhs)
            function = compile_rule(lhs, rule)
            tests = tuple(map(_root_test, operands))
            self._compiled.setdefault(kind, []).append((tests, function))


def compile_rule(lhs: ast.expr, rule: Rule) -> _Function:
    """The function ``(simplifier, *operands) -> result or None`` of one rule."""
    compiler = _Compiler()
    kind, operands = parts_of(lhs)
    parameters = [f"p{position}" for position in range(len(operands))]
    compiler.lines.append(f"dtype = {parameters[-1]}.dtype")
    for parameter, operand in zip(parameters, operands, strict=True):
        compiler.match(operand, parameter, kind in _RING)
    rhs = parse(rule.rhs)
    kept = set(names_in(rhs))
    dropped = [n for n in names_in(lhs) if n not in kept and n[0] != "c"]
    compiler.conditions(rule.when, dropped)
    compiler.lines.append(f"return {compiler.build(rhs)}")
    return _compile("rule", ", ".join(["s", *parameters]), compiler.lines)


def compile_sum_rule(rule: SumRule) -> _Function:
    """The function ``(simplifier, first, second, factor, other) -> result or None``.

    `factor` and `other` are what `first` and `second` are multiplied with in the sum.
    """
    compiler = _Compiler()
    compiler.lines.append("dtype = first.dtype")
    first, second = parse(rule.first), parse(rule.second)
    compiler.match(first, "first", False)
    compiler.match(second, "second", False)
    compiler.require(f"factor == ({rule.ratio}) * other")
    compiler.conditions(rule.when, [])
    compiler.lines.append(f"return {compiler.build(parse(rule.result))}")
    return _compile("sum_rule", "s, first, second, factor, other", compiler.lines)


class SumRuleTable:
    """The identities of sums, by the classes of the two terms."""

    def __init__(self, rules: list[SumRule]) -> None:
        self.rules = rules
        self._compiled: dict[tuple[Any, Any], list[_Function]] = {}

    def apply(self, simplifier: Any, first: Expr, second: Expr, factor: int, other: int) -> Any:
        """The expression that ``factor * first + other * second`` is `other` times of, or None."""
        if not self._compiled:
            for rule in self.rules:
                key = (_root_test(parse(rule.first)), _root_test(parse(rule.second)))
                self._compiled.setdefault(key, []).append(compile_sum_rule(rule))
        for function in self._compiled.get((first.__class__, second.__class__), ()):
            found = function(simplifier, first, second, factor, other)
            if found is not None:
                return found
        return None
