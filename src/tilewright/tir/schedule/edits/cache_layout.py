"""What a block accesses of a buffer, as the layout of a cache."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from tilewright.arith import Analyzer, detect_iter_map
from tilewright.error import ArgumentValueError
from tilewright.ir.expr import Expr
from tilewright.ir.rewrite import walk
from tilewright.ir.structural import structural_equal
from tilewright.tir.buffer import Buffer, BufferLoad, MatchBufferRegion, Range, decl_buffer
from tilewright.tir.expr import IterVar
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule.edits.stage import require_no_blocks_inside
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.counterexamples import collision, negative
from tilewright.tir.schedule.proofs.images import mirrored
from tilewright.tir.stmt import BlockRealize, BufferStore, For
from tilewright.tir.substitute import substitute, variables_of


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
    storage_scope: str,
) -> Layout:  # fmt: skip
    """The layout of a cache; the arguments are those of `reindexed_read`."""
    indices = _only_indices(block, buffer)
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


def _only_indices(block: BlockRealize, buffer: Buffer) -> tuple[Expr, ...]:
    """The indices of all accesses of a buffer in a block without blocks inside."""
    require_no_blocks_inside(block)
    found: list[tuple[Expr, ...]] = []
    for node in walk(block.block):
        if isinstance(node, MatchBufferRegion) and node.source.buffer is buffer:
            raise ScheduleError(
                f"{{0}} has the view `{node.buffer.name}` of `{buffer.name}`", at=[block]
            )
        if isinstance(node, (BufferLoad, BufferStore)) and node.buffer is buffer:
            found.append(node.indices)
        elif node is buffer.data:
            raise ScheduleError(f"{{0}} uses the pointer of `{buffer.name}`", at=[block])
    if not found:
        raise ScheduleError(
            f"{{0}} accesses `{buffer.name}` in another way than by its indices", at=[block]
        )
    iterators = {item.var for item in block.block.iter_vars}
    inside = {
        node.loop_var if isinstance(node, For) else getattr(node, "var", None)
        for node in walk(block.block.body)
    } - iterators
    for indices in found:
        if not all(structural_equal(a, b) for a, b in zip(indices, found[0], strict=True)):
            raise ScheduleError(
                f"{{0}} accesses more than one element of `{buffer.name}`: "
                f"{list(found[0])!r} and {list(indices)!r}",
                at=[block],
            )
        if any(i.dtype.lanes > 1 or _varies(i, inside) for i in indices):
            raise ScheduleError(
                f"{{0}} accesses more than one element of `{buffer.name}`: its indices "
                f"{list(indices)!r} are not given by the iterators alone",
                at=[block],
            )
    return found[0]


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
    extents = []
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
