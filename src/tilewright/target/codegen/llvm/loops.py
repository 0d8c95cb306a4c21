"""Serial loops, and polls for interrupts in them.

Python notes a signal (Ctrl-C) and handles it on request, so compiled code asks from time to time:
in the outermost serial loop of a kernel whose work may take more than `SHORT`, and after parallel
loops. A poll reads a clock, and asks Python if `PAUSE` has passed since it was last asked, because
asking waits for the interpreter, which other threads may use. Without a host, nothing is asked.

Only the calling thread asks. Workers would wait for the interpreter, which the thread that waits
for them may hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tilewright.error import LoweringError
from tilewright.ir.expr import Call, Expr, FloatImm, IntImm
from tilewright.ir.op import Op
from tilewright.target.codegen.llvm.addresses import index_operand
from tilewright.target.codegen.llvm.emitter import FunctionEmitter, emits
from tilewright.target.codegen.llvm.helper_functions import POLL, has_pool
from tilewright.target.codegen.llvm.parallel import iteration_work_of, iterations_of, parallel_loop
from tilewright.target.codegen.llvm.statements import leave_if_failed
from tilewright.target.target import Target
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Evaluate, For, ForKind, While
from tilewright.tir.transform.building.statements import statements

SHORT: Final = 30_000_000
"""Cycles of work, about 10 ms: loops that surely take less are not interrupted."""

STEP: Final = 3_000_000
"""Cycles of work between two polls in a loop."""

UNKNOWN_STEP: Final = 1024
"""Iterations between two polls if their work is not known."""


@emits(For)
def _loop(emitter: FunctionEmitter, stmt: For) -> None:
    if stmt.kind is ForKind.PARALLEL and parallel_loop(emitter, stmt):
        if emitter.polls and needs_polls(emitter, stmt):
            _poll(emitter)
        return
    if stmt.kind in (ForKind.THREAD_BINDING, ForKind.VECTORIZED):
        raise LoweringError(
            f"loop {stmt.loop_var.name}: the llvm target has no {stmt.kind.name.lower()} loops"
        )
    emitter.analyzer.bind_range(stmt.loop_var, stmt.min, stmt.extent)
    if isinstance(stmt.extent, IntImm) and stmt.extent.value == 1:
        emitter.variables[stmt.loop_var] = emitter.operand(stmt.min)
        emitter.statement(stmt.body)
        return
    if isinstance(stmt.extent, IntImm) and stmt.extent.value <= 0:
        return
    start, extent = index_operand(emitter, stmt.min), index_operand(emitter, stmt.extent)
    if start == "0":
        end = extent
    elif isinstance(stmt.min, IntImm) and isinstance(stmt.extent, IntImm):
        end = str(stmt.min.value + stmt.extent.value)
    else:
        end = emitter.pure(f"add i64 {start}, {extent}", start, extent)
    positive = emitter.analyzer.can_prove_greater_equal(stmt.extent, 1)
    step = _poll_step(emitter, stmt)
    if step is None:
        _iterate(emitter, stmt, start, end, positive)
        return
    with _polled_parts(emitter, start, end, step, positive) as (begin, stop):
        _iterate(emitter, stmt, begin, stop, True)


def _iterate(
    emitter: FunctionEmitter, stmt: For, start: str, end: str, runs_at_least_once: bool
) -> None:
    with emitter.counted_loop(start, end, runs_at_least_once=runs_at_least_once) as counter:
        emitter.variables[stmt.loop_var] = emitter.loop_variable(counter, stmt.loop_var.dtype)
        emitter.statement(stmt.body)


# --- interrupts ------------------------------------------------------------------------------


def _poll_step(emitter: FunctionEmitter, loop: For) -> str | None:
    """The number of iterations between two polls of an outermost loop; None for no polls."""
    if not emitter.polls or emitter.region.level > 0:
        return None
    if not _has_loops(loop):
        return None
    work = iteration_work_of(emitter, loop)
    if _is_short(loop, work):
        return None
    return str(UNKNOWN_STEP) if work is None else iterations_of(emitter, STEP, work)


@contextmanager
def _polled_parts(
    emitter: FunctionEmitter, start: str, end: str, step: str, runs_at_least_once: bool
) -> Iterator[tuple[str, str]]:
    """A loop over parts of a range of `step` iterations, with a poll in front of each.

    The loop itself stays as it is, so that it is optimised as without polls.
    """
    extent = emitter.value(f"sub i64 {end}, {start}")
    rounded = emitter.value(f"add i64 {extent}, {step}")
    count = emitter.value(f"sdiv i64 {emitter.value(f'sub i64 {rounded}, 1')}, {step}")
    with emitter.counted_loop("0", count, runs_at_least_once=runs_at_least_once) as part:
        _poll(emitter)
        begin = emitter.value(f"add i64 {emitter.value(f'mul i64 {part}, {step}')}, {start}")
        after = emitter.value(f"add i64 {begin}, {step}")
        is_last = emitter.value(f"icmp sgt i64 {after}, {end}")
        yield begin, emitter.value(f"select i1 {is_last}, i64 {end}, i64 {after}")


def _poll(emitter: FunctionEmitter) -> None:
    """End the call if it was interrupted."""
    emitter.module.needs_polls = True
    poll = emitter.module.declare(POLL, "i32", ())
    attributes = "nounwind willreturn memory(inaccessiblemem: readwrite)"
    leave_if_failed(emitter, emitter.value(f"call i32 {poll}() {attributes}"))


def can_poll(func: PrimFunc, target: Target) -> bool:
    """Whether a function may end early: its result is a status, and the clock is Linux's."""
    returned = Op.get("tir.ret")
    results = (
        stmt.value.args
        for stmt in statements(func.body)
        if isinstance(stmt, Evaluate) and isinstance(stmt.value, Call) and stmt.value.op is returned
    )
    return has_pool(target) and all(
        isinstance(value, IntImm) and value.value == 0 for args in results for value in args
    )


def needs_polls(emitter: FunctionEmitter, loop: For) -> bool:
    """Whether a loop may take long."""
    return _has_loops(loop) and not _is_short(loop, iteration_work_of(emitter, loop))


def _has_loops(loop: For) -> bool:
    """Whether there are loops inside; polls would keep an innermost one from being vectorized."""
    return any(isinstance(stmt, (For, While)) for stmt in statements(loop.body))


def _is_short(loop: For, work: Expr | None) -> bool:
    """Whether a loop with iterations of that much work surely does not take long."""
    return (
        isinstance(work, FloatImm)
        and isinstance(loop.extent, IntImm)
        and work.value * loop.extent.value < SHORT
    )
