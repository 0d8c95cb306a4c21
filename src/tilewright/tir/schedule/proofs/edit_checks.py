"""What every edit must leave true: variables are in scope, and sizes fit their dtypes."""

from __future__ import annotations

from typing import Any

from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.tir.index_limits import ROOM, Reach, TooLargeError
from tilewright.tir.schedule.contents import contents
from tilewright.tir.schedule.errors import ScheduleError
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
