"""What every edit must leave true: variables in scope, sizes that fit, initialised results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright.arith import Analyzer
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, IntImm, Var, is_const_int
from tilewright.tir.expr import IterType
from tilewright.tir.index_limits import ROOM, Reach, TooLargeError
from tilewright.tir.schedule.contents import contents
from tilewright.tir.schedule.edits.bindings import bindings_of, bound_values, mentioned
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.scope import buffers_read, buffers_written
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Block, BlockRealize, For, LetStmt
from tilewright.tir.substitute import variables_of

_HINT = f"choose tiles of at most {ROOM} iterations, or count in int64"


def require_fits(number: int, dtype: DType, what: str, at: For | BlockRealize) -> None:
    """Refuse a constant number of iterations that a loop cannot count."""
    if number > dtype.max_int:
        raise ScheduleError(
            f"{what} of {{0}} would be {number}: {dtype!s} does not hold that", at=[at], hint=_HINT
        )


def require_representable(before: FunctionTree, after: FunctionTree) -> None:
    """Refuse an edit whose new extents or conditions may not fit their dtype.

    See `tir.index_limits` for how large sizes are.
    """
    if not after.checked:
        return
    reach: Reach | None = None
    for loop in after.uncounted_loops:
        old = before.loop(loop.loop_var)
        if old is None or old.extent is not loop.extent:
            reach = reach or _reach(after)
            _require(reach, loop.extent, loop, after)
    for realize in after.blocks_changed_since(before):
        if realize.predicate.__class__ is IntImm:
            continue
        key = realize.block.key
        old = None if key is None else before.block(key)
        if old is None or not (old.predicate is realize.predicate or _is_too_large(before, old)):
            reach = reach or _reach(after)
            _require(reach, realize.predicate, realize, after)


def _reach(tree: FunctionTree) -> Reach:
    iterators: dict[Var, tuple[Expr, Expr]] | None = None

    def domain(var: Var) -> tuple[Expr, Expr] | None:
        nonlocal iterators
        loop = tree.loop(var)
        if loop is not None:
            return loop.min, loop.extent
        if iterators is None:
            iterators = {}
            for realize in tree.blocks():
                for item in realize.block.iter_vars:
                    if item.dom is not None:
                        iterators[item.var] = item.dom.min, item.dom.extent
        return iterators.get(var)

    return Reach(domain)


def _is_too_large(tree: FunctionTree, realize: BlockRealize) -> bool:
    try:
        _reach(tree).of(realize.predicate)
    except TooLargeError:
        return True
    return False


def _require(reach: Reach, expr: Expr, at: For | Block | BlockRealize, tree: FunctionTree) -> None:
    try:
        reach.of(expr)
    except TooLargeError as error:
        dtype = error.expr.dtype
        raise ScheduleError(
            f"{{0}} computes `{error.expr}`, which may be {error.value}: {dtype!s} does not hold "
            "that",
            at=[at],
            hint=_HINT,
        ).shown_in(tree) from None


def require_bound_variables(before: FunctionTree, after: FunctionTree) -> None:
    """Refuse an edit that takes loops or blocks out of the scope of a `let`.

    They may be copies beside it, or in a new block between the two: in a loop, the value of the
    variable may depend on the iteration, and iterators of blocks stand for loops only.
    """
    if not after.checked or not (before.lets or after.lets):
        return
    lets = {**before.lets, **after.lets}
    for loop in after.uncounted_loops:
        if loop not in before:
            _require_around(after, loop, lets, _variables(loop.min, loop.extent))
    for realize in after.blocks_changed_since(before):
        block = realize.block
        domains = (iter_var.dom for iter_var in block.iter_vars if iter_var.dom is not None)
        inside = _variables(block, *domains) - contents(block).bound
        around = _variables(realize.predicate, *realize.iter_values)
        _require_around(after, realize, lets, inside | around)
        for var in lets.keys() & inside:
            if not var.dtype.is_handle and after.loops_above(lets[var]):
                raise _refusal(after, realize, lets[var])


def _variables(*exprs: Any) -> set[Var]:
    return {var for expr in exprs for var in variables_of(expr)}


def _require_around(
    tree: FunctionTree, stmt: For | BlockRealize, lets: dict[Var, LetStmt], used: set[Var]
) -> None:
    """Refuse a statement that uses variables, but is not inside of the `let` that bind them."""
    used = used & lets.keys()
    if used:
        used -= {above.var for above in tree.ancestors(stmt) if isinstance(above, LetStmt)}
    for var in used:
        raise _refusal(tree, stmt, lets[var])


def _refusal(tree: FunctionTree, at: For | BlockRealize, let: LetStmt) -> ScheduleError:
    name = let.var.name
    return ScheduleError(
        f"{{0}} mentions `{name}`, but would be out of the scope of `{name} = {let.value}`",
        at=[at],
        hint=f"write the value in place of `{name}`: in a block, only its iterators are visible",
    ).shown_in(tree)


def require_still_initialised(before: FunctionTree, after: FunctionTree) -> None:
    """Refuse an edit after which a reduction over nothing no longer initialises its elements."""
    if not after.checked or not after.uncounted_loops:
        return
    for realize in after.blocks_changed_since(before):
        if realize.block.init is None:
            continue
        loops = [loop for loop in _reduction_loops(after, realize) if _may_be_empty(after, loop)]
        if not loops:
            continue
        try:
            _require_apart(before, after, realize, loops)
            _require_no_new_readers(before, after, realize, loops)
        except ScheduleError as error:
            raise error.shown_in(after) from None


def _reduction_loops(tree: FunctionTree, realize: BlockRealize) -> Iterator[For]:
    """The loops of any scope that reduction iterators of a block are bound to."""
    reducing = mentioned(bound_values(realize, reduction=True))
    for stmt in tree.ancestors(realize):
        if isinstance(stmt, For) and stmt.loop_var in reducing:
            yield stmt
        elif isinstance(stmt, BlockRealize):
            bound = bindings_of(stmt).items()
            reducing = mentioned(value for var, value in bound if var in reducing)


def _may_be_empty(tree: FunctionTree, loop: For) -> bool:
    if isinstance(loop.extent, IntImm):
        return loop.extent.value <= 0
    return not tree.analyzer(loop).can_prove(loop.extent > 0)


def _require_apart(
    before: FunctionTree, after: FunctionTree, realize: BlockRealize, loops: list[For]
) -> None:
    """Refuse loops of the reduction that a spatial iterator is bound to as well."""
    for loop in loops:
        if not _is_both(realize, loop) or not _empties_elements(after.analyzer(loop), realize):
            continue
        key = realize.block.key
        old = None if key is None else before.block(key)
        if old is not None and any(_is_both(old, x) for x in before.loops_above(old)):
            continue  # so it was before, too
        raise ScheduleError(
            "{0} is bound to both reduction and spatial iterators of {1}, whose reduction may be "
            "empty",
            at=[loop, realize],
            counterexample=_no_initialisation(loop, realize),
            hint=_EMPTY_HINT,
        )


def _is_both(realize: BlockRealize, loop: For) -> bool:
    reducing = mentioned(bound_values(realize, reduction=True))
    return loop.loop_var in reducing & mentioned(bound_values(realize, reduction=False))


def _empties_elements(analyzer: Analyzer, realize: BlockRealize) -> bool:
    """Whether the reduction of a block may be empty while the block has elements."""
    domains = [(v.iter_type, v.dom.extent) for v in realize.block.iter_vars if v.dom is not None]
    spatial = [extent for kind, extent in domains if kind is not IterType.COMM_REDUCE]
    for kind, extent in domains:
        if kind is not IterType.COMM_REDUCE or is_const_int(extent):
            continue
        if not analyzer.can_prove(extent > 0):
            with analyzer.constraint(extent <= 0):
                if not any(analyzer.can_prove(size <= 0) for size in spatial):
                    return True
    return False


def _require_no_new_readers(
    before: FunctionTree, after: FunctionTree, realize: BlockRealize, loops: list[For]
) -> None:
    """Refuse new blocks inside of a loop of a reduction that read the result of the reduction."""
    written = set(buffers_written(realize.block))
    for loop in loops:
        for leaf in after.leaf_blocks_below(loop):
            key = leaf.block.key
            is_new = key is None or before.block(key) is None
            if is_new and leaf is not realize and not written.isdisjoint(buffers_read(leaf.block)):
                raise ScheduleError(
                    "{0} takes the results of {1} from inside of {2}, a loop of the reduction that "
                    "may have no iteration",
                    at=[leaf, realize, loop],
                    counterexample=_no_initialisation(loop, realize),
                    hint=_EMPTY_HINT,
                )


_EMPTY_HINT = (
    "choose a loop around the reduction, or say that the size is positive by "
    "`T.evaluate(T.assume(...))` at the start of the function"
)


def _no_initialisation(loop: For, realize: BlockRealize) -> str:
    return (
        f"{_as_empty(loop.extent)}loop `{loop.loop_var.name}` has no iteration, and what block "
        f"`{realize.block.name_hint}` reduces into would not get its initial value"
    )


def _as_empty(extent: Expr) -> str:
    """Values of the sizes for which a loop of that extent has no iteration."""
    names = sorted({var.name for var in variables_of(extent)})
    return f"with {' = '.join([*names, '0'])}, " if names else ""
