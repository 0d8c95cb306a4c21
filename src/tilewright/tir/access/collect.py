"""One walk over a program finds its accesses, for all who ask what is read and written where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tilewright.ir.expr import And, Call, Expr, Let, Or, Select, Var
from tilewright.ir.node import Node
from tilewright.ir.op import CallEffectKind, Op
from tilewright.ir.rewrite import Visitor
from tilewright.tir.access.access import (
    Access,
    AccessKind,
    Condition,
    Definition,
    Surroundings,
)
from tilewright.tir.access.conditions import assumed_condition, may_return, start_conditions
from tilewright.tir.access.summary import AccessSummary, PointerUse
from tilewright.tir.buffer import Buffer, BufferLoad, decl_buffer
from tilewright.tir.expr import IterVar
from tilewright.tir.stmt import (
    Allocate,
    AllocateConst,
    AssertStmt,
    AttrStmt,
    Block,
    BlockRealize,
    BufferRealize,
    BufferStore,
    DeclBuffer,
    For,
    IfThenElse,
    LetStmt,
    Prefetch,
    SeqStmt,
    While,
)
from tilewright.tir.substitute import substitute
from tilewright.tir.tile_operations import tile_operation_of

ANYWHERE: Final = Surroundings()
"""A place of which nothing is known."""


def collect_accesses(
    root: Node,
    around: Surroundings = ANYWHERE,
    *,
    enter_blocks: bool = False,
    is_plain: Callable[[BufferLoad | BufferStore], bool] | None = None,
) -> AccessSummary:
    """The accesses of a program, or of a part of it.

    Args:
        root: a statement, such as a block, or an expression.
        around: what is around it.
        enter_blocks: whether the accesses of the blocks in it are those that their bodies make;
            otherwise, they are what the blocks declare.
        is_plain: whether the indices of an access are known to access nothing, so that there is no
            need to look at them.
    """
    collector = _Collector(around, enter_blocks, is_plain)
    collector.visit(root)
    if collector.has_return:  # which is rare, and to be known before the walk
        collector = _Collector(around, enter_blocks, is_plain, has_return=True)
        collector.visit(root)
    return collector.summary


class _Collector(Visitor):
    def __init__(
        self,
        around: Surroundings,
        enter_blocks: bool,
        is_plain: Callable[[BufferLoad | BufferStore], bool] | None,
        *,
        has_return: bool = False,
    ) -> None:
        self.summary = AccessSummary([], set(), set(), {}, [], [], [])
        self.has_return = has_return
        self._around = around
        self._enter_blocks, self._is_plain = enter_blocks, is_plain
        self._by_warp = False
        self._store: BufferStore | None = None

    def _add(
        self,
        node: BufferLoad | BufferStore | Call | BlockRealize,
        kind: AccessKind,
        buffer: Buffer,
        indices: tuple[Expr, ...],
        extents: tuple[Expr, ...] | None = None,
    ) -> None:
        self.summary.accesses.append(
            Access(node, kind, buffer, indices, self._around, extents, self._by_warp, self._store)
        )

    # --- what is around ---------------------------------------------------------------------

    def _visit_in(self, around: Surroundings, *parts: Node) -> None:
        outer, self._around = self._around, around
        for part in parts:
            self.visit(part)
        self._around = outer

    def _visit_where(self, conditions: tuple[Condition, ...], *parts: Node) -> None:
        definitions, before, is_certain = self._around
        self._visit_in(Surroundings(definitions, (*before, *conditions), is_certain), *parts)

    def _visit_inside(self, node: Definition, *parts: Node, is_certain: bool = True) -> None:
        definitions, conditions, before = self._around
        is_certain = is_certain and before
        self._visit_in(Surroundings((*definitions, node), conditions, is_certain), *parts)

    # --- statements -------------------------------------------------------------------------

    def BufferStore(self, store: BufferStore) -> None:
        outer, self._store = self._store, store
        if self._is_plain is not None and self._is_plain(store):
            self.visit(store.value)
        else:
            self.visit_children(store)
        self._add(store, AccessKind.WRITE, store.buffer, store.indices)
        self._store = outer

    def For(self, loop: For) -> None:
        self.visit(loop.min)
        self.visit(loop.extent)
        self.summary.bound.add(loop.loop_var)
        is_certain = not (self.has_return and may_return(loop.body))
        self._visit_inside(loop, loop.body, is_certain=is_certain)

    def While(self, loop: While) -> None:
        around = self._around._replace(is_certain=False)
        self._visit_in(around, loop.condition, loop.body)

    def LetStmt(self, let: LetStmt | Let) -> None:
        self.summary.bound.add(let.var)
        uses = len(self.summary.pointers)
        self.visit(let.value)
        if let.var.dtype.is_handle:
            found = self.summary.pointers
            found[uses:] = [use._replace(is_named=True) for use in found[uses:]]
        self._visit_inside(let, let.body)

    Let = LetStmt

    def SeqStmt(self, stmt: SeqStmt) -> None:
        outer = self._around
        for item in stmt.seq:
            self.visit(item)
            assumed = assumed_condition(item)
            if assumed is not None:
                conditions = (*self._around.conditions, Condition(assumed))
                self._around = self._around._replace(conditions=conditions)
            if self.has_return and may_return(item):
                self._around = self._around._replace(is_certain=False)
        self._around = outer

    def IfThenElse(self, stmt: IfThenElse) -> None:
        self.visit(stmt.condition)
        self._visit_where((Condition(stmt.condition),), stmt.then_case)
        if stmt.else_case is not None:
            self._visit_where((Condition(stmt.condition, True),), stmt.else_case)

    def AssertStmt(self, stmt: AssertStmt) -> None:
        self.visit(stmt.condition)
        self._visit_where((Condition(stmt.condition),), stmt.body)

    def Allocate(self, stmt: Allocate | AllocateConst) -> None:
        self.summary.allocated.add(stmt.buffer_var)
        self.visit(stmt.body)

    AllocateConst = Allocate

    def DeclBuffer(self, stmt: DeclBuffer | BufferRealize) -> None:
        if isinstance(stmt, BufferRealize):
            self.summary.allocated.add(stmt.buffer.data)
        self.visit(stmt.body)

    BufferRealize = DeclBuffer

    def AttrStmt(self, stmt: AttrStmt) -> None:
        self.visit(stmt.value)
        outer, self._by_warp = self._by_warp, tile_operation_of(stmt) is not None
        if isinstance(stmt.node, IterVar):
            self._visit_inside(stmt, stmt.body)
        else:
            self.visit(stmt.body)
        self._by_warp = outer

    def Prefetch(self, stmt: Prefetch) -> None:
        """A hint, which may name memory that does not exist."""

    # --- blocks -----------------------------------------------------------------------------

    def Block(self, block: Block) -> None:
        self.summary.allocated.update(buffer.data for buffer in block.alloc_buffers)
        self.summary.views.update((match.buffer, match.source) for match in block.match_buffers)
        if block.init is not None:
            self._visit_where(start_conditions(block.iter_vars), block.init)
        self.visit(block.body)

    def BlockRealize(self, realize: BlockRealize) -> None:
        for value in realize.iter_values:
            self.visit(value)
        self.visit(realize.predicate)
        self.summary.blocks.append((realize, self._around))
        outer = self._around
        if self._enter_blocks:
            self._visit_in(outer.in_block(realize), realize.block)
            return
        self._around = outer._replace(conditions=(*outer.conditions, Condition(realize.predicate)))
        self._declared(realize)
        self._around = outer

    def _declared(self, realize: BlockRealize) -> None:
        block = realize.block
        iterators = (item.var for item in block.iter_vars)
        values = dict(zip(iterators, realize.iter_values, strict=False))
        for regions, kind in ((block.reads, AccessKind.READ), (block.writes, AccessKind.WRITE)):
            for region in regions:
                box = substitute(region, values).region
                indices, extents = (item.min for item in box), (item.extent for item in box)
                self._add(realize, kind, region.buffer, tuple(indices), tuple(extents))

    # --- expressions ------------------------------------------------------------------------

    def BufferLoad(self, load: BufferLoad) -> None:
        self._add(load, AccessKind.READ, load.buffer, load.indices)
        if self._is_plain is None or not self._is_plain(load):
            self.visit_children(load)

    def Var(self, var: Var) -> None:
        if var.dtype.is_handle:
            self.summary.pointers.append(PointerUse(var, True, self._around))

    def And(self, expr: And | Or) -> None:
        self.visit(expr.a)
        self._visit_where((Condition(expr.a, isinstance(expr, Or)),), expr.b)

    Or = And

    def Select(self, expr: Select) -> None:
        self._choice(expr.condition, expr.true_value, expr.false_value, skips=False)

    def _choice(self, condition: Expr, yes: Expr, no: Expr, *, skips: bool = True) -> None:
        self.visit(condition)
        self._visit_where((Condition(condition, False, skips),), yes)
        self._visit_where((Condition(condition, True, skips),), no)

    def Call(self, call: Call) -> None:
        hook = _CALLS.get(getattr(call.op, "name", ""))
        if hook is not None:
            hook(self, call)
            return
        if not isinstance(call.op, Op) or call.op.effect >= CallEffectKind.READ_STATE:
            self.summary.calls.append(call)
        self.visit_children(call)

    def _if_then_else(self, call: Call) -> None:
        self._choice(*call.args)

    def _address(self, call: Call) -> None:
        element = call.args[0]
        if isinstance(element, BufferLoad):
            self._add(element, AccessKind.ADDRESS, element.buffer, element.indices)
        self.visit_children(element)

    def _access_pointer(self, call: Call) -> None:
        pointer = call.args[1]
        if isinstance(pointer, Var):
            may_write = getattr(call.args[4], "value", 3) != 1
            self.summary.pointers.append(PointerUse(pointer, may_write, self._around))
        else:
            self.visit_children(call)

    def _atomic_addition(self, call: Call) -> None:
        element: BufferLoad = call.args[0].args[0]  # type: ignore[attr-defined]
        for part in (*element.indices, call.args[1]):
            self.visit(part)
        self._add(element, AccessKind.UPDATE, element.buffer, element.indices)
        self.summary.calls.append(call)

    def _loaded_matrices(self, call: Call) -> None:
        """Somewhere in the memory that a call has a pointer to, a warp reads."""
        pointer = call.args[5]
        if isinstance(pointer, Var):
            self._add(call, AccessKind.READ, decl_buffer((), call.dtype, data=pointer), ())
        self.visit_children(call)
        self.summary.calls.append(call)

    def _return(self, call: Call) -> None:
        self.has_return = True
        self.summary.calls.append(call)
        self.visit_children(call)

    def _hint(self, call: Call) -> None:
        """It names places, but accesses nothing."""


_CALLS = {
    "tir.if_then_else": _Collector._if_then_else,
    "tir.address_of": _Collector._address,
    "tir.tvm_access_ptr": _Collector._access_pointer,
    "tir.atomic_add": _Collector._atomic_addition,
    "tir.ptx_ldmatrix": _Collector._loaded_matrices,
    "tir.ret": _Collector._return,
    "tir.prefetch_address": _Collector._hint,
}
