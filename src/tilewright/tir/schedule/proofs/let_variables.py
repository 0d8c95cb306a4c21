"""Whether what a primitive makes is in the scope of the variables that it mentions."""

from __future__ import annotations

from typing import Any

from tilewright.ir.expr import Var
from tilewright.tir.schedule.contents import contents
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import BlockRealize, For, LetStmt
from tilewright.tir.substitute import variables_of


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
