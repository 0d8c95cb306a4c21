"""Visits the accesses of a program together with what holds when they run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from tilewright.arith.bounds import bounds_of
from tilewright.arith.facts import Facts
from tilewright.ir.expr import And, Call, Expr, IntImm, Let, Or, Select, Var
from tilewright.ir.node import Node
from tilewright.ir.rewrite import Visitor
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.stmt import (
    AssertStmt,
    AttrStmt,
    Block,
    BlockRealize,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    Prefetch,
    SeqStmt,
    While,
)

Condition = tuple[Expr, bool]
"""An expression, and whether its opposite holds."""


class Iteration(NamedTuple):
    """A variable and the values that it runs through.

    Attributes:
        var: of a loop, a thread or a block iterator.
        name: of its dimension in questions to isl.
        low: its first value.
        extent: the number of values.
        binding: for a block iterator, its value in terms of the variables before it.
    """

    var: Var
    name: str
    low: Expr
    extent: Expr
    binding: Expr | None = None


class AccessWalk(Visitor):
    """Base class of visitors of accesses.

    Attributes:
        iterations: around the current node, outermost first.
        values: of let variables around it.
        conditions: that hold there.
        is_certain: whether it runs if these hold; not so in a `while` loop, or after a possible
            return.
        facts: constant bounds of the variables.
    """

    def __init__(self) -> None:
        self.iterations: list[Iteration] = []
        self.values: dict[Var, Expr] = {}
        self.conditions: list[Condition] = []
        self.is_certain = True
        self.facts = Facts()

    # --- to be overridden -------------------------------------------------------------------

    def BufferLoad(self, load: BufferLoad) -> None:
        """An element is read."""
        self.visit_children(load)

    def BufferStore(self, store: BufferStore) -> None:
        """An element is written."""
        self.visit_children(store)

    def BlockRealize(self, realize: BlockRealize) -> None:
        """An instance of a block runs."""
        for value in realize.iter_values:
            self.visit(value)
        self.visit(realize.predicate)
        with self.instance(realize):
            self.visit(realize.block)

    # --- walking ----------------------------------------------------------------------------

    @contextmanager
    def where(self, *conditions: Condition) -> Iterator[None]:
        """Within the scope, these conditions hold."""
        count = len(self.conditions)
        self.conditions += conditions
        yield
        del self.conditions[count:]

    @contextmanager
    def uncertain(self) -> Iterator[None]:
        """Within the scope, nothing is known to run."""
        before, self.is_certain = self.is_certain, False
        yield
        self.is_certain = before

    @contextmanager
    def iterating(self, var: Var, low: Expr, extent: Expr) -> Iterator[None]:
        """Within the scope, a variable runs through some values."""
        count = len(self.iterations)
        self._add(var, low, extent)
        yield
        del self.iterations[count:]

    @contextmanager
    def instance(self, realize: BlockRealize) -> Iterator[None]:
        """Within the scope, the iterators of a block have the values that are bound to them."""
        count, conditions = len(self.iterations), len(self.conditions)
        self.conditions.append((realize.predicate, False))
        for item, value in zip(realize.block.iter_vars, realize.iter_values, strict=False):
            if item.dom is not None:
                self._add(item.var, item.dom.min, item.dom.extent, value)
        yield
        del self.iterations[count:]
        del self.conditions[conditions:]

    def _add(self, var: Var, low: Expr, extent: Expr, binding: Expr | None = None) -> None:
        self.iterations.append(Iteration(var, f"d{len(self.iterations)}", low, extent, binding))
        first, last = bounds_of(self.facts, low)
        self._learn(var, (first, last + bounds_of(self.facts, extent)[1] - 1))

    def _learn(self, var: Var, bounds: tuple[int, int]) -> None:
        facts = self.facts
        known = facts.ranges.get(var)
        if known != bounds:
            if known is not None or var in facts.unknown:
                facts.forget()
            facts.ranges[var] = bounds

    # --- statements -------------------------------------------------------------------------

    def Block(self, block: Block) -> None:
        """A block whose iterators are known."""
        if block.init is not None:
            starts = [
                (item.var.equal(item.dom.min), False)
                for item in block.iter_vars
                if item.iter_type is IterType.COMM_REDUCE and item.dom is not None
            ]
            with self.where(*starts):
                self.visit(block.init)
        self.visit(block.body)

    def For(self, loop: For) -> None:
        self.visit(loop.min)
        self.visit(loop.extent)
        with self.iterating(loop.loop_var, loop.min, loop.extent):
            if _may_return(loop.body):
                with self.uncertain():
                    self.visit(loop.body)
            else:
                self.visit(loop.body)

    def While(self, loop: While) -> None:
        with self.uncertain():
            self.visit_children(loop)

    def SeqStmt(self, stmt: SeqStmt) -> None:
        certain, conditions = self.is_certain, len(self.conditions)
        for item in stmt.seq:
            self.visit(item)
            assumed = assumed_condition(item)
            if assumed is not None:
                self.conditions.append((assumed, False))
            if _may_return(item):
                self.is_certain = False
        del self.conditions[conditions:]
        self.is_certain = certain

    def IfThenElse(self, stmt: IfThenElse) -> None:
        self.visit(stmt.condition)
        with self.where((stmt.condition, False)):
            self.visit(stmt.then_case)
        if stmt.else_case is not None:
            with self.where((stmt.condition, True)):
                self.visit(stmt.else_case)

    def AssertStmt(self, stmt: AssertStmt) -> None:
        self.visit(stmt.condition)
        with self.where((stmt.condition, False)):
            self.visit(stmt.body)

    def LetStmt(self, let: LetStmt | Let) -> None:
        self.visit(let.value)
        self.values[let.var] = let.value
        if let.var.dtype.is_integral:
            self._learn(let.var, bounds_of(self.facts, let.value))
        self.visit(let.body)

    Let = LetStmt

    def AttrStmt(self, stmt: AttrStmt) -> None:
        self.visit(stmt.value)
        if not isinstance(stmt.node, IterVar):
            self.visit(stmt.body)
            return
        var = stmt.node.var
        with self.iterating(var, IntImm(var.dtype, 0), stmt.value):
            self.visit(stmt.body)

    def Prefetch(self, stmt: Prefetch) -> None:
        """A hint, which may name memory that does not exist."""

    # --- expressions ------------------------------------------------------------------------

    def Call(self, call: Call) -> None:
        name = getattr(call.op, "name", "")
        if name == "tir.if_then_else":
            self._choice(*call.args)
        elif name == "tir.address_of" and isinstance(call.args[0], BufferLoad):
            # The address one past the end is a legal one.
            for index in call.args[0].indices:
                self.visit(index)
        else:
            self.visit_children(call)

    def Select(self, expr: Select) -> None:
        self._choice(expr.condition, expr.true_value, expr.false_value)

    def _choice(self, condition: Expr, yes: Expr, no: Expr) -> None:
        self.visit(condition)
        with self.where((condition, False)):
            self.visit(yes)
        with self.where((condition, True)):
            self.visit(no)

    def And(self, expr: And | Or) -> None:
        self.visit(expr.a)
        with self.where((expr.a, isinstance(expr, Or))):
            self.visit(expr.b)

    Or = And


def assumed_condition(stmt: Node) -> Expr | None:
    """What holds after a `T.assume`; None for any other statement."""
    if not isinstance(stmt, Evaluate) or not isinstance(stmt.value, Call):
        return None
    call = stmt.value
    return call.args[0] if getattr(call.op, "name", "") == "tir.assume" else None


def _may_return(stmt: Node) -> bool:
    """Whether the function may return in a statement."""
    if isinstance(stmt, BufferStore):
        return False
    if isinstance(stmt, Evaluate):
        value = stmt.value
        return isinstance(value, Call) and getattr(value.op, "name", "") == "tir.ret"
    return any(_may_return(item) for item in stmt.children() if not isinstance(item, Expr))


def mentions_data(condition: Node) -> bool:
    """Whether a condition depends on what is in memory, or on what a call gives."""
    if isinstance(condition, BufferLoad):
        return True
    if isinstance(condition, Call) and getattr(condition.op, "name", "") not in _PURE:
        return True
    return any(map(mentions_data, condition.children()))


_PURE: Final = ("tir.likely", "tir.if_then_else")
