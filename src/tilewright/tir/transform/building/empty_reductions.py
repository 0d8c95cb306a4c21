"""What a reduction loop without iterations does: the elements get their initial values.

A block runs its `init` in the first of the instances that reduce into an element, and here there
are none. A sum of nothing is 0 all the same. Where lowering can put the initialisation in front of
the loop, it gives that; the interpreter, and lowering where it cannot, add a branch::

    for k in range(0):                      if 0 <= 0:
        for j in range(4):           ->         for j in range(4):
            with T.block("C"):                      with T.block("C"):
                with T.init(): ...                      ...
                ...
"""

from __future__ import annotations

from typing import Any

from tilewright.ir.arithmetic import equal, logical_and
from tilewright.ir.convert import EMPTY
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.tir.expr import IterType
from tilewright.tir.stmt import (
    AttrStmt,
    BlockRealize,
    BufferStore,
    DeclBuffer,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    seq,
)
from tilewright.tir.substitute import substitute, variables_of
from tilewright.tir.transform.analysis.memory_uses import Mentions
from tilewright.tir.transform.building.statements import statements
from tilewright.tir.transform.hoist_init import initial_predicate


def initialisation_of(loop: For) -> Stmt | None:
    """What `loop` does if it has no iteration; None if that is nothing, or it always has some."""
    if isinstance(loop.extent, IntImm) and loop.extent.value > 0:
        return None
    found = _Initialisation(loop)
    stmt = found.of(loop.body)
    return None if stmt is None else substitute(stmt, {loop.loop_var: loop.min})


class _Initialisation:
    """The initialisations of the blocks that reduce along a loop."""

    def __init__(self, along: For) -> None:
        self._along = along.loop_var
        self._loops = [along]
        self._spatial: set[Var] = set()
        self._local: set[Var] = set()
        """Memory of one iteration: where there is none, nothing is to be initialised."""

    def of(self, stmt: Stmt | None) -> Any:
        """The part of `stmt` that initialises elements; None if there is none."""
        match stmt:
            case BlockRealize():
                return self._of_block(stmt)
            case SeqStmt():
                parts = [part for part in map(self.of, stmt.seq) if part is not None]
                return seq(*parts) if parts else None
            case IfThenElse():
                yes, no = self.of(stmt.then_case), self.of(stmt.else_case)
                if yes is None and no is None:
                    return None
                return IfThenElse(stmt.condition, seq(yes), no)
            case For():
                return self._of_loop(stmt)
            case LetStmt():
                body = self.of(stmt.body)
                var = stmt.var.replace()
                return body and stmt.replace(var=var, body=substitute(body, {stmt.var: var}))
            case AttrStmt() | DeclBuffer():
                body = self.of(stmt.body)
                return None if body is None else stmt.replace(body=body)
            case _:
                return None

    def _of_loop(self, loop: For) -> Stmt | None:
        self._loops.append(loop)
        body = self.of(loop.body)
        self._loops.pop()
        if body is None or loop.loop_var not in self._spatial:
            return body and substitute(body, {loop.loop_var: loop.min})
        var = Var(f"{loop.loop_var.name}_init", loop.loop_var.dtype)
        body = substitute(body, {loop.loop_var: var})
        return loop.replace(loop_var=var, body=body, annotations=EMPTY)

    def _of_block(self, realize: BlockRealize) -> Stmt | None:
        if realize.block.init is None:
            return self._of_outer_block(realize)
        block = realize.block
        stores = [stmt for stmt in statements(realize.block.init) if isinstance(stmt, BufferStore)]
        if stores and all(store.buffer.data in self._local for store in stores):
            return None
        bound = list(zip(block.iter_vars, realize.iter_values, strict=True))
        spatial = [pair for pair in bound if pair[0].iter_type is not IterType.COMM_REDUCE]
        reduced = [pair for pair in bound if pair[0].iter_type is IterType.COMM_REDUCE]
        used = {var for _, value in spatial for var in variables_of(value)}
        if self._along in used:
            return None
        if not any(self._along in set(variables_of(value)) for _, value in reduced):
            return None
        self._spatial |= used
        starts, predicate = {}, realize.predicate
        for iterator, value in reduced:
            assert iterator.dom is not None
            starts[iterator.var] = iterator.dom.min
            predicate = logical_and(predicate, equal(value, iterator.dom.min))
        predicate = self._predicate(realize.replace(predicate=predicate), used)
        return realize.replace(
            iter_values=tuple(value for _, value in spatial),
            predicate=predicate,
            block=block.replace(
                iter_vars=tuple(iterator for iterator, _ in spatial),
                reads=(),
                writes=(),
                init=None,
                body=substitute(block.init, starts),
            ),
        )

    def _of_outer_block(self, realize: BlockRealize) -> Stmt | None:
        """What the blocks inside of one without an initialisation do."""
        iterators = [iterator.var for iterator in realize.block.iter_vars]
        values = dict(zip(iterators, realize.iter_values, strict=True))
        block = substitute(realize.block.replace(iter_vars=()), values)
        self._local.update(buffer.data for buffer in block.alloc_buffers)
        body = self.of(block.body)
        if body is None:
            return None
        predicate = self._predicate(realize, self._spatial)
        used = Mentions()(body)
        kept = tuple(buffer for buffer in block.alloc_buffers if buffer.data in used)
        block = block.replace(reads=(), writes=(), alloc_buffers=kept, body=body)
        return realize.replace(iter_values=(), predicate=predicate, block=block)

    def _predicate(self, realize: BlockRealize, spatial: set[Var]) -> Expr:
        """The predicate of a block in the first iterations of the reduction loops."""
        starts: dict[Var, Expr] = {}
        for loop in self._loops:
            if loop.loop_var not in spatial:
                starts[loop.loop_var] = substitute(loop.min, starts)
        return initial_predicate(
            realize.block, realize.iter_values, realize.predicate, starts, self._loops
        )
