"""From a nest of loops around blocks back to the operation that computes it."""

from __future__ import annotations

import re

from tilewright.ir.expr import Expr, Var, is_const_int
from tilewright.ir.rewrite import Rewriter
from tilewright.te.create_prim_func import TRUE
from tilewright.te.operation import UNDECLARED_REDUCER, ComputeOp, ExternOp, Operation
from tilewright.te.read_reduction import ReadError, read_reduction, stores_of
from tilewright.te.tensor import Tensor
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.expr import IterType, IterVar, ProducerLoad, Reduce
from tilewright.tir.stmt import Block, BlockRealize, BufferStore, For, ForKind, SeqStmt, Stmt


class Nest:
    """A nest of loops around one block, or several with the same iterators.

    Attributes:
        stmt: the nest.
        name: of the first block.
        written: the buffers that it computes.

    Raises:
        ReadError: for loops that have been scheduled, or around something else.
    """

    def __init__(self, stmt: Stmt) -> None:
        self.stmt = stmt
        self._loops: list[For] = []
        while isinstance(stmt, For):
            if stmt.kind is not ForKind.SERIAL or stmt.annotations:
                raise ReadError(f"loop {stmt.loop_var.name} has been scheduled")
            self._loops.append(stmt)
            stmt = stmt.body
        items = stmt.seq if isinstance(stmt, SeqStmt) else (stmt,)
        self._realizes = [item for item in items if isinstance(item, BlockRealize)]
        if len(self._realizes) < len(items):
            raise ReadError("it has statements outside of blocks")
        self._blocks = [realize.block for realize in self._realizes]
        self.name = self._blocks[0].name_hint
        self.written = list(
            dict.fromkeys(region.buffer for block in self._blocks for region in block.writes)
        )

    def operation(self, tensors: dict[Buffer, Tensor]) -> Operation:
        """What computes the nest.

        Args:
            tensors: what the buffers hold that have been computed.

        Raises:
            ReadError: if it is not a nest that `te.create_prim_func` makes.
        """
        first = self._blocks[0]
        if not first.iter_vars:
            return self._extern(first, tensors)
        axes, read = self._axes(), _ReadTensors(tensors)
        for block in self._blocks:
            read.bind(block, axes)
        spatial = tuple(axis for axis in axes if axis.iter_type is not IterType.COMM_REDUCE)
        if first.init is None:
            elements, body = self._elements(read)
        else:
            reduced = tuple(axis for axis in axes if axis not in spatial)
            elements, body = _reduction(first, reduced, read)
        if [buffer for buffer, _ in elements] != self.written:
            raise ReadError("it declares other writes than it has")
        for buffer, indices in elements:
            if [read(index) for index in indices] != [axis.var for axis in spatial]:
                raise ReadError(f"the indices of {buffer.name} are not its iterators in order")
        attrs = {} if first.init is None else {UNDECLARED_REDUCER: True}
        return ComputeOp(self._operation_name(), "", attrs, spatial, body)

    def _elements(self, read: _ReadTensors) -> tuple[_Elements, tuple[Expr, ...]]:
        """The elements that blocks without a reduction write, and their values."""
        stores = [_only_store(block) for block in self._blocks]
        values = tuple(read(store.value) for store in stores)
        return [(store.buffer, store.indices) for store in stores], values

    def _axes(self) -> list[IterVar]:
        """New axes, with the names of the loops."""
        for realize in self._realizes:
            values, loops = realize.iter_values, [loop.loop_var for loop in self._loops]
            is_scalar = not loops and len(values) == 1 and is_const_int(values[0], 0)
            if not is_scalar and list(values) != loops:
                raise ReadError("its iterators are not the loops in their order")
        names = [loop.loop_var.name for loop in self._loops]
        return [
            IterVar(iterator.dom, Var(name, iterator.var.dtype), iterator.iter_type)
            for name, iterator in zip(names, self._blocks[0].iter_vars, strict=False)
        ]

    def _extern(self, block: Block, tensors: dict[Buffer, Tensor]) -> ExternOp:
        if self._loops or len(self._blocks) > 1:
            raise ReadError("it has no iterators, but is not alone")
        if block.match_buffers or block.annotations:
            raise ReadError("it is not a plain block around the statement of a te.extern")
        read = dict.fromkeys(region.buffer for region in block.reads)
        inputs = [buffer for buffer in read if buffer not in self.written]
        body = block.body
        if block.alloc_buffers:
            root = Block((), (), (), "root", body, None, block.alloc_buffers)
            body = BlockRealize((), TRUE, root)
        return ExternOp(
            self._operation_name(),
            "",
            None,
            tuple(_tensor(tensors, buffer) for buffer in inputs),
            tuple(inputs),
            tuple(self.written),
            body,
        )

    def _operation_name(self) -> str:
        """The name of what the buffers are called after, as `Tensor.name` does.

        A buffer that is called otherwise than its block has the name of another level, such as of
        a variable of a graph; schedules know the block.
        """
        names = [buffer.name for buffer in self.written]
        if len(names) == 1 and names[0]:
            numbered = rf"{re.escape(names[0])}(_\d+)?"
            return names[0] if re.fullmatch(numbered, self.name) else self.name or names[0]
        for stem in (names[0] if names else "", self.name):
            stem = stem.removesuffix("_v0")
            if names == [f"{stem}_v{position}" for position in range(len(names))]:
                return stem
        return self.name.removesuffix("_v0") or "compute"


_Elements = list[tuple[Buffer, tuple[Expr, ...]]]


def _reduction(
    block: Block, axes: tuple[IterVar, ...], read: _ReadTensors
) -> tuple[_Elements, tuple[Expr, ...]]:
    """The elements that a reduction over some axes writes, and their values."""
    found = read_reduction(block)
    source, init = tuple(map(read, found.source)), tuple(map(read, found.init))
    condition = read(found.condition)
    values = tuple(
        Reduce(found.combiner, source, axes, condition, index, init) for index in range(len(source))
    )
    return [(buffer, found.indices) for buffer in found.outputs], values


def _only_store(block: Block) -> BufferStore:
    stores = stores_of(block.body)
    if len(stores) != 1:
        raise ReadError("it stores several elements, and has no T.init()")
    return stores[0]


def _tensor(tensors: dict[Buffer, Tensor], buffer: Buffer) -> Tensor:
    found = tensors.get(buffer)
    if found is None:
        raise ReadError(f"it reads {buffer.name}, which no block before it computes")
    return found


class _ReadTensors(Rewriter):
    """Replaces elements of buffers by elements of tensors, and block iterators by axes."""

    def __init__(self, tensors: dict[Buffer, Tensor]) -> None:
        self._tensors = tensors
        self._axes: dict[Var, Var] = {}

    def bind(self, block: Block, axes: list[IterVar]) -> None:
        """Let the axes stand for the iterators of a block."""
        pairs = zip(block.iter_vars, axes, strict=False)
        self._axes.update((iterator.var, axis.var) for iterator, axis in pairs)

    def BufferLoad(self, load: BufferLoad) -> Expr:
        if load.predicate is not None:
            raise ReadError(f"it reads {load.buffer.name} under a mask")
        return ProducerLoad(_tensor(self._tensors, load.buffer), tuple(map(self, load.indices)))

    def Var(self, var: Var) -> Expr:
        return self._axes.get(var, var)
