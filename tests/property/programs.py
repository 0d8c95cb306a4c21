"""Random tensor programs that terminate, stay in bounds and read nothing unwritten.

A program is a sequence of stages. Each stage fills, updates or reduces into one buffer, from those
that are filled already, and is written in one of several ways: as a block under loops that are
split, fused, permuted and of several kinds; as plain loops; with vectors; with memory of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from tests.property.expressions import Expressions, Options, small
from tests.property.layouts import LAYOUTS, Layout
from tests.property.loops import Axis, LoopNest, loop_nest
from tests.property.values import random_scalar, random_values

from tilewright import tir
from tilewright.ir import DType, Expr, PointerType, PrimType, Ramp, Var, const
from tilewright.tir import (
    Allocate,
    AssertStmt,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    DeclBuffer,
    For,
    ForKind,
    IfThenElse,
    IterType,
    IterVar,
    LetStmt,
    PrimFunc,
    Range,
    Stmt,
    StringImm,
    While,
    decl_buffer,
    seq,
    substitute,
)
from tilewright.tir.analysis.regions import infer_block_regions

TRUE = const(True)
HANDLE, INT32 = DType("handle"), DType("int32")


class Features(NamedTuple):
    """What programs may hold.

    Attributes:
        exact: floats are small whole numbers, so that the order of a reduction or a fused
            multiplication makes no difference (integers wrap anyway).
        dtypes: element types.
        symbolic: whether extents may be variables.
        layouts: whether arguments may have strides.
        plain: whether stages may be loops without blocks, with `while`, `Allocate` and vectors.
        kinds: loop kinds beside serial ones.
        stages: the largest number of stages.
        largest: the largest extent.
    """

    exact: bool = True
    dtypes: tuple[str, ...] = ("int8", "uint8", "int32", "int64", "float16", "float32", "float64")
    symbolic: bool = True
    layouts: bool = True
    plain: bool = True
    kinds: tuple[ForKind, ...] = (ForKind.PARALLEL, ForKind.VECTORIZED, ForKind.UNROLLED)
    stages: int = 3
    largest: int = 9


class Program(NamedTuple):
    """A function and how to call it.

    Attributes:
        func: the function, in block form.
        make_arguments: gives the same new arguments each time it is called; arrays are as the
            layout of their buffer asks, perhaps views of larger ones.
    """

    func: PrimFunc
    make_arguments: Callable[[], list[Any]]

    def __repr__(self) -> str:
        return f"Program({self.func.script()})"


@st.composite
def programs(draw: Any, features: Features = Features()) -> Program:  # noqa: B008
    """A strategy for programs."""
    return _Builder(draw, features).build()


class _Extent(NamedTuple):
    """An extent in the program and its value in the arguments."""

    expr: Expr
    value: int


class _Builder:
    """Draws one program."""

    def __init__(self, draw: Any, features: Features) -> None:
        self.draw = draw
        self.features = features
        self.params: list[Var] = []
        self.buffer_map: dict[Var, Buffer] = {}
        self.scalars: list[Var] = []
        self.layouts: dict[Var, Layout] = {}
        self.readable: list[Buffer] = []
        self.allocated: list[Buffer] = []
        self.values: dict[Buffer, tuple[int, ...]] = {}
        self.extents = self._extents()
        self._count = 0

    def number(self, low: int, high: int) -> int:
        """An integer between bounds, both included."""
        return self.draw(st.integers(low, high))

    def choose(self, *items: Any) -> Any:
        """One of `items`."""
        return self.draw(st.sampled_from(items))

    def name(self, stem: str) -> str:
        """A new name."""
        self._count += 1
        return f"{stem}{self._count}"

    # --- the function -------------------------------------------------------------------------

    def build(self) -> Program:
        """A program."""
        if self.features.symbolic and self.number(0, 1):
            self._define_size()
        for _ in range(self.number(1, 2)):
            self.readable.append(self._parameter("in", self.number(1, 3)))
        for _ in range(self.number(0, 2)):
            var = Var(self.name("s"), DType(self.choose("int32", "float32", "int64")))
            self.scalars.append(var)
        outputs = [self._parameter("out", self.number(1, 3)) for _ in range(self.number(1, 2))]
        count = self.number(1, self.features.stages)
        stages = [self._stage_into_temporary() for _ in range(count - 1)]
        for output in outputs:
            stages.append(self._stage(output, is_argument=True))
            self.readable.append(output)
        root = Block((), (), (), "root", seq(*stages), alloc_buffers=tuple(self.allocated))
        params = (*self.params, *self.scalars)
        attrs = {"global_symbol": tir.StringImm("main").value, "tir.noalias": const(True)}
        body = BlockRealize((), TRUE, root)
        func = PrimFunc(params, body, None, dict(self.buffer_map), attrs)
        return Program(func, self._argument_maker(self.number(0, 2**32)))

    def _argument_maker(self, seed: int) -> Callable[[], list[Any]]:
        params, scalars, exact = tuple(self.params), tuple(self.scalars), self.features.exact
        buffers, layouts = dict(self.buffer_map), dict(self.layouts)
        shapes = {param: self.values[buffer] for param, buffer in buffers.items()}

        def make() -> list[Any]:
            rng = np.random.default_rng(seed)
            arguments: list[Any] = []
            for param in params:
                dtype, shape = buffers[param].dtype, shapes[param]
                values = random_values(rng, dtype, shape, exact)
                arguments.append(layouts[param].place(values))
            arguments += [random_scalar(rng, scalar.dtype, exact) for scalar in scalars]
            return arguments

        return make

    def _extents(self) -> list[_Extent]:
        drawn = self.number(1, self.features.largest), self.number(2, 6)
        return [_Extent(const(n), n) for n in (*drawn, 4, 8)]

    def _define_size(self) -> None:
        """A symbolic extent: the first of the first argument, which may be used from here on."""
        size = _Extent(Var("n", INT32), self.number(1, self.features.largest))
        others = self.extents
        self.extents = [size]
        self.readable.append(self._parameter("in", 1))
        self.extents = [*others, size]

    def _shape(self, rank: int) -> tuple[tuple[Expr, ...], tuple[int, ...]]:
        chosen = [self.choose(*self.extents) for _ in range(rank)]
        return tuple(e.expr for e in chosen), tuple(e.value for e in chosen)

    def _parameter(self, stem: str, rank: int) -> Buffer:
        exprs, values = self._shape(rank)
        dtype = self.choose(*self.features.dtypes)
        layout = self.choose(*LAYOUTS) if self.features.layouts else LAYOUTS[0]
        name = self.name(stem)
        strides = layout.strides(name, values)
        buffer = decl_buffer(exprs, dtype, name, strides=strides)
        param = Var(f"{name}_handle", HANDLE)
        self.params.append(param)
        self.buffer_map[param], self.layouts[param] = buffer, layout
        self.values[buffer] = values
        return buffer

    # --- stages -------------------------------------------------------------------------------

    def _stage_into_temporary(self) -> Stmt:
        exprs, values = self._shape(self.number(1, 3))
        temporary = decl_buffer(exprs, self.choose(*self.features.dtypes), self.name("tmp"))
        self.values[temporary] = values
        self.allocated.append(temporary)
        stage = self._stage(temporary, is_argument=False)
        self.readable.append(temporary)
        return stage

    def _stage(self, target: Buffer, is_argument: bool) -> Stmt:
        """Statements that fill `target`; an argument may be filled in part."""
        kinds = ["map", "map", "reduce"]
        if is_argument:
            kinds.append("update")
        if self.features.plain:
            kinds += ["plain", "local", "while"]
            if len(target.shape) == 1 and self.values[target][0] % 4 == 0:
                kinds.append("vector")
        kind = self.choose(*kinds)
        axes = self._axes(target)
        if kind == "reduce":
            return self._reduce(target, axes)
        if kind == "vector":
            return self._vector(target)
        if kind in ("plain", "while"):
            return self._plain(target, axes, is_while=kind == "while")
        if kind == "local":
            return self._local(target, axes)
        indices = tuple(axis.var for axis in axes)
        own = target[indices] if kind == "update" else None
        stmt: Stmt = BufferStore(target, self._value(target.dtype, axes, own), indices)
        if is_argument and self.number(0, 4) == 0:
            stmt = IfThenElse(self._condition(axes), stmt)
        return self._block(axes, stmt)

    def _axes(self, target: Buffer) -> list[Axis]:
        return [
            Axis(Var(self.name("v"), INT32), extent, value, False)
            for extent, value in zip(target.shape, self.values[target], strict=True)
        ]

    def _reduce(self, target: Buffer, axes: list[Axis]) -> Stmt:
        chosen = [self.choose(*self.extents) for _ in range(self.number(1, 2))]
        reduced = [Axis(Var(self.name("r"), INT32), e.expr, e.value, True) for e in chosen]
        indices = tuple(axis.var for axis in axes)
        dtype = target.dtype
        combine, start = self.choose(
            (tir.add, 0), (tir.max, -100), (tir.min, 100), (tir.add, self.number(0, 3))
        )
        start = max(start, 0) if dtype.is_uint else start
        value = small(self._value(dtype, [*axes, *reduced], None), 4)
        stmt = BufferStore(target, combine(target[indices], value), indices)
        return self._block(
            [*axes, *reduced], stmt, BufferStore(target, const(start, dtype), indices)
        )

    def _block(
        self,
        axes: list[Axis],
        stmt: Stmt,
        init: Stmt | None = None,
        allocated: tuple[Buffer, ...] = (),
    ) -> Stmt:
        """A block over `axes` in a loop nest."""
        kinds = {True: IterType.COMM_REDUCE, False: IterType.DATA_PAR}
        iterators = tuple(
            IterVar(
                Range.from_min_extent(const(0, axis.var.dtype), axis.extent),
                axis.var,
                kinds[axis.is_reduce],
            )
            for axis in axes
        )
        block = Block(iterators, (), (), self.name("block"), stmt, init, allocated)
        reads, writes = infer_block_regions(block)
        nest = self._nest(axes)
        values, block = tuple(nest.bindings), block.replace(reads=reads, writes=writes)
        return nest.around(BlockRealize(values, nest.predicate, block))

    def _nest(self, axes: list[Axis]) -> LoopNest:
        return loop_nest(self.draw, axes, self.features.kinds, self.name)

    def _plain(self, target: Buffer, axes: list[Axis], is_while: bool) -> Stmt:
        """Loops without a block, and a `while` loop in one element perhaps."""
        indices = tuple(axis.var for axis in axes)
        value = self._value(target.dtype, axes, None)
        if is_while:
            stmt = self._counted(target, indices, value)
        else:
            stmt = BufferStore(target, value, indices)
            let = Var(self.name("let"), DType(self.choose(*self.features.dtypes)))
            inner = self._value(target.dtype, axes, None, (let,))
            other = BufferStore(target, inner, indices)
            other = LetStmt(let, self._value(let.dtype, axes, None), other)
            stmt = self.choose(stmt, other, IfThenElse(self._condition(axes), stmt, other))
        if self.number(0, 3) == 0:
            stmt = AssertStmt(axes[0].var >= 0, StringImm("indices are not negative"), stmt)
        nest = self._nest(axes)
        guarded = stmt if nest.predicate is TRUE else IfThenElse(nest.predicate, stmt)
        bindings = dict(zip(indices, nest.bindings, strict=True))
        return nest.around(substitute(guarded, bindings))

    def _counted(self, target: Buffer, indices: tuple[Expr, ...], value: Expr) -> Stmt:
        """Add `value` several times by a `while` loop with a counter."""
        data = Var(self.name("count"), HANDLE, PointerType(PrimType(INT32), "local"))
        counter = decl_buffer((1,), INT32, data.name, data=data)
        zero = const(0)
        step = seq(
            BufferStore(target, small(target[indices] + value, 8), indices),
            BufferStore(counter, counter[0] + 1, (zero,)),
        )
        body = seq(
            BufferStore(target, const(0, target.dtype), indices),
            BufferStore(counter, zero, (zero,)),
            While(counter[0] < self.number(0, 3), step),
        )
        return Allocate(data, INT32, (const(1),), TRUE, DeclBuffer(counter, body))

    def _local(self, target: Buffer, axes: list[Axis]) -> Stmt:
        """A block whose body fills memory of its own, and reads it in another order."""
        size, dtype = self.number(1, 4), DType(self.choose(*self.features.dtypes))
        scope = self.choose("global", "local")
        buffer = decl_buffer((size,), dtype, self.name("own"), scope=scope)
        i, j = Var(self.name("i"), INT32), Var(self.name("j"), INT32)
        indices = tuple(axis.var for axis in axes)
        inner = Axis(i, const(size), size, False)
        fill = BufferStore(buffer, self._value(dtype, [*axes, inner], None), (i,))
        element: Expr = buffer[size - 1 - j]
        if dtype.is_float and not target.dtype.is_float:
            element = _finite(element)
        read = small(tir.cast(target.dtype, small(element, 4)), 4)
        update = BufferStore(target, target[indices] + read, indices)
        zero = const(0)
        body = seq(
            For(i, zero, const(size), self._serial_kind(), fill),
            BufferStore(target, const(1, target.dtype), indices),
            For(j, zero, const(size), self._serial_kind(), update),
        )
        return self._block(axes, body, allocated=(buffer,))

    def _serial_kind(self) -> ForKind:
        allowed = [k for k in self.features.kinds if k is ForKind.UNROLLED]
        return self.choose(ForKind.SERIAL, *allowed)

    def _vector(self, target: Buffer) -> Stmt:
        """Stores of four lanes each."""
        groups = self.values[target][0] // 4
        axis = Axis(Var(self.name("q"), INT32), const(groups), groups, False)
        index = Ramp(axis.var * 4, const(1), 4)
        value = self._value(target.dtype.with_lanes(4), [axis], None)
        stmt = BufferStore(target, value, (index,))
        count = tir.floordiv(target.shape[0], 4)
        return For(axis.var, const(0), count, ForKind.SERIAL, stmt)

    # --- expressions --------------------------------------------------------------------------

    def _value(
        self, dtype: DType, axes: list[Axis], own: Expr | None, lets: tuple[Var, ...] = ()
    ) -> Expr:
        """An expression over what can be read at a point of `axes`."""
        scalars = [*self.scalars, *lets, *(axis.var for axis in axes)]

        def leaf(wanted: DType) -> Expr | None:
            kind = self.choose("load", "load", "load", "own", "scalar")
            if kind == "own" and own is not None and own.dtype is wanted:
                return own
            if kind == "scalar":
                same = [var for var in scalars if var.dtype is wanted]
                return self.choose(*same) if same else None
            return self._load(wanted, axes)

        options = Options(
            exact=self.features.exact, raw=False, dtypes=(*self.features.dtypes, "bool")
        )
        value = Expressions(self.draw, leaf, options).make(dtype, self.number(1, 3))
        return small(value, 8) if self.features.exact and dtype.is_float else value

    def _condition(self, axes: list[Axis]) -> Expr:
        axis = self.choose(*axes)
        limit = self.number(0, 4)
        return self.choose(axis.var < limit, axis.var >= limit, (axis.var % 2).equal(0))

    def _load(self, wanted: DType, axes: list[Axis]) -> Expr:
        """An element of a readable buffer (of `wanted` lanes), converted to `wanted`."""
        buffer = self.choose(*self.readable)
        indices = [
            self._index(axes, extent, value)
            for extent, value in zip(buffer.shape, self.values[buffer], strict=True)
        ]
        if wanted.is_vector:
            # Lanes may not run over the end of a row: they start low enough, or stand still.
            last, value = buffer.shape[-1], self.values[buffer][-1]
            lanes, room = wanted.lanes, value - wanted.lanes
            if room >= 0 and not isinstance(last, Var):
                start = const(self.number(0, room))
                indices[-1] = Ramp(start, const(1), lanes)
            else:
                indices[-1] = tir.broadcast(indices[-1], lanes)
        load = BufferLoad(buffer, tuple(indices))
        if load.dtype.is_float and not wanted.is_float:
            load = _finite(load)
        source = small(load, 8) if self.features.exact and load.dtype.is_float else load
        source = _finite(source) if source.dtype.is_float and not wanted.is_float else source
        return tir.cast(wanted, source)

    def _index(self, axes: list[Axis], extent: Expr, value: int) -> Expr:
        """An index below `extent`."""
        axis = self.choose(*axes)
        var, kind = axis.var, self.choose("same", "same", "shift", "mod", "reverse", "constant")
        if kind == "constant" or not axes:
            return const(self.number(0, value - 1)) if not isinstance(extent, Var) else const(0)
        if axis.extent is extent or (axis.value <= value and not isinstance(extent, Var)
                                     and not isinstance(axis.extent, Var)):  # fmt: skip
            if kind == "shift" and not isinstance(extent, Var) and axis.value < value:
                return var + self.number(0, value - axis.value)
            if kind == "reverse":
                return extent - 1 - var
            if kind == "same":
                return var
        scale, shift = self.number(1, 3), self.number(0, 3)
        return tir.floormod(var * scale + shift, extent)


def _finite(value: Expr) -> Expr:
    """`value` where it is a small number, else 0, so that an integer can hold it."""
    dtype = value.dtype
    limit, zero = const(100.0, dtype), const(0.0, dtype)
    return tir.Select(tir.And(value <= limit, value >= zero), value, zero)
