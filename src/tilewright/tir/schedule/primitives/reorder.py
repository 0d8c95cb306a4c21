"""Changing the order of loops and of the iterators of a block, and merging loop nests."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.expr import Expr, Var
from tilewright.tir.schedule.edits.bindings import rebind
from tilewright.tir.schedule.edits.loops import nest, require_plain, require_schedulable
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import Number, primitive
from tilewright.tir.schedule.proofs.legality import require_order_kept, require_same_meaning
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import Block, BlockRealize, For, Stmt, seq
from tilewright.tir.substitute import substitute, variables_of


@primitive
def reorder(tree: FunctionTree, *ordered_loops: For) -> Edit:
    """Put nested loops into a new order.

    Before::

        for i, j, k in T.grid(16, 32, 64):
            S(i, j, k)

    After ``reorder(k, i)``::

        for k, j, i in T.grid(64, 32, 16):
            S(i, j, k)

    Requires: the loops are on one chain of perfectly nested loops (others may be between them and
    stay where they are), the bounds of a loop do not depend on one that ends up inside of it, and
    no two iterations that depend on each other change their order. The updates of a reduction may
    change theirs if its reducer is proved to be commutative and associative, also where values that
    it compares are equal (see `rfactor`).

    Args:
        ordered_loops: the loops in their new order, from the outermost on.

    Raises:
        ScheduleError: if a requirement does not hold; for a dependence, with two iterations and
            the element that both access.

    Example::

        sch = tir.Schedule(matmul)
        i, j, k = sch.get_loops("C")
        sch.reorder(i, k, j)  # the innermost loop now runs along the rows of B and C
    """
    if len(set(ordered_loops)) < len(ordered_loops):
        raise ScheduleError("a loop is given more than once", at=ordered_loops)
    if len(ordered_loops) < 2:
        return Edit(tree.func)
    require_schedulable(tree, ordered_loops[0])
    chain = _chain(tree, ordered_loops)
    places = [position for position, loop in enumerate(chain) if loop in set(ordered_loops)]
    order = list(chain)
    for position, loop in zip(places, ordered_loops, strict=True):
        order[position] = loop
    if all(new is old for new, old in zip(order, chain, strict=True)):
        return Edit(tree.func)
    _require_bounds_known(order)
    body: Stmt = chain[-1].body
    for loop in reversed(order):
        body = loop.replace(body=body)
    edit = tree.edit({chain[0]: body})
    require_order_kept(tree, edit, chain[0], moved=ordered_loops)
    return edit


def _chain(tree: FunctionTree, loops: Sequence[For]) -> list[For]:
    """All loops from the outermost of `loops` to the innermost."""
    depth = {loop: sum(1 for _ in tree.ancestors(loop)) for loop in loops}
    top, bottom = min(loops, key=depth.__getitem__), max(loops, key=depth.__getitem__)
    chain = [top]
    while chain[-1] is not bottom:
        below = chain[-1].body
        if not isinstance(below, For):
            raise ScheduleError(
                "the loops are not on one chain: between {0} and {1} there is more than loops",
                at=[top, bottom],
                hint="only perfectly nested loops can be reordered",
            )
        chain.append(below)
    missing = [loop for loop in loops if loop not in set(chain)]
    if missing:
        raise ScheduleError(
            "the loops are not on one chain: {0} is not between {1} and {2}",
            at=[missing[0], top, bottom],
        )
    return chain


def _require_bounds_known(order: Sequence[For]) -> None:
    """Refuse bounds that mention the variable of a loop further inside."""
    for position, outer in enumerate(order):
        mentioned = set(variables_of(outer.min) + variables_of(outer.extent))
        for inner in order[position + 1 :]:
            if inner.loop_var in mentioned:
                raise ScheduleError(
                    "the bounds of {0} depend on {1}, which would come to stand inside of it",
                    at=[outer, inner],
                )


@primitive
def reorder_block_iter_var(
    tree: FunctionTree, block: BlockRealize, new_order: list[Number]
) -> Edit:
    """Put the iterators of a block into a new order; nothing else changes.

    Before::

        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])

    After ``reorder_block_iter_var("C", [2, 0, 1])``::

        with T.block("C"):
            vk, vi, vj = T.axis.remap("RSS", [k, i, j])

    Args:
        block: the block.
        new_order: the positions of the iterators in their new order.

    Raises:
        ScheduleError: if `new_order` does not name each position once.

    Example::

        sch = tir.Schedule(matmul)
        sch.reorder_block_iter_var("C", [2, 0, 1])
    """
    iterators = block.block.iter_vars
    if sorted(new_order) != list(range(len(iterators))):
        raise ScheduleError(
            f"new_order must have each number from 0 to {len(iterators) - 1} once, as {{0}} has "
            f"{len(iterators)} iterators; got {new_order}",
            at=[block],
        )
    inner = block.block.replace(iter_vars=tuple(iterators[n] for n in new_order))
    values = tuple(block.iter_values[n] for n in new_order)
    return tree.edit({block: block.replace(iter_values=values, block=inner)})


@primitive
def merge(tree: FunctionTree, *loops: For, place: str | None = None) -> Edit:
    """Merge loops of the same extent that are not nested into one that does the work of all.

    The loops around them are merged, too, up to the nearest statement that is around all.

    Before::

        for i, j in T.grid(16, 32):
            S(i, j)
        for i, j in T.grid(16, 32):
            R(i, j)

    After ``merge(j of S, j of R)``::

        for i_m, j_m in T.grid(16, 32):
            S(i_m, j_m)
            R(i_m, j_m)

    Requires: the loops are in one scope, equally deep below the nearest statement around all of
    them, and equal in their extents level by level; on the way to that statement there are only
    perfectly nested loops, without annotations and thread bindings. No instance of a block moves
    before one that it depends on.

    Args:
        loops: two or more loops.
        place: whether the merged loop stands where the ``"first"`` or the ``"last"`` of the loops
            is, for what stands between them; None for the last place if that is right, otherwise
            the first.

    Returns:
        The merged loop; of several levels the innermost.

    Raises:
        ScheduleError: if a requirement does not hold; for a dependence, with two instances and
            the element that both access.

    Example::

        sch = tir.Schedule(chain)
        m, _, _ = sch.get_loops("C")
        m_1, _ = sch.get_loops("D")
        m_2, _, _ = sch.get_loops("F")
        sch.merge(sch.merge(m, m_1), m_2)
    """
    if place not in (None, "first", "last"):
        raise ScheduleError(f'`place` is "first" or "last", got {place!r}', at=loops)
    if len(loops) < 2:
        raise ScheduleError("merge needs at least two loops", at=loops)
    _require_apart(tree, loops)
    chains = [_merged_chain(tree, loop, loops) for loop in loops]
    _require_equal(tree, chains)
    chains = _in_text_order(tree, chains)
    merged, innermost = _merged(tree, chains)
    tops = [chain[0] for chain in chains]

    def placed(top: For) -> Edit:
        edit = tree.edit({**dict.fromkeys(tops), top: merged}, innermost)
        require_same_meaning(tree, edit, at=loops)
        return edit

    if place is not None:
        return placed(tops[0] if place == "first" else tops[-1])
    try:
        return placed(tops[-1])
    except ScheduleError as refusal:
        try:
            return placed(tops[0])._replace(recorded={"place": "first"})
        except ScheduleError:
            raise refusal from None


def _require_apart(tree: FunctionTree, loops: Sequence[For]) -> None:
    for loop in loops:
        if sum(other is loop for other in loops) > 1:
            raise ScheduleError("{0} is given more than once", at=[loop])
        for other in loops:
            if tree.is_above(other, loop):
                raise ScheduleError(
                    "{0} is inside of {1}: use fuse for nested loops", at=[loop, other]
                )


def _merged_chain(tree: FunctionTree, loop: For, loops: Sequence[For]) -> list[For]:
    """The loops that are merged on the way to `loop`, the outermost first."""
    common = tree.lowest_common_ancestor(loops)
    chain = [loop]
    for above in tree.ancestors(loop):
        if above is common:
            break
        if isinstance(above, Block):
            raise ScheduleError("{0} is in another scope than the other loops", at=[loop])
        if not isinstance(above, For):
            raise ScheduleError(
                "{0} is not the only statement in the loop around it, which would be merged too",
                at=[chain[0]],
                hint="merge outer loops only, or loops of one parent",
            )
        chain.insert(0, above)
    for item in chain:
        require_plain(item)
    return chain


def _require_equal(tree: FunctionTree, chains: Sequence[list[For]]) -> None:
    first = chains[0]
    analyzer = tree.analyzer(first[0])
    for chain in chains[1:]:
        if len(chain) != len(first):
            raise ScheduleError(
                f"{{0}} and {{1}} are not equally deep: {len(first)} and {len(chain)} loops below "
                "the nearest statement around both",
                at=[first[-1], chain[-1]],
            )
        same: dict[Var, Expr] = {}
        for a, b in zip(first, chain, strict=True):
            same[b.loop_var] = a.loop_var
            if not analyzer.can_prove_equal(a.extent, substitute(b.extent, same)):
                raise ScheduleError(
                    f"the extents of {{0}} and {{1}} differ: {a.extent} and {b.extent}",
                    at=[a, b],
                )


def _in_text_order(tree: FunctionTree, chains: Sequence[list[For]]) -> list[list[For]]:
    """The chains as they follow each other in the program."""
    tops = {chain[0]: chain for chain in chains}
    parent = tree.parent(chains[0][0])
    assert parent is not None
    return [tops[child] for child in tree.children(parent) if child in tops]


def _merged(tree: FunctionTree, chains: Sequence[list[For]]) -> tuple[Stmt, For]:
    """The merged loops around the bodies of all; and the innermost of them."""
    variables = [Var(_name(loop), loop.loop_var.dtype) for loop in chains[0]]
    bodies: list[Stmt] = []
    extents: dict[Var, Expr] = {}
    for chain in reversed(chains):
        analyzer = tree.analyzer(chain[0])
        values: dict[Var, Expr] = {}
        for loop, var in zip(chain, variables, strict=True):
            extents[var] = substitute(loop.extent, values)
            analyzer.bind_range(var, 0, extents[var])
            values[loop.loop_var] = substitute(loop.min, values) + var
        bodies.append(rebind(chain[-1].body, values, analyzer))
    made, outermost = nest({var: extents[var] for var in variables}, seq(*reversed(bodies)))
    return outermost, made[-1]


def _name(loop: For) -> str:
    name = loop.loop_var.name
    return name if name.endswith("_m") else f"{name}_m"
