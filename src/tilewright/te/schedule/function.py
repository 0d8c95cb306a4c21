"""From a schedule to a tensor program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tilewright.error import TEScheduleError
from tilewright.ir.attributes import attributes
from tilewright.te.schedule.buffer_layouts import with_layouts
from tilewright.te.schedule.builder import ScheduledFunctionBuilder
from tilewright.te.schedule.schedule import Schedule
from tilewright.te.tensor import Tensor
from tilewright.tir.buffer import Buffer
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import For, ForKind
from tilewright.tir.transform.building.statements import statements

_AT_ONCE: Final = (ForKind.PARALLEL, ForKind.VECTORIZED)


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
        TEScheduleError: if a stage is computed where it cannot be.
    """
    builder = ScheduledFunctionBuilder(schedule.normalize(), args, dict(binds or {}))
    body = builder.body()
    attrs = {"from_legacy_te_schedule": True, "global_symbol": name, "tir.noalias": True}
    func = with_layouts(builder.function(body, attributes(attrs)), builder.layouts())
    _require_independent(name, func)
    return func


def _require_independent(name: str, func: PrimFunc) -> None:
    """Refuse parallel and vector loops whose iterations depend on each other.

    Threads are left to `bind`, which knows that steps of a scan and sums across threads wait for
    each other.
    """
    if not any(isinstance(stmt, For) and stmt.kind in _AT_ONCE for stmt in statements(func.body)):
        return
    # The proofs take long to load, and many programs need none.
    from tilewright.tir.schedule.errors import ScheduleError
    from tilewright.tir.schedule.prepare import prepare
    from tilewright.tir.schedule.proofs.legality import require_all_independent
    from tilewright.tir.schedule.tree import FunctionTree

    tree = FunctionTree(name, prepare(name, func))
    try:
        require_all_independent(tree, _AT_ONCE)
    except ScheduleError as error:
        raise TEScheduleError(str(error.raised_by("te.Schedule", tree, "detail"))) from None
