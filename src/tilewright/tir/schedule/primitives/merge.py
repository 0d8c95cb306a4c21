"""Merging loops that follow each other into one (also called loop fusion)."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.expr import Expr, Var
from tilewright.tir.schedule.edits.bindings import rebind
from tilewright.tir.schedule.edits.loops import nest, require_plain
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.proofs.legality import require_same_meaning
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import Block, For, Stmt, seq
from tilewright.tir.substitute import substitute


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
    perfectly nested loops, without annotations and thread bindings. No instance of a block comes
    to run before one that it depends on.

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
    chains = [_chain(tree, loop, loops) for loop in loops]
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


def _chain(tree: FunctionTree, loop: For, loops: Sequence[For]) -> list[For]:
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
    bodies = []
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
