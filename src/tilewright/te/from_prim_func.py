"""From a tensor program made of blocks back to a graph of tensors."""

from __future__ import annotations

from typing import Final, NoReturn

from tilewright.error import ArgumentError, TEScheduleError, TVMError
from tilewright.ir.cache import LRUCache
from tilewright.ir.expr import Var, is_const_int
from tilewright.ir.recursion import deep_recursion
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.ir.structural import structural_equal
from tilewright.te.create_prim_func import FunctionBuilder
from tilewright.te.operation import Operation, PlaceholderOp
from tilewright.te.read_nest import Nest
from tilewright.te.read_reduction import ReadError
from tilewright.te.tensor import Tensor
from tilewright.tir.analysis.expressions import identical
from tilewright.tir.buffer import Buffer
from tilewright.tir.expr import IterType
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Block, BlockRealize, SeqStmt, Stmt

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
        nests = self._nests()
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

    def _nests(self) -> list[Nest]:
        root = self._func.body
        if not isinstance(root, BlockRealize):
            self._refuse("its body is not a block, it has been lowered")
        block = root.block
        if block.iter_vars or block.match_buffers or block.init is not None or block.annotations:
            self._refuse(f"block {block.name_hint} around all others is not a plain root block")
        for node in walk(block.body):
            if isinstance(node, Block) and any(
                iterator.iter_type is IterType.ORDERED for iterator in node.iter_vars
            ):
                self._refuse(f"block {node.name_hint} is a step of a te.scan, which cannot be read")
        try:
            items = block.body.seq if isinstance(block.body, SeqStmt) else (block.body,)
            return [Nest(stmt) for stmt in items]
        except ReadError as error:
            self._refuse(error)

    def _operation(self, nest: Nest) -> Operation:
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
            self._refuse(f"block {nest.name}: {error}")

    def _refuse(self, reason: object) -> NoReturn:
        name = self._func.global_symbol or "main"
        raise TEScheduleError(
            f"te.tensors_of: function {name} is not as te.create_prim_func makes it: {reason}"
        )

    def _check(
        self, args: list[Tensor | Var], operations: list[Operation], nests: list[Nest]
    ) -> None:
        """Require that the operations make the nests again."""
        buffers = {tensor: buffer for buffer, tensor in self._tensors.items()}
        try:
            builder = FunctionBuilder("te.tensors_of", args, buffers)
            builder.buffers.update(buffers)
            made = builder.statements(operations)
        except TVMError as error:
            self._refuse(error)
        for nest, stmt in zip(nests, made, strict=True):
            if not identical(_plain(nest.stmt), _plain(stmt)):
                self._refuse(
                    f"block {nest.name} does something else than what a te.compute of its values "
                    f"makes, which is\n{stmt}"
                )


def _fills(tensor: Tensor, buffer: Buffer) -> bool:
    """Whether a tensor has the elements of a buffer."""
    return (
        tensor.dtype is buffer.dtype
        and tensor.ndim == buffer.ndim
        and all(map(structural_equal, tensor.shape, buffer.shape))
    )


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
