"""Making one block of a tile, or of several blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tilewright.ir.expr import Expr, Var, is_const_int
from tilewright.ir.structural import structural_equal
from tilewright.tir.expr import IterVar
from tilewright.tir.schedule.edits.bindings import TRUE
from tilewright.tir.schedule.edits.blockizing import (
    Inner,
    detached,
    divide,
    inner_half,
    loops_between,
    outer_analyzer,
    separated,
)
from tilewright.tir.schedule.edits.division import Division
from tilewright.tir.schedule.edits.loops import with_regions
from tilewright.tir.schedule.edits.tile_init import (
    is_reduction,
    require_init_first,
    require_same_start,
    tile_init,
    updating,
)
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import Block, BlockRealize, For, SeqStmt, Stmt, seq


class _Cut(NamedTuple):
    """A block with the loops that come into the new block together with it."""

    realize: BlockRealize
    loops: list[For]
    divisions: list[Division]


def joint_block(tree: FunctionTree, blocks: Sequence[BlockRealize], keep_unit: bool) -> Edit:
    """One block of several; see the primitive `blockize`."""
    place, first, last = _place(tree, blocks)
    stmts = place.seq[first:last] if isinstance(place, SeqStmt) else (place,)
    around = stmts[0]
    cuts: list[_Cut] = []
    for stmt in stmts:
        (realize,) = [stmt] if isinstance(stmt, BlockRealize) else tree.blocks_below(stmt)
        loops = loops_between(tree, stmt, realize)
        cuts.append(_Cut(realize, loops, divide(tree, stmt, realize, loops, keep_unit)))
    iterators = _Iterators()
    chosen = [iterators.of(cut) for cut in cuts]
    values = {iter_var.var: value for iter_var, value in iterators.found}
    without = _common_condition(tree, around, cuts, iterators.found)
    body: list[Stmt] = []
    for cut, outer in zip(cuts, chosen, strict=True):
        _require_init_inside(tree, cut)
        inner = inner_half(cut.realize, cut.loops, cut.divisions, outer, keep_unit)
        if without is not TRUE:
            inner = inner._replace(predicate=separated(cut.realize.predicate, cut.loops)[1])
        body.append(detached(tree, around, inner, values).statement())
    name = "".join(f"{cut.realize.block.name_hint}_" for cut in cuts)
    variables = tuple(iter_var for iter_var, _ in iterators.found)
    block = Block(variables, (), (), f"outer_{name}", seq(*body))
    block = with_regions(block, outer_analyzer(tree, around, block))
    joint = BlockRealize(tuple(values.values()), without, block)
    edits: dict[Stmt, Stmt | None] = {around: joint, **dict.fromkeys(stmts[1:])}
    return tree.edit(edits, joint)


def _common_condition(
    tree: FunctionTree,
    around: Stmt,
    cuts: Sequence[_Cut],
    iterators: Sequence[tuple[IterVar, Expr]],
) -> Expr:
    """The condition outside of the tiles, if it is the same for all blocks; else none.

    Raises:
        ScheduleError: if it is not, and iterators would have values outside of their domains.
    """
    first, *others = (separated(cut.realize.predicate, cut.loops)[0] for cut in cuts)
    if all(structural_equal(first, other) for other in others):
        return first
    analyzer = tree.analyzer(around)
    for item, value in iterators:
        assert item.dom is not None
        inside = value >= item.dom.min, value < item.dom.min + item.dom.extent
        if not all(map(analyzer.can_prove, inside)):
            raise ScheduleError(
                f"the blocks run under different conditions, without which `{item.var.name}` of "
                "the new block would leave its domain",
                at=[cut.realize for cut in cuts],
            )
    return TRUE


def _place(tree: FunctionTree, blocks: Sequence[BlockRealize]) -> tuple[Stmt, int, int]:
    """The statement that holds the blocks, and which of its parts they are in."""
    if len(set(blocks)) < len(blocks):
        raise ScheduleError("a block is given more than once", at=blocks)
    if blocks[0] is tree.root:
        raise ScheduleError("{0} is the root block, around which there is no block", at=blocks)
    if len(blocks) == 1:
        return blocks[0], 0, 1
    place = tree.lowest_common_ancestor(blocks)
    if not isinstance(place, SeqStmt):
        raise ScheduleError("the blocks are inside of each other", at=blocks)
    positions: list[int] = []
    for position, stmt in enumerate(place.seq):
        below = [stmt] if isinstance(stmt, BlockRealize) else tree.blocks_below(stmt)
        if not any(block is stmt or tree.is_above(stmt, block) for block in blocks):
            continue
        if len(below) != 1 or below[0] not in set(blocks):
            raise ScheduleError(
                "the blocks must each have loops of their own, in the same scope", at=blocks
            )
        positions.append(position)
    first, last = positions[0], positions[-1] + 1
    if len(positions) < last - first:
        raise ScheduleError(
            "the blocks are not next to each other: something else runs between them", at=blocks
        )
    return place, first, last


class _Iterators:
    """The iterators of the joint block: blocks that go over the same share one."""

    def __init__(self) -> None:
        self.found: list[tuple[IterVar, Expr]] = []

    def of(self, cut: _Cut) -> list[Expr]:
        """The outer iterators of one block, or the only values of those that it does not need."""
        taken: set[Var] = set()
        result: list[Expr] = []
        for old, division in zip(cut.realize.block.iter_vars, cut.divisions, strict=True):
            part = division.outer
            if is_reduction(old) and is_const_int(part.domain.extent, 1):
                result.append(part.domain.min)
                continue
            found = next(
                (
                    v.var
                    for v, value in self.found
                    if v.var not in taken
                    and v.iter_type is old.iter_type
                    and structural_equal((v.dom, value), (part.domain, part.value))
                ),
                None,
            )
            if found is None:
                found = Var(f"{old.var.name}_o", old.var.dtype)
                self.found.append((IterVar(part.domain, found, old.iter_type), part.value))
            taken.add(found)
            result.append(found)
        return result


def _require_init_inside(tree: FunctionTree, cut: _Cut) -> None:
    """Refuse reductions that go on from one instance of the joint block to the next."""
    if cut.realize.block.init is None:
        return
    for iter_var, division in zip(cut.realize.block.iter_vars, cut.divisions, strict=True):
        if is_reduction(iter_var) and not is_const_int(division.outer.domain.extent, 1):
            raise ScheduleError(
                "the reduction of {0} goes on from one tile to the next, but its initialisation "
                "would be inside of the tile",
                at=[cut.realize],
                hint="decompose the reduction first, so that the initialisation is outside",
            )
    require_same_start(tree, cut.realize, cut.divisions, cut.loops)


def tile_block(tree: FunctionTree, loop: For, keep_unit: bool) -> BlockRealize:
    """The block that stands for `loop`; see the primitive `blockize`."""
    realize = _only_block(tree, loop)
    loops = loops_between(tree, loop, realize)
    divisions = divide(tree, loop, realize, loops, keep_unit)
    iterators = tuple(
        IterVar(division.outer.domain, Var(f"{old.var.name}_o", old.var.dtype), old.iter_type)
        for old, division in zip(realize.block.iter_vars, divisions, strict=True)
    )
    values = {v.var: d.outer.value for v, d in zip(iterators, divisions, strict=True)}
    without, within = separated(realize.predicate, loops)
    outer = Block(iterators, (), (), f"{realize.block.name_hint}_o", realize)
    inner = inner_half(realize, loops, divisions, list(values), keep_unit)
    inner = detached(tree, loop, inner._replace(predicate=within), values)
    if inner.block.init is not None and any(map(is_reduction, iterators)):
        require_same_start(tree, realize, divisions, loops)
        inner, init = _with_init_apart(tree, loop, outer, inner)
        outer = outer.replace(init=init)
    outer = outer.replace(body=inner.statement())
    outer = with_regions(outer, outer_analyzer(tree, loop, outer))
    return BlockRealize(tuple(values.values()), without, outer)


def _with_init_apart(
    tree: FunctionTree, loop: For, outer: Block, inner: Inner
) -> tuple[Inner, Stmt | None]:
    """The inner half without its initialisation, and that for the whole tile.

    Where the reduction is in the tile as a whole, it may as well stay where it is.
    """
    try:
        require_init_first(inner, outer_analyzer(tree, loop, outer))
    except ScheduleError:
        reductions = [v.dom for v in outer.iter_vars if is_reduction(v) and v.dom is not None]
        if all(is_const_int(domain.extent, 1) for domain in reductions):
            return inner, None
        if tree.checked:
            raise
    init = tile_init(inner, outer, outer_analyzer(tree, loop, outer))
    return inner._replace(block=updating(inner.block)), init


def _only_block(tree: FunctionTree, loop: For) -> BlockRealize:
    blocks = tree.blocks_below(loop)
    if len(blocks) != 1:
        raise ScheduleError(
            f"{{0}} contains {len(blocks)} blocks; a tile is made of one",
            at=[loop, *blocks],
            hint="give a list of blocks to make one block of several" if blocks else "",
        )
    return blocks[0]


@primitive
def blockize(
    tree: FunctionTree, target: For | list[BlockRealize], preserve_unit_iters: bool = True
) -> Edit:
    """Make one block of what is inside of a loop, or of several blocks next to each other.

    The order of execution stays the same.

    Before::

        for i_0, i_1 in T.grid(8, 16):
            with T.block("B"):
                vi = T.axis.spatial(128, i_0 * 16 + i_1)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] * T.float32(2)

    After ``blockize(i_1)``::

        for i_0 in range(8):
            with T.block("B_o"):
                vi_o = T.axis.spatial(8, i_0)
                T.reads(A[vi_o * 16:vi_o * 16 + 16])
                T.writes(B[vi_o * 16:vi_o * 16 + 16])
                for i_1 in range(16):
                    with T.block("B"):
                        vi_i = T.axis.spatial(16, i_1)
                        T.reads(A[vi_o * 16 + vi_i])
                        T.writes(B[vi_o * 16 + vi_i])
                        B[vi_o * 16 + vi_i] = A[vi_o * 16 + vi_i] * T.float32(2)

    In a reduction, the initialisation moves into the new block: all elements of a tile are
    initialised before they are updated.

    Requires: what each iterator of a block is bound to is a multiple of a tile, made of the loops
    outside, plus a position in the tile, made of the loops inside; conditions and bounds inside
    depend on outer loops only as far as the new iterators tell.

    Args:
        target: a loop with one block in it, or a block, or a list of blocks next to each other.
        preserve_unit_iters: whether loops of one iteration stay in the bindings.

    Returns:
        The new block, called ``B_o``, or ``outer_B_C_`` for blocks ``B`` and ``C``.

    Raises:
        ScheduleError: if a requirement does not hold.

    Example::

        sch = tir.Schedule(matmul)
        i, j, k = sch.get_loops("C")
        i_0, i_1 = sch.split(i, [None, 4])
        j_0, j_1 = sch.split(j, [None, 8])
        sch.reorder(i_0, j_0, i_1, j_1, k)
        sch.blockize(i_1)
    """
    if isinstance(target, For):
        block = tile_block(tree, target, preserve_unit_iters)
        return tree.edit({target: block}, block)
    if isinstance(target, BlockRealize):  # one may be given outside of a list
        target = [target]
    if not target or not all(isinstance(item, BlockRealize) for item in target):
        raise ScheduleError("blockize needs a loop, or a list of at least one block")
    return joint_block(tree, target, preserve_unit_iters)
