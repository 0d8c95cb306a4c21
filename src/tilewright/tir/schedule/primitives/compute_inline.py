"""Computing the elements of a buffer where they are read."""

from __future__ import annotations

from functools import partial

from tilewright.arith import Analyzer
from tilewright.ir.rewrite import Rewriter
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.schedule.edits.inlining import (
    Instantiation,
    Inverse,
    enclosing_users,
    invert,
    require_intermediate,
    single_store,
    users,
    without_buffer,
)
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.proofs.counterexamples import (
    collision,
    conflict,
    overwritten_input,
)
from tilewright.tir.schedule.proofs.dataflow import require_flow
from tilewright.tir.schedule.proofs.regions import with_accesses
from tilewright.tir.schedule.proofs.scope import buffers_read, buffers_written
from tilewright.tir.schedule.tree import Edit, FunctionTree, bind_scope
from tilewright.tir.stmt import BlockRealize, BufferStore, For, Stmt


@primitive
def compute_inline(tree: FunctionTree, block: BlockRealize) -> Edit:
    """Replace every read of a block's result by the value that the block stores.

    The block and the buffer that it writes disappear.

    Before::

        for i in range(128):
            with T.block("B"):
                vi = T.axis.spatial(128, i)
                B[vi] = A[vi] * T.float32(2)
        for i in range(128):
            with T.block("C"):
                vi = T.axis.spatial(128, i)
                C[vi] = B[vi] + T.float32(1)

    After ``compute_inline("B")``::

        for i in range(128):
            with T.block("C"):
                vi = T.axis.spatial(128, i)
                C[vi] = A[vi] * T.float32(2) + T.float32(1)

    Requires: the body of the block is one store without effects and without an initialisation, to
    a buffer that is not a parameter of the function, that no other block writes and that the value
    does not read. The indices of the store tell the iterators. Every element that is read was
    written before, and what the value reads is not overwritten before the element is read.

    Args:
        block: the block.

    Raises:
        ScheduleError: if a requirement does not hold.

    Example::

        sch = tir.Schedule(scale_add)
        sch.compute_inline("B")
    """
    store = single_store(block)
    buffer = store.buffer
    require_intermediate(tree, block, buffer)
    inverse = _require_function_of_indices(tree, block, store)
    readers = _readers(tree, block, buffer)
    if tree.checked:
        for reader in readers:
            _require_same_value(tree, block, reader, buffer)
    edits: dict[Stmt, Stmt | None] = {block: None}
    for reader in readers:
        analyzer = tree.analyzer(reader.block.body)
        changed = _Inlining(store, inverse, analyzer)(reader)
        edits[reader] = changed.replace(block=with_accesses(changed.block))
    body = without_buffer(tree.edited(edits), buffer, enclosing_users(tree, buffer))
    return Edit(tree.func.with_body(body))


def _require_function_of_indices(
    tree: FunctionTree, block: BlockRealize, store: BufferStore
) -> Inverse:
    if any(region.buffer.data is store.buffer.data for region in block.block.reads):
        raise ScheduleError(
            f"{{0}} reads `{store.buffer.name}` itself: its value depends on when it is computed",
            at=[block],
            counterexample=partial(conflict, tree, block, block, store.buffer),
        )
    inverse = invert(block.block, store.indices)
    if inverse is None:
        raise ScheduleError(
            f"the indices of `{store.buffer.name}` in {{0}} do not tell which instance wrote an "
            "element",
            at=[block],
            counterexample=partial(collision, block.block.iter_vars, store.indices),
            hint="the store must be to distinct iterators, or to affine functions of them "
            "that can be inverted",
        )
    return inverse


def _readers(tree: FunctionTree, block: BlockRealize, buffer: Buffer) -> list[BlockRealize]:
    """The other blocks that mention the buffer, which all read it only."""
    readers = [user for user in users(tree, buffer) if user is not block]
    scope = tree.scope(block)
    for reader in readers:
        if not tree.is_above(scope, reader):
            raise ScheduleError(
                "{1} is outside of {2}, whose iterators what {0} computes may mention",
                at=[block, reader, scope],
            )
        if buffer in buffers_written(reader.block):
            raise ScheduleError(
                f"{{0}} and {{1}} both write `{buffer.name}`: what is read is not the value of "
                "{0} alone",
                at=[block, reader],
                counterexample=partial(conflict, tree, block, reader, buffer, ordered=False),
            )
    return readers


def _require_same_value(
    tree: FunctionTree, block: BlockRealize, reader: BlockRealize, buffer: Buffer
) -> None:
    """Refuse where an element would have another value when it is computed later."""
    flow = require_flow(tree, buffer, block, reader)
    inputs = {read.data for read in buffers_read(block.block)}
    for other in flow.between:
        for written in buffers_written(other.block):
            if written.data in inputs:
                raise ScheduleError(
                    f"{{1}} may overwrite `{written.name}`, which {{0}} reads, before {{2}} reads "
                    f"`{buffer.name}`",
                    at=[block, other, reader],
                    counterexample=partial(
                        overwritten_input, tree, block, other, reader, buffer, written
                    ),
                )


class _Inlining(Rewriter):
    """Replaces the reads of a buffer by what is stored there."""

    def __init__(self, store: BufferStore, inverse: Inverse, analyzer: Analyzer) -> None:
        self._store = store
        self._inverse = inverse
        self._analyzer = analyzer

    def For(self, loop: For) -> Stmt:
        bind_scope(self._analyzer, loop)
        return loop.map_children(self)

    def BufferLoad(self, load: BufferLoad) -> object:
        load = load.map_children(self)
        if load.buffer is not self._store.buffer:
            return load
        values = self._inverse.at(load.indices, self._analyzer)
        return Instantiation(values, self._analyzer)(self._store.value)
