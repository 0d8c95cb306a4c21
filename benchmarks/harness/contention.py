"""Whether something else computes on the same core.

Two hardware threads of a core share its arithmetic units. The other thread may belong to another
program, on a virtual machine to another machine: nobody says so, and code that keeps the units busy
then takes up to twice as long, while code that waits for memory hardly loses.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Final

from tilewright.runtime.peaks import MEMORY_BYTES, arithmetic, multiply_add, spans_of
from tilewright.target import Target

ITERATIONS: Final = 5000
"""Some tens of microseconds."""


@functools.cache
def probe_of(threads: int) -> Callable[[], float]:
    """A function that multiplies and adds in registers, and says how many seconds that took.

    It does so on as many threads at once, and says what the slowest took, in time of the processor.
    Without an instruction that multiplies and adds it is always 0.
    """
    target = Target("llvm")
    op = multiply_add("float32", target)
    if op is None:
        return lambda: 0.0
    kernel = arithmetic(op, target)
    spans = spans_of(kernel, MEMORY_BYTES, threads, time.thread_time)
    return lambda: max(spans(ITERATIONS))
