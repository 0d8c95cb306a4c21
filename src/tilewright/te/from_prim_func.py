"""From a tensor program made of blocks back to a graph of tensors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NoReturn

from tilewright.error import ArgumentError, TEScheduleError, TVMError
from tilewright.ir.cache import LRUCache
from tilewright.ir.expr import Expr, Var, is_const_int
from tilewright.ir.recursion import deep_recursion
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.ir.structural import structural_equal
from tilewright.te.create_prim_func import TRUE, FunctionBuilder
from tilewright.te.operation import ComputeOp, ExternOp, Operation, PlaceholderOp
from tilewright.te.read_reduction import ReadError, read_reduction, stores_of
from tilewright.te.tensor import Tensor
from tilewright.tir.analysis.expressions import identical
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.expr import IterType, IterVar, ProducerLoad, Reduce
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Block, BlockRealize, BufferStore, For, ForKind, SeqStmt, Stmt

_READ: Final[LRUCache[list[Tensor | Var]]] = LRUCache(64)


def tensors_of(func: PrimFunc) -> list[Tensor | Var]:
    """The tensors that a program computes: the inverse of `te.create_prim_func`.

    ``te.create_schedule`` of those that are computed schedules the program. That they compute the
    same as the program is checked by making the program of them. Tags and attributes of operations
    and layouts of parameters are not known from a program; the tensors have none.

    Args:
        func: a program as `te.create_prim_func` makes it, which may have come by a script, by JSON
            or from a relax operator: each nest of loops computes a tensor, or several with the same
            indices, element by element, or reduces from a ``T.init()``; a block without iterators
            is a `te.extern`.

    Returns:
        One for each parameter, in their order: placeholders, computed tensors, and variables for
        scalars. They are the same for the same function.

    Raises:
        ArgumentError: if `func` is not a `PrimFunc`.
        TEScheduleError: for another program, such as one that has been scheduled. It names the
            block and what is in the way.
    """
    if not isinstance(func, PrimFunc):
        raise ArgumentError(f"te.tensors_of: expected a PrimFunc, got {func!r}")
    return list(_READ.get(func, None, lambda: _Reader(func).arguments()))


class _Reader:
    """Reads one function."""

    def __init__(self, func: PrimFunc) -> None:
        self._func = func
        self._tensors: dict[Buffer, Tensor] = {}

    @deep_recursion
    def arguments(self) -> list[Tensor | Var]:
        """What stands for each parameter."""
        nests = [_Nest(stmt, self) for stmt in self._statements()]
        written = {buffer for nest in nests for buffer in nest.written}
        buffers = [self._func.buffer_map.get(param) for param in self._func.params]
        for buffer in buffers:
            if buffer is not None and buffer not in written:
                op = PlaceholderOp(buffer.name, "", None, [(buffer.shape, buffer.dtype)])
                self._tensors[buffer] = op.output(0)
        operations = [self._operation(nest) for nest in nests]
        found = [
            param if buffer is None else self._tensors[buffer]
            for param, buffer in zip(self._func.params, buffers, strict=True)
        ]
        self._check(found, operations, nests)
        return found

    def refuse(self, reason: object) -> NoReturn:
        """Say why the function cannot be read."""
        name = self._func.global_symbol or "main"
        raise TEScheduleError(
            f"te.tensors_of: function {name} is not as te.create_prim_func makes it: {reason}"
        )

    def _statements(self) -> Sequence[Stmt]:
        root = self._func.body
        if not isinstance(root, BlockRealize):
            self.refuse("its body is not a block, it has been lowered")
        block = root.block
        if block.iter_vars or block.match_buffers or block.init is not None or block.annotations:
            self.refuse(f"block {block.name_hint} around all others is not a plain root block")
        for node in walk(block.body):
            if isinstance(node, Block) and any(
                iterator.iter_type is IterType.ORDERED for iterator in node.iter_vars
            ):
                self.refuse(f"block {node.name_hint} is a step of a te.scan, which cannot be read")
        return block.body.seq if isinstance(block.body, SeqStmt) else (block.body,)

    def _operation(self, nest: _Nest) -> Operation:
        try:
            op = nest.operation(self._tensors)
            for buffer, tensor in zip(nest.written, op.outputs, strict=True):
                if buffer in self._tensors:
                    raise ReadError(f"it writes {buffer.name}, as another block does")
                if not _fills(tensor, buffer):
                    raise ReadError(f"it computes a part of {buffer.name}, and not all of it")
                self._tensors[buffer] = tensor
            return op
        except (ReadError, TVMError) as error:
            self.refuse(f"block {nest.name}: {error}")

    def _check(
        self, args: list[Tensor | Var], operations: list[Operation], nests: list[_Nest]
    ) -> None:
        """Require that the operations make the nests again."""
        buffers = {tensor: buffer for buffer, tensor in self._tensors.items()}
        try:
            builder = FunctionBuilder("te.tensors_of", args, buffers)
            builder.buffers.update(buffers)
            made = builder.statements(operations)
        except TVMError as error:
            self.refuse(error)
        for nest, stmt in zip(nests, made, strict=True):
            if not identical(_plain(nest.stmt), _plain(stmt)):
                self.refuse(
                    f"block {nest.name} does something else than what a te.compute of its values "
                    f"makes, which is\n{stmt}"
                )


class _Nest:
    """A nest of loops around one block, or several with the same iterators.

    Attributes:
        stmt: the nest.
        name: of the first block.
        written: the buffers that it computes.
    """

    def __init__(self, stmt: Stmt, reader: _Reader) -> None:
        self.stmt = stmt
        self._loops: list[For] = []
        while isinstance(stmt, For):
            if stmt.kind is not ForKind.SERIAL or stmt.annotations:
                reader.refuse(f"loop {stmt.loop_var.name} has been scheduled")
            self._loops.append(stmt)
            stmt = stmt.body
        items = stmt.seq if isinstance(stmt, SeqStmt) else (stmt,)
        self._realizes = [item for item in items if isinstance(item, BlockRealize)]
        if len(self._realizes) < len(items):
            reader.refuse("it has statements outside of blocks")
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
            stores = [_only_store(block) for block in self._blocks]
            elements = [(store.buffer, store.indices) for store in stores]
            body = tuple(read(store.value) for store in stores)
        else:
            found = read_reduction(first)
            elements = [(buffer, found.indices) for buffer in found.outputs]
            source, init = tuple(map(read, found.source)), tuple(map(read, found.init))
            reduced = tuple(axis for axis in axes if axis not in spatial)
            condition = read(found.condition)
            body = tuple(
                Reduce(found.combiner, source, reduced, condition, index, init)
                for index in range(len(source))
            )
        if [buffer for buffer, _ in elements] != self.written:
            raise ReadError("it declares other writes than it has")
        for buffer, indices in elements:
            if [read(index) for index in indices] != [axis.var for axis in spatial]:
                raise ReadError(f"the indices of {buffer.name} are not its iterators in order")
        return ComputeOp(self._operation_name(), "", None, spatial, body)

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
            raise ReadError("it is no plain block around the statement of a te.extern")
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


def _only_store(block: Block) -> BufferStore:
    stores = stores_of(block.body)
    if len(stores) != 1:
        raise ReadError("it stores several elements, and has no T.init()")
    return stores[0]


def _fills(tensor: Tensor, buffer: Buffer) -> bool:
    """Whether a tensor has the elements of a buffer."""
    return (
        tensor.dtype is buffer.dtype
        and tensor.ndim == buffer.ndim
        and all(map(structural_equal, tensor.shape, buffer.shape))
    )


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


class _Plain(Rewriter):
    """Takes away what does not say what a program computes.

    These are the declared regions, and the iterator that a block has if its result has no
    dimension.
    """

    def Block(self, block: Block) -> Stmt:
        return block.map_children(self).replace(reads=(), writes=())

    def BlockRealize(self, realize: BlockRealize) -> Stmt:
        realize = realize.map_children(self)
        values = realize.iter_values
        if len(values) == 1 and is_const_int(values[0], 0):
            return realize.replace(iter_values=(), block=realize.block.replace(iter_vars=()))
        return realize


_plain: Final = _Plain()
