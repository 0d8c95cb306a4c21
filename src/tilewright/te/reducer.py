"""Reduction axes, and reducers made from a combination and its neutral element."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tilewright.error import ArgumentError, DTypeError
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.dtype import BOOL, DType
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.tir.buffer import Range
from tilewright.tir.expr import CommReducer, IterType, IterVar, Reduce


def reduce_axis(dom: Any, name: str = "rv", thread_tag: str = "", span: object = None) -> IterVar:
    """An iteration variable to reduce over.

    Args:
        dom: the pair ``(begin, end)``, end excluded, or a `Range`.
        name: for printing.
        thread_tag: name of the GPU thread index that it is bound to, if any.
        span: ignored; where it was written.
    """
    del span
    domain = as_domain(dom, f"te.reduce_axis {name!r}")
    variable = Var(name, domain.extent.dtype)
    return IterVar(domain, variable, IterType.COMM_REDUCE, thread_tag)


def thread_axis(dom: Any = None, tag: str = "", name: str = "", span: object = None) -> IterVar:
    """An iteration variable for a GPU thread or block index.

    Args:
        dom: the pair ``(begin, end)``, a `Range`, an extent, or None if the extent follows from
            the loop that is bound to it. A string is taken as the tag.
        tag: such as ``"threadIdx.x"`` or ``"blockIdx.y"``.
        name: by default the tag.
        span: ignored; where it was written.
    """
    del span
    if isinstance(dom, str):
        dom, tag = None, dom
    if not tag:
        raise ArgumentError("te.thread_axis: a tag such as 'threadIdx.x' is needed")
    if isinstance(dom, (int, IntImm)):
        dom = Range.from_extent(dom)
    domain = None if dom is None else as_domain(dom, f"te.thread_axis {tag!r}")
    dtype = DType("int32") if domain is None else domain.extent.dtype
    return IterVar(domain, Var(name or tag, dtype), IterType.THREAD_INDEX, tag)


def as_domain(dom: Any, owner: str) -> Range:
    """`dom` as a range: a pair of begin and end, or a `Range` as it is."""
    if not isinstance(dom, Range):
        if not isinstance(dom, (tuple, list)) or len(dom) != 2:
            raise ArgumentError(f"{owner}: the domain is a pair (begin, end), got {dom!r}")
        begin, end = (as_expr(bound) for bound in dom)
        if begin.dtype is not end.dtype and isinstance(begin, IntImm):
            begin = cast(end.dtype, begin)
        dom = Range.from_min_extent(begin, as_expr(end - begin))
    for bound in (dom.min, dom.extent):
        if not bound.dtype.is_integral or bound.dtype.is_bool:
            raise DTypeError(f"{owner}: bound {bound!r} has dtype {bound.dtype!s}, not an integer")
    if isinstance(dom.extent, IntImm) and dom.extent.value < 0:
        raise ArgumentError(f"{owner}: the domain ends {-dom.extent.value} before it begins")
    return dom


Reducer = Callable[..., Any]


def comm_reducer(
    fcombine: Callable[..., Any], fidentity: Callable[..., Any], name: str = "reduce"
) -> Reducer:
    """A reducer from a commutative and associative combination and its neutral element.

    Schedules may combine values in another order. A combination that can be shown to depend on the
    order, such as an argument of a maximum that keeps the first of equal values, is combined in the
    order of the reduction axes: schedules that change it are refused. To free the order, compare
    the indices of equal values as well::

        te.comm_reducer(
            lambda x, y: (Select(better(x, y), x[0], y[0]), Select(better(x, y), x[1], y[1])), ...)

    with ``better`` being ``x[1] > y[1] or (x[1] == y[1] and x[0] < y[0])``.

    Args:
        fcombine: from two values to their combination; for reductions of tuples, from two tuples
            to a tuple.
        fidentity: from the dtype (one argument per component) to the neutral element (a tuple).
        name: of the resulting function.

    Returns:
        ``reducer(expr, axis, where=None, init=None)``. `expr` is an expression or a tuple of them,
        `axis` a `reduce_axis` or a list of them; only elements for which `where` holds count;
        `init` replaces the neutral element as the starting value. With expressions in place of the
        axis, ``reducer(a, b, c)`` combines them directly.
    """

    def reducer(expr: Any, axis: Any, *rest: Any, where: Any = None, init: Any = None) -> Any:
        if not is_axis(axis):
            return functools.reduce(fcombine, rest, fcombine(expr, axis))
        if len(rest) > 2 or (rest and where is not None) or (len(rest) > 1 and init is not None):
            raise ArgumentError(f"te.{name}: expected (expr, axis, where, init), got more")
        where = rest[0] if rest else where
        init = rest[1] if len(rest) > 1 else init
        return _make_reduce(name, fcombine, fidentity, expr, axis, where, init)

    reducer.__name__ = reducer.__qualname__ = name
    reducer.__doc__ = f"The `{name}` of `expr` over `axis`; see `comm_reducer`."
    return reducer


def is_axis(value: object) -> bool:
    """Whether `value` is an iteration variable or a list of them."""
    items = value if isinstance(value, (tuple, list)) else (value,)
    return all(isinstance(item, IterVar) for item in items)


def _make_reduce(
    name: str,
    fcombine: Callable[..., Any],
    fidentity: Callable[..., Any],
    expr: Any,
    axis: Any,
    where: Any,
    init: Any,
) -> Any:
    source = tuple(as_expr(e) for e in (expr if isinstance(expr, (tuple, list)) else (expr,)))
    single = not isinstance(expr, (tuple, list))
    axes = _reduction_axes(name, axis)
    combiner = _combiner(name, fcombine, fidentity, source, single)
    condition = IntImm(BOOL, 1) if where is None else as_expr(where)
    if not condition.dtype.is_bool:
        raise DTypeError(f"te.{name}: `where` is {condition!r} of dtype {condition.dtype!s}")
    start = () if init is None else _starting_values(name, init, source)
    parts = tuple(
        Reduce(combiner, source, axes, condition, index, start) for index in range(len(source))
    )
    return parts[0] if single else parts


def _reduction_axes(name: str, axis: Any) -> tuple[IterVar, ...]:
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    for item in axes:
        if item.iter_type is not IterType.COMM_REDUCE:
            raise ArgumentError(
                f"te.{name}: {item.name} is not a reduction axis; make one with te.reduce_axis"
            )
    if len(set(axes)) != len(axes):
        raise ArgumentError(f"te.{name}: an axis appears twice in {[a.name for a in axes]}")
    return axes


def _combiner(
    name: str,
    fcombine: Callable[..., Any],
    fidentity: Callable[..., Any],
    source: tuple[Expr, ...],
    single: bool,
) -> CommReducer:
    names = list(inspect.signature(fcombine).parameters)
    if len(names) != 2:
        raise ArgumentError(f"te.{name}: the combination takes two arguments, got {len(names)}")
    dtypes = [e.dtype for e in source]
    suffixes = [""] if single else [f"_{i}" for i in range(len(source))]
    lhs, rhs = (tuple(Var(n + s, d) for s, d in zip(suffixes, dtypes, strict=True)) for n in names)
    combined = fcombine(lhs[0], rhs[0]) if single else fcombine(lhs, rhs)
    neutral = fidentity(*dtypes)
    result = _components(name, "combination", combined, dtypes, single)
    return CommReducer(
        lhs, rhs, result, _components(name, "neutral element", neutral, dtypes, single)
    )


def _components(
    name: str, what: str, values: Any, dtypes: list[DType], single: bool
) -> tuple[Expr, ...]:
    items = (values,) if single else tuple(values)
    if len(items) != len(dtypes):
        raise ArgumentError(
            f"te.{name}: the {what} has {len(items)} components for {len(dtypes)} values"
        )
    converted = []
    for item, dtype in zip(items, dtypes, strict=True):
        value = item if isinstance(item, Expr) else as_expr(item, dtype)
        if value.dtype is not dtype:
            raise DTypeError(
                f"te.{name}: the {what} of values of dtype {dtype!s} has dtype {value.dtype!s}"
            )
        converted.append(value)
    return tuple(converted)


def _starting_values(name: str, init: Any, source: tuple[Expr, ...]) -> tuple[Expr, ...]:
    items = tuple(init) if isinstance(init, (tuple, list)) else (init,)
    if len(items) != len(source):
        raise ArgumentError(f"te.{name}: {len(items)} starting values for {len(source)} values")
    values = tuple(as_expr(v, s.dtype) for v, s in zip(items, source, strict=True))
    for value, part in zip(values, source, strict=True):
        if value.dtype is not part.dtype:
            raise DTypeError(
                f"te.{name}: starting value {value!r} of dtype {value.dtype!s} for a reduction of "
                f"dtype {part.dtype!s}"
            )
    return values
