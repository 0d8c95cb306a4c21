"""Polls for interrupts (Ctrl-C) in code that runs for a long time.

Python notes a signal and handles it on request, so compiled code asks from time to time:
in the outermost serial loop of a kernel whose work may take more than `SHORT`, and after parallel
loops. A poll reads a clock, and asks Python if `PAUSE` has passed since it was last asked, because
asking waits for the interpreter, which other threads may use. Without a host, nothing is asked.

Only the calling thread asks. Workers would wait for the interpreter, which the thread that waits
for them may hold.
"""

from __future__ import annotations

from typing import Final

from tilewright.ir.expr import Call, Expr, FloatImm, IntImm
from tilewright.ir.op import Op
from tilewright.ir.rewrite import walk
from tilewright.target.codegen.llvm.threads import has_pool
from tilewright.target.target import Target
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import For, While

SHORT: Final = 30_000_000
"""Cycles of work, about 10 ms: loops that surely take less are not interrupted."""

STEP: Final = 3_000_000
"""Cycles of work between two polls in a loop."""

UNKNOWN_STEP: Final = 1024
"""Iterations between two polls if their work is not known."""

PAUSE: Final = 50_000_000
"""Minimum of nanoseconds between two questions to Python."""

CLOCK: Final = 6
"""Linux's CLOCK_MONOTONIC_COARSE, which takes a few nanoseconds to read and is up to 4 ms late."""

POLL: Final = "tilewright_poll"
"""``i32 tilewright_poll()``: 0, or -1 if the call has to end; an error is set then."""

POLL_TEXT: Final = f"""
@tilewright.poll.kind = private unnamed_addr constant [19 x i8] c"EnvErrorAlreadySet\\00"
@tilewright.poll.last = internal global i64 0, align 8
define internal i32 @{POLL}() noinline nounwind {{
entry:
  %time = alloca [2 x i64], align 8
  %hosted = icmp ne ptr @TVMFFIEnvCheckSignals, null
  br i1 %hosted, label %look, label %go_on
look:
  %failed = call i32 @clock_gettime(i32 {CLOCK}, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %fraction_slot = getelementptr i64, ptr %time, i64 1
  %fraction = load i64, ptr %fraction_slot, align 8
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %fraction
  %last = load atomic i64, ptr @tilewright.poll.last monotonic, align 8
  %elapsed = sub i64 %now, %last
  %due = icmp sgt i64 %elapsed, {PAUSE}
  br i1 %due, label %ask, label %go_on
ask:
  store atomic i64 %now, ptr @tilewright.poll.last monotonic, align 8
  %status = call i32 @TVMFFIEnvCheckSignals()
  %came = icmp ne i32 %status, 0
  br i1 %came, label %leave, label %go_on
leave:
  call void @TVMFFIErrorSetRaisedFromCStr(ptr @tilewright.poll.kind, ptr getelementptr (i8, ptr \
@tilewright.poll.kind, i64 18))
  ret i32 -1
go_on:
  ret i32 0
}}"""


def can_poll(func: PrimFunc, target: Target) -> bool:
    """Whether a function may end early: its result is a status, and the clock is Linux's."""
    returned = Op.get("tir.ret")
    return has_pool(target) and all(
        all(isinstance(value, IntImm) and value.value == 0 for value in node.args)
        for node in walk(func.body)
        if isinstance(node, Call) and node.op is returned
    )


def needs_polls(loop: For, work: Expr | None) -> bool:
    """Whether a loop whose iterations take `work` may take long.

    Polls would keep an innermost loop from being vectorized.
    """
    if (
        isinstance(work, FloatImm)
        and isinstance(loop.extent, IntImm)
        and work.value * loop.extent.value < SHORT
    ):
        return False
    return any(isinstance(node, (For, While)) for node in walk(loop.body))
