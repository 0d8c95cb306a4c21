"""Softmax and its relatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright import te, tir
from tilewright.error import ArgumentValueError
from tilewright.ir.convert import as_expr
from tilewright.te import Tensor


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """exp(x - max(x)) / sum(exp(x - max(x))) along `axis`."""
    return _softmax("softmax", x, axis)


def fast_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """The same as `softmax`: its exponential is vectorised in any case."""
    return _softmax("fast_softmax", x, axis)


def masked_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """`softmax`, which is 0 along a row that is minus infinity everywhere."""
    return _softmax("masked_softmax", x, axis, masked=True)


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """x - max(x) - log(sum(exp(x - max(x)))) along `axis`."""
    axis = _checked_axis("log_softmax", x, axis)
    largest = _reduced(x, axis, te.max, lambda value, _: value, "T_softmax_maxelem")
    total = _reduced(
        x,
        axis,
        te.sum,
        lambda value, others: te.exp(value - largest(*others)),
        "T_softmax_expsum",
    )
    log_total = te.compute(
        total.shape, lambda *i: te.log(total(*i)), "T_softmax_logsum", "elemwise"
    )

    def element(*i: Any) -> Any:
        # One after the other: the logarithm would be lost in the digits of a large maximum.
        others = _without(i, axis)
        return x(*i) - largest(*others) - log_total(*others)

    return te.compute(x.shape, element, "compute", "log_softmax_output", {"axis": axis})


def _softmax(owner: str, x: Tensor, axis: int, *, masked: bool = False) -> Tensor:
    axis = _checked_axis(owner, x, axis)
    largest = _reduced(x, axis, te.max, lambda value, _: value, "T_softmax_maxelem")

    def power(*i: Any) -> Any:
        most = largest(*_without(i, axis))
        if masked:
            most = tir.Select(most == -te.infinity(x.dtype), as_expr(0, x.dtype), most)
        return te.exp(x(*i) - most)

    powers = te.compute(x.shape, power, "T_softmax_exp")
    total = _reduced(powers, axis, te.sum, lambda value, _: value, "T_softmax_expsum")

    one = as_expr(1, x.dtype)

    def inverse(*others: Any) -> Any:
        divisor = total(*others)
        if masked:
            divisor = tir.Select(divisor == as_expr(0, x.dtype), one, divisor)
        return one / divisor

    # One division for each row: the sum is 1 at least, so its inverse is as precise.
    factor = te.compute(total.shape, inverse, "T_softmax_factor")
    return te.compute(
        x.shape,
        lambda *i: powers(*i) * factor(*_without(i, axis)),
        "T_softmax_norm",
        "softmax_output",
        {"axis": axis},
    )


def _reduced(
    x: Tensor,
    axis: int,
    reducer: Callable[..., Any],
    value: Callable[[Any, tuple[Any, ...]], Any],
    name: str,
) -> Tensor:
    """`value` of each element, and of where it is in the other dimensions, reduced along `axis`."""
    along = te.reduce_axis((0, x.shape[axis]), "k")

    def element(*others: Any) -> Any:
        place = (*others[:axis], along, *others[axis:])
        return reducer(value(x(*place), others), axis=along)

    return te.compute(_without(x.shape, axis), element, name)


def _without(items: tuple[Any, ...], axis: int) -> tuple[Any, ...]:
    return (*items[:axis], *items[axis + 1 :])


def _checked_axis(owner: str, x: Tensor, axis: int) -> int:
    if not -x.ndim <= axis < x.ndim:
        raise ArgumentValueError(f"{owner}: axis {axis} is out of range for {x.ndim} dimensions")
    return axis % x.ndim
