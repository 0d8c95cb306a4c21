"""Over what the loops of each stage run.

The axes of an output, and of what is a parameter, range over their domains. Those of another stage
range over what its readers need in one iteration of the loop that it is computed in: the indices
with which they read it, evaluated to intervals over all other loops. From the axes the ranges of
the loops follow, as `relation` says.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from tilewright.arith import Analyzer
from tilewright.arith.interval import EVERYTHING, IntervalSet, interval_of, union
from tilewright.arith.linear import mentions
from tilewright.error import TEScheduleError
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.expr import Expr, IntImm, Let, Var
from tilewright.ir.rewrite import walk
from tilewright.te.operation import ComputeOp, Operation
from tilewright.te.schedule.attach import (
    Attachments,
    StageLoop,
    is_shared_by,
    memory_scope,
    same_loop,
)
from tilewright.te.schedule.relation import Values, domain, values_above
from tilewright.te.schedule.schedule import Schedule
from tilewright.te.schedule.stage import Stage
from tilewright.te.tensor import Tensor, extent_text
from tilewright.tir.buffer import Range
from tilewright.tir.expr import IterType, IterVar, ProducerLoad
from tilewright.tir.substitute import substitute


class StageBounds(NamedTuple):
    """Over what the loops of one stage run, and what they stand for.

    Ranges and values mention loop variables of this stage and of the stages around it.

    Attributes:
        ranges: of all its iteration variables.
        loops: the variable of the loop of each leaf, and over what it runs.
        values: of the leaves.
    """

    ranges: dict[IterVar, Range]
    loops: dict[IterVar, tuple[Var, Range]]
    values: Values


class Bounds:
    """The bounds of all stages of a schedule.

    Attributes:
        attachments: where the stages are computed.
        stages: the bounds of each.
        steps: the variable of the loop of each scan.
        thread_extents: how many threads there are of each thread axis that loops are bound to.
        scopes: the kind of memory that the results of each stage are in.
    """

    def __init__(self, schedule: Schedule, whole: Collection[Operation] = ()) -> None:
        self.attachments = Attachments(schedule)
        self.stages: dict[Stage, StageBounds] = {}
        self.steps: dict[Stage, Var] = {}
        self.scopes: dict[Stage, str] = {}
        self._whole = set(whole)
        self.thread_extents: dict[IterVar, Expr] = {}
        for stage in self.attachments.scans.values():
            axis = stage.leaf_iter_vars[0]
            self.steps[stage] = Var(axis.name, axis.dtype)
        for stage in reversed(self.attachments.stages):
            self.attachments.check(stage)
            self.scopes[stage] = memory_scope(stage, self.attachments)
            self._infer(stage)

    def _infer(self, stage: Stage) -> None:
        self._check_step(stage)
        ranges = self._axes(stage)
        for relation in stage.relations:
            found = relation.child_ranges(ranges)
            ranges.update(zip(relation.children, found, strict=True))
        loops: dict[IterVar, tuple[Var, Range]] = {}
        values: Values = {}
        for leaf in stage.leaf_iter_vars:
            dom = ranges[leaf]
            if self.attachments.is_step(stage, leaf):
                scan = self.attachments.scans[stage.op]
                loops[leaf] = self.steps[scan], domain(scan.leaf_iter_vars[0])
                values[leaf] = self.steps[scan]
                continue
            # A fresh variable, as two operations may have an axis in common.
            var = self.steps[stage] if stage in self.steps else Var(leaf.name, leaf.dtype)
            values[leaf] = var
            if leaf.iter_type is IterType.DATA_PAR:
                values[leaf] = as_expr(dom.min + var)
                dom = Range.from_extent(dom.extent)
            loops[leaf] = var, dom
        self.stages[stage] = StageBounds(ranges, loops, values)
        for leaf, thread in stage.threads.items():
            if leaf in loops:
                self._check_thread(stage, leaf, thread)

    def _check_step(self, stage: Stage) -> None:
        op = stage.op
        if stage in self.steps:
            step = stage.op.scan_axis  # type: ignore[attr-defined]
        elif isinstance(op, ComputeOp) and op in self.attachments.scans:
            step = op.axis[0]
        else:
            return
        if not any(leaf is step for leaf in stage.leaf_iter_vars):
            raise TEScheduleError(
                f"stage {stage.name}: {step.name} is the step of a te.scan and cannot be split or "
                "fused"
            )

    def _check_thread(self, stage: Stage, leaf: IterVar, thread: IterVar) -> None:
        """Require that a loop has the extent of its threads, and runs on them as a whole."""
        extent = self.stages[stage].loops[leaf][1].extent
        if thread not in self.thread_extents:
            self.thread_extents[thread] = extent if thread.dom is None else thread.dom.extent
        known = self.thread_extents[thread]
        if not Analyzer().can_prove_equal(known, cast(known.dtype, extent)):
            raise stage.error(
                "bind",
                f"loop {leaf.name} has extent {extent_text(extent)}, but {thread.thread_tag}, to "
                f"which it is bound, has {extent_text(known)}",
            )
        if is_shared_by(self.scopes[stage], thread):
            return
        for place in self.attachments.path(stage):
            around = place.stage.threads.get(place.loop)
            if around is not None and around.thread_tag == thread.thread_tag:
                raise stage.error(
                    "bind",
                    f"loop {leaf.name} is bound to {thread.thread_tag}, as is loop "
                    f"{place.loop.name} of stage {place.stage.name} around it; each thread would "
                    f"compute a part only of its {self.scopes[stage]} memory",
                )

    def _axes(self, stage: Stage) -> dict[IterVar, Range]:
        """The ranges of the axes of a stage."""
        op = stage.op
        if not isinstance(op, ComputeOp):
            return {leaf: domain(leaf) for leaf in stage.leaf_iter_vars}
        ranges = {axis: domain(axis) for axis in (*op.axis, *op.reduce_axis)}
        place = self.attachments.innermost(stage)
        if stage.layout is not None and place is not None:
            raise stage.error(
                "transform_layout",
                f"it is computed in loop {place.loop.name} of stage {place.stage.name}, where it "
                "is a part of the tensor only",
            )
        if stage.is_output or stage.layout or (op in self._whole and place is None):
            return ranges
        analyzer = self.analyzer(stage)
        fixed = {var for var, _ in self._fixed(stage)}
        needed: list[list[IntervalSet]] = [[] for _ in op.axis]
        for reader in self.attachments.readers(stage):
            for box in self._boxes(op, reader, fixed, analyzer):
                for intervals, interval in zip(needed, box, strict=True):
                    intervals.append(interval)
        for axis, intervals in zip(op.axis, needed, strict=True):
            if intervals:
                ranges[axis] = cover(union(intervals, analyzer), domain(axis), fixed, analyzer)
        return ranges

    def _boxes(
        self, producer: Operation, reader: Stage, fixed: Collection[Var], analyzer: Analyzer
    ) -> list[Box]:
        """For each read of what `producer` computes by `reader`, an interval per dimension.

        All loops run but `fixed`.
        """
        op, bounds = reader.op, self.stages[reader]
        if not isinstance(op, ComputeOp):
            return [[EVERYTHING] * len(producer.output(0).shape)]
        values = values_above(reader.relations, bounds.ranges, bounds.values)
        variables = {axis.var: values[axis] for axis in (*op.axis, *op.reduce_axis)}
        ranging = {
            var: dom
            for var, dom in (*bounds.loops.values(), *self.around(reader))
            if var not in fixed
        }
        return read_boxes(op, producer, variables, ranging, analyzer)

    def region(self, tensor: Tensor, stage: Stage, loop: IterVar) -> list[Range] | None:
        """What is read of `tensor` in one iteration of a loop of `stage`; None for nothing."""
        around = [StageLoop(stage, leaf) for leaf in stage.leaf_iter_vars]
        position = stage.position("prefetch", loop)
        places = [*around[: position + 1], *self.attachments.path(stage)]
        fixed = dict(self._loop(place) for place in places)
        analyzer = Analyzer()
        for var, dom in fixed.items():
            analyzer.bind_range(var, dom.min, dom.extent)
        boxes: list[Box] = []
        for reader in self.attachments.stages:
            inside = reader is stage or any(
                same_loop(StageLoop(stage, loop), place) for place in self.attachments.path(reader)
            )
            if inside and tensor in reader.op.input_tensors:
                boxes += self._boxes(tensor.op, reader, fixed, analyzer)
        if not boxes:
            return None
        return [
            cover(union(sides, analyzer), Range.from_extent(extent), fixed, analyzer)
            for *sides, extent in zip(*boxes, tensor.shape, strict=True)
        ]

    def around(self, stage: Stage) -> list[tuple[Var, Range]]:
        """The loops of other stages around `stage`, the innermost first."""
        return [self._loop(place) for place in self.attachments.path(stage)]

    def _loop(self, place: StageLoop) -> tuple[Var, Range]:
        return self.stages[place.stage].loops[place.loop]

    def _fixed(self, stage: Stage) -> list[tuple[Var, Range]]:
        """The loops around `stage` of one iteration of which it computes what is needed.

        Memory that GPU threads share has what all of them need.
        """
        scope = self.scopes[stage]
        return [
            self._loop(place)
            for place in self.attachments.path(stage)
            if not is_shared_by(scope, place.stage.threads.get(place.loop))
        ]

    def analyzer(self, stage: Stage) -> Analyzer:
        """What is known about the variables of the loops around `stage`."""
        analyzer = Analyzer()
        for var, dom in self.around(stage):
            analyzer.bind_range(var, dom.min, dom.extent)
        return analyzer


Box = list[IntervalSet]
"""An interval per dimension."""


def read_boxes(
    op: ComputeOp,
    producer: Operation,
    variables: Mapping[Var, Expr],
    ranging: Mapping[Var, Range],
    analyzer: Analyzer,
) -> list[Box]:
    """For each read of what `producer` computes by `op`, the box of elements.

    `variables` has the values of the axes of `op` in terms of loop variables; the loops `ranging`
    run over their domains, and `analyzer` knows about the others.
    """
    unknown = _bound_inside(op)
    boxes: dict[ProducerLoad, Box] = {}
    for expr in op.body:
        for load in walk(expr):
            if isinstance(load, ProducerLoad) and load.producer.op is producer:
                boxes[load] = [
                    EVERYTHING
                    if _is_unknown(index, unknown)
                    else interval_of(substitute(index, variables), ranging, analyzer)
                    for index in load.indices
                ]
    return list(boxes.values())


def cover(needed: IntervalSet, dom: Range, fixed: Collection[Var], analyzer: Analyzer) -> Range:
    """A range around `needed`, whose extent does not depend on the loops `fixed`.

    What is outside of `dom` is not computed, so constant ends are moved inside.
    """
    low, high = (None if end is None else cast(dom.extent.dtype, end) for end in needed)
    last = as_expr(dom.min + dom.extent - 1)
    if low is None or high is None:
        return dom
    if analyzer.can_prove(low <= dom.min) and analyzer.can_prove(high >= last):
        return dom
    if isinstance(low, IntImm) and analyzer.can_prove(low < dom.min):
        low = dom.min
    if isinstance(high, IntImm) and analyzer.can_prove(high > last):
        high = last
    extent = analyzer.simplify(high - low + 1)
    if mentions(extent, fixed):
        most = analyzer.const_int_bound(extent).max_value
        if not isinstance(most, int):
            return dom
        extent = const(most, extent.dtype)
    if isinstance(dom.extent, IntImm) and isinstance(extent, IntImm):
        if extent.value >= dom.extent.value:
            return dom
        extent = const(max(extent.value, 1), extent.dtype)
    return Range.from_min_extent(low, extent)


def _is_unknown(index: Expr, bound_inside: set[Var]) -> bool:
    """Whether an index depends on data, or on variables inside of the expression."""
    nodes = list(walk(index))
    return any(isinstance(node, ProducerLoad) or node in bound_inside for node in nodes)


def _bound_inside(op: ComputeOp) -> set[Var]:
    """The variables that the expressions of `op` bind themselves."""
    return {node.var for expr in op.body for node in walk(expr) if isinstance(node, Let)}
