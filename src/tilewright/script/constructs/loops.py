"""Loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.error import DiagnosticError
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import promote
from tilewright.ir.expr import Expr, IntImm
from tilewright.ir.range import extent_between
from tilewright.script.builder import ForFrame
from tilewright.script.constructs.dtypes import as_size
from tilewright.script.constructs.function import constant_attributes
from tilewright.tir.stmt import ForKind


def loop_domain(start: object, stop: object, what: str) -> tuple[Expr, Expr]:
    """The smallest value and the number of iterations, both of one dtype."""
    if stop is None:
        extent = as_size(start, f"the extent of {what}")
        return const(0, extent.dtype), extent
    low = as_size(start, f"the start of {what}")
    high = as_size(stop, f"the end of {what}")
    dtype = promote(low.dtype, high.dtype)
    low, high = cast(dtype, low), cast(dtype, high)
    if isinstance(low, IntImm) and low.value == 0:
        return low, high
    return low, cast(dtype, extent_between(low, high))


def _loop(
    kind: ForKind,
    name: str,
    start: object,
    stop: object,
    annotations: Mapping[str, Any] | None,
    thread: str = "",
) -> ForFrame:
    domain = loop_domain(start, stop, f"T.{name}")
    hints = constant_attributes(annotations or {}, f"the annotations of T.{name}")
    return ForFrame(kind, [domain], written=f"T.{name}", thread=thread, annotations=hints)


def serial(
    start: object, stop: object = None, *, annotations: Mapping[str, Any] | None = None
) -> ForFrame:
    """A loop over ``start <= i < stop`` (or ``0 <= i < start``), one iteration after another."""
    return _loop(ForKind.SERIAL, "serial", start, stop, annotations)


def parallel(
    start: object, stop: object = None, *, annotations: Mapping[str, Any] | None = None
) -> ForFrame:
    """A loop whose iterations run on several threads."""
    return _loop(ForKind.PARALLEL, "parallel", start, stop, annotations)


def vectorized(
    start: object, stop: object = None, *, annotations: Mapping[str, Any] | None = None
) -> ForFrame:
    """A loop whose iterations are the lanes of vector instructions."""
    return _loop(ForKind.VECTORIZED, "vectorized", start, stop, annotations)


def unroll(
    start: object, stop: object = None, *, annotations: Mapping[str, Any] | None = None
) -> ForFrame:
    """A loop whose body is repeated."""
    return _loop(ForKind.UNROLLED, "unroll", start, stop, annotations)


def thread_binding(
    start: object,
    stop: object = None,
    thread: str | None = None,
    *,
    annotations: Mapping[str, Any] | None = None,
) -> ForFrame:
    """A loop with one iteration per GPU thread or block.

    Args:
        start: the first value, or the number of iterations if `stop` is not given.
        stop: one past the last value.
        thread: which, such as ``"threadIdx.x"`` or ``"blockIdx.y"``.
        annotations: hints for passes.
    """
    if thread is None and isinstance(stop, str):
        stop, thread = None, stop
    if not isinstance(thread, str) or not thread:
        raise DiagnosticError('T.thread_binding needs thread=, such as thread="threadIdx.x"')
    return _loop(ForKind.THREAD_BINDING, "thread_binding", start, stop, annotations, thread)


def grid(*extents: object) -> ForFrame:
    """Nested serial loops, outermost first, each from 0."""
    if not extents:
        raise DiagnosticError("T.grid needs at least one extent")
    domains = [loop_domain(extent, None, "T.grid") for extent in extents]
    return ForFrame(ForKind.SERIAL, domains, written="T.grid")
