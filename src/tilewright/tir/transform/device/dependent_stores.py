"""Which memory a loop writes in another way in each iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.ir.expr import Call, Expr, IntImm, Var
from tilewright.ir.op import Op
from tilewright.ir.rewrite import Visitor, walk
from tilewright.tir.buffer import BufferLoad, storage_scope
from tilewright.tir.memory_owner import MemoryOwner, owner_of
from tilewright.tir.stmt import (
    Allocate,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    Stmt,
    While,
)

SHUFFLE: Final = Op.get("tir.tvm_warp_shuffle")


def dependent_stores(loop: For, *, of_threads: bool = False) -> DependentStores:
    """The memory of which the iterations of a loop write different elements, or values.

    Args:
        loop: the loop.
        of_threads: whether its iterations are threads, which share what a block has.
    """
    own: frozenset[Var] = frozenset()
    while True:
        finder = DependentStores(loop, own, of_threads)
        finder.visit(loop.body)
        if finder.own == own:
            return finder
        own = finder.own


class DependentStores(Visitor):
    """Finds the memory that is written in a loop depending on its iteration.

    A store depends on it by its indices and its value, by the variables in them, and by the
    branches and loops around it, which say whether and how often it runs.

    Attributes:
        own: what is allocated in the loop.
        others: what is allocated around it.
    """

    def __init__(self, loop: For, own: frozenset[Var], of_threads: bool) -> None:
        self._loop, self._known, self._of_threads = loop, own, of_threads
        self._allocated: set[Var] = set()
        self._variables: set[Var] = set()
        """Those of definitions whose values depend on the iteration."""
        self._is_dependent = False
        self.own = own
        self.others: frozenset[Var] = frozenset()

    def _is_own(self, memory: Var) -> bool:
        """Whether each iteration has some memory for itself."""
        is_shared = self._of_threads and owner_of(storage_scope(memory)) is not MemoryOwner.THREAD
        return memory in self._allocated and not is_shared

    def _depends(self, node: Stmt | Expr) -> bool:
        if self._of_threads and _is_broadcast(node):
            return False
        return depends(node, self._loop, self._known) or any(
            part in self._variables for part in walk(node)
        )

    def _under(self, deciding: Sequence[Expr], *bodies: Stmt | None) -> None:
        """Visit what runs as some expressions decide."""
        outer = self._is_dependent
        self._is_dependent = outer or any(map(self._depends, deciding))
        for body in bodies:
            if body is not None:
                self.visit(body)
        self._is_dependent = outer

    def Allocate(self, stmt: Allocate) -> None:
        self._allocated.add(stmt.buffer_var)
        self.visit(stmt.body)

    def LetStmt(self, let: LetStmt) -> None:
        if self._is_dependent or self._depends(let.value):
            self._variables.add(let.var)
        self.visit(let.body)

    def For(self, loop: For) -> None:
        self._under((loop.min, loop.extent), loop.body)

    def While(self, loop: While) -> None:
        self._under((loop.condition,), loop.body)

    def IfThenElse(self, stmt: IfThenElse) -> None:
        self._under((stmt.condition,), stmt.then_case, stmt.else_case)

    def BufferStore(self, store: BufferStore) -> None:
        if self._is_dependent or self._depends(store):
            if self._is_own(store.buffer.data):
                self.own |= {store.buffer.data}
            else:
                self.others |= {store.buffer.data}

    def Evaluate(self, stmt: Evaluate) -> None:
        # A call may write what it has a pointer to.
        parts = walk(stmt.value)
        pointers = {part for part in parts if isinstance(part, Var) and part in self._allocated}
        if pointers and (self._is_dependent or self._depends(stmt.value)):
            self.own |= pointers


def depends(stmt: Stmt | Expr, loop: For, own: frozenset[Var]) -> bool:
    """Whether a statement or expression is about one iteration.

    Args:
        stmt: the statement or expression.
        loop: the loop.
        own: memory in which each iteration has something else.
    """
    for node in walk(stmt):
        if node is loop.loop_var:
            return True
        if isinstance(node, (BufferLoad, BufferStore)) and node.buffer.data in own:
            return True
    return False


def _is_broadcast(node: Stmt | Expr) -> bool:
    """Whether a value is that of one thread, which the others get from it without memory."""
    return isinstance(node, Call) and node.op is SHUFFLE and isinstance(node.args[2], IntImm)
