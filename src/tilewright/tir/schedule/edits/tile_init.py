"""The initialisation of a reduction whose block is cut in two: once per tile, ahead of updates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from tilewright.arith import Analyzer
from tilewright.arith.itermap import detect_iter_map
from tilewright.arith.linear import mentions
from tilewright.ir.convert import EMPTY, as_expr
from tilewright.ir.expr import Expr, Var, is_const_int
from tilewright.tir.analysis.regions import infer_block_regions
from tilewright.tir.buffer import BufferRegion, Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.schedule.edits.blockizing import Inner
from tilewright.tir.schedule.edits.division import Division
from tilewright.tir.schedule.edits.loops import with_regions
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.counterexamples import late_init
from tilewright.tir.schedule.tree import FunctionTree, bind_scope
from tilewright.tir.stmt import Block, BlockRealize, For, Stmt
from tilewright.tir.substitute import substitute
from tilewright.tir.transform.hoist_init import initial_predicate


def is_reduction(iter_var: IterVar) -> bool:
    """Whether a block initialises where this iterator is at its start."""
    return iter_var.iter_type is IterType.COMM_REDUCE


def tile_init(inner: Inner, outer: Block, analyzer: Analyzer) -> Stmt:
    """The initialisation of all elements of a tile, as loops around a block of its own.

    Args:
        inner: the inner half of a block with an initialisation.
        outer: the outer block, whose initialisation it becomes.
        analyzer: what is known in the outer block; the new iterators are added.
    """
    block = inner.block
    assert block.init is not None
    starts = {loop.loop_var: loop.min for loop in inner.loops if _reduces(inner, loop)}
    pairs = [
        (iter_var, value)
        for iter_var, value in zip(block.iter_vars, inner.values, strict=True)
        if not is_reduction(iter_var)
    ]
    renamed = {v.var: Var(v.var.name.removesuffix("_i") + "_init", v.var.dtype) for v, _ in pairs}
    iterators = tuple(v.replace(var=renamed[v.var]) for v, _ in pairs)
    init = Block(iterators, (), (), f"{block.name_hint}_init", substitute(block.init, renamed))
    bind_scope(analyzer, init)
    predicate = _predicate(inner, outer, starts)
    values = tuple(value for _, value in pairs)
    loops = [loop for loop in inner.loops if loop.loop_var not in starts]
    fresh = {loop.loop_var: loop.loop_var.replace() for loop in loops}
    variables = {**starts, **fresh}
    stmt: Stmt = substitute(
        BlockRealize(values, predicate, with_regions(init, analyzer)), variables
    )
    for loop in reversed(loops):
        low, extent = substitute(loop.min, variables), substitute(loop.extent, variables)
        stmt = loop.replace(
            loop_var=fresh[loop.loop_var], min=low, extent=extent, body=stmt, annotations=EMPTY
        )
    return stmt


def _predicate(inner: Inner, outer: Block, starts: Mapping[Var, Expr]) -> Expr:
    """The condition under which an element of a tile is initialised."""
    first = {v.var: v.dom.min for v in outer.iter_vars if is_reduction(v) and v.dom is not None}
    predicate = substitute(inner.predicate, first)
    return initial_predicate(inner.source.block, (), predicate, starts, inner.loops)


def updating(block: Block) -> Block:
    """A block whose initialisation happened elsewhere: it reads what it updates."""
    read = {region.buffer for region in block.reads}
    updated = tuple(region for region in block.writes if region.buffer not in read)
    return block.replace(init=None, reads=updated + block.reads)


def require_same_start(
    tree: FunctionTree,
    block: BlockRealize,
    divisions: Sequence[Division],
    loops: Sequence[For],
) -> None:
    """Refuse reductions that start anywhere but in the first iterations of the loops."""
    analyzer = tree.analyzer(block)
    starts = {loop.loop_var: loop.min for loop in loops}
    for iter_var, division in zip(block.block.iter_vars, divisions, strict=True):
        if not is_reduction(iter_var) or iter_var.dom is None:
            continue
        outer, inner = division.outer.domain.min, substitute(division.inner.value, starts)
        if not analyzer.can_prove_equal(division.joined(outer, inner), iter_var.dom.min):
            raise ScheduleError(
                f"the reduction over `{iter_var.var.name}` of {{0}} does not start in the first "
                "iteration of the loops",
                at=[block],
                counterexample=partial(late_init, tree, block),
            )


def require_init_first(inner: Inner, analyzer: Analyzer) -> None:
    """Refuse blocks for which initialising all elements of a tile first makes a difference.

    Args:
        inner: the inner half of the block.
        analyzer: what is known in the outer block.
    """
    _require_each_once(inner, analyzer)
    block = inner.block
    assert block.init is not None
    bind_scope(analyzer, block)
    body_reads, body_writes = infer_block_regions(block.replace(init=None))
    init_reads, init_writes = infer_block_regions(Block((), (), (), "", block.init))
    written = {region.buffer.data for region in body_writes + init_writes}
    reductions = {v.var for v in block.iter_vars if is_reduction(v)}
    if any(region.buffer.data in written for region in init_reads) or mentions(
        block.init, reductions
    ):
        raise ScheduleError(
            "the initialisation of {0} depends on what the block computes", at=[inner.source]
        )
    for region in init_writes:
        for other in body_reads + body_writes:
            if other.buffer.data is region.buffer.data and not _same(region, other, analyzer):
                raise ScheduleError(
                    f"{{0}} accesses other elements of `{region.buffer.name}` than it initialises",
                    at=[inner.source],
                )
        if not _are_disjoint(region, inner, analyzer):
            raise ScheduleError(
                f"several instances of {{0}} in a tile initialise the same elements of "
                f"`{region.buffer.name}`",
                at=[inner.source],
            )


def _require_each_once(inner: Inner, analyzer: Analyzer) -> None:
    """Each instance runs once in a tile, and the loops are spatial or of the reduction."""
    ranges = {loop.loop_var: Range.from_min_extent(loop.min, loop.extent) for loop in inner.loops}
    form = detect_iter_map(inner.values, ranges, require_bijective=True, analyzer=analyzer)
    if not form.is_affine:
        raise ScheduleError(
            f"the loops in a tile of {{0}} do not run over its iterators: {form.errors[0]}",
            at=[inner.source],
        )
    spatial = _values(inner, reduction=False)
    for loop in inner.loops:
        if _reduces(inner, loop) and any(mentions(v, [loop.loop_var]) for v in spatial):
            raise ScheduleError(
                "{0} is both of the reduction and spatial in {1}", at=[loop, inner.source]
            )


def _same(region: BufferRegion, other: BufferRegion, analyzer: Analyzer) -> bool:
    return region.buffer is other.buffer and all(
        analyzer.can_prove_equal(a.min, b.min) and analyzer.can_prove_equal(a.extent, b.extent)
        for a, b in zip(region.region, other.region, strict=True)
    )


def _are_disjoint(region: BufferRegion, inner: Inner, analyzer: Analyzer) -> bool:
    """Whether different values of the spatial iterators of a tile give disjoint regions."""
    spatial = {
        v.var: v.dom
        for v in inner.block.iter_vars
        if not is_reduction(v) and v.dom is not None and not is_const_int(v.dom.extent, 1)
    }
    form = detect_iter_map([r.min for r in region.region], spatial, analyzer=analyzer)
    if not form.is_affine:
        return False
    found: set[Var] = set()
    for index, item in zip(form.indices, region.region, strict=True):
        for split in index.args:
            is_whole = is_const_int(as_expr(split.lower_factor), 1) and analyzer.can_prove_equal(
                as_expr(split.extent), as_expr(split.source.extent)
            )
            far = as_expr(split.scale, item.extent.dtype) >= item.extent
            if is_whole and isinstance(split.source.source, Var) and analyzer.can_prove(far):
                found.add(split.source.source)
    return found == spatial.keys()


def _reduces(inner: Inner, loop: For) -> bool:
    return any(mentions(v, [loop.loop_var]) for v in _values(inner, reduction=True))


def _values(inner: Inner, *, reduction: bool) -> list[Expr]:
    return [
        value
        for iter_var, value in zip(inner.block.iter_vars, inner.values, strict=True)
        if is_reduction(iter_var) is reduction
    ]
