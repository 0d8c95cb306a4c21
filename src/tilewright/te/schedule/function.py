"""From a schedule to its tensor program, its bounds, or its statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError, TEScheduleError
from tilewright.ir.convert import attributes
from tilewright.ir.expr import Expr, Var, is_const_int
from tilewright.ir.structural import structural_equal
from tilewright.te.create_prim_func import FunctionBuilder
from tilewright.te.operation import PlaceholderOp, topological_order
from tilewright.te.schedule.buffer_layouts import with_layouts
from tilewright.te.schedule.builder import ScheduledFunctionBuilder
from tilewright.te.schedule.continuation import continued
from tilewright.te.schedule.infer_bound import Bounds
from tilewright.te.schedule.schedule import Schedule
from tilewright.te.tensor import Tensor
from tilewright.tir.buffer import Buffer, Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import For, ForKind, Stmt
from tilewright.tir.substitute import substitute
from tilewright.tir.transform.building.statements import statements

_AT_ONCE: Final = {ForKind.PARALLEL: "parallel", ForKind.VECTORIZED: "vectorize"}
"""The primitives that let iterations run at once, by kinds of loops."""


def schedule_to_prim_func(
    schedule: Schedule,
    args: Sequence[Any],
    name: str = "main",
    binds: Mapping[Tensor, Buffer] | None = None,
) -> PrimFunc:
    """The tensor program of a schedule, made of blocks.

    The loops of each stage are its `leaf_iter_vars`. The initialisation of a reduction is a block
    of its own, right before the outermost reduction loop, in a copy of the data-parallel loops
    that are inside of it; their names end in ``_init``. A stage that is computed in a loop of
    another one is at the start of the body of that loop, in which its results have memory.

    Args:
        schedule: the schedule.
        args: the parameters: tensors and scalar variables. Other tensors become buffers of the
            function.
        name: of the function.
        binds: buffers to use for some of the tensors.

    Raises:
        ArgumentError: if an input, or a size that no parameter's shape mentions, is not listed.
        TEScheduleError: if a stage is computed where it cannot be, or a step of what the schedule
            is continued with does not apply.
    """
    continuation = schedule.continuation
    if continuation is None:
        return _of_stages(schedule, args, name, binds)
    written = None
    if not continuation.is_of_stages:
        written = _as_written(schedule, args, name, binds)
    return continued(written or _of_stages(schedule, args, name, binds), continuation)


def _of_stages(
    schedule: Schedule, args: Sequence[Any], name: str, binds: Mapping[Tensor, Buffer] | None
) -> PrimFunc:
    """The program that stages make."""
    func, builder = _built(schedule, args, name, binds or {})
    _require_independent(name, func, builder)
    return func


def _built(
    schedule: Schedule, args: Sequence[Any], name: str, binds: Mapping[Tensor, Buffer]
) -> tuple[PrimFunc, ScheduledFunctionBuilder]:
    builder = ScheduledFunctionBuilder(schedule.normalize(), args, dict(binds))
    body = builder.body()
    attrs = {"from_legacy_te_schedule": True, "global_symbol": name, "tir.noalias": True}
    return with_layouts(builder.function(body, attributes(attrs)), builder.layouts()), builder


def scheduled_body(schedule: Schedule, args: Sequence[Any], func: PrimFunc) -> Stmt:
    """The body of a function in the way of a schedule of its tensors.

    That iterations which run at once are independent is left to be proved.

    Args:
        schedule: the schedule.
        args: what `te.tensors_of` says of the function.
        func: the function, whose parameters the body uses.

    Raises:
        TEScheduleError: if a stage is computed where it cannot be, or a parameter would have
            another layout.
    """
    buffers = [func.buffer_map.get(param) for param in func.params]
    binds = {arg: buffer for arg, buffer in zip(args, buffers, strict=True) if buffer is not None}
    made, _ = _built(schedule, args, func.global_symbol or "main", binds)
    for param, buffer in zip(made.params, buffers, strict=True):
        if made.buffer_map.get(param) is not buffer:
            name = made.buffer_map[param].name
            raise TEScheduleError(
                f"transform_layout on stage {name}: {name} is a parameter, whose layout is given"
            )
    return made.body


def _require_independent(name: str, func: PrimFunc, builder: ScheduledFunctionBuilder) -> None:
    """Refuse parallel and vector loops whose iterations depend on each other.

    Threads are left to `bind`, which knows that steps of a scan and sums across threads wait for
    each other.
    """
    if not any(isinstance(stmt, For) and stmt.kind in _AT_ONCE for stmt in statements(func.body)):
        return
    # The proofs take long to load, and many programs need none.
    from tilewright.tir.schedule.errors import ScheduleError
    from tilewright.tir.schedule.proofs.legality import require_all_independent
    from tilewright.tir.schedule.state import prepare
    from tilewright.tir.schedule.tree import FunctionTree

    tree = FunctionTree(name, prepare(name, func))
    try:
        require_all_independent(tree, _AT_ONCE)
    except ScheduleError as error:
        (loop,) = error.at
        stage = builder.stage_of(loop.loop_var)
        where = f"{_AT_ONCE[loop.kind]} on stage {stage.name}" if stage else "te.Schedule"
        raise TEScheduleError(str(error.raised_by(where, tree, "detail"))) from None


def InferBound(schedule: Schedule) -> dict[IterVar, Range]:
    """Over what the iteration variables of all stages range.

    A range may mention the variables of loops around its stage. Where two operations have an axis
    in common, the range is that of the one that comes first in the schedule.

    Raises:
        TEScheduleError: if a stage is computed where it cannot be, or the schedule is continued
            with a trace of blocks.
    """
    bounds = Bounds(_checked(schedule).normalize())
    known: dict[Var, Expr] = {}
    simplify = Analyzer().simplify
    result: dict[IterVar, Range] = {}
    for stage in reversed(bounds.attachments.stages):
        ranges, loops, _ = bounds.stages[stage]
        for axis, dom in ranges.items():
            result[axis] = Range.from_min_extent(
                simplify(substitute(dom.min, known)), simplify(substitute(dom.extent, known))
            )
        for leaf, (var, _) in loops.items():
            start = result[leaf].min
            moved = leaf.iter_type is IterType.DATA_PAR and not is_const_int(start, 0)
            known[var] = leaf.var - start if moved else leaf.var
        for leaf, thread in stage.threads.items():
            if leaf in ranges:
                result[thread] = Range.from_extent(ranges[leaf].extent)
    return result


def ScheduleOps(
    schedule: Schedule, bounds: Mapping[IterVar, Range], debug_keep_trivial_loop: bool = False
) -> Stmt:
    """The statements of a schedule, made of blocks; inputs and outputs are free buffers.

    Args:
        schedule: the schedule.
        bounds: from `InferBound`.
        debug_keep_trivial_loop: ignored; loops of one iteration are always kept.

    Raises:
        ArgumentError: if `bounds` are not those of the schedule.
    """
    del debug_keep_trivial_loop
    for axis, dom in InferBound(schedule).items():
        given = bounds.get(axis)
        if given is None or not structural_equal(given, dom):
            raise ArgumentError(
                f"te.schedule.ScheduleOps: the bounds of {axis.name} are not what InferBound gives"
            )
    args: list[Any] = [s.op.output(0) for s in schedule.stages if isinstance(s.op, PlaceholderOp)]
    args += [tensor for op in schedule.outputs for tensor in op.outputs]
    return schedule_to_prim_func(schedule, list(dict.fromkeys(args))).body


def _checked(schedule: Any) -> Schedule:
    if not isinstance(schedule, Schedule):
        raise ArgumentError(f"te.schedule.InferBound: expected a te.Schedule, got {schedule!r}")
    if schedule.continuation is not None:
        raise TEScheduleError(
            "te.schedule.InferBound: the schedule is continued with a trace of blocks, whose loops "
            "are not those of stages; ask before continue_with"
        )
    return schedule


def unscheduled_function(
    schedule: Schedule, args: Sequence[Any], name: str, binds: Mapping[Tensor, Buffer] | None
) -> PrimFunc | None:
    """What a schedule computes, as `te.create_prim_func` makes it.

    None if stages of the schedule have been transformed, or `args` has tensors that it does not
    compute.

    Raises:
        ArgumentError: as `tvm.lower`.
    """
    if not schedule.history.is_empty:
        return None
    return _as_written(schedule, args, name, binds)


def _as_written(
    schedule: Schedule, args: Sequence[Any], name: str, binds: Mapping[Tensor, Buffer] | None
) -> PrimFunc | None:
    """What the tensors of a schedule are; None if `args` has others."""
    tensors = [arg for arg in args if isinstance(arg, Tensor)]
    if any(tensor.op not in schedule.stage_map for tensor in tensors):
        return None
    builder = FunctionBuilder("tvm.lower", args, dict(binds or {}))
    return builder.whole_function(topological_order(tensors), name)
