"""What a small program does, found out by running through all its instances in order.

Nothing here uses the analysis: indices are evaluated as numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from tilewright.ir import Var
from tilewright.tir import (
    Block,
    BlockRealize,
    BufferLoad,
    BufferStore,
    For,
    IfThenElse,
    IterType,
    LetStmt,
    PrimFunc,
    SeqStmt,
)


class Event(NamedTuple):
    """One instance of a block.

    Attributes:
        block: its name.
        instance: the values of its iterators, those of enclosing blocks first.
        reads: elements: the name of the buffer, the allocation, and the index.
        writes: the same.
        starts: whether all its reduction iterators are at their start.
    """

    block: str
    instance: tuple[int, ...]
    reads: frozenset[Any]
    writes: frozenset[Any]
    starts: bool


def events(func: PrimFunc, sizes: dict[Var, int] | None = None, data: Any = None) -> list[Event]:
    """The instances that `func` runs, in order.

    Args:
        func: the function.
        sizes: values of symbolic sizes.
        data: for buffers of indices, by name, a function from the index to the element.
    """
    machine = _Machine(dict(sizes or {}), data or {})
    machine.run(func.body)
    return machine.found


class _Machine:
    def __init__(self, values: dict[Var, int], data: dict[str, Any]) -> None:
        self.values = values
        self.data = data
        self.found: list[Event] = []
        self.instance: tuple[int, ...] = ()
        self.reads: set[Any] = set()
        self.writes: set[Any] = set()
        self.views: dict[Any, tuple[Any, tuple[int, ...]]] = {}
        self.versions: dict[Any, tuple[int, ...]] = {}

    def run(self, stmt: Any) -> None:
        if isinstance(stmt, For):
            first, extent = self.value(stmt.min), self.value(stmt.extent)
            for number in range(first, first + extent):
                self.values[stmt.loop_var] = number
                self.run(stmt.body)
        elif isinstance(stmt, SeqStmt):
            for item in stmt.seq:
                self.run(item)
        elif isinstance(stmt, IfThenElse):
            chosen = stmt.then_case if self.value(stmt.condition) else stmt.else_case
            if chosen is not None:
                self.run(chosen)
        elif isinstance(stmt, BlockRealize):
            if self.value(stmt.predicate):
                self.realize(stmt)
        elif isinstance(stmt, LetStmt):
            self.values[stmt.var] = self.value(stmt.value)
            self.run(stmt.body)
        elif isinstance(stmt, BufferStore):
            self.value(stmt.value)
            index = tuple(map(self.value, stmt.indices))
            self.writes |= self.elements(stmt.buffer, index)
        else:
            raise NotImplementedError(type(stmt))

    def realize(self, realize: BlockRealize) -> None:
        block, outer = realize.block, self.instance
        own = tuple(map(self.value, realize.iter_values))
        self.values.update(zip((item.var for item in block.iter_vars), own, strict=True))
        self.instance = (*outer, *own)
        starts = all(
            number == self.value(item.dom.min)
            for item, number in zip(block.iter_vars, own, strict=True)
            if item.iter_type is IterType.COMM_REDUCE
        )
        for buffer in block.alloc_buffers:
            self.versions[buffer] = self.instance
        for match in block.match_buffers:
            offsets = tuple(self.value(item.min) for item in match.source.region)
            self.views[match.buffer] = match.source.buffer, offsets
        is_leaf = not _has_blocks(block.body)
        if is_leaf:
            self.reads, self.writes = set(), set()
        if block.init is not None and starts:
            self.run(block.init)
        self.run(block.body)
        if is_leaf:
            reads, writes = frozenset(self.reads), frozenset(self.writes)
            self.found.append(Event(block.name_hint, self.instance, reads, writes, starts))
        self.instance = outer

    def elements(self, buffer: Any, index: tuple[int, ...]) -> set[Any]:
        while buffer in self.views:
            buffer, offsets = self.views[buffer]
            lead = len(offsets) - len(index)
            moved = (o + i for o, i in zip(offsets[lead:], index, strict=True))
            index = (*offsets[:lead], *moved)
        return {(buffer.name, self.versions.get(buffer, ()), index)}

    def value(self, expr: Any) -> Any:
        """An expression as a number; elements of buffers are noted."""
        kind = type(expr).__name__
        if isinstance(expr, Var):
            return self.values[expr]
        if hasattr(expr, "value") and not expr.children():
            return expr.value
        if isinstance(expr, BufferLoad):
            index = tuple(map(self.value, expr.indices))
            self.reads |= self.elements(expr.buffer, index)
            known = self.data.get(expr.buffer.name)
            return 0 if known is None else known(*index)
        if kind == "Select":
            parts = [self.value(item) for item in expr.children()]
            return parts[1] if parts[0] else parts[2]
        if kind == "Call" and expr.op.name == "tir.if_then_else":
            return self.value(expr.args[1] if self.value(expr.args[0]) else expr.args[2])
        if kind == "Call":
            for item in expr.args:
                self.value(item)
            return 0.0
        if kind == "Cast":
            return self.value(expr.value)
        if kind == "Not":
            return not self.value(expr.a)
        return _OPERATORS[kind](self.value(expr.a), self.value(expr.b))


def _truncated(a: int, b: int) -> int:
    return abs(a) // b if a >= 0 else -(abs(a) // b)


_OPERATORS = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "FloorDiv": lambda a, b: a // b,
    "FloorMod": lambda a, b: a % b,
    "Div": _truncated,
    "Mod": lambda a, b: a - b * _truncated(a, b),
    "Min": min,
    "Max": max,
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
    "And": lambda a, b: a and b,
    "Or": lambda a, b: a or b,
}


def _has_blocks(stmt: Any) -> bool:
    return isinstance(stmt, (Block, BlockRealize)) or any(map(_has_blocks, stmt.children()))


# --- what follows from the events -----------------------------------------------------------------

Named = tuple[str, tuple[int, ...]]


def conflict(a: Event, b: Event) -> bool:
    """Whether two instances touch one element, one of them writing it."""
    return bool(a.writes & (b.reads | b.writes) or a.reads & b.writes)


def ordered_pairs(found: list[Event], reductions: Iterable[str] = ()) -> set[tuple[Named, Named]]:
    """Pairs of instances that must stay in the order in which they are.

    Args:
        found: the events of a program.
        reductions: blocks whose instances may change places unless one of them starts.
    """
    return {
        (a[:2], b[:2])
        for n, a in enumerate(found)
        for b in found[n + 1 :]
        if conflict(a, b)
        and not (a.block == b.block and a.block in reductions and not (a.starts or b.starts))
    }


def keeps_order(before: list[Event], after: list[Event], reductions: Iterable[str] = ()) -> bool:
    """Whether both run the same instances, and dependent ones in the same order."""
    if sorted(e[:2] for e in before) != sorted(e[:2] for e in after):
        return False
    time = {event[:2]: number for number, event in enumerate(after)}
    return all(time[a] < time[b] for a, b in ordered_pairs(before, reductions))
