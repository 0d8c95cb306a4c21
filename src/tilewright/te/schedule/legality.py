"""Whether the loops of a stage compute what its operation says.

`te.comm_reducer` declares that a combination is commutative and associative. A combination of which
that is disproved, such as the argument of a maximum that keeps the first of equal values, is still
welcome as long as its values are combined in the order of the reduction axes. Tensors that were
read from a program declare nothing, so that for them it must be proved.
"""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING

from tilewright.arith import Analyzer
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr, IntImm, Var, is_const_int
from tilewright.ir.rewrite import walk
from tilewright.te.operation import ComputeOp, ScanOp
from tilewright.te.scan import scan_body
from tilewright.te.schedule.attach import is_shared_by
from tilewright.te.schedule.relation import domain
from tilewright.te.schedule.stage import Stage
from tilewright.te.tensor import extent_text
from tilewright.tir.analysis.reducer_laws import Disagreement, Verdict, laws_of
from tilewright.tir.buffer import Range
from tilewright.tir.expr import IterVar, ProducerLoad
from tilewright.tir.substitute import substitute, variables_of

if TYPE_CHECKING:
    from tilewright.te.schedule.infer_bound import Bounds


def check_reduction_order(stage: Stage) -> None:
    """Require that the loops of a stage combine values in an order that gives what is defined.

    Raises:
        TEScheduleError: if it is disproved that another order gives the same, or not proved for a
            reducer that nobody declares.
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
        TEScheduleError: if it is disproved that another order, or grouping, gives the same, or not
            proved for a reducer that nobody declares.
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
    op = stage.op
    assert isinstance(op, ComputeOp)
    if verdict is False and not op.declares_reducer:
        raise stage.error(
            primitive,
            f"{what} would combine the values in another order, and it is not known whether that "
            "gives the same result; keep the order of the reduction axes",
        )
    if not isinstance(verdict, Disagreement):
        return
    names = [tensor.name for tensor in op.outputs]
    raise stage.error(
        primitive,
        f"{what} would combine the values in another order, which may give another result: "
        f"{verdict.text(names)}. Compare the indices, too, where values are equal, or keep the "
        "order of the reduction axes",
    )


def check_initialised(stage: Stage, primitive: str, loops: list[IterVar]) -> None:
    """Require that elements get their initial values in the first iteration of `loops`.

    Raises:
        TEScheduleError: if the loops have no iteration where a reduction axis has none.
    """
    assert isinstance(stage.op, ComputeOp)
    if not loops:
        return
    for axis in stage.op.reduce_axis:
        extent = domain(axis).extent
        if not Analyzer().can_prove(extent > 0):
            raise stage.error(
                primitive,
                f"with {extent_text(extent)} = 0, loop {loops[0].name} has no iteration, and the "
                f"elements of {stage.name} would not get their initial values; keep the reduction "
                f"axis {axis.name} apart from the data-parallel axes, or give it a constant extent",
            )


def check_thread_writes(stage: Stage, bounds: Bounds) -> None:
    """Require that GPU threads add up different elements of a parameter.

    Other memory of a stage that is computed in a loop belongs to one iteration. A stage without a
    reduction writes the same value again, which is harmless.

    Raises:
        TEScheduleError: if two threads may add up the same element.
    """
    op = stage.op
    if not isinstance(op, ComputeOp) or op.reduction is None:
        return
    for place in bounds.attachments.path(stage):
        if place.loop not in place.stage.threads:
            continue
        var, _ = bounds.stages[place.stage].loops[place.loop]
        if not any(_moves_on(bounds.stages[stage].ranges[axis], var) for axis in op.axis):
            raise stage.error(
                "compute_at",
                f"it is a parameter, and the threads of loop {place.loop.name} of stage "
                f"{place.stage.name} would add up the same elements",
            )


def _moves_on(dom: Range, loop: Var) -> bool:
    """Whether the range of an axis has nothing in common with that in other iterations."""
    next_start = substitute(dom.min, {loop: as_expr(loop + 1)})
    step = Analyzer().simplify(next_start - dom.min)
    return (
        isinstance(step, IntImm)
        and isinstance(dom.extent, IntImm)
        and step.value >= dom.extent.value
    )


def check_store_predicate(stage: Stage, bounds: Bounds) -> None:
    """Require that the predicate of a stage excludes only threads that store the same elements.

    Raises:
        TEScheduleError: if not.
    """
    if stage.store_predicate is None:
        return
    threads = {thread.var: thread for thread in bounds.thread_extents}
    for var in variables_of(stage.store_predicate):
        thread = threads.get(var)
        if thread is None:
            raise stage.error(
                "set_store_predicate", f"{var.name} is not a thread axis that a loop is bound to"
            )
        for leaf, bound in stage.threads.items():
            if bound.thread_tag == thread.thread_tag and not stage.is_reduction(leaf):
                raise stage.error(
                    "set_store_predicate",
                    f"loop {leaf.name} is bound to {thread.thread_tag}, so each thread stores an "
                    "element of its own",
                )
        for place in bounds.attachments.path(stage):
            around = place.stage.threads.get(place.loop)
            if around is None or around.thread_tag != thread.thread_tag:
                continue
            if not is_shared_by(bounds.scopes[stage], around):
                raise stage.error(
                    "set_store_predicate",
                    f"each {thread.thread_tag} has {bounds.scopes[stage]} memory of its own",
                )


def thread_extents(stage: Stage, bounds: Bounds) -> list[tuple[IterVar, Expr]]:
    """The threads that go through a scan, and how many there are of each.

    Raises:
        TEScheduleError: if their number is not known, or a step of one reads what another wrote.
    """
    assert isinstance(stage.op, ScanOp)
    _check_independent(stage, stage.op, bounds)
    result: list[tuple[IterVar, Expr]] = []
    for thread in stage.env_thread_axes:
        extent = bounds.thread_extents.get(thread)
        if extent is None and thread.dom is not None:
            extent = thread.dom.extent
        if extent is None:
            raise stage.error(
                "env_threads", f"no loop is bound to {thread.thread_tag}, which has no extent"
            )
        result.append((thread, extent))
    return result


def _check_independent(stage: Stage, op: ScanOp, bounds: Bounds) -> None:
    """Threads meet between kernels only, so each must go through the steps on its own."""
    body = scan_body(op)
    stages = (stage for stage in bounds.attachments.stages if stage.op in body)
    nests = [stage for stage in stages if not bounds.attachments.is_attached(stage)]
    if len(nests) > 1:
        names = " and ".join(nest.name for nest in nests)
        raise stage.error(
            "env_threads",
            f"stages {names} of the scan have loops of their own, so one thread may read what "
            "another has written; compute them in one of them",
        )
    inside = {*body, *(tensor.op for tensor in op.state_placeholder)}
    for inner in body:
        if inner.reduction is not None:
            raise stage.error("env_threads", f"stage {inner.name} of the scan is a reduction")
        for expr in inner.body:
            for node in walk(expr):
                if isinstance(node, ProducerLoad) and node.producer.op in inside:
                    places = zip(node.indices[1:], inner.axis[1:], strict=False)
                    if len(node.indices) != len(inner.axis) or not all(
                        index is axis.var for index, axis in places
                    ):
                        raise stage.error(
                            "env_threads",
                            f"stage {inner.name} reads {node!r}, which another thread may have "
                            "written in the step before",
                        )
