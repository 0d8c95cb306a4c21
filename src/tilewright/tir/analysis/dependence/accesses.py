"""Which elements an instance of a statement reads and writes, exactly where indices are affine.

The accesses are taken from loads and stores. Loops inside of the statement are existentially
quantified, conditions restrict where they are affine. A pointer that is passed somewhere means that
any element may be read and written, except where the block declares regions of that memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from tilewright.ir.expr import Call, Expr, Let, Var, constant_product
from tilewright.ir.op import CallEffectKind, Op
from tilewright.tir.access import (
    ANYWHERE,
    Access,
    AccessKind,
    Definition,
    Surroundings,
    collect_accesses,
)
from tilewright.tir.analysis.dependence.affine import Affine, Scope
from tilewright.tir.analysis.dependence.statements import (
    ANYTHING,
    EFFECTS,
    EnclosingBlocks,
    Memory,
    layout_variables,
    view_of,
)
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion, Range
from tilewright.tir.stmt import AttrStmt, Block, For, LetStmt, Stmt
from tilewright.tir.tile_operations import TILE_OPERATIONS


class AccessRelation(NamedTuple):
    """Elements that one load or store may access, as an integer relation.

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


def accesses_of(stmt: Stmt, around: EnclosingBlocks) -> tuple[AccessRelation, ...]:
    """The accesses of `stmt`, a block without blocks inside or a statement outside of blocks."""
    found: dict[object, AccessRelation] = {}
    for relation in _Relations(stmt, around).found:
        found.setdefault(relation[:-1], relation)
    return tuple(found.values())


class _Relations:
    """Makes the relations of a statement."""

    def __init__(self, stmt: Stmt, around: EnclosingBlocks) -> None:
        self.found: list[AccessRelation] = []
        self.dimensions = [f"i{n}" for n in range(len(around.iterators))]
        self.versions = around.versions
        summary = collect_accesses(stmt)
        self.private = summary.allocated
        self.views = dict(around.views)
        self.scope: dict[Var, Any] = dict(zip(around.iterators, self.dimensions, strict=True))
        for view, source in summary.views.items():
            self.views[view] = view_of(view, source)
            self.scope.update(layout_variables(view))
        self._scopes: dict[int, tuple[tuple[Definition, ...], dict[Var, Any]]] = {}
        passed: dict[tuple[Memory, bool], None] = {}
        for access in summary.accesses:
            if access.kind is AccessKind.ADDRESS or access.kind is AccessKind.UPDATE:
                passed[self._memory(access.memory, self._scope_at(access.around)), True] = None
            elif not isinstance(access.node, Call):
                self._element(access)
        for use in summary.pointers:
            if not use.is_named:
                memory = self._memory(use.pointer, self._scope_at(use.around))
                passed[memory, use.may_write] = None
        if any(map(_is_ordered, summary.calls)):
            self._anywhere(EFFECTS, True)
        for memory, may_write in passed:
            if memory not in self.private:
                self._whole_memory(stmt, memory, may_write)

    def _scope_at(self, around: Surroundings) -> dict[Var, Any]:
        """What the variables are at a place."""
        definitions = around.definitions
        if not definitions:
            return self.scope
        known = self._scopes.get(id(definitions))
        if known is None:
            scope = dict(self.scope)
            for node in definitions:
                if isinstance(node, For):
                    scope[node.loop_var] = node
                elif isinstance(node, AttrStmt):
                    scope[node.node.var] = None
                elif isinstance(node, (LetStmt, Let)):
                    scope[node.var] = node.value
            known = self._scopes[id(definitions)] = definitions, scope
        return known[1]

    def _memory(self, pointer: Var, scope: Scope) -> Memory:
        """What a pointer points into."""
        for view, of in self.views.items():
            if view.data is pointer:
                return self._memory(of.source.data, scope)
        value = scope.get(pointer)
        if value is None:
            return ANYTHING if pointer in scope else pointer
        found = {self._memory(p, scope) for p in _pointers(value)}
        return found.pop() if len(found) == 1 else ANYTHING

    def _whole_memory(self, stmt: Stmt, memory: Memory, may_write: bool) -> None:
        regions = (stmt.reads, stmt.writes) if isinstance(stmt, Block) else ()
        declared = [
            (region, is_write)
            for is_write, some in enumerate(regions)
            for region in some
            if self._memory(region.buffer.data, self.scope) is memory
        ]
        for region, is_write in declared:
            self._region(region, bool(is_write))
        if not declared:
            self._anywhere(memory, may_write)

    def _element(self, access: Access) -> None:
        whole = self._view_in_other_shape(access.buffer)
        if whole is not None:
            self._region(whole, access.is_write, exact=False)
            return
        affine = Affine(self._scope_at(access.around))
        forms = [affine.text(index) for index in access.indices]
        self._add(access.buffer, affine, forms, access.is_write, access.around, access.indices)

    def _view_in_other_shape(self, buffer: Buffer) -> BufferRegion | None:
        """All of a view whose elements a buffer has in another shape; None for other buffers.

        Instructions read tiles of two dimensions as one vector. Both are compact and begin at the
        same element, so that what is inside of the buffer is inside of the view.
        """
        if buffer in self.views or buffer.strides:
            return None
        for view in self.views:
            if (
                view.data is buffer.data
                and not view.strides
                and view.elem_offset is buffer.elem_offset
                and view.dtype is buffer.dtype
                and 0 < _constant_size(buffer) <= _constant_size(view)
            ):
                return BufferRegion(view, tuple(Range.from_min_extent(0, n) for n in view.shape))
        return None

    def _region(self, region: BufferRegion, is_write: bool, exact: bool = True) -> None:
        affine = Affine(self.scope)
        forms = []
        for item in region.region:
            name = affine.unknown(exact=exact)
            low = affine.text(item.min)
            size = affine.text(item.extent)
            affine.constraints.append(f"{low} <= {name} < {low} + {size}")
            forms.append(name)
        self._add(region.buffer, affine, forms, is_write)

    def _add(
        self,
        buffer: Buffer,
        affine: Affine,
        indices: list[str],
        is_write: bool,
        around: Surroundings = ANYWHERE,
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
        memory = self._memory(buffer.data, affine.scope)
        if memory in self.private:
            return
        if memory is not buffer.data:
            self._anywhere(memory, is_write)
            return
        indices = self.dimensions[: self.versions.get(memory, 0)] + indices
        conditions = [affine.formula(c.expr, c.negated) for c in around.conditions]
        self.found.append(
            AccessRelation(
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
            self.found.append(AccessRelation(memory, None, is_write, relation, (), False))


def _is_ordered(call: Call) -> bool:
    """Whether a call keeps its order among others of its kind."""
    if getattr(call.op, "name", "") in TILE_OPERATIONS:
        return False
    return not isinstance(call.op, Op) or call.op.effect in _ORDERED


def _constant_size(buffer: Buffer) -> int:
    """Number of elements; 0 if it is symbolic."""
    return constant_product(buffer.shape) or 0


def _pointers(value: Any) -> Iterator[Var]:
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
