"""Threads of a block wait for each other where one needs what another one did.

Between two accesses of the same element by different threads, one of which writes, all threads of
the block have to meet: a barrier, ``tvm_storage_sync("shared")``. It stands before the later of the
two, in the innermost loop around both; and at the start of a loop whose iterations need it:

    for k_0 in range(8):                        for k_0 in range(8):
        A_shared[i_1] = A[...]                      barrier
        B[...] += A_shared[31 - i_1]     ->         A_shared[i_1] = A[...]
                                                    barrier
                                                    B[...] += A_shared[31 - i_1]

Which elements threads access is decided by integer sets; see `thread_conflicts`. All threads of a
block come to a barrier or none does, so that it never stands under a condition on the thread.

A thread waits for the copies that it has running in the background, and for those of others at a
barrier behind that.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from itertools import product
from typing import Final

from tilewright.ir.expr import Call, Expr, IntImm, Var
from tilewright.ir.node import Node
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.tir.access import Access, Condition
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.memory_owner import MemoryOwner, owner_of
from tilewright.tir.op.gpu import tvm_storage_sync
from tilewright.tir.stmt import (
    Allocate,
    AttrStmt,
    DeclBuffer,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
    seq,
)
from tilewright.tir.substitute import variables_of
from tilewright.tir.tile_operations import tile_operation_of
from tilewright.tir.transform.building.statements import resequenced, statements
from tilewright.tir.transform.device.kernel_error import KernelError
from tilewright.tir.transform.device.lane_exchange import lanes_that_exchange, strides_of
from tilewright.tir.transform.device.lost_updates import refuse_lost_updates
from tilewright.tir.transform.device.thread_axes import (
    THREADS,
    Axis,
    axes_and_body,
    is_axis,
    with_body,
)
from tilewright.tir.transform.device.thread_conflicts import ThreadConflicts, shared_accesses
from tilewright.tir.transform.software_pipeline.async_attributes import ASYNC_WAIT

SYNC: Final = "tir.tvm_storage_sync"


def insert_barriers(func: PrimFunc) -> PrimFunc:
    """`func` with the barriers that the threads of its kernels need.

    Raises:
        KernelError: if threads would have to wait for each other where not all of them come, or
            threads of different blocks, which cannot wait for each other.
    """
    if not any(is_axis(stmt) for stmt in statements(func.body)):
        return func
    return func.with_body(_Kernels()(func.body))


def varies(expr: Expr, varying: Container[Var]) -> bool:
    """Whether the value may be another one for another thread of the block.

    Args:
        expr: the value.
        varying: the variables of which that is so.
    """
    return any(_varies_itself(node, varying) for node in walk(expr))


def _varies_itself(node: Node, varying: Container[Var]) -> bool:
    if isinstance(node, Var):
        return node in varying
    return isinstance(node, BufferLoad) and owner_of(node.buffer.scope()) is MemoryOwner.THREAD


def is_barrier(node: Node) -> bool:
    """Whether a node is the call that lets the threads of a block wait for each other."""
    return isinstance(node, Call) and getattr(node.op, "name", "") == SYNC


class _Kernels(Rewriter):
    def AttrStmt(self, stmt: AttrStmt) -> Stmt:
        if not is_axis(stmt):
            return stmt.map_children(self)
        axes, body = axes_and_body(stmt)
        refuse_lost_updates(body, axes)
        changed = _Barriers(axes).inserted(body)
        return with_body(stmt, changed)


class _Scan:
    """What is known of a statement, with its barriers.

    Attributes:
        stmt: the statement.
        first: accesses that may run before any barrier in it.
        last: accesses that no barrier in it follows for certain.
        has_barrier: whether threads certainly meet in it.
    """

    def __init__(
        self, stmt: Stmt, first: Sequence[Access], last: Sequence[Access], has_barrier: bool
    ) -> None:
        self.stmt, self.has_barrier = stmt, has_barrier
        self.first, self.last = list(first), list(last)


class _Barriers:
    """Inserts the barriers of one kernel."""

    def __init__(self, axes: Sequence[Axis]) -> None:
        self._conflicts = ThreadConflicts(axes)
        self._varying = {axis.var for axis in axes if axis.tag in THREADS}
        self._strides = strides_of(axes)
        self._conditions: tuple[Condition, ...] = ()

    def inserted(self, body: Stmt) -> Stmt:
        """The body of the kernel with barriers."""
        scan = self._scan(body)
        self._require_one_kernel(shared_accesses(body))
        return scan.stmt

    def _require_one_kernel(self, accesses: Sequence[Access]) -> None:
        accesses = [a for a in accesses if owner_of(a.buffer.scope()) is MemoryOwner.DEVICE]
        for number, first in enumerate(accesses):
            for second in accesses[number:]:
                if self._conflicts.among_blocks(first, second):
                    raise KernelError(
                        f"{first.buffer.name}: threads of two blocks access the same element, one "
                        "of them writes, and blocks do not wait for each other",
                        example=self._conflicts.blocks_that_meet(first, second),
                        hint="compute it in loops of its own, which become a kernel of their own, "
                        "or bind other loops to blocks",
                    )

    # --- statements -------------------------------------------------------------------------

    def _scan(self, stmt: Stmt) -> _Scan:
        if isinstance(stmt, SeqStmt):
            return self._sequence(stmt)
        if isinstance(stmt, AttrStmt) and stmt.attr_key == ASYNC_WAIT:
            return _Scan(seq(stmt, _barrier()), (), (), True)
        if isinstance(stmt, (Allocate, AttrStmt, DeclBuffer)) and not tile_operation_of(stmt):
            scan = self._scan(stmt.body)
            return self._around(stmt, scan, body=scan.stmt)
        if isinstance(stmt, LetStmt):
            return self._let(stmt)
        if isinstance(stmt, For):
            return self._loop(stmt)
        if isinstance(stmt, IfThenElse) and not self._varies(stmt.condition):
            return self._branches(stmt)
        if isinstance(stmt, While) and not self._varies(stmt.condition):
            return self._while(stmt)
        if isinstance(stmt, Evaluate) and is_barrier(stmt.value):
            return _Scan(stmt, (), (), True)
        return self._together(stmt)

    @staticmethod
    def _around(stmt: Stmt, scan: _Scan, **changed: Stmt) -> _Scan:
        same = all(getattr(stmt, name) is value for name, value in changed.items())
        return _Scan(
            stmt if same else stmt.replace(**changed), scan.first, scan.last, scan.has_barrier
        )

    def _together(self, stmt: Stmt) -> _Scan:
        """A statement in which no barrier can stand."""
        if isinstance(stmt, (IfThenElse, While)):
            loaded = shared_accesses(Evaluate(stmt.condition))
            outer, parts = (
                self._conditions,
                [stmt.body] if isinstance(stmt, While) else _cases(stmt),
            )
            for number, part in enumerate(parts):
                self._require_whole_groups(stmt.condition, part)
                if isinstance(stmt, IfThenElse):
                    self._conditions = (*outer, Condition(stmt.condition, bool(number)))
                scan = self._scan(part)
                again = [*loaded, *scan.first] if isinstance(stmt, While) else []
                if self._waits(part, scan, loaded, again):
                    raise KernelError(
                        "threads would have to wait for each other where only some of them come: "
                        f"under the condition {stmt.condition}",
                        loops=[v for v in variables_of(stmt.condition) if v in self._varying],
                        hint="let all threads come, with the condition around what they store only",
                    )
            self._conditions = outer
        accesses = shared_accesses(stmt)
        return _Scan(stmt, accesses, accesses, False)

    def _waits(
        self, stmt: Stmt, scan: _Scan, loaded: Sequence[Access], again: Sequence[Access]
    ) -> bool:
        """Whether threads have to wait for each other in a statement, or before it.

        Args:
            stmt: the statement.
            scan: what is known of it.
            loaded: what is loaded before it.
            again: what its next execution accesses first, if it is in a loop.
        """
        needs_barrier = scan.stmt is not stmt
        return needs_barrier or self._meet(loaded, scan.first) or self._meet(scan.last, again)

    def _behind(self, loaded: Sequence[Access], scan: _Scan) -> _Scan:
        """A statement behind loads of all threads that decide about it, or that it uses."""
        if not self._meet(loaded, scan.first):
            return scan
        return _Scan(seq(_barrier(), scan.stmt), (), scan.last, True)

    def _sequence(self, stmt: SeqStmt) -> _Scan:
        parts: list[Stmt] = []
        first: list[Access] = []
        waiting: list[Access] = []
        has_barrier = False
        for child in stmt.seq:
            scan = self._scan(child)
            if self._meet(waiting, scan.first):
                parts.append(_barrier())
                waiting, has_barrier = [], True
            if not has_barrier:
                first += scan.first
            waiting = scan.last if scan.has_barrier else [*waiting, *scan.last]
            has_barrier |= scan.has_barrier
            parts.append(scan.stmt)
        return _Scan(resequenced(stmt, parts), first, waiting, has_barrier)

    def _let(self, stmt: LetStmt) -> _Scan:
        if self._varies(stmt.value):
            self._varying.add(stmt.var)
        scan = self._scan(stmt.body)
        loaded = shared_accesses(Evaluate(stmt.value))
        first, last = ([a.inside(stmt) for a in found] for found in (scan.first, scan.last))
        scan = self._behind(loaded, _Scan(scan.stmt, first, last, scan.has_barrier))
        last = scan.last if scan.has_barrier else [*loaded, *scan.last]
        inside = _Scan(stmt, [*loaded, *scan.first], last, scan.has_barrier)
        return self._around(stmt, inside, body=scan.stmt)

    def _loop(self, stmt: For) -> _Scan:
        if self._varies(stmt.min) or self._varies(stmt.extent):
            self._varying.add(stmt.loop_var)
            return self._loop_of_some(stmt)
        scan = self._scan(stmt.body)
        loaded, first, last = _around_loop(stmt, scan)
        body, has_barrier = scan.stmt, scan.has_barrier
        if self._meet([*loaded, *last], first):  # of this iteration, or of another one
            body, has_barrier, first = seq(_barrier(), body), True, []
        # A loop without iterations has no barrier.
        has_barrier &= isinstance(stmt.extent, IntImm) and stmt.extent.value > 0
        last = last if has_barrier else [*loaded, *last]
        return self._around(stmt, _Scan(stmt, [*loaded, *first], last, has_barrier), body=body)

    def _loop_of_some(self, stmt: For) -> _Scan:
        """A loop to whose iterations not all threads come."""
        for bound in (stmt.min, stmt.extent):
            self._require_whole_groups(bound, stmt.body)
        scan = self._scan(stmt.body)
        loaded, first, last = _around_loop(stmt, scan)
        if self._waits(stmt.body, _Scan(scan.stmt, first, last, False), loaded, first):
            raise KernelError(
                f"threads would have to wait for each other in loop {stmt.loop_var.name}, which "
                "has not as many iterations for all of them",
                loops=[stmt.loop_var],
                hint="give it the largest number, and a condition inside",
            )
        accesses = shared_accesses(stmt)
        return _Scan(stmt, accesses, accesses, False)

    def _while(self, stmt: While) -> _Scan:
        """A loop whose condition is the same for all threads."""
        loaded = shared_accesses(Evaluate(stmt.condition))
        scan = self._behind(loaded, self._scan(stmt.body))
        body, last = scan.stmt, scan.last
        if self._meet(last, [*loaded, *scan.first]):
            body, last = seq(body, _barrier()), []
        inside = _Scan(stmt, [*loaded, *scan.first], [*loaded, *last], False)
        return self._around(stmt, inside, body=body)

    def _branches(self, stmt: IfThenElse) -> _Scan:
        loaded = shared_accesses(Evaluate(stmt.condition))
        scans = [self._behind(loaded, self._scan(part)) for part in _cases(stmt)]
        both = len(scans) == 2 and all(scan.has_barrier for scan in scans)
        scan = _Scan(
            stmt,
            [*loaded, *_under(stmt, scans, "first")],
            [*(() if both else loaded), *_under(stmt, scans, "last")],
            both,
        )
        cases = dict(zip(("then_case", "else_case"), (s.stmt for s in scans), strict=False))
        return self._around(stmt, scan, **cases)

    def _require_whole_groups(self, decides: Expr, stmt: Stmt) -> None:
        """Refuse threads that exchange values where not all of them come.

        Args:
            decides: what decides which threads come.
            stmt: where they come to.
        """
        lanes = lanes_that_exchange(stmt)
        if lanes > 1 and not all(self._is_same_among(node, lanes) for node in walk(decides)):
            raise KernelError(
                "threads of a warp would exchange values where only some of them come: under the "
                f"condition {decides}",
                loops=[v for v in variables_of(decides) if v in self._varying],
                hint="let all threads come, with the condition around what they store only",
            )

    def _is_same_among(self, node: Node, lanes: int) -> bool:
        """Whether a node has the same value for neighbouring threads."""
        stride = self._strides.get(node, 0) if isinstance(node, Var) else 0
        return not _varies_itself(node, self._varying) or (stride > 0 and stride % lanes == 0)

    # --- questions --------------------------------------------------------------------------

    def _meet(self, earlier: Iterable[Access], later: Sequence[Access]) -> bool:
        """Whether a thread must wait for others between some accesses and later ones."""
        found = [[self._here(a) for a in accesses] for accesses in (earlier, later)]
        return any(self._conflicts.among_threads(one, other) for one, other in product(*found))

    def _here(self, access: Access) -> Access:
        """An access under the conditions around."""
        return access.where(*self._conditions)

    def _varies(self, expr: Expr) -> bool:
        return varies(expr, self._varying)


def _cases(stmt: IfThenElse) -> list[Stmt]:
    return [stmt.then_case] if stmt.else_case is None else [stmt.then_case, stmt.else_case]


def _around_loop(stmt: For, scan: _Scan) -> tuple[list[Access], list[Access], list[Access]]:
    """What the bounds of a loop load, and the first and last accesses of its body, from outside."""
    bounds = SeqStmt((Evaluate(stmt.min), Evaluate(stmt.extent)))
    first, last = ([a.inside(stmt) for a in found] for found in (scan.first, scan.last))
    return shared_accesses(bounds), first, last


def _under(stmt: IfThenElse, scans: Sequence[_Scan], part: str) -> list[Access]:
    """Accesses of branches, each under its condition."""
    return [
        access.where(Condition(stmt.condition, bool(number)))
        for number, scan in enumerate(scans)
        for access in getattr(scan, part)
    ]


def _barrier() -> Stmt:
    return Evaluate(tvm_storage_sync("shared"))
