"""Memory is allocated in the innermost loop that has all of its uses.

Before::                                     After::

    allocate B[1024]                             for i in range(64):
    for i in range(64):                              allocate B[1024]
        for j in range(16): B[i * 16 + j] = ...          for j in range(16): B[i * 16 + j] = ...
        for j in range(16): ... = B[i * 16 + j]          for j in range(16): ... = B[i * 16 + j]

Then `compact_buffers` makes it smaller, and the iterations of a parallel loop have memory of their
own. An iteration must not read what another one wrote: each element that it reads must have been
written by itself (see `reaching_definitions`). So a window that slides along a loop stays outside
of it, and so does a sum that the loop adds up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TypeGuard

from tilewright.arith import Analyzer
from tilewright.ir.expr import IntImm, Var, is_const_int
from tilewright.ir.node import Node
from tilewright.ir.rewrite import Rewriter
from tilewright.tir.buffer import Buffer
from tilewright.tir.expr import IterVar
from tilewright.tir.function import PrimFunc
from tilewright.tir.memory_owner import MemoryOwner, owner_of
from tilewright.tir.stmt import Allocate, AttrStmt, DeclBuffer, For, ForKind, Stmt, While
from tilewright.tir.transform.analysis.memory_uses import MemoryUses, Mentions, allocates
from tilewright.tir.transform.analysis.reaching_definitions import defines_what_it_reads
from tilewright.tir.transform.building.scoped_visitor import is_thread_of_block
from tilewright.tir.transform.building.statements import statements


def plan_buffer_locations(func: PrimFunc) -> PrimFunc:
    """`func`, without blocks, with each allocation as far inside as its meaning allows."""
    moves = planned_moves(func)
    if not moves:
        return func
    return func.with_body(_Move(moves)(func.body))


def planned_moves(func: PrimFunc) -> dict[For, list[Allocate]]:
    """Which allocations of a function without blocks move into which loops."""
    moves: dict[For, list[Allocate]] = {}
    if allocates(func.body):
        plan = _Plan(func.body)
        for allocation, buffer in plan.candidates():
            loop = plan.innermost_loop(allocation, buffer)
            if loop is not None:
                moves.setdefault(loop, []).append(allocation)
    return moves


def memory_of_iterations(
    func: PrimFunc, loop_var: Var, asked: Collection[Var] | None = None
) -> set[Var]:
    """The pointers to memory that moves into a loop, or into one inside of it.

    Args:
        func: a function without blocks.
        loop_var: the variable of the loop.
        asked: the only pointers of interest.
    """
    if not allocates(func.body):
        return set()
    loops = (stmt for stmt in statements(func.body) if isinstance(stmt, For))
    loop = next((loop for loop in loops if loop.loop_var is loop_var), None)
    if loop is None:
        return set()
    inside = {stmt for stmt in statements(loop) if isinstance(stmt, Allocate)}
    plan = _Plan(func.body)
    return {
        allocation.buffer_var
        for allocation, buffer in plan.candidates()
        if (asked is None or allocation.buffer_var in asked)
        and plan.moves_into(allocation, buffer, None if allocation in inside else loop)
    }


class _Plan:
    """Which allocations move into which loops."""

    def __init__(self, body: Stmt) -> None:
        self._body = body
        self._uses = MemoryUses(body)
        self._mentions = Mentions()
        self._users: dict[Stmt, dict[Var, list[Node]]] = {}
        self._below: dict[Stmt, Stmt] = {}

    def candidates(self) -> Iterator[tuple[Allocate, Buffer]]:
        """The allocations that may move, with the only buffer that each is used by."""
        for stmt in statements(self._body):
            if isinstance(stmt, Allocate) and is_const_int(stmt.condition, 1):
                buffer = self._uses.only_buffer(stmt)
                # Results that nobody wants are not worth the trouble.
                if buffer is not None and self._uses.is_read(stmt.buffer_var):
                    yield stmt, buffer

    def moves_into(self, allocation: Allocate, buffer: Buffer, loop: For | None) -> bool:
        """Whether an allocation moves into `loop` or further; None for any loop."""
        found = self.innermost_loop(allocation, buffer, until=loop)
        return found is not None if loop is None else found is loop

    def innermost_loop(
        self, allocation: Allocate, buffer: Buffer, until: For | None = None
    ) -> For | None:
        """The innermost loop that can have memory of its own in each iteration.

        Args:
            allocation: the allocation.
            buffer: the only buffer by which it is used.
            until: a loop that is far enough inside.
        """
        loops = self._loops_around_uses(allocation, buffer, until)
        end = len(loops)
        # A loop defines what it reads if one inside of it does, of which there is less to look at.
        for position in reversed(range(end)):
            if loops[position].kind is ForKind.THREAD_BINDING:
                continue  # that is what its scope says
            if _defines_what_it_reads(loops[: position + 1], buffer):
                break
            end = position
        owners = (loop for loop in reversed(loops[:end]) if not shares_memory(loop, buffer))
        return next(owners, None)

    def _loops_around_uses(
        self, allocation: Allocate, buffer: Buffer, until: For | None
    ) -> list[For]:
        """The loops with all uses of an allocation, outermost first, as far as they may own it."""
        loops: list[For] = []
        owner: For | None = None
        stmt: Stmt | None = allocation.body
        while stmt is not None:
            if isinstance(stmt, For):
                if not shares_memory(stmt, buffer):
                    if not may_own_memory(stmt, buffer):
                        break
                    owner = stmt
                loops.append(stmt)
                if owner is until:
                    break
            elif isinstance(stmt, While) or (
                isinstance(stmt, AttrStmt) and isinstance(stmt.node, IterVar)
            ):
                break
            stmt = self._only_user(stmt, allocation.buffer_var)
        return loops

    def _only_user(self, stmt: Stmt, pointer: Var) -> Stmt | None:
        """The part of `stmt` that has all uses of a pointer, if it is one statement."""
        if _is_plain(stmt):
            return self._below_allocations(stmt)
        by_pointer = self._users.get(stmt)
        if by_pointer is None:
            by_pointer = self._users[stmt] = {}
            for child in stmt.children():
                for mentioned in self._mentions(child):
                    by_pointer.setdefault(mentioned, []).append(child)
        users = by_pointer.get(pointer, ())
        return users[0] if len(users) == 1 and isinstance(users[0], Stmt) else None

    def _below_allocations(self, stmt: Stmt) -> Stmt:
        """The body of allocations that stand one in the other, of which there may be thousands."""
        found = self._below.get(stmt)
        if found is None:
            chain: list[Stmt] = []
            found = stmt
            while _is_plain(found):
                chain.append(found)
                found = found.body
            self._below.update(dict.fromkeys(chain, found))
        return found


def _is_plain(stmt: Stmt) -> TypeGuard[Allocate]:
    """Whether `stmt` is an allocation of a constant size, which mentions no memory but its own."""
    return isinstance(stmt, Allocate) and all(
        isinstance(expr, IntImm) for expr in (*stmt.extents, stmt.condition)
    )


def _defines_what_it_reads(loops: Sequence[For], buffer: Buffer) -> bool:
    """Whether an iteration of the last of some loops, outermost first, reads only what it wrote."""
    analyzer = Analyzer()
    for loop in loops:
        analyzer.bind_range(loop.loop_var, loop.min, loop.extent)
    return defines_what_it_reads(loops[-1].body, buffer, analyzer)


def may_own_memory(loop: For, buffer: Buffer) -> bool:
    """Whether the iterations of a loop can have memory of the scope of `buffer`.

    The iterations of unrolled and vectorised loops become one piece of code, in which they need no
    memory of their own. Threads share what is in shared memory, and all of a kernel what is global.
    """
    if loop.kind is ForKind.THREAD_BINDING:
        tag = loop.thread_binding.thread_tag if loop.thread_binding is not None else ""
        owner = owner_of(buffer.scope())
        if owner is MemoryOwner.WARP:
            return tag != "threadIdx.x"
        return owner is MemoryOwner.THREAD or (
            owner is MemoryOwner.BLOCK and tag.startswith("blockIdx")
        )
    return loop.kind in (ForKind.SERIAL, ForKind.PARALLEL)


def shares_memory(loop: For, buffer: Buffer) -> bool:
    """Whether `loop` is one of threads that share the memory of `buffer`.

    They execute the loops inside of it together, so the memory may be that of an iteration of one.
    """
    if loop.thread_binding is None:
        return False
    owner, tag = owner_of(buffer.scope()), loop.thread_binding.thread_tag
    if owner is MemoryOwner.WARP:
        return tag == "threadIdx.x"
    return owner is MemoryOwner.BLOCK and is_thread_of_block(tag)


class _Move(Rewriter):
    def __init__(self, moves: dict[For, list[Allocate]]) -> None:
        self._moves = moves
        self._moved = {a.buffer_var for allocations in moves.values() for a in allocations}

    def Allocate(self, stmt: Allocate) -> Stmt:
        return self(stmt.body) if stmt.buffer_var in self._moved else stmt.map_children(self)

    def DeclBuffer(self, stmt: DeclBuffer) -> Stmt:
        # The memory stands for the buffer where that has no declaration.
        return self(stmt.body) if stmt.buffer.data in self._moved else stmt.map_children(self)

    def For(self, loop: For) -> Stmt:
        changed = loop.map_children(self)
        body = changed.body
        for allocation in reversed(self._moves.get(loop, ())):
            body = allocation.replace(body=body)
        return changed if body is changed.body else changed.replace(body=body)
