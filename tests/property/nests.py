"""Random loop nests over flat arrays, with any dependences between their iterations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from tests.property.expressions import DTYPES, Expressions, Options
from tests.property.programs import HANDLE, Program
from tests.property.values import random_values

from tilewright import tir
from tilewright.ir import DType, Expr, Var, const
from tilewright.tir import (
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    PrimFunc,
    Stmt,
    decl_buffer,
    seq,
)

SIZE = 200
ITERATIONS = 300
EXTENTS = (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 24, 33, 48)
KINDS = (ForKind.SERIAL,) * 4 + (ForKind.VECTORIZED, ForKind.UNROLLED)
LARGEST_UNROLLED = 6


class Axis(NamedTuple):
    """A loop variable and a bound of its values."""

    var: Var
    bound: int


@st.composite
def nests(draw: Any) -> Program:
    """A strategy for functions of one or two nests over two to four arrays."""
    return _Builder(draw).build()


class _Builder:
    """Draws one function."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.exact = self._number(0, 3) == 0
        self.index_dtype = DType(self._choose("int32", "int32", "int64"))
        same = [self._choose(*DTYPES)] * 4
        mixed = [self._choose(*DTYPES) for _ in range(self._number(2, 4))]
        dtypes = self._choose(same[: len(mixed)], mixed)
        self.buffers = [decl_buffer((SIZE,), d, f"b{n}") for n, d in enumerate(dtypes)]
        self.sizes: dict[Var, int] = {}
        if self._number(0, 2) == 0:
            self.sizes[Var("n", self.index_dtype)] = self._choose(0, 1, 3, 8, 15, 16, 17, 33)
            self.sizes[Var("m", self.index_dtype)] = self._number(1, 5)
        self._count = 0

    def _choose(self, *items: Any) -> Any:
        return self.draw(st.sampled_from(items))

    def _number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def _name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def build(self) -> Program:
        """The function."""
        nests = [self._statement(self._number(1, 3), [], ITERATIONS) for _ in range(2)]
        handles = [Var(f"{buffer.name}_handle", HANDLE) for buffer in self.buffers]
        attrs: dict[str, Any] = {"global_symbol": "main"}
        if self.draw(st.booleans()):
            attrs["tir.noalias"] = const(True)
        params, buffers = (*handles, *self.sizes), dict(zip(handles, self.buffers, strict=True))
        func = PrimFunc(params, seq(*nests[: self._number(1, 2)]), None, buffers, attrs)
        return Program(func, self._argument_maker(self._number(0, 2**32)))

    def _argument_maker(self, seed: int) -> Any:
        dtypes, sizes = [b.dtype for b in self.buffers], tuple(self.sizes.values())

        def make() -> list[Any]:
            rng = np.random.default_rng(seed)
            arrays = [random_values(rng, dtype, (SIZE,), self.exact) for dtype in dtypes]
            return [*arrays, *sizes]

        return make

    # --- statements -----------------------------------------------------------------------------

    def _statement(self, depth: int, axes: list[Axis], iterations: int) -> Stmt:
        if depth == 0 or (axes and self._number(0, 2) == 0):
            return self._store(axes)
        return self._loop(depth, axes, iterations)

    def _loop(self, depth: int, axes: list[Axis], iterations: int) -> Stmt:
        var, kind = Var(self._name("i"), self.index_dtype), self._choose(*KINDS)
        count = self._choose(*(n for n in EXTENTS if n <= iterations))
        if kind is ForKind.UNROLLED:
            count = min(count, LARGEST_UNROLLED)
        extent: Expr = const(count, self.index_dtype)
        first: Expr = const(self._choose(0, 0, 0, 1, 3), self.index_dtype)
        bound = count + 4
        if kind is ForKind.SERIAL:
            sizes = [var for var, size in self.sizes.items() if size <= iterations]
            if sizes and self._number(0, 1):
                extent = self._choose(*sizes)
                bound = self.sizes[extent] + 4
            if axes and self._number(0, 9) == 0:
                outer = self._choose(*axes)
                first, bound = outer.var, bound + outer.bound
        inner = [*axes, Axis(var, bound)]
        left = max(1, iterations // bound)
        body = [self._statement(depth - 1, inner, left) for _ in range(self._number(1, 3))]
        return For(var, first, extent, kind, seq(*body))

    def _store(self, axes: list[Axis]) -> Stmt:
        buffer, index = self._choose(*self.buffers), self._index(axes)
        value = self._value(axes, buffer.dtype, self._number(0, 3))
        if self._number(0, 1):
            value = self._update(buffer[index], value)
        stmt: Stmt = BufferStore(buffer, value, (index,))
        if axes and self._number(0, 4) == 0:
            other = self._store(axes) if self._number(0, 2) == 0 else None
            stmt = IfThenElse(self._condition(axes), stmt, other)
        if self._number(0, 9) == 0:
            var = Var(self._name("x"), DType(self._choose(*DTYPES)))
            stmt = LetStmt(var, self._value(axes, var.dtype, 1), stmt)
        return stmt

    def _update(self, old: Expr, value: Expr) -> Expr:
        if old.dtype.is_bool:
            return self._choose(tir.Or, tir.And)(old, value)
        return self._choose(tir.add, tir.add, tir.multiply, tir.max, tir.min, tir.subtract)(
            old, value
        )

    # --- expressions ----------------------------------------------------------------------------

    def _index(self, axes: list[Axis]) -> Expr:
        """A sum of multiples of loop variables that stays below `SIZE`."""
        index: Expr = const(self._number(0, 20), self.index_dtype)
        room = SIZE - 21
        for var, bound in axes:
            factor = self._choose(0, 1, 1, 1, 1, 2, 3)
            if factor * bound > room:
                factor = int(bound <= room)
            room -= factor * bound
            index = var * factor + index
        return index

    def _value(self, axes: list[Axis], dtype: DType, depth: int) -> Expr:
        def leaf(wanted: DType) -> Expr | None:
            if axes and wanted is self.index_dtype and self._number(0, 2) == 0:
                return self._choose(*axes).var
            same = [buffer for buffer in self.buffers if buffer.dtype is wanted]
            return self._choose(*same)[self._index(axes)] if same else None

        options = Options(raw=self.draw(st.booleans()), dtypes=tuple(self._dtypes()))
        return Expressions(self.draw, leaf, options).make(dtype, depth)

    def _dtypes(self) -> list[str]:
        return [*dict.fromkeys((*(b.dtype for b in self.buffers), self.index_dtype, "bool"))]

    def _condition(self, axes: list[Axis]) -> Expr:
        var, bound = self._choose(*axes)
        limit = const(self._number(0, bound), self.index_dtype)
        drawn = self._value(axes, DType("bool"), 2)
        return self._choose(var < limit, var >= limit, (var % 2).equal(0), drawn)
