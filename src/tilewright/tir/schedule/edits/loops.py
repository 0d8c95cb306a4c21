"""Requirements and constructions that loop transformations share."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tilewright.arith import Analyzer
from tilewright.arith.interval import IntervalSet
from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, IntImm, Var, is_const_int
from tilewright.tir.analysis.regions import infer_block_regions
from tilewright.tir.buffer import BufferRegion, Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.schedule.edits.bindings import TRUE, rebind
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.regions import clipped_range, values_of_loop
from tilewright.tir.schedule.tree import FunctionTree, bind_scope
from tilewright.tir.stmt import Block, BlockKey, BlockRealize, For, ForKind, Stmt
from tilewright.tir.substitute import substitute, variables_of


def require_plain(loop: For) -> None:
    """Refuse a loop with annotations or a thread binding: what they say would be lost."""
    if loop.annotations or loop.thread_binding is not None:
        what = "a thread binding" if loop.thread_binding is not None else "annotations"
        raise ScheduleError(
            f"{{0}} has {what}, which would be lost",
            at=[loop],
            hint="transform the loop first, and annotate or bind the result",
        )


def require_factors(loop: For, factors: Sequence[int | None], what: str) -> None:
    """Refuse factors that are none, not positive, or more than one to infer.

    Args:
        loop: the loop that is cut.
        factors: None for one to infer.
        what: what is made by the factors, such as ``"split"``.
    """
    if not factors:
        raise ScheduleError(f"a {what} of {{0}} needs at least one factor", at=[loop])
    if sum(factor is None for factor in factors) > 1:
        raise ScheduleError(
            f"only one factor of a {what} may be None, and is then inferred", at=[loop]
        )
    for factor in factors:
        if factor is not None and factor <= 0:
            raise ScheduleError(f"the factors must be positive, got {factor}", at=[loop])


def require_schedulable(tree: FunctionTree, loop: For) -> None:
    """Refuse a loop inside of the body of a leaf block: blocks are scheduled as they are."""
    if not tree.blocks_below(loop):
        block = next(above for above in tree.ancestors(loop) if isinstance(above, Block))
        raise ScheduleError(
            "{0} is inside of the body of {1}: only loops around blocks are transformed",
            at=[loop, block],
            hint="write the body of the loop as a block",
        )


def nest(loops: Mapping[Var, Expr], body: Stmt) -> tuple[list[For], Stmt]:
    """Serial loops from 0, the outermost first, around `body`; and the outermost (or `body`)."""
    made: list[For] = []
    for var, extent in reversed(list(loops.items())):
        body = For(var, const(0, var.dtype), extent, ForKind.SERIAL, body)
        made.append(body)
    made.reverse()
    return made, body


def in_copies(
    loops: Sequence[For], realize: BlockRealize, suffix: str = ""
) -> tuple[BlockRealize, Stmt]:
    """A block in copies of loops, the outermost first, which its bindings mention.

    Args:
        loops: the loops; their bodies do not count.
        realize: the block, in terms of their variables.
        suffix: what the names of the variables of the copies end with.

    Returns:
        The block in terms of the variables of the copies, and the outermost copy.
    """
    copies: dict[Var, Expr] = {}
    made: list[For] = []
    for loop in loops:
        low, extent = substitute(loop.min, copies), substitute(loop.extent, copies)
        var = Var(f"{loop.loop_var.name}{suffix}", loop.loop_var.dtype)
        made.append(loop.replace(loop_var=var, min=low, extent=extent))
        copies[loop.loop_var] = var
    realize = realize.replace(
        iter_values=tuple(substitute(value, copies) for value in realize.iter_values),
        predicate=substitute(realize.predicate, copies),
    )
    body: Stmt = realize
    for loop in reversed(made):
        body = loop.replace(body=body)
    return realize, body


def require_nested(tree: FunctionTree, loops: Sequence[For]) -> None:
    """Refuse loops that are not nested directly in each other, in the order given."""
    for outer, inner in itertools.pairwise(loops):
        if outer.body is inner:
            continue
        if not tree.is_above(outer, inner):
            raise ScheduleError(
                "{1} is not inside of {0}: the loops must be given from the outermost on",
                at=[outer, inner],
            )
        raise ScheduleError(
            "{1} is not the only statement in {0}: the loops must be perfectly nested",
            at=[outer, inner],
            hint="reorder or fuse what is between them first, or move it away",
        )


def wrapped(tree: FunctionTree, place: Stmt, body: Stmt, name: str) -> BlockRealize:
    """A block with the given body that can stand for the statement `place`.

    Its iterators are the loops around `place` that the body mentions.
    """
    domains = domains_of_loops(tree, tree.loops_above(place), set(variables_of(body)))
    iterators = tuple(
        IterVar(domain, Var(f"v{loop.loop_var.name}", loop.loop_var.dtype), _type(body, loop))
        for loop, domain in domains.items()
    )
    values = {loop.loop_var: v.var for loop, v in zip(domains, iterators, strict=True)}
    block = Block(iterators, (), (), name, body)
    analyzer = tree.analyzer(tree.scope(place).block)
    bind_scope(analyzer, block)
    block = with_regions(block.replace(body=rebind(body, values, analyzer)), analyzer)
    return BlockRealize(tuple(values), TRUE, block)


def with_regions(block: Block, analyzer: Analyzer) -> Block:
    """A new block with what it reads and writes as its body tells, and with a key.

    Args:
        block: the block, whose nested blocks have regions.
        analyzer: what is known about its iterators and everything outside.
    """
    reads, writes = (
        tuple(_clipped(region, analyzer) for region in regions)
        for regions in infer_block_regions(block)
    )
    return block.replace(reads=reads, writes=writes, key=BlockKey())


def _clipped(region: BufferRegion, analyzer: Analyzer) -> BufferRegion:
    """A region inside of its buffer; an index alone is inside anyway."""
    ranges = tuple(
        _clipped_range(item, extent, analyzer)
        for item, extent in zip(region.region, region.buffer.shape, strict=True)
    )
    return region.replace(region=ranges)


def _clipped_range(item: Range, size: Expr, analyzer: Analyzer) -> Range:
    if is_const_int(item.extent, 1) or _is_inside(item, size, analyzer):
        return item
    interval = IntervalSet(item.min, item.min + item.extent - 1)
    return clipped_range(interval, Range.from_min_extent(const(0, size.dtype), size), analyzer)


def _is_inside(item: Range, size: Expr, analyzer: Analyzer) -> bool:
    """Whether a range of constant extent is known to lie in a dimension of constant size."""
    if not isinstance(size, IntImm) or not isinstance(item.extent, IntImm):
        return False
    end = size.value - item.extent.value + 1
    low, high = analyzer.const_int_bound(item.min)
    if low >= 0 and high < end:
        return True
    return analyzer.can_prove_greater_equal(item.min, 0) and analyzer.can_prove_less(item.min, end)


def domains_of_loops(
    tree: FunctionTree, loops: Sequence[For], mentioned: Collection[Var]
) -> dict[For, Range]:
    """The values of those of nested loops that are mentioned, in terms of what is outside of all.

    Raises:
        ScheduleError: if they are not known.
    """
    if not loops:
        return {}
    analyzer = tree.analyzer(loops[0])
    intervals: dict[Var, IntervalSet] = {}
    domains: dict[For, Range] = {}
    variables = {loop.loop_var for loop in loops}
    for loop in loops:
        low, high = values_of_loop(loop.min, loop.extent, intervals, analyzer)
        if low is None or high is None or variables & {*variables_of(low), *variables_of(high)}:
            if loop.loop_var not in mentioned:
                continue
            raise ScheduleError(
                "the bounds of {0} depend on data, so that no block iterator can stand for it",
                at=[loop],
            )
        intervals[loop.loop_var] = IntervalSet(low, high)
        domain = Range.from_min_extent(low, analyzer.simplify(high - low + 1))
        analyzer.bind(loop.loop_var, domain)
        if loop.loop_var in mentioned:
            domains[loop] = domain
    return domains


def _type(body: Stmt, loop: For) -> IterType:
    """What a loop is to the blocks in `body`: spatial, reduction, or several things."""
    types = set(_types(body, loop.loop_var))
    return types.pop() if len(types) == 1 else IterType.OPAQUE


def _types(stmt: Any, var: Var) -> list[IterType]:
    if isinstance(stmt, BlockRealize):
        return [
            iter_var.iter_type
            for iter_var, value in zip(stmt.block.iter_vars, stmt.iter_values, strict=True)
            if var in set(variables_of(value))
        ]
    return [t for child in stmt.children() if isinstance(child, Stmt) for t in _types(child, var)]
