"""Copies from global into shared memory that run in the background, on GPUs that have them.

    async_scope:                                    ptx_cp_async(A_shared, i * 4, A, j * 4, 16)
        A_shared[i * 4 + (0, 1, 2, 3)] =        ->
            A[j * 4 + (0, 1, 2, 3)]
    async_commit_queue_scope: nothing               ptx_commit_group()
    async_wait_inflight_count 1: nothing            ptx_wait_group(1)

A copy is of 4, 8 or 16 bytes, or of another value where a condition does not hold. What an
asynchronous stage of a pipeline does besides is done at once, copies that it reads itself among it,
and so is all of it where this pass does not run.
"""

from __future__ import annotations

from typing import Final

from tilewright.ir.convert import const
from tilewright.ir.dtype import INT32
from tilewright.ir.expr import Call, Expr, Ramp, Var
from tilewright.ir.op import Op
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.memory_owner import MemoryOwner, owner_of
from tilewright.tir.op.control import is_if_then_else
from tilewright.tir.stmt import AttrStmt, BufferStore, Evaluate, IfThenElse, Stmt
from tilewright.tir.transform.building.statements import StatementRewriter
from tilewright.tir.transform.device.vector_accesses import (
    CP_ASYNC,
    access_bytes,
    is_vector_access,
)
from tilewright.tir.transform.software_pipeline.async_attributes import (
    ASYNC_COPIES,
    ASYNC_GROUP,
    ASYNC_WAIT,
)

SIZES: Final = (4, 8, 16)
"""Bytes that one instruction copies."""

_COMMIT, _WAIT = Op.get("tir.ptx_commit_group"), Op.get("tir.ptx_wait_group")


def inject_async_copies(func: PrimFunc) -> PrimFunc:
    """`func`, whose accesses are flat, with instructions for copies in the background."""
    return func.with_body(_AsyncCopies()(func.body))


class _AsyncCopies(StatementRewriter):
    def __init__(self) -> None:
        self._in_background = False
        self._read: set[Var] = set()  # memory that the statement reads which copies

    def AttrStmt(self, stmt: AttrStmt) -> Stmt:
        if stmt.attr_key == ASYNC_GROUP:
            return Evaluate(Call(INT32, _COMMIT, ()))
        if stmt.attr_key == ASYNC_WAIT:
            return Evaluate(Call(INT32, _WAIT, (stmt.value,)))
        if stmt.attr_key != ASYNC_COPIES:
            return stmt.map_children(self)
        self._in_background, self._read = True, _read_by(stmt.body)
        body = self(stmt.body)
        self._in_background = False
        return body

    def BufferStore(self, store: BufferStore) -> Stmt:
        load = store.value
        if self._in_background and is_if_then_else(load):
            return self._choice(store, *load.args)
        is_free = self._in_background and store.buffer.data not in self._read
        if not is_free or not isinstance(load, BufferLoad) or not _is_copy(store, load):
            return store
        size = access_bytes(store)
        arguments = (store.buffer.data, _first(store), load.buffer.data, _first(load))
        return Evaluate(Call(store.buffer.dtype, CP_ASYNC, (*arguments, const(size))))

    def _choice(self, store: BufferStore, condition: Expr, chosen: Expr, other: Expr) -> Stmt:
        """A store of one of two values, the first of which may be copied in the background."""
        copy = self(store.replace(value=chosen))
        if isinstance(copy, BufferStore):
            return store
        return IfThenElse(condition, copy, store.replace(value=other))


def _read_by(stmt: Stmt) -> set[Var]:
    """The memory that a statement reads, or gives to calls."""
    found: set[Var] = set()
    for node in walk(stmt):
        if isinstance(node, BufferLoad):
            found.add(node.buffer.data)
        elif isinstance(node, Call):
            found.update(argument for argument in node.args if isinstance(argument, Var))
    return found


def _is_copy(store: BufferStore, load: BufferLoad) -> bool:
    """Whether a store is of what one instruction copies."""
    owners = (owner_of(store.buffer.scope()), owner_of(load.buffer.scope()))
    if owners != (MemoryOwner.BLOCK, MemoryOwner.DEVICE) or access_bytes(store) not in SIZES:
        return False
    if store.value.dtype.lanes == 1:
        return store.predicate is None and load.predicate is None
    return is_vector_access(store) and is_vector_access(load)


def _first(access: BufferStore | BufferLoad) -> Expr:
    """The index of the first element."""
    (index,) = access.indices
    return index.base if isinstance(index, Ramp) else index
