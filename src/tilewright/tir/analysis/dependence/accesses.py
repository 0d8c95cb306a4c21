"""Which elements an instance of a statement reads and writes, exactly where indices are affine.

The accesses are taken from loads and stores. Loops inside of the statement are existentially
quantified, conditions restrict where they are affine. A pointer that is passed somewhere means that
any element may be read and written, except where the block declares regions of that memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from tilewright.ir.expr import Call, Expr, Let, Var
from tilewright.ir.node import Node
from tilewright.ir.op import CallEffectKind, Op
from tilewright.ir.rewrite import Visitor
from tilewright.tir.analysis.dependence.affine import Affine
from tilewright.tir.analysis.dependence.statements import (
    ANYTHING,
    EFFECTS,
    EnclosingBlocks,
    Memory,
    layout_variables,
    start_conditions,
    view_of,
)
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion
from tilewright.tir.expr import IterVar
from tilewright.tir.stmt import (
    Allocate,
    AllocateConst,
    AttrStmt,
    Block,
    BufferRealize,
    BufferStore,
    DeclBuffer,
    For,
    IfThenElse,
    LetStmt,
    Prefetch,
    Stmt,
)
from tilewright.tir.tile_operations import TILE_OPERATIONS


class Access(NamedTuple):
    """Elements that one load or store may access.

    Attributes:
        memory: the pointer variable of the buffer.
        buffer: the buffer, None for any place of the memory.
        is_write: whether it is a store.
        relation: ``[iterators] -> [element] : ...`` in the notation of isl, without braces.
        parameters: the sizes in it.
        exact: whether all these elements are accessed for certain.
        indices: the indices of a load or store of `buffer` itself.
    """

    memory: Memory
    buffer: Buffer | None
    is_write: bool
    relation: str
    parameters: tuple[str, ...]
    exact: bool
    indices: tuple[Expr, ...] | None = None


def accesses_of(stmt: Stmt, around: EnclosingBlocks) -> tuple[Access, ...]:
    """The accesses of `stmt`, a block without blocks inside or a statement outside of blocks."""
    collector = _Collector(around)
    if isinstance(stmt, Block):
        collector.block(stmt)
    else:
        collector.visit(stmt)
    found: dict[object, Access] = {}
    for access in collector.accesses:
        found.setdefault(access[:-1], access)
    return tuple(found.values())


class _Collector(Visitor):
    def __init__(self, around: EnclosingBlocks) -> None:
        self.accesses: list[Access] = []
        self.scope: dict[Var, Any] = {v: f"i{n}" for n, v in enumerate(around.iterators)}
        self.dimensions = [f"i{n}" for n in range(len(around.iterators))]
        self.versions = around.versions
        self.views = dict(around.views)
        self.private: set[Memory] = set()
        self.conditions: list[tuple[Expr, bool]] = []
        self.passed: list[tuple[Memory, bool]] = []
        """Memory whose pointer is used, and whether it may be written."""

    # --- statements -------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        self.private.update(buffer.data for buffer in block.alloc_buffers)
        for match in block.match_buffers:
            self.views[match.buffer] = view_of(match.buffer, match.source)
            self.scope.update(layout_variables(match.buffer))
        if block.init is not None:
            with self._where(*start_conditions(block.iter_vars)):
                self.visit(block.init)
        self.visit(block.body)
        for memory, may_write in dict.fromkeys(self.passed):
            self._whole_memory(block, memory, may_write)

    def _whole_memory(self, block: Block, memory: Memory, may_write: bool) -> None:
        declared = [
            (region, is_write)
            for regions, is_write in ((block.reads, False), (block.writes, True))
            for region in regions
            if self._memory(region.buffer.data) is memory
        ]
        for region, is_write in declared:
            self._region(region, is_write)
        if not declared:
            self._anywhere(memory, may_write)

    @contextmanager
    def _where(self, *conditions: tuple[Expr, bool]) -> Iterator[None]:
        self.conditions += conditions
        yield
        del self.conditions[len(self.conditions) - len(conditions) :]

    def For(self, loop: For) -> None:
        self.visit(loop.min)
        self.visit(loop.extent)
        self.scope[loop.loop_var] = loop
        self.visit(loop.body)

    def LetStmt(self, let: LetStmt | Let) -> None:
        self.scope[let.var] = let.value
        if not let.var.dtype.is_handle:
            self.visit(let.value)
        self.visit(let.body)

    Let = LetStmt

    def IfThenElse(self, stmt: IfThenElse) -> None:
        self.visit(stmt.condition)
        with self._where((stmt.condition, False)):
            self.visit(stmt.then_case)
        if stmt.else_case is not None:
            with self._where((stmt.condition, True)):
                self.visit(stmt.else_case)

    def Allocate(self, stmt: Allocate | AllocateConst) -> None:
        self.private.add(stmt.buffer_var)
        self.visit(stmt.body)

    AllocateConst = Allocate

    def DeclBuffer(self, stmt: DeclBuffer | BufferRealize) -> None:
        if isinstance(stmt, BufferRealize):
            self.private.add(stmt.buffer.data)
        self.visit(stmt.body)

    BufferRealize = DeclBuffer

    def BufferStore(self, store: BufferStore) -> None:
        for item in store.children():
            self.visit(item)
        self._element(store.buffer, store.indices, True)

    def AttrStmt(self, stmt: AttrStmt) -> None:
        if isinstance(stmt.node, IterVar):  # a thread index
            self.scope[stmt.node.var] = None
        for item in stmt.children():
            self.visit(item)

    def Prefetch(self, stmt: Prefetch) -> None:
        del stmt

    # --- expressions ------------------------------------------------------------------------

    def BufferLoad(self, load: BufferLoad) -> None:
        for item in load.children():
            self.visit(item)
        self._element(load.buffer, load.indices, False)

    def Call(self, call: Call) -> None:
        name = getattr(call.op, "name", "")
        if name == "tir.if_then_else":
            condition, yes, no = call.args
            self.visit(condition)
            with self._where((condition, False)):
                self.visit(yes)
            with self._where((condition, True)):
                self.visit(no)
            return
        if name == "tir.address_of" and isinstance(call.args[0], BufferLoad):
            for index in call.args[0].indices:
                self.visit(index)
            self._pass(call.args[0].buffer.data, True)
            return
        if name == "tir.tvm_access_ptr" and isinstance(call.args[1], Var):
            self._pass(call.args[1], getattr(call.args[4], "value", 3) != 1)
            return
        if name not in TILE_OPERATIONS and (
            not isinstance(call.op, Op) or call.op.effect in _ORDERED
        ):
            self._anywhere(EFFECTS, True)
        for argument in call.args:
            self.visit(argument)

    def Var(self, var: Var) -> None:
        if var.dtype.is_handle:
            self._pass(var, True)

    # --- accesses ---------------------------------------------------------------------------

    def _pass(self, pointer: Var, may_write: bool) -> None:
        memory = self._memory(pointer)
        if memory not in self.private:
            self.passed.append((memory, may_write))

    def _memory(self, pointer: Var) -> Memory:
        """What a pointer points into."""
        for view, of in self.views.items():
            if view.data is pointer:
                return self._memory(of.source.data)
        value = self.scope.get(pointer)
        if value is None:
            return ANYTHING if pointer in self.scope else pointer
        found = {self._memory(p) for p in _pointers(value)}
        return found.pop() if len(found) == 1 else ANYTHING

    def _element(self, buffer: Buffer, indices: Sequence[Expr], is_write: bool) -> None:
        affine = self._affine()
        forms = [affine.text(index) for index in indices]
        self._add(buffer, affine, forms, is_write, tuple(indices))

    def _region(self, region: BufferRegion, is_write: bool) -> None:
        affine = self._affine()
        forms = []
        for item in region.region:
            name = affine.unknown(exact=True)
            low = affine.text(item.min)
            size = affine.text(item.extent)
            affine.constraints.append(f"{low} <= {name} < {low} + {size}")
            forms.append(name)
        self._add(region.buffer, affine, forms, is_write)

    def _affine(self) -> Affine:
        return Affine(self.scope)

    def _add(
        self,
        buffer: Buffer,
        affine: Affine,
        indices: list[str],
        is_write: bool,
        exprs: tuple[Expr, ...] | None = None,
    ) -> None:
        view = self.views.get(buffer)
        if view is not None:
            exprs = None
        while view is not None:
            offsets = [affine.text(offset) for offset in view.offsets]
            lead = len(offsets) - len(indices)
            if view.regular and lead >= 0:
                moved = zip(offsets[lead:], indices, strict=True)
                indices = offsets[:lead] + [f"{offset} + {index}" for offset, index in moved]
            else:
                indices = [affine.unknown() for _ in offsets]
            buffer = view.source
            view = self.views.get(buffer)
        memory = self._memory(buffer.data)
        if memory in self.private:
            return
        if memory is not buffer.data:
            self._anywhere(memory, is_write)
            return
        indices = self.dimensions[: self.versions.get(memory, 0)] + indices
        conditions = [affine.formula(c, negated) for c, negated in self.conditions]
        self.accesses.append(
            Access(
                memory,
                buffer,
                is_write,
                affine.relation(self.dimensions, indices, conditions),
                tuple(affine.parameters),
                affine.exact,
                exprs,
            )
        )

    def _anywhere(self, memory: Memory, may_write: bool) -> None:
        relation = f"[{', '.join(self.dimensions)}] -> []"
        for is_write in (False, True)[: 1 + may_write]:
            self.accesses.append(Access(memory, None, is_write, relation, (), False))


def _pointers(value: Node) -> Iterator[Var]:
    """The pointers in an expression."""
    if isinstance(value, Var) and value.dtype.is_handle:
        yield value
    if isinstance(value, BufferLoad):
        yield value.buffer.data
    for item in value.children():
        yield from _pointers(item)


_ORDERED: Final = (
    CallEffectKind.UPDATE_STATE,
    CallEffectKind.CONTROL_JUMP,
    CallEffectKind.OPAQUE,
)
