"""Going over the instances of a block by other iterators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

from tilewright.error import ArgumentValueError
from tilewright.ir.arithmetic import multiply
from tilewright.ir.convert import cast, const
from tilewright.ir.expr import Expr, Var, is_const_int
from tilewright.tir.buffer import Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule.buffer_reference import as_index_map, elements_of, require_true_inverse
from tilewright.tir.schedule.edits.bindings import reindexed
from tilewright.tir.schedule.edits.blockizing import loops_between
from tilewright.tir.schedule.edits.loops import nest, require_plain
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.proofs.counterexamples import collision, hole, negative
from tilewright.tir.schedule.proofs.legality import require_order_kept
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize, For
from tilewright.tir.substitute import variables_of


@primitive
def transform_block_layout(
    tree: FunctionTree, block: BlockRealize, index_map: IndexMap | Callable[..., Any]
) -> Edit:
    """Replace the iterators of a block, and the loops that they are bound to, by others.

    Before::

        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]

    After ``transform_block_layout("B", lambda i, j: (i * 32 + j,))``::

        for ax0 in range(512):
            with T.block("B"):
                v0 = T.axis.spatial(512, ax0)
                B[v0 // 32, v0 % 32] = A[v0 // 32, v0 % 32]

    Requires: each iterator is bound to a loop of its own over its whole domain, and these loops
    contain nothing but the block; the map is a bijection; no new iterator is made of both spatial
    and reduction ones; no two instances that depend on each other change their order.

    Args:
        block: the block.
        index_map: from the iterators of the block to the new ones, as a function or an `IndexMap`.

    Raises:
        ScheduleError: if a requirement does not hold.

    Example::

        sch = tir.Schedule(scale)
        sch.transform_block_layout("B", lambda i, j: (j, i))
    """
    iterators = block.block.iter_vars
    found = as_index_map(index_map, len(iterators))
    loops = _loops(tree, block)
    extents = [v.dom.extent for v in iterators if v.dom is not None]
    found, _ = found.aligned_with([Range.from_min_extent(const(0, e.dtype), e) for e in extents])
    require_true_inverse(found, extents)
    try:
        back = found.inverse(extents)
        shape = found.map_shape(extents)
    except ArgumentValueError as error:
        raise ScheduleError(
            f"the index map is not a bijection: {error}",
            at=[block],
            counterexample=partial(_no_bijection, found, extents),
        ) from None
    _require_as_many(tree, block, found, extents, shape)
    types = [_type(block, found, index) for index in found.final_indices]
    _require_same_start(block, found, types)
    variables = {Var(f"ax{n}", e.dtype): e for n, e in enumerate(shape)}
    values = tuple(back.map_indices(list(variables)))
    _, same = nest(variables, block.replace(iter_values=values))
    if loops:
        require_order_kept(tree, tree.edit({loops[0]: same}), loops[0], moved=loops)
    new = tuple(
        IterVar(Range.from_min_extent(const(0, e.dtype), e), Var(f"v{n}", e.dtype), kind)
        for n, (e, kind) in enumerate(zip(shape, types, strict=True))
    )
    analyzer = tree.analyzer(loops[0] if loops else block)
    for iter_var in new:
        analyzer.bind(iter_var.var, iter_var.dom)  # type: ignore[arg-type]
    positions = back.map_indices([v.var for v in new], analyzer)
    pairs = zip(iterators, positions, strict=True)
    olds = {v.var: cast(v.var.dtype, value) for v, value in pairs}
    inner = reindexed(block.block.replace(iter_vars=()), olds, analyzer).replace(iter_vars=new)
    _, result = nest(variables, BlockRealize(tuple(variables), block.predicate, inner))
    edit = tree.edit({loops[0] if loops else block: result})
    return edit._replace(recorded={"index_map": found})


def _no_bijection(index_map: IndexMap, extents: list[Expr]) -> object:
    """Two instances in one place, one at a negative index, or else a place with no instance."""
    iterators, places = elements_of(index_map, extents), index_map.final_indices
    found = collision(iterators, places)
    if found is None:
        found = next(filter(None, (negative(iterators, place) for place in places)), None)
    if found is not None:
        return found
    try:
        shape = index_map.map_shape(extents)
    except ArgumentValueError:
        return None  # there is no shape to look for holes in
    return hole(iterators, places, shape)


def _require_as_many(
    tree: FunctionTree,
    block: BlockRealize,
    found: IndexMap,
    old: list[Expr],
    new: list[Expr],
) -> None:
    """Refuse new iterators of which some values stand for no old ones."""
    count, places = (reduce(multiply, sizes) for sizes in (old, new))
    if not tree.analyzer(block).can_prove_equal(count, places):
        raise ScheduleError(
            f"the index map is not a bijection: it maps {count} instances to {places} places",
            at=[block],
            counterexample=partial(_no_bijection, found, old),
        )


def _loops(tree: FunctionTree, block: BlockRealize) -> list[For]:
    """The loops that the iterators are bound to, which contain nothing but the block.

    Iterators that have one value need no loop, and loops of one iteration need no iterator.
    """
    pairs = list(zip(block.block.iter_vars, block.iter_values, strict=True))
    pairs = [(item, value) for item, value in pairs if not _is_single(item, value)]
    bound = {value for _, value in pairs}
    around = tree.loops_above(block)
    loops = [loop for loop in around if loop.loop_var in bound]
    if len(loops) != len(pairs):
        raise ScheduleError("not every iterator of {0} is bound to a loop of its own", at=[block])
    if not is_const_int(block.predicate, 1):
        raise ScheduleError("{0} has a condition", at=[block])
    if not loops:
        return []
    between = loops_between(tree, loops[0], block)
    own = set(loops)
    for loop in between:
        if loop not in own and not is_const_int(loop.extent, 1):
            raise ScheduleError("{0} is between the loops of {1}", at=[loop, block])
        require_plain(loop)
    extents = {loop.loop_var: loop for loop in loops}
    prove = tree.analyzer(loops[0]).can_prove_equal
    for iter_var, value in pairs:
        loop, domain = extents[value], iter_var.dom  # type: ignore[index]
        if domain is None or not (
            is_const_int(loop.min, 0)
            and is_const_int(domain.min, 0)
            and prove(loop.extent, domain.extent)
        ):
            raise ScheduleError(
                f"{{0}} does not go from 0 over the domain of `{iter_var.var.name}`", at=[loop]
            )
    return list(between)


def _is_single(item: IterVar, value: Expr) -> bool:
    """Whether an iterator has one value, the first index."""
    return is_const_int(value, 0) and item.dom is not None and is_const_int(item.dom.extent, 1)


def _type(block: BlockRealize, index_map: IndexMap, index: Expr) -> IterType:
    """What a new iterator is, from those that it is made of."""
    used = set(variables_of(index))
    pairs = zip(index_map.initial_indices, block.block.iter_vars, strict=True)
    types = {old.iter_type for var, old in pairs if var in used}
    if len(types) > 1:
        raise ScheduleError(
            f"the new iterator {index} of {{0}} would be both spatial and a reduction", at=[block]
        )
    return types.pop() if types else IterType.DATA_PAR


def _require_same_start(block: BlockRealize, index_map: IndexMap, types: list[IterType]) -> None:
    """Refuse reductions whose first instance would be another one."""
    starts = {var: const(0, var.dtype) for var in index_map.initial_indices}
    for index, kind in zip(index_map.map_indices(list(starts.values())), types, strict=True):
        if kind is IterType.COMM_REDUCE and not is_const_int(index, 0):
            raise ScheduleError(
                "the reduction of {0} would start at another instance than it does", at=[block]
            )
