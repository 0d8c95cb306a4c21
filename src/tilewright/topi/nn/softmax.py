"""Softmax and its relatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright import te
from tilewright.error import ArgumentValueError
from tilewright.te import Tensor


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """exp(x - max(x)) / sum(exp(x - max(x))) along `axis`."""
    return _softmax("softmax", x, axis, te.exp)


def fast_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """The same as `softmax`: its exponential is vectorised in any case."""
    return _softmax("fast_softmax", x, axis, te.exp)


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
        total.shape, lambda *i: te.log(total(*i)) + largest(*i), "T_softmax_logsum", "elemwise"
    )
    return te.compute(
        x.shape,
        lambda *i: x(*i) - log_total(*_without(i, axis)),
        "compute",
        "log_softmax_output",
        {"axis": axis},
    )


def _softmax(owner: str, x: Tensor, axis: int, exp: Callable[..., Any]) -> Tensor:
    axis = _checked_axis(owner, x, axis)
    largest = _reduced(x, axis, te.max, lambda value, _: value, "T_softmax_maxelem")
    powers = te.compute(
        x.shape, lambda *i: exp(x(*i) - largest(*_without(i, axis))), "T_softmax_exp"
    )
    total = _reduced(powers, axis, te.sum, lambda value, _: value, "T_softmax_expsum")
    return te.compute(
        x.shape,
        lambda *i: powers(*i) / total(*_without(i, axis)),
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
