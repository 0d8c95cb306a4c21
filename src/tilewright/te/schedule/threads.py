"""What may be said about GPU threads: which of them store, and which go through a scan."""

from __future__ import annotations

from tilewright.ir.expr import Expr
from tilewright.ir.rewrite import walk
from tilewright.te.operation import ScanOp
from tilewright.te.scan_loop import scan_body
from tilewright.te.schedule.infer_bound import Bounds
from tilewright.te.schedule.memory_scope import is_shared_by
from tilewright.te.schedule.stage import Stage
from tilewright.tir.expr import IterVar, ProducerLoad
from tilewright.tir.substitute import variables_of


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
        for place in bounds.places.path(stage):
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
    nests = [s for s in bounds.places.stages if s.op in body and not bounds.places.is_attached(s)]
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
