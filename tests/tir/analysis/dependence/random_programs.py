"""Random blocks, and random loop nests that run their instances."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from tilewright import tir
from tilewright.ir import DType, Expr, Var, const
from tilewright.tir import (
    Block,
    BlockRealize,
    Buffer,
    BufferStore,
    For,
    ForKind,
    IterType,
    IterVar,
    PrimFunc,
    Range,
    Stmt,
    decl_buffer,
    seq,
)

INT32 = DType("int32")
HANDLE = DType("handle")
TRUE = const(True)


class Axis(NamedTuple):
    """What is left to run of one iterator.

    Attributes:
        position: which iterator of the block.
        extent: how many values.
    """

    position: int
    extent: int


class Scheduled(NamedTuple):
    """A block, the values of iterators so far, and what is left."""

    block: Block
    values: dict[int, Expr]
    left: list[Axis]


class Pair(NamedTuple):
    """A program and another one with the same blocks.

    Attributes:
        before: the first.
        after: the second.
        reductions: names of blocks that are reductions.
    """

    before: PrimFunc
    after: PrimFunc
    reductions: tuple[str, ...]

    def __repr__(self) -> str:
        return f"{self.before.script()}\n{self.after.script()}"


@st.composite
def pairs(draw: Any) -> Pair:
    """A strategy for two programs with the same blocks in different loops."""
    return _Builder(draw).pair()


class _Builder:
    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.buffers = [
            decl_buffer((64,) * self.number(1, 2), "float32", name) for name in ("A", "B", "C")
        ]
        self.reductions: list[str] = []
        self.count = 0

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def choose(self, *items: Any) -> Any:
        return self.draw(st.sampled_from(items))

    def var(self, stem: str) -> Var:
        self.count += 1
        return Var(f"{stem}{self.count}", INT32)

    def pair(self) -> Pair:
        extents = [self.number(1, 4) for _ in range(2)]
        blocks = [self.block(f"S{n}", extents) for n in range(self.number(1, 3))]
        before, after = self.function(blocks, True), self.function(blocks, False)
        return Pair(before, after, tuple(self.reductions))

    def function(self, blocks: list[Block], keep_order: bool) -> PrimFunc:
        order = blocks if keep_order else self.draw(st.permutations(blocks))
        items = [
            Scheduled(b, {}, [Axis(n, i.dom.extent.value) for n, i in enumerate(b.iter_vars)])
            for b in order
        ]
        body = self.nest(items)
        handles = {Var(f"{b.name}_handle", HANDLE): b for b in self.buffers}
        root = BlockRealize((), TRUE, Block((), (), (), "root", body))
        return PrimFunc(tuple(handles), root, None, handles, {"global_symbol": "main"})

    # --- loops ------------------------------------------------------------------------------

    def nest(self, items: list[Scheduled]) -> Stmt:
        """Loops that run what is left of each block."""
        if len(items) > 1 and self.number(0, 3) == 0:
            cut = self.number(1, len(items) - 1)
            return seq(self.nest(items[:cut]), self.nest(items[cut:]))
        common = set.intersection(*({a.extent for a in item.left} for item in items))
        if common:
            return self.shared_loop(items, self.choose(*sorted(common)))
        if len(items) > 1:
            return seq(self.nest(items[:1]), self.nest(items[1:]))
        (item,) = items
        values = tuple(item.values[n] for n in range(len(item.block.iter_vars)))
        predicate = TRUE
        for value, iterator in zip(values, item.block.iter_vars, strict=True):
            if not isinstance(value, Var):
                predicate = tir.logical_and(predicate, value < iterator.dom.extent)
        return BlockRealize(values, predicate, item.block)

    def shared_loop(self, items: list[Scheduled], extent: int) -> Stmt:
        """A loop (or two, or a fused one) over an axis of each block."""
        chosen = [self.choose(*(a for a in i.left if a.extent == extent)) for i in items]
        first = self.number(0, 2) if self.number(0, 3) == 0 else 0
        way = self.choose("whole", "whole", "split", "reverse", "fuse")
        rest = [[a for a in i.left if a is not one] for i, one in zip(items, chosen, strict=True)]
        sizes = set.intersection(*({axis.extent for axis in left} for left in rest))
        if way == "fuse" and sizes:
            size = self.choose(*sorted(sizes))
            others = [self.choose(*(a for a in left if a.extent == size)) for left in rest]
            return self.fused(items, chosen, others)
        if way == "split":
            factor, outer, inner = self.number(2, 3), self.var("o"), self.var("i")
            body = self.nest(_bound(items, chosen, outer * factor + inner))
            loop = For(inner, const(0), const(factor), ForKind.SERIAL, body)
            count = const(-(-extent // factor))
            return For(outer, const(0), count, ForKind.SERIAL, loop)
        var = self.var("l")
        value = const(extent - 1 + first) - var if way == "reverse" else var - first
        body = self.nest(_bound(items, chosen, value))
        return For(var, const(first), const(extent), ForKind.SERIAL, body)

    def fused(self, items: list[Scheduled], ones: list[Axis], others: list[Axis]) -> Stmt:
        """A loop over two axes of each block, whose quotient and remainder they are."""
        extent, size = ones[0].extent, others[0].extent
        var = self.var("f")
        items = _bound(items, ones, tir.floordiv(var, size))
        body = self.nest(_bound(items, others, tir.floormod(var, size)))
        return For(var, const(0), const(extent * size), ForKind.SERIAL, body)

    # --- blocks -----------------------------------------------------------------------------

    def block(self, name: str, extents: list[int]) -> Block:
        """A block that updates an element, or a few."""
        axes = [self.var("v") for _ in range(self.number(1, 3))]
        sizes = [self.choose(*extents) for _ in axes]
        target = self.choose(*self.buffers)
        if self.number(0, 3) == 0 and len(axes) > 1:
            return self.reduction(name, axes, sizes, target)
        stores = [self.store(axes) for _ in range(self.choose(1, 1, 2))]
        iterators = self.iterators(axes, sizes, IterType.DATA_PAR)
        return Block(iterators, (), (), name, seq(*stores))

    def iterators(self, axes: list[Var], sizes: list[int], kind: IterType) -> tuple[IterVar, ...]:
        return tuple(
            IterVar(Range.from_min_extent(const(0), const(size)), axis, kind)
            for axis, size in zip(axes, sizes, strict=True)
        )

    def reduction(self, name: str, axes: list[Var], sizes: list[int], target: Buffer) -> Block:
        self.reductions.append(name)
        place = tuple(self.index(axes[:1]) for _ in target.shape)
        others = [b for b in self.buffers if b is not target]
        source = self.choose(*others)
        value = source[tuple(self.index(axes) for _ in source.shape)]
        body = BufferStore(target, target[place] + value, place)
        init = BufferStore(target, const(0.0, "float32"), place)
        iterators = (
            *self.iterators(axes[:1], sizes[:1], IterType.DATA_PAR),
            *self.iterators(axes[1:], sizes[1:], IterType.COMM_REDUCE),
        )
        return Block(iterators, (), (), name, body, init)

    def store(self, axes: list[Var]) -> Stmt:
        """A store, perhaps in a loop or under a condition."""
        way = self.choose("plain", "plain", "loop", "if", "else")
        inner = self.var("j")
        names = [*axes, inner] if way == "loop" else axes
        target, source = self.choose(*self.buffers), self.choose(*self.buffers)
        value: Expr = source[tuple(self.index(names) for _ in source.shape)]
        if self.number(0, 2) == 0:
            other = self.choose(*self.buffers)
            load = other[tuple(self.index(names) for _ in other.shape)]
            zero = const(0.0, "float32")
            value = tir.if_then_else(self.condition(names), value + load, zero)
        stmt: Stmt = BufferStore(target, value, tuple(self.index(names) for _ in target.shape))
        if way == "loop":
            extent = self.choose(const(self.number(1, 3)), axes[0] + 1)
            return For(inner, const(self.number(0, 1)), extent, ForKind.SERIAL, stmt)
        if way == "if":
            return tir.IfThenElse(self.condition(names), stmt)
        if way == "else":
            other = BufferStore(target, value, tuple(self.index(names) for _ in target.shape))
            return tir.IfThenElse(self.condition(names), stmt, other)
        return stmt

    def index(self, axes: list[Var]) -> Expr:
        a, b = self.choose(*axes), self.choose(*axes)
        return self.choose(
            a, a, a, a + self.number(0, 2), a - self.number(0, 1), a * 2, a + b, a - b,
            tir.floordiv(a, 2), tir.floormod(a, 2), tir.floormod(a + b, 3), const(1), const(0),
            tir.min(a, b), tir.max(a, const(1)), tir.Select(a < b, a, b + 1),
            tir.truncdiv(a - b, const(2)), tir.truncmod(a - b, const(2)),
        )  # fmt: skip

    def condition(self, axes: list[Var]) -> Expr:
        a, b = self.choose(*axes), self.choose(*axes)
        plain = self.choose(a < b, a.equal(b), a >= self.number(0, 2), tir.floormod(a, 2).equal(0))
        other = self.choose(tir.Not(plain), tir.Or(plain, b > 1), tir.And(plain, b < 2))
        return self.choose(plain, other)


def _bound(items: list[Scheduled], axes: list[Axis], value: Expr) -> list[Scheduled]:
    """The blocks with one axis of each set to `value`."""
    return [
        Scheduled(
            item.block,
            {**item.values, axis.position: value},
            [a for a in item.left if a is not axis],
        )
        for item, axis in zip(items, axes, strict=True)
    ]
