"""How the iterations of a parallel loop are divided among threads, as an annotation says.

The annotation ``pragma_parallel_schedule`` of a loop (``sch.annotate(loop, ...)``, or
``stage.pragma(axis, "parallel_schedule", ...)`` in a TE schedule) is one of

* ``"static"``, which is also the default: equal parts, one per thread,
* ``"dynamic"``: small parts, of which a thread that is done takes the next; for iterations that
  take different amounts of time,
* ``"dynamic,4"``: parts of that many iterations, however little they do.

The names are those of OpenMP.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tilewright.error import LoweringError
from tilewright.ir.convert import attributes
from tilewright.tir.stmt import For

PARALLEL_SCHEDULE: Final = "pragma_parallel_schedule"

_FORM: Final = re.compile(r"static|dynamic(?:\s*,\s*([1-9]\d{0,8}))?")


class ParallelSchedule(NamedTuple):
    """How iterations are divided."""

    dynamic: bool = False
    chunk: int | None = None
    """Iterations of a part; None if that is for the compiler to say."""


def parallel_schedule(loop: For) -> ParallelSchedule:
    """What the annotation of a loop says.

    Raises:
        LoweringError: for an annotation of another form.
    """
    value = loop.annotations.get(PARALLEL_SCHEDULE, "static")
    found = _FORM.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise LoweringError(
            f"loop {loop.loop_var.name}: {PARALLEL_SCHEDULE} is 'static', 'dynamic' or "
            f"'dynamic,CHUNK' with a number of iterations, got {value!r}"
        )
    chunk = found[1]
    return ParallelSchedule(value.startswith("dynamic"), int(chunk) if chunk else None)


def with_chunks_of(loop: For, step: int) -> For:
    """`loop`, each of whose iterations does what `step` did, with its chunks in that unit."""
    chunk = parallel_schedule(loop).chunk
    if chunk is None:
        return loop
    value = f"dynamic,{max(chunk // step, 1)}"
    return loop.replace(annotations=attributes({**loop.annotations, PARALLEL_SCHEDULE: value}))
