"""Another layout of a buffer: accesses, regions and shape."""

from __future__ import annotations

from functools import partial
from typing import Any

from tilewright.arith import Analyzer
from tilewright.error import ArgumentValueError
from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, SizeVar, Var, is_const_int
from tilewright.ir.rewrite import Rewriter
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion, MatchBufferRegion, Range
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule.buffer_reference import elements_of, require_true_inverse
from tilewright.tir.schedule.contents import memory_in, nodes_about
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.counterexamples import collision
from tilewright.tir.schedule.tree import bind_scope
from tilewright.tir.stmt import (
    Block,
    BufferRealize,
    BufferStore,
    DeclBuffer,
    For,
    Prefetch,
    Stmt,
)


def in_layout(stmt: Stmt, old: Buffer, new: Buffer, index_map: IndexMap, analyzer: Analyzer) -> Any:
    """`stmt` with accesses of one buffer replaced by those of another.

    Element ``[i]`` of `old` is element ``[index_map(i)]`` of `new`.

    Args:
        stmt: where to replace.
        old: the buffer in its old layout.
        new: the buffer in its new layout.
        index_map: from old to new indices.
        analyzer: what is known around `stmt`; what is inside is added.
    """
    return _Layout(old, new, index_map, analyzer)(stmt)


class _Layout(Rewriter):
    def __init__(self, old: Buffer, new: Buffer, index_map: IndexMap, analyzer: Analyzer) -> None:
        self._old = old
        self._new = new
        self._map = index_map
        self._analyzer = analyzer

    def For(self, loop: For) -> Any:
        if self._old.data not in memory_in(loop).anywhere:
            return loop
        bind_scope(self._analyzer, loop)
        return loop.map_children(self)

    def Block(self, block: Block) -> Any:
        bind_scope(self._analyzer, block)
        if any(buffer is self._old for buffer in block.alloc_buffers):
            buffers = (self._new if b is self._old else b for b in block.alloc_buffers)
            block = block.replace(alloc_buffers=tuple(buffers))
        return block.map_children(self)

    def _access(self, access: Any) -> Any:
        access = access.map_children(self)
        if access.buffer is not self._old:
            return access
        indices = tuple(self._map.map_indices(access.indices, self._analyzer))
        return access.replace(buffer=self._new, indices=indices)

    def BufferLoad(self, load: BufferLoad) -> Any:
        return self._access(load)

    def BufferStore(self, store: BufferStore) -> Any:
        return self._access(store)

    def BufferRegion(self, region: BufferRegion) -> Any:
        region = region.map_children(self)
        if region.buffer is not self._old:
            return region
        return BufferRegion(self._new, self._box(region.region))

    def _box(self, ranges: tuple[Range, ...]) -> tuple[Range, ...]:
        """The smallest known box around what a box becomes."""
        if all(is_const_int(item.extent, 1) for item in ranges):
            indices = self._map.map_indices([item.min for item in ranges], self._analyzer)
            return tuple(Range.from_min_extent(index, const(1, index.dtype)) for index in indices)
        try:
            return tuple(self._map.map_ranges(ranges, self._analyzer))
        except ArgumentValueError:
            return tuple(Range.from_extent(extent) for extent in self._new.shape)


def require_rewritable(root: Stmt, buffer: Buffer) -> None:
    """Refuse a buffer that is accessed in other ways than element by element."""
    if buffer.strides:
        raise ScheduleError(f"`{buffer.name}` has strides, which tell its layout already")
    for node in nodes_about(root, buffer):
        reason = _obstacle(node, buffer)
        if reason:
            raise ScheduleError(f"the layout of `{buffer.name}` cannot be changed: {reason}")


_CONCERNED = frozenset(
    (MatchBufferRegion, Var, SizeVar, BufferRealize, Prefetch, DeclBuffer, BufferLoad, BufferStore)
)


def _obstacle(node: Any, buffer: Buffer) -> str:
    if node.__class__ not in _CONCERNED:
        return ""
    if isinstance(node, MatchBufferRegion) and (
        node.source.buffer is buffer or node.buffer is buffer
    ):
        return "it has views made by match_buffer, or is one"
    if isinstance(node, Var) and node is buffer.data:
        return "its pointer is used"
    if isinstance(node, (BufferRealize, Prefetch, DeclBuffer)) and node.buffer.data is buffer.data:
        return f"a {type(node).__name__} mentions it"
    if isinstance(node, (BufferLoad, BufferStore)) and node.buffer.data is buffer.data:
        if node.buffer is not buffer:
            return f"`{node.buffer.name}` is another view of its memory"
        if any(index.dtype.is_vector for index in node.indices):
            return "it is accessed as vectors"
    return ""


def padding_of(index_map: IndexMap, shape: tuple[Expr, ...]) -> tuple[IndexMap, Expr]:
    """Where in the new layout there is no element: see `IndexMap.non_surjective_inverse`.

    Raises:
        ScheduleError: if the map is not known to be injective.
    """
    require_true_inverse(index_map, shape)
    try:
        return index_map.non_surjective_inverse(list(shape))
    except ArgumentValueError as error:
        raise ScheduleError(
            f"the index map is not known to give each element a place of its own: {error}",
            counterexample=partial(
                collision, elements_of(index_map, shape), index_map.final_indices
            ),
            hint="where it does, give assume_injective_transform=True",
        ) from None
