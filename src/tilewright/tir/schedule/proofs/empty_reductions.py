"""Reductions over symbolic ranges that may be empty, whose elements get their initial values.

The initialisation of a block runs where a loop of its reduction has no iteration (see
`tir.transform.empty_reductions`). A primitive keeps that if such a loop is of the reduction alone,
and if nothing that it adds inside of the loop takes part in the result.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.arith import Analyzer
from tilewright.ir.expr import Expr, IntImm, is_const_int
from tilewright.tir.expr import IterType
from tilewright.tir.schedule.edits.bindings import bindings_of, bound_values, mentioned
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.scope import buffers_read, buffers_written
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import BlockRealize, For
from tilewright.tir.substitute import variables_of


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
            hint=_HINT,
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
                    hint=_HINT,
                )


_HINT = (
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
