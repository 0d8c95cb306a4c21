"""Caches whose layout follows the iterators of the block that uses them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from tilewright.arith import Analyzer, detect_iter_map
from tilewright.error import ArgumentValueError
from tilewright.ir.convert import cast
from tilewright.ir.expr import Expr, Var
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.ir.structural import structural_equal
from tilewright.tir.buffer import (
    Buffer,
    BufferLoad,
    BufferRegion,
    MatchBufferRegion,
    Range,
    decl_buffer,
)
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule.edits.bindings import conjunction
from tilewright.tir.schedule.edits.insertion import place_after, place_before
from tilewright.tir.schedule.edits.loops import nest
from tilewright.tir.schedule.edits.stage import (
    require_in_blocks,
    require_no_alignment,
    require_no_blocks_inside,
    require_no_view,
    require_own_values,
    stores_outside_of_blocks,
    with_stage,
)
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.counterexamples import collision, negative, read_before_copied
from tilewright.tir.schedule.proofs.coverage import accessed_box, exact_box, images_written
from tilewright.tir.schedule.proofs.images import mirrored
from tilewright.tir.schedule.proofs.regions import BlockAccess, Box, clipped_range, relaxed
from tilewright.tir.schedule.proofs.scope import scope_of
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import Block, BlockKey, BlockRealize, BufferStore, For, Stmt
from tilewright.tir.substitute import substitute, variables_of

Indices = tuple[Expr, ...]


class Layout(NamedTuple):
    """A cache of the element that each instance of a block accesses.

    Attributes:
        iterators: those of the block that the indices mention.
        indices: where in the buffer the element is.
        cache: the cache.
        cache_indices: where in the cache it is.
    """

    iterators: tuple[IterVar, ...]
    indices: tuple[Expr, ...]
    cache: Buffer
    cache_indices: tuple[Expr, ...]


def layout_of(
    block: BlockRealize, buffer: Buffer, index_map: IndexMap | None, name: str,
    storage_scope: str, place: int | None = None,
) -> Layout:  # fmt: skip
    """The layout of a cache; the arguments are those of `reindexed_read`."""
    indices = _indices(block, buffer, place)
    iterators = block.block.iter_vars
    mentioned = {var for index in indices for var in variables_of(index)}
    if index_map is None:
        cache_indices: list[Expr] = [item.var for item in iterators if item.var in mentioned]
    else:
        cache_indices = index_map.map_indices([item.var for item in iterators])
    mentioned.update(var for index in cache_indices for var in variables_of(index))
    used = tuple(item for item in iterators if item.var in mentioned)
    cache = decl_buffer(
        _extents(block, used, cache_indices), buffer.dtype, name, scope=storage_scope
    )
    return Layout(used, indices, cache, tuple(cache_indices))


def _indices(block: BlockRealize, buffer: Buffer, place: int | None) -> Indices:
    """The indices of all accesses of a buffer in a block without blocks inside, or of those at one
    of several places."""
    require_no_blocks_inside(block)
    for node in walk(block.block):
        if isinstance(node, MatchBufferRegion) and node.source.buffer is buffer:
            raise ScheduleError(
                f"{{0}} has the view `{node.buffer.name}` of `{buffer.name}`", at=[block]
            )
        if node is buffer.data:
            raise ScheduleError(f"{{0}} uses the pointer of `{buffer.name}`", at=[block])
    found = _places(block.block, buffer)
    if not found:
        raise ScheduleError(
            f"{{0}} accesses `{buffer.name}` in another way than by its indices", at=[block]
        )
    if place is None and len(found) > 1:
        raise ScheduleError(
            f"{{0}} accesses more than one element of `{buffer.name}`: "
            f"{list(found[0])!r} and {list(found[1])!r}",
            at=[block],
        )
    if place is not None and not 0 <= place < len(found):
        raise ScheduleError(
            f"{{0}} accesses `{buffer.name}` at {len(found)} places, so there is none of number "
            f"{place}",
            at=[block],
        )
    indices = found[place or 0]
    iterators = {item.var for item in block.block.iter_vars}
    inside = {
        node.loop_var if isinstance(node, For) else getattr(node, "var", None)
        for node in walk(block.block.body)
    } - iterators
    if any(i.dtype.lanes > 1 or _varies(i, inside) for i in indices):
        raise ScheduleError(
            f"{{0}} accesses more than one element of `{buffer.name}`: its indices "
            f"{list(indices)!r} are not given by the iterators alone",
            at=[block],
        )
    return indices


def _places(block: Block, buffer: Buffer) -> list[Indices]:
    """The different indices of a buffer in a block, in the order of the program."""
    found: list[Indices] = []
    for node in walk(block):
        if not isinstance(node, (BufferLoad, BufferStore)) or node.buffer is not buffer:
            continue
        if not any(_are_equal(node.indices, known) for known in found):
            found.append(node.indices)
    return found


def _are_equal(some: Indices, others: Indices) -> bool:
    return all(structural_equal(a, b) for a, b in zip(some, others, strict=True))


def _varies(index: Expr, inside: set[Any]) -> bool:
    return any(isinstance(node, BufferLoad) or node in inside for node in walk(index))


def _extents(
    block: BlockRealize, iterators: Sequence[IterVar], indices: Sequence[Expr]
) -> list[Expr]:
    """The shape of a cache with these indices."""
    variables = tuple(item.var for item in iterators)
    try:
        ranges = IndexMap(variables, tuple(indices)).map_ranges([domain_of(i) for i in iterators])
    except ArgumentValueError as error:
        raise ScheduleError(str(error), at=[block]) from None
    analyzer = Analyzer()
    extents: list[Expr] = []
    for index, item in zip(indices, ranges, strict=True):
        if not analyzer.can_prove(item.min >= 0):
            raise ScheduleError(
                f"the index {index!r} of the cache may be negative",
                at=[block],
                counterexample=partial(negative, iterators, index),
            )
        extents.append(analyzer.simplify(item.min + item.extent))
    return extents


def domain_of(iterator: IterVar) -> Range:
    """The domain of an iterator that has one."""
    assert iterator.dom is not None
    return iterator.dom


def require_injective(
    block: BlockRealize, iterators: Sequence[IterVar], indices: Sequence[Expr], what: str
) -> None:
    """Refuse indices that are the same for different values of the iterators."""
    domains = {item.var: domain_of(item) for item in iterators}
    mirror = mirrored(indices, domains)
    ascending = tuple(substitute(index, mirror) for index in indices)
    if detect_iter_map(ascending, domains, require_bijective=True).is_affine:
        return
    try:
        IndexMap(tuple(domains), ascending).non_surjective_inverse(list(domains.values()))
    except ArgumentValueError as error:
        names = ", ".join(item.var.name for item in iterators)
        raise ScheduleError(
            f"it is not proved that the indices {list(indices)!r} of {what} are different for "
            f"different values of {names}: {error}",
            at=[block],
            counterexample=partial(collision, iterators, indices),
        ) from None


def reindexed_read(
    tree: FunctionTree, block: BlockRealize, buffer: Buffer, index_map: IndexMap | None, name: str,
    storage_scope: str, place: int | None = None,
) -> Edit:  # fmt: skip
    """A block reads through a cache which a new block in front of it fills.

    Args:
        block: the block that reads.
        buffer: what it reads.
        index_map: from the iterators of `block` to the indices of the cache; without, the cache has
            one dimension per iterator that the indices mention.
        name: the name of the cache and of the new block.
        storage_scope: where the cache lives.
        place: which one of several places is read through the cache, if only one is.
    """
    layout = layout_of(block, buffer, index_map, name, storage_scope, place)
    scope = scope_of(tree, block)
    if tree.checked:
        require_no_view(tree, scope, buffer)
        require_injective(block, layout.iterators, layout.cache_indices, "the cache")
    writers = scope.writers.get(buffer, [])
    if block in writers:
        raise ScheduleError(
            f"{{0}} also writes `{buffer.name}`, whose cache would not change", at=[block]
        )
    stores = stores_outside_of_blocks(tree, scope, buffer)
    point = place_before(tree, scope.realize, [block], [*writers, *stores])
    analyzer = tree.analyzer_inside(point.around)
    box = accessed_box(tree, _instances(block, layout.iterators), point.around, analyzer)
    loops, realize = _stage(buffer, layout, box, analyzer, reads_buffer=True)
    edits: dict[Stmt, Stmt | None] = {block.block: _Reindexing(buffer, layout)(block.block)}
    return with_stage(
        tree, scope.realize, edits=edits, place=point.stmt, before=[loops],
        buffers=[layout.cache], results=realize,
    )  # fmt: skip


def reindexed_write(
    tree: FunctionTree, block: BlockRealize, buffer: Buffer, index_map: IndexMap | None, name: str,
    storage_scope: str,
) -> Edit:  # fmt: skip
    """A block writes into a cache which a new block behind it copies; see `reindexed_read`."""
    layout = layout_of(block, buffer, index_map, name, storage_scope)
    scope = scope_of(tree, block)
    if tree.checked:
        require_no_view(tree, scope, buffer)
        require_in_blocks(scope, buffer, only_writes=False)
        require_no_alignment([block], buffer)
        require_own_values(tree, block, buffer)
        require_injective(block, layout.iterators, layout.indices, f"`{buffer.name}`")
        require_injective(block, layout.iterators, layout.cache_indices, "the cache")
    others = scope.users(buffer, besides=[block])
    place = place_after(tree, scope.realize, block, others)
    analyzer = tree.analyzer_inside(place.around)
    instances = _instances(block, layout.iterators)
    exact = exact_box(tree, instances, place.around, analyzer)
    stored = next(images_written(tree, block, buffer, place.around), None)
    if tree.checked and (exact is None or stored is None):
        raise ScheduleError(
            f"it is not proved that {{0}} writes `{buffer.name}` for all values of its iterators, "
            "so that the copy would overwrite elements with nothing",
            at=[block],
            afterwards=read_before_copied,
        )
    box = exact or relaxed(tree, instances, place.around, analyzer)
    loops, realize = _stage(buffer, layout, box, analyzer, reads_buffer=False)
    edits: dict[Stmt, Stmt | None] = {block.block: _Reindexing(buffer, layout)(block.block)}
    return with_stage(
        tree, scope.realize, edits=edits, place=place.stmt, after=[loops],
        buffers=[layout.cache], results=realize,
    )  # fmt: skip


# --- the new block ------------------------------------------------------------------------------


def _instances(block: BlockRealize, iterators: Sequence[IterVar]) -> BlockAccess:
    """The values of iterators, as if they were a region."""
    space = decl_buffer([domain_of(item).extent for item in iterators], name="instances")
    return BlockAccess(block, BufferRegion.of_element(space, (item.var for item in iterators)))


def _stage(
    buffer: Buffer,
    layout: Layout,
    box: Box,
    analyzer: Analyzer,
    *,
    reads_buffer: bool,
) -> tuple[Stmt, BlockRealize]:
    """Loops over a box of instances around a block that copies between a buffer and its cache."""
    loops: dict[Var, Expr] = {}
    values: list[Expr] = []
    fresh: dict[Var, Expr] = {}
    iterators: list[IterVar] = []
    for number, (item, interval) in enumerate(zip(layout.iterators, box, strict=True)):
        part = clipped_range(interval, domain_of(item), analyzer)
        dtype = item.var.dtype
        loop_var, var = Var(f"ax{number}", dtype), Var(f"v{number}", dtype)
        loops[loop_var] = cast(dtype, part.extent)
        analyzer.bind_range(loop_var, 0, loops[loop_var])
        values.append(analyzer.simplify(loop_var + cast(dtype, part.min)))
        fresh[item.var] = var
        iterators.append(item.replace(var=var, iter_type=IterType.DATA_PAR))
    at_buffer, at_cache = (
        tuple(substitute(index, fresh) for index in indices)
        for indices in (layout.indices, layout.cache_indices)
    )
    bound = dict(zip((item.var for item in iterators), values, strict=True))
    predicate = conjunction(*_outside(buffer, at_buffer, bound, analyzer))
    ends = (buffer, at_buffer), (layout.cache, at_cache)
    (source, read), (target, written) = ends if reads_buffer else reversed(ends)
    new = Block(
        tuple(iterators),
        (BufferRegion.of_element(source, read),),
        (BufferRegion.of_element(target, written),),
        layout.cache.name,
        BufferStore(target, BufferLoad(source, read), written),
        key=BlockKey(),
    )
    realize = BlockRealize(tuple(values), predicate, new)
    return nest(loops, realize)[1], realize


def _outside(
    buffer: Buffer, indices: Sequence[Expr], bound: Mapping[Var, Expr], analyzer: Analyzer
) -> list[Expr]:
    """Conditions for indices to be in the buffer, those left out that hold always.

    The block may leave out elements outside of the buffer by a branch.
    """
    conditions: list[Expr] = []
    for index, extent in zip(indices, buffer.shape, strict=True):
        value = analyzer.simplify(substitute(index, bound))
        conditions += [c for c in (value >= 0, value < extent) if not analyzer.can_prove(c)]
    return conditions


class _Reindexing(Rewriter):
    """Lets a block access the cache in place of the buffer, where the indices are those of it."""

    def __init__(self, buffer: Buffer, layout: Layout) -> None:
        self._buffer = buffer
        self._layout = layout

    def Block(self, block: Block) -> Any:
        buffer, layout = self._buffer, self._layout
        others = [place for place in _places(block, buffer) if not self._is_cached(place)]
        new = block.map_children(self)
        if not others:
            return new
        read = [BufferRegion.of_element(buffer, others[0])]
        if len(others) > 1:
            read = [region for region in block.reads if region.buffer is buffer]
        cached = BufferRegion.of_element(layout.cache, layout.cache_indices)
        unchanged = [region for region in block.reads if region.buffer is not buffer]
        return new.replace(reads=(*unchanged, *read, cached))

    def BufferLoad(self, load: BufferLoad) -> Any:
        is_cached = load.buffer is self._buffer and self._is_cached(load.indices)
        load = load.map_children(self)
        if not is_cached:
            return load
        return load.replace(buffer=self._layout.cache, indices=self._layout.cache_indices)

    def BufferStore(self, store: BufferStore) -> Any:
        is_cached = store.buffer is self._buffer and self._is_cached(store.indices)
        store = store.map_children(self)
        if not is_cached:
            return store
        return store.replace(buffer=self._layout.cache, indices=self._layout.cache_indices)

    def _is_cached(self, indices: Indices) -> bool:
        return _are_equal(indices, self._layout.indices)

    def BufferRegion(self, region: BufferRegion) -> Any:
        if region.buffer is not self._buffer:
            return region.map_children(self)
        return BufferRegion.of_element(self._layout.cache, self._layout.cache_indices)
