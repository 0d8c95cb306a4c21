"""Making the initialisation of a reduction a block of its own."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from tilewright.arith import Analyzer, IntervalSet, detect_iter_map
from tilewright.ir.expr import Expr, Var
from tilewright.ir.rewrite import walk
from tilewright.tir.analysis.regions import infer_block_regions
from tilewright.tir.buffer import Buffer, BufferLoad, Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.schedule.contents import memory_in
from tilewright.tir.schedule.edits.bindings import bindings_of, bound_values, conjunction
from tilewright.tir.schedule.edits.copying import copied
from tilewright.tir.schedule.edits.loops import in_copies
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.proofs.counterexamples import conflict
from tilewright.tir.schedule.proofs.domains import first_predicate
from tilewright.tir.schedule.proofs.initialisation import (
    ReductionNest,
    reduction_nest,
    require_all_reduction_loops,
    require_initialised_first,
)
from tilewright.tir.schedule.proofs.regions import Box, accesses, covers, relaxed
from tilewright.tir.schedule.tree import Edit, FunctionTree, bind_scope
from tilewright.tir.stmt import Block, BlockKey, BlockRealize, For, MatchBufferRegion, Stmt, seq
from tilewright.tir.substitute import substitute


def init_block(realize: BlockRealize) -> Block:
    """The block of the initialisation, whose iterators are those of `realize` that do not reduce.

    Raises:
        ScheduleError: if the updates use memory of the block that the initialisation uses, too.
    """
    block = realize.block
    assert block.init is not None
    mine, others = _declarations(block, block.init), _declarations(block, block.body)
    for buffer in mine.allocated:
        if buffer in others.allocated:
            raise ScheduleError(
                f"{{0}} allocates {buffer.name}, which both its init and its updates use",
                at=[realize],
                hint=f"allocate {buffer.name} outside of the block, or one buffer for each",
            )
    values: dict[Var, Expr] = {}
    iter_vars: list[IterVar] = []
    for item in block.iter_vars:
        if item.iter_type is IterType.COMM_REDUCE:
            assert item.dom is not None
            values[item.var] = item.dom.min  # the init runs where the reduction starts
        else:
            fresh = Var(f"{item.var.name}_init", item.var.dtype)
            values[item.var] = fresh
            iter_vars.append(item.replace(var=fresh))
    made = Block(
        tuple(iter_vars),
        (),
        tuple(substitute(region, values) for region in block.writes),
        f"{block.name_hint}_init",
        substitute(block.init, values),
        None,
        mine.allocated,
        tuple(substitute(view, values) for view in mine.views),
        annotations=block.annotations,
        span=block.span,
        key=BlockKey(),
    )
    if mine.views:  # which the updates may have, too
        made = copied(made, lambda name: name)
    return made.replace(reads=infer_block_regions(made)[0])


def update_block(block: Block) -> Block:
    """The block without its init; it reads what it updates."""
    assert block.init is not None
    known = {region.buffer for region in block.reads}
    updated = tuple(region for region in block.writes if region.buffer not in known)
    mine, others = _declarations(block, block.body), _declarations(block, block.init)
    return block.replace(
        name_hint=f"{block.name_hint}_update",
        init=None,
        reads=(*updated, *block.reads),
        alloc_buffers=tuple(
            item
            for item in block.alloc_buffers
            if item in mine.allocated or item not in others.allocated
        ),
        match_buffers=tuple(
            item for item in block.match_buffers if item in mine.views or item not in others.views
        ),
    )


class _Declarations(NamedTuple):
    """What a part of a block needs of the memory and the views that the block declares."""

    allocated: tuple[Buffer, ...]
    views: tuple[MatchBufferRegion, ...]


def _declarations(block: Block, part: Stmt) -> _Declarations:
    if not block.alloc_buffers and not block.match_buffers:
        return _Declarations((), ())
    memory = set(memory_in(part).anywhere)
    sizes = {node for node in walk(part) if isinstance(node, Var)}
    views: list[MatchBufferRegion] = []
    for view in reversed(block.match_buffers):
        buffer = view.buffer
        layout = (*buffer.shape, *buffer.strides, buffer.elem_offset)
        if buffer.data in memory or not sizes.isdisjoint(layout):
            memory.add(view.source.buffer.data)
            views.append(view)
    allocated = tuple(buffer for buffer in block.alloc_buffers if buffer.data in memory)
    return _Declarations(allocated, tuple(reversed(views)))


@primitive
def decompose_reduction(tree: FunctionTree, block: BlockRealize, loop: For) -> Edit:
    """Make the initialisation of a reduction a block of its own, right before a loop.

    Before::

        for i, j, k in T.grid(16, 32, 64):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    After ``decompose_reduction("C", j)``::

        for i in range(16):
            for j_init in range(32):
                with T.block("C_init"):
                    vi_init, vj_init = T.axis.remap("SS", [i, j_init])
                    C[vi_init, vj_init] = T.float32(0)
            for j, k in T.grid(32, 64):
                with T.block("C_update"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    The loops from `loop` on that other than reduction iterators are bound to are copied for the
    initialisation, with the suffix ``_init``.

    Requires: the block has an initialisation; `loop` is around it in the same scope, and no
    reduction loop is around `loop`; each element is initialised once, in the first iteration of
    the reduction loops; no other block below `loop` uses an element before it is initialised; and
    memory that the block allocates is used either by the initialisation or by the updates.
    Elements of a reduction that has no iteration get their initial values, too.

    Args:
        block: the reduction block.
        loop: the loop before which the initialisation goes.

    Returns:
        The block of the initialisation; the block itself goes on with the updates.

    Raises:
        ScheduleError: if a requirement does not hold.

    Example::

        sch = tir.Schedule(matmul)
        i, j, k = sch.get_loops("C")
        sch.decompose_reduction("C", j)
    """
    if block.block.init is None:
        hint = _where_init_is(tree, block)
        raise ScheduleError("{0} has no init to decompose", at=[block], hint=hint)
    nest = reduction_nest(tree, block, loop)
    analyzer = tree.analyzer(loop)
    require_all_reduction_loops(tree, nest, analyzer)
    for item in nest.loops:
        bind_scope(analyzer, item)
    made = init_block(block)
    if tree.checked:
        require_initialised_first(tree, nest, analyzer)
        _require_not_used_before(tree, nest, made, analyzer)
    init, before = _init_nest(nest, made, analyzer)
    after = tree.edited({block.block: update_block(block.block)}, loop)
    return tree.edit({loop: seq(before, after)}, init)


def _where_init_is(tree: FunctionTree, block: BlockRealize) -> str:
    for above in tree.ancestors(block):
        if isinstance(above, Block) and above.init is not None:
            return f"the init is that of block `{above.name_hint}` around it"
    return ""


def _init_nest(nest: ReductionNest, init: Block, analyzer: Analyzer) -> tuple[BlockRealize, Stmt]:
    """The realisation of the block of the init, and the loops around it."""
    predicate = conjunction(*first_predicate(nest, analyzer))
    loops = [
        loop.replace(min=nest.at_start(loop.min), extent=nest.at_start(loop.extent))
        for loop in nest.spatial
    ]
    values = tuple(bound_values(nest.realize, reduction=False))
    return in_copies(loops, BlockRealize(values, predicate, init), "_init")


# --- other blocks ---------------------------------------------------------------------------------


def _require_not_used_before(
    tree: FunctionTree, nest: ReductionNest, init: Block, analyzer: Analyzer
) -> None:
    """Refuse if another block uses an element before its init, or writes what the init reads."""
    loop, realize = nest.loops[0], nest.realize
    block = realize.block
    needed = {region.buffer for region in init.reads}
    needed |= {node.buffer for node in walk(realize.predicate) if isinstance(node, BufferLoad)}
    below = tree.blocks_below(loop)
    for other in below:
        for region in other.block.writes:
            if region.buffer in needed:
                raise ScheduleError(
                    "{0} writes {1}, which the init of {2} reads",
                    at=[other, region, realize],
                    counterexample=partial(conflict, tree, other, realize, region.buffer),
                )
    position = below.index(realize)
    for place, other in enumerate(below):
        if other is realize:
            continue
        for region in block.writes:
            if _used_before(tree, nest, other, region.buffer, place > position, analyzer):
                raise ScheduleError(
                    "{0} below {1} uses elements of {2} that {3} may not have initialised yet",
                    at=[other, loop, region, realize],
                    counterexample=partial(conflict, tree, other, realize, region.buffer),
                    hint="decompose at a loop further inside",
                )


def _used_before(
    tree: FunctionTree,
    nest: ReductionNest,
    other: BlockRealize,
    buffer: Buffer,
    is_after: bool,
    analyzer: Analyzer,
) -> bool:
    """Whether `other` may use an element before the block initialises it."""
    used = [
        *accesses([other], buffer, written=False),
        *accesses([other], buffer, written=True),
    ]
    if not used:
        return False
    common = [item for item in nest.loops if tree.is_above(item, other)]
    if is_after and not any(item in nest.spatial for item in common):
        # All elements are initialised in the first of the common iterations.
        return False
    inside = is_after and _each_has_its_own(tree, nest, common, buffer, analyzer)
    place = common[-1] if inside else tree.parent(nest.loops[0])
    assert place is not None
    own = [
        relaxed(tree, access, place, analyzer)
        for access in accesses([nest.realize], buffer, written=True)
    ]
    boxes = [relaxed(tree, access, place, analyzer) for access in used]
    if inside:
        return not all(covers(buffer, own[0], box, analyzer) for box in boxes)
    return not all(_disjoint(a, b, analyzer) for a in own for b in boxes)


def _each_has_its_own(
    tree: FunctionTree, nest: ReductionNest, common: list[For], buffer: Buffer, analyzer: Analyzer
) -> bool:
    """Whether the elements of an iteration of the common loops are a box of their own."""
    realize = nest.realize
    if first_predicate(nest, analyzer):
        return False
    values = bindings_of(realize)
    (access,) = accesses([realize], buffer, written=True)
    inner = [item for item in nest.spatial if item not in common]
    ranges = {item.loop_var: Range.from_min_extent(item.min, item.extent) for item in inner}
    indices = [substitute(item.min, values) for item in access.region.region]
    found = detect_iter_map(indices, ranges, require_bijective=True, analyzer=analyzer)
    return found.is_affine and all(
        analyzer.can_prove_equal(item.extent, 1) for item in access.region.region
    )


def _disjoint(a: Box, b: Box, analyzer: Analyzer) -> bool:
    return any(
        _is_below(x, y, analyzer) or _is_below(y, x, analyzer) for x, y in zip(a, b, strict=True)
    )


def _is_below(a: IntervalSet, b: IntervalSet, analyzer: Analyzer) -> bool:
    if a.max_value is None or b.min_value is None:
        return False
    return analyzer.can_prove(a.max_value < b.min_value)
