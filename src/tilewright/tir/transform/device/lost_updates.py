"""Updates of an element by several threads at once, of which all but one are lost::

    for k in thread_binding(32, "threadIdx.x"):
        B[0] = B[0] + A[k]                  # each thread may read B[0] before the others store

No barrier helps, as the update is one statement. A block says that it is a reduction, and then
`lower_cross_thread_reduction` shares it among the threads.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr, Let, Var
from tilewright.ir.rewrite import Visitor
from tilewright.tir.access import Access
from tilewright.tir.buffer import storage_scope
from tilewright.tir.memory_owner import MemoryOwner, owner_of
from tilewright.tir.stmt import Allocate, BufferStore, For, IfThenElse, LetStmt, Stmt
from tilewright.tir.transform.device.kernel_error import KernelError
from tilewright.tir.transform.device.thread_axes import Axis
from tilewright.tir.transform.device.thread_conflicts import ThreadConflicts, shared_accesses


def refuse_lost_updates(body: Stmt, axes: Sequence[Axis]) -> None:
    """Refuse a kernel in which threads certainly update the same element at once.

    What is too complicated to decide is left to the proof of the step that bound a loop.

    Args:
        body: what each thread does.
        axes: those of the kernel.

    Raises:
        KernelError: for a statement that loads what another thread stores by it.
    """
    _Updates(axes).visit(body)


class _Updates(Visitor):
    def __init__(self, axes: Sequence[Axis]) -> None:
        self._conflicts = ThreadConflicts(axes)
        self._conditions: tuple[tuple[Expr, bool], ...] = ()
        self._lets: tuple[LetStmt | Let, ...] = ()
        self._own: set[Var] = set()  # memory of a thread

    def For(self, loop: For) -> None:
        # Threads are in the same iteration.
        end = as_expr(loop.min + loop.extent)
        within = (as_expr(loop.min <= loop.loop_var), as_expr(loop.loop_var < end))
        self._under(loop.body, *((condition, False) for condition in within))

    def IfThenElse(self, stmt: IfThenElse) -> None:
        self._under(stmt.then_case, (stmt.condition, False))
        if stmt.else_case is not None:
            self._under(stmt.else_case, (stmt.condition, True))

    def _under(self, body: Stmt, *conditions: tuple[Expr, bool]) -> None:
        outer, self._conditions = self._conditions, (*self._conditions, *conditions)
        self.visit(body)
        self._conditions = outer

    def LetStmt(self, let: LetStmt) -> None:
        outer, self._lets = self._lets, (*self._lets, let)
        self.visit(let.body)
        self._lets = outer

    def Allocate(self, stmt: Allocate) -> None:
        if owner_of(storage_scope(stmt.buffer_var)) is not MemoryOwner.BLOCK:
            self._own.add(stmt.buffer_var)
        self.visit(stmt.body)

    def BufferStore(self, store: BufferStore) -> None:
        accesses = [self._here(access) for access in shared_accesses(store)]
        if store.buffer.data in self._own or not accesses[-1:] or not accesses[-1].is_write:
            return
        *loads, target = accesses
        for load in loads:
            if self._conflicts.certainly_among_threads(load, target):
                name = store.buffer.name
                raise KernelError(
                    f"{name}: threads update the same element at once, by {name}"
                    f"{list(store.indices)} = ..., and all but one of the updates may be lost",
                    example=self._conflicts.threads_that_meet(load, target),
                    hint="if it is a reduction, write it as a block with T.axis.reduce and T.init, "
                    "which threads share, or do not bind its loop",
                )

    def _here(self, access: Access) -> Access:
        return access.inside(*self._lets).where(*self._conditions)
