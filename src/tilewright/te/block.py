"""From the expressions of a compute operation to blocks over buffers."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tilewright.error import ArgumentError
from tilewright.ir.convert import cast
from tilewright.ir.dtype import INT32
from tilewright.ir.expr import Expr, IntImm, Let, Var, is_const_int
from tilewright.ir.node import Node
from tilewright.ir.rewrite import Rewriter
from tilewright.te.elementwise import same_extent
from tilewright.te.operation import ComputeOp
from tilewright.te.tensor import Tensor
from tilewright.tir.buffer import ONE, Buffer, BufferLoad, BufferRegion, Range
from tilewright.tir.expr import CommReducer, IterType, IterVar, ProducerLoad, Reduce
from tilewright.tir.stmt import Block, BufferStore, IfThenElse, LetStmt, Stmt, seq
from tilewright.tir.substitute import substitute
from tilewright.tir.transform.analysis.affine import difference

Buffers = Mapping[Tensor, Buffer]
Axes = Mapping[Var, Var]
"""The block iterator that stands for each axis."""


class _ReadBuffers(Rewriter):
    """Replaces elements of tensors by elements of buffers, and axes by block iterators."""

    def __init__(self, op: ComputeOp, axes: Axes, buffers: Buffers, sizes: Collection[Var]) -> None:
        self._op, self._axes, self._buffers, self._sizes = op, axes, buffers, sizes
        self._bound: set[Var] = set()

    def ProducerLoad(self, load: ProducerLoad) -> Expr:
        return BufferLoad(self._buffers[load.producer], tuple(map(self, load.indices)))

    def Var(self, var: Var) -> Expr:
        iterator = self._axes.get(var)
        if iterator is not None:
            return iterator
        if var not in self._sizes and var not in self._bound:
            raise ArgumentError(
                f"operation {self._op.name}: variable {var.name} is neither an axis of "
                f"{self._op.name}, nor a size of a parameter, nor a parameter; a reduction axis is "
                f"defined only inside of its reduction, and a te.var must be a parameter"
            )
        return var

    SizeVar = Var

    def Let(self, let: Let) -> Expr:
        self._bound.add(let.var)
        return let.map_children(self)


class BlockBuilder:
    """Builds the blocks of one compute operation.

    `sizes` are the variables that are defined everywhere in the function, `iter_types` iterator
    types of axes that are not the usual ones.
    """

    def __init__(
        self,
        op: ComputeOp,
        buffers: Buffers,
        sizes: Collection[Var],
        iter_types: Mapping[IterVar, IterType] | None = None,
    ) -> None:
        self.op = op
        self._buffers, self._sizes, self._iter_types = buffers, sizes, iter_types or {}

    def whole(self, name: str) -> Block:
        """The block of a reduction, with its initialisation."""
        iterators, axes = self._iterators((*self.op.axis, *self.op.reduce_axis))
        init, body = self._init(axes), self._update(axes)
        reads = read_regions(seq(init, body), self._outputs())
        return Block(iterators, reads, self._written(axes), name, body, init)

    def init(self, name: str) -> Block:
        """The block that only initialises a reduction."""
        iterators, axes = self._iterators(self.op.axis)
        body = self._init(axes)
        return Block(iterators, read_regions(body, ()), self._written(axes), name, body)

    def update(self, name: str) -> Block:
        """The block of a reduction that is initialised by another one."""
        iterators, axes = self._iterators((*self.op.axis, *self.op.reduce_axis))
        body = self._update(axes)
        return Block(iterators, read_regions(body, ()), self._written(axes), name, body)

    def element(self, name: str, output: int) -> Block:
        """The block that computes one output without reduction."""
        iterators, axes = self._iterators(self.op.axis)
        value = self._reader(axes)(self.op.body[output])
        target = self._buffers[self.op.output(output)]
        body = BufferStore(target, value, self._indices(axes))
        return Block(iterators, read_regions(body, ()), written_regions(body), name, body)

    def _iterators(self, axes: tuple[IterVar, ...]) -> tuple[tuple[IterVar, ...], Axes]:
        """New iterators for `axes`; one of extent 1 if there is none, since a block needs one."""
        if not axes:
            unit = IterVar(Range.from_extent(ONE), Var("vi", INT32), IterType.DATA_PAR)
            return (unit,), {}
        iterators = tuple(
            IterVar(
                axis.dom,
                Var(f"v_{axis.name}", axis.dtype),
                self._iter_types.get(axis, axis.iter_type),
            )
            for axis in axes
        )
        pairs = zip(axes, iterators, strict=True)
        return iterators, {axis.var: iterator.var for axis, iterator in pairs}

    def _reader(self, axes: Axes) -> _ReadBuffers:
        return _ReadBuffers(self.op, axes, self._buffers, self._sizes)

    def _outputs(self) -> list[Buffer]:
        return [self._buffers[tensor] for tensor in self.op.outputs]

    def _indices(self, axes: Axes) -> tuple[Expr, ...]:
        return tuple(axes[iv.var] for iv in self.op.axis)

    def _written(self, axes: Axes):
        indices = self._indices(axes)
        loads = [BufferLoad(buffer, indices) for buffer in self._outputs()]
        return written_regions(seq([BufferStore(x.buffer, x, indices) for x in loads]))

    def _reduction(self) -> Reduce:
        reduction = self.op.reduction
        assert reduction is not None
        return reduction

    def _init(self, axes: Axes) -> Stmt:
        reduction = self._reduction()
        values = reduction.init or reduction.combiner.identity_element
        read, indices = self._reader(axes), self._indices(axes)
        return seq(
            BufferStore(buffer, read(value), indices)
            for buffer, value in zip(self._outputs(), values, strict=True)
        )

    def _update(self, axes: Axes) -> Stmt:
        reduction, read, indices = self._reduction(), self._reader(axes), self._indices(axes)
        outputs = self._outputs()
        old = tuple(BufferLoad(buffer, indices) for buffer in outputs)
        new = tuple(map(read, reduction.source))
        values = combine(reduction.combiner, old, new)
        if len(values) == 1:
            body: Stmt = BufferStore(outputs[0], values[0], indices)
        else:
            body = _store_together(self.op, outputs, values, indices)
        if is_const_int(reduction.condition, 1):
            return body
        return IfThenElse(read(reduction.condition), body)


def combine(
    combiner: CommReducer, old: tuple[Expr, ...], new: tuple[Expr, ...]
) -> tuple[Expr, ...]:
    """The results of combining two tuples of values."""
    values = {
        **dict(zip(combiner.lhs, old, strict=True)),
        **dict(zip(combiner.rhs, new, strict=True)),
    }
    return tuple(substitute(result, values) for result in combiner.result)


def _store_together(
    op: ComputeOp,
    outputs: list[Buffer],
    values: tuple[Expr, ...],
    indices: tuple[Expr, ...],
) -> Stmt:
    """Store several values that all depend on the old contents: compute all, then store all."""
    variables = [Var(f"v_{t.name}", t.dtype) for t in op.outputs]
    body = seq(BufferStore(b, v, indices) for b, v in zip(outputs, variables, strict=True))
    for variable, value in zip(reversed(variables), reversed(values), strict=True):
        body = LetStmt(variable, cast(variable.dtype, value), body)
    return body


Points = dict[Buffer, list[tuple[Expr, ...]]]


def read_regions(body: Stmt, without: Collection[Buffer]) -> tuple[BufferRegion, ...]:
    """What `body` reads, in the order of first reads, but for the buffers in `without`."""
    points: Points = {}
    _collect(body, BufferLoad, points)
    return tuple(_region(b, indices) for b, indices in points.items() if b not in without)


def written_regions(body: Stmt) -> tuple[BufferRegion, ...]:
    """What `body` writes, in the order of first writes."""
    points: Points = {}
    _collect(body, BufferStore, points)
    return tuple(_region(buffer, indices) for buffer, indices in points.items())


def _collect(root: Node, kind: type[BufferLoad | BufferStore], points: Points) -> None:
    if isinstance(root, kind):
        points.setdefault(root.buffer, []).append(root.indices)
    for child in root.children():
        _collect(child, kind, points)


def _region(buffer: Buffer, points: list[tuple[Expr, ...]]) -> BufferRegion:
    """The smallest box that holds all points; a whole dimension where that is not known."""
    dimensions = zip(*points, strict=True) if buffer.shape else ()
    return BufferRegion(
        buffer,
        tuple(
            _hull(indices, extent) for indices, extent in zip(dimensions, buffer.shape, strict=True)
        ),
    )


def _hull(indices: tuple[Expr, ...], extent: Expr) -> Range:
    first = indices[0]
    if all(same_extent(first, other) for other in indices[1:]):
        return Range.from_min_extent(first, IntImm(first.dtype, 1))
    offsets: list[int] = []
    for index in indices:
        offset = _constant_difference(index, first)
        if offset is None:
            return Range.from_extent(extent)
        offsets.append(offset)
    least = min(offsets)
    lowest = indices[offsets.index(least)]
    return Range.from_min_extent(lowest, IntImm(first.dtype, max(offsets) - least + 1))


def _constant_difference(a: Expr, b: Expr) -> int | None:
    form = difference(a, b)
    return form.constant if form.is_constant() else None
