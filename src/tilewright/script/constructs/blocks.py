"""Loops, blocks and what is said about blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.error import ArgumentError, DiagnosticError, DTypeError
from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.dtype import DType, promote
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.ir.range import extent_between
from tilewright.script.builder import BlockFrame, ForFrame, InitFrame, require
from tilewright.script.builder.stack import current_builder
from tilewright.script.constructs.access import as_region
from tilewright.script.constructs.dtypes import as_size
from tilewright.script.constructs.function import constant_attributes
from tilewright.tir.buffer import BufferRegion, Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.stmt import ForKind

_INSIDE = "`with T.block(...)`"


def block(name: str = "", no_realize: bool = False) -> BlockFrame:
    """A computation with its own iterators, as a context manager.

    Args:
        name: by which schedules find it.
        no_realize: leave out the bindings of the iterators.
    """
    if not isinstance(name, str):
        hint = ""
        if isinstance(name, (list, tuple)):  # as TVM 0.8 wrote the domains of iterators
            hint = '; iterators are declared in the block: vi, vj = T.axis.remap("SS", [i, j])'
        raise ArgumentError(f"T.block expects a name, got {name!r}{hint}")
    return BlockFrame(name, no_realize)


def init() -> InitFrame:
    """What runs before the first update of an element in a reduction, as a context manager."""
    return InitFrame()


def where(predicate: object) -> None:
    """Run only those instances of the block for which `predicate` holds."""
    frame = require(BlockFrame, "T.where", _INSIDE)
    condition = as_expr(predicate)
    if not condition.dtype.is_bool:
        raise DTypeError(f"T.where expects a condition, got {condition!r} of {condition.dtype!s}")
    frame.predicate = (
        condition if frame.predicate is None else logical_and(frame.predicate, condition)
    )


def _regions(items: tuple[Any, ...]) -> tuple[BufferRegion, ...]:
    if len(items) == 1 and isinstance(items[0], (list, tuple)):
        items = tuple(items[0])
    return tuple(map(as_region, items))


def reads(*buffer_slices: Any) -> None:
    """What one instance of the block reads; inferred if left out."""
    frame = require(BlockFrame, "T.reads", _INSIDE)
    if frame.reads is not None:
        raise DiagnosticError("the block has T.reads already: put all regions into one")
    frame.reads = _regions(buffer_slices)


def writes(*buffer_slices: Any) -> None:
    """What one instance of the block writes; inferred if left out."""
    frame = require(BlockFrame, "T.writes", _INSIDE)
    if frame.writes is not None:
        raise DiagnosticError("the block has T.writes already: put all regions into one")
    frame.writes = _regions(buffer_slices)


def block_attr(attrs: Mapping[str, Any]) -> None:
    """Set annotations of the block."""
    frame = require(BlockFrame, "T.block_attr", _INSIDE)
    values = constant_attributes(attrs, "T.block_attr")
    frame.annotations = {**(frame.annotations or {}), **values}


class Axis:
    """`T.axis`: the iterators of a block."""

    __slots__ = ()

    def spatial(self, dom: Any, binding: object = None, dtype: str = "int32") -> Var:
        """An iterator whose instances are independent.

        Args:
            dom: the number of values, or a pair of the first and one past the last.
            binding: the value of the iterator in terms of the loops around.
            dtype: the least wide dtype of the iterator.
        """
        return _push("spatial", IterType.DATA_PAR, dom, binding, dtype)

    def reduce(self, dom: Any, binding: object = None, dtype: str = "int32") -> Var:
        """An iterator of a commutative, associative reduction; see `spatial`."""
        return _push("reduce", IterType.COMM_REDUCE, dom, binding, dtype)

    def scan(self, dom: Any, binding: object = None, dtype: str = "int32") -> Var:
        """An iterator whose instances run in order; see `spatial`."""
        return _push("scan", IterType.ORDERED, dom, binding, dtype)

    def opaque(self, dom: Any, binding: object = None, dtype: str = "int32") -> Var:
        """An opaque iterator; see `spatial`."""
        return _push("opaque", IterType.OPAQUE, dom, binding, dtype)

    S, R = spatial, reduce

    def remap(self, kinds: str, bindings: Sequence[Var], dtype: str = "int32") -> list[Var] | Var:
        """One iterator per loop, over the values of the loop.

        Args:
            kinds: a letter per loop: S for spatial, R for reduce.
            bindings: the loop variables.
            dtype: the least wide dtype of the iterators.
        """
        loops = bindings if isinstance(bindings, (list, tuple)) else [bindings]
        if not isinstance(kinds, str):
            raise ArgumentError(f"T.axis.remap expects letters such as 'SSR', got {kinds!r}")
        if len(kinds) != len(loops):
            raise ArgumentError(
                f"T.axis.remap: {kinds!r} names {_count(len(kinds), 'axis', 'axes')} but "
                f"{_count(len(loops), 'binding is', 'bindings are')} given"
            )
        result = []
        for kind, loop in zip(kinds, loops, strict=True):
            if kind not in _KINDS:
                raise ArgumentError(
                    f"T.axis.remap: {kind!r} is not a kind of axis; use S (spatial) or R (reduce)"
                )
            result.append(_push("remap", _KINDS[kind], _domain_of_loop(loop), loop, dtype))
        return result[0] if len(result) == 1 else result


_KINDS = {"S": IterType.DATA_PAR, "R": IterType.COMM_REDUCE}
AXIS = Axis()


def _count(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _domain_of_loop(loop: object) -> Range:
    if not isinstance(loop, Var):
        raise DTypeError(
            f"T.axis.remap binds loop variables, got {loop!r}; write T.axis.spatial(extent, ...)"
        )
    builder = current_builder()
    for frame in reversed(builder.frames) if builder is not None else ():
        if isinstance(frame, ForFrame):
            for var, domain in zip(frame.loop_vars, frame.domains, strict=True):
                if var is loop:
                    return Range.from_min_extent(*domain)
    raise DiagnosticError(
        f"T.axis.remap: `{loop.name}` is not the variable of a loop around the block; "
        f"write T.axis.spatial(extent, {loop.name})"
    )


def _domain(dom: Any, what: str) -> Range:
    if isinstance(dom, Range):
        return dom
    if isinstance(dom, slice):
        dom = (dom.start or 0, dom.stop)
    if isinstance(dom, (tuple, list)):
        if len(dom) != 2:
            raise ArgumentError(f"{what}: the domain is an extent or a pair (begin, end)")
        low, high = as_size(dom[0], what), as_size(dom[1], what)
        return Range.from_min_extent(low, extent_between(low, high))
    return Range.from_extent(as_size(dom, f"the extent of {what}"))


def _push(name: str, kind: IterType, dom: Any, binding: object, dtype: str) -> Var:
    what = f"T.axis.{name}"
    frame = require(BlockFrame, what, _INSIDE)
    domain = _domain(dom, what)
    value = None if binding is None else as_size(binding, f"the binding of {what}")
    used = [DType(dtype), domain.min.dtype, domain.extent.dtype]
    if value is not None:
        used.append(value.dtype)
    widest = max(used, key=lambda candidate: candidate.bits)
    var = Var("", widest)
    domain = Range.from_min_extent(_as(widest, domain.min), _as(widest, domain.extent))
    frame.iter_vars.append(IterVar(domain, var, kind))
    if value is not None:
        frame.iter_values.append(_as(widest, value))
    return var


def _as(dtype: DType, value: Expr) -> Expr:
    return value if value.dtype is dtype else cast(dtype, value)


def iter_var(var: Var | str, dom: Any, iter_type: str, thread_tag: str) -> IterVar:
    """An iteration variable.

    Args:
        var: the variable, or its name.
        dom: its domain, or None.
        iter_type: such as ``"DataPar"``, ``"CommReduce"`` or ``"ThreadIndex"``.
        thread_tag: which GPU thread, such as ``"threadIdx.x"``.
    """
    kinds = {member.name.replace("_", ""): member for member in IterType}
    kind = kinds.get(str(iter_type).upper().replace("_", ""))
    if kind is None:
        raise ArgumentError(f"T.iter_var: {iter_type!r} is not a type of iterator")
    domain = None if dom is None else _domain(dom, "T.iter_var")
    if isinstance(var, str):
        var = Var(var, (domain.extent if domain is not None else const(0)).dtype)
    return IterVar(domain, var, kind, thread_tag)


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
