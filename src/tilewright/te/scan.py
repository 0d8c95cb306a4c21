"""Recurrences: tensors whose steps depend on earlier steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.error import ArgumentError, ShapeError
from tilewright.ir.convert import cast
from tilewright.ir.expr import Var
from tilewright.te.elementwise import same_extent
from tilewright.te.operation import PlaceholderOp, ScanOp
from tilewright.te.tag import TagScope
from tilewright.te.tensor import Tensor, shape_text
from tilewright.tir.buffer import Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.transform.analysis.affine import expand


def scan(
    init: Any,
    update: Any,
    state_placeholder: Any,
    inputs: Sequence[Tensor] | None = None,
    name: str = "scan",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """Tensors that are computed step by step along their first dimension.

    A running sum of the rows of X::

        state = te.placeholder((m, n))
        init = te.compute((1, n), lambda _, i: X[0, i])
        update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i])
        result = te.scan(init, update, state, inputs=[X])

    Args:
        init: the first steps, of shape ``(k, ...)``; or a list, one per state.
        update: how later steps follow, of the full shape; or a list. Step t may read any earlier
            step of the states.
        state_placeholder: what stands for the states in `update`, of the full shape; or a list.
        inputs: other tensors that `update` reads.
        name: of the operation.
        tag: what kind of computation it is.
        attrs: further data about it.

    Returns:
        A `Tensor` of the full shape, or a tuple of them if a list was given.

    Raises:
        ArgumentError: for different numbers of states, or a state that is not a placeholder.
        ShapeError: for shapes that do not fit together.
    """
    several = isinstance(init, (tuple, list))
    inits, updates, states = (
        tuple(x) if isinstance(x, (tuple, list)) else (x,)
        for x in (init, update, state_placeholder)
    )
    owner = f"te.scan {name!r}"
    if not inits or not len(inits) == len(updates) == len(states):
        raise ArgumentError(
            f"{owner}: {len(inits)} initial tensors, {len(updates)} updates and {len(states)} "
            "states; there must be one of each per state"
        )
    for group in zip(inits, updates, states, strict=True):
        _check_state(owner, *group)
    total = updates[0].shape[0]
    first = cast(total.dtype, inits[0].shape[0])
    axis = IterVar(
        Range.from_min_extent(first, expand(total - first)),
        Var(f"{name}_t", total.dtype),
        IterType.ORDERED,
    )
    op = ScanOp(
        name, TagScope.resolve(tag), attrs, axis, inits, updates, states, tuple(inputs or ())
    )
    return op.outputs if several else op.output(0)


def _check_state(owner: str, init: Tensor, update: Tensor, state: Tensor) -> None:
    for what, tensor in (("init", init), ("update", update), ("state", state)):
        if not isinstance(tensor, Tensor) or tensor.ndim == 0:
            raise ArgumentError(f"{owner}: {what} must be a tensor of at least one dimension")
    if not isinstance(state.op, PlaceholderOp):
        raise ArgumentError(f"{owner}: the state {state.name} must be a te.placeholder")
    dtypes = {init.dtype, update.dtype, state.dtype}
    rest = [tensor.shape[1:] for tensor in (init, update, state)]
    fits = len({len(shape) for shape in rest}) == 1 and same_extent(update.shape[0], state.shape[0])
    fits = fits and all(
        same_extent(a, b) for other in rest[1:] for a, b in zip(rest[0], other, strict=True)
    )
    if not fits or len(dtypes) != 1:
        described = ", ".join(
            f"{t.name} {shape_text(t.shape)} {t.dtype!s}" for t in (init, update, state)
        )
        raise ShapeError(
            f"{owner}: init, update and state must have one dtype and, but for the first extent "
            f"of init, one shape; got {described}"
        )
