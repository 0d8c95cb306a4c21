"""Whether a schedule may combine the values of a reduction in the order in which it does.

`te.comm_reducer` declares that a combination is commutative and associative. A combination of which
that is disproved, such as the argument of a maximum that keeps the first of equal values, is still
welcome as long as its values are combined in the order of the reduction axes.
"""

from __future__ import annotations

from operator import is_

from tilewright.ir.expr import is_const_int
from tilewright.te.operation import ComputeOp
from tilewright.te.schedule.relation import domain
from tilewright.te.schedule.stage import Stage
from tilewright.tir.analysis.reducer_laws import Disagreement, Verdict, laws_of
from tilewright.tir.expr import IterVar


def check_reduction_order(stage: Stage) -> None:
    """Require that the loops of a stage combine values in an order that gives what is defined.

    Raises:
        TEScheduleError: if it is disproved that another order gives the same.
    """
    op = stage.op
    if not isinstance(op, ComputeOp) or op.reduction is None:
        return
    if any(stage.is_reduction(leaf) for leaf in stage.threads):
        _refuse(stage, "bind", "the threads", laws_of(op.reduction.combiner).order_free)
    elif not _is_order_kept(stage):
        _refuse(stage, "reorder", "the loops", laws_of(op.reduction.combiner).order_free)


def check_factored_order(stage: Stage, axis: IterVar) -> None:
    """Require that partial results for each iteration of `axis` give what is defined.

    Raises:
        TEScheduleError: if it is disproved that another order, or grouping, gives the same.
    """
    op = stage.op
    assert isinstance(op, ComputeOp)
    assert op.reduction is not None
    laws = laws_of(op.reduction.combiner)
    leaves = (leaf for leaf in stage.leaf_iter_vars if stage.is_reduction(leaf))
    first = next((leaf for leaf in leaves if not _is_single(leaf)), axis)
    is_order_kept = axis is first and _is_order_kept(stage)
    verdict = laws.associative if is_order_kept else laws.order_free
    _refuse(stage, "rfactor", f"the partial results over {axis.name}", verdict)


def _is_order_kept(stage: Stage) -> bool:
    """Whether the values of each element are combined in the order of the reduction axes."""
    op = stage.op
    assert isinstance(op, ComputeOp)
    order = list(op.reduce_axis)
    for relation in stage.relations:
        places = {leaf: place for place, leaf in enumerate(order)}
        found = [places[parent] for parent in relation.parents if parent in places]
        if found != list(range(min(found, default=0), min(found, default=0) + len(found))):
            return False
        if found:
            order[found[0] : found[-1] + 1] = relation.children
    several = dict.fromkeys(leaf for leaf in order if not _is_single(leaf))
    leaves = dict.fromkeys(leaf for leaf in stage.leaf_iter_vars if leaf in several)
    return all(map(is_, leaves, several))


def _is_single(leaf: IterVar) -> bool:
    return is_const_int(domain(leaf).extent, 1)


def _refuse(stage: Stage, primitive: str, what: str, verdict: Verdict) -> None:
    if not isinstance(verdict, Disagreement):
        return
    assert isinstance(stage.op, ComputeOp)
    names = [tensor.name for tensor in stage.op.outputs]
    raise stage.error(
        primitive,
        f"{what} would combine the values in another order, which may give another result: "
        f"{verdict.text(names)}. Compare the indices, too, where values are equal, or keep the "
        "order of the reduction axes",
    )
