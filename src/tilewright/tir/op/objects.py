"""Operators on objects of the host: arrays and tuples that a function makes and gives away.

They are for the functions with a calling convention, see
`tilewright.tir.transform.return_results`. A *slot* is the address of a ``TVMFFIAny``.
"""

from __future__ import annotations

from tilewright.ir.dtype import INT32, VOID
from tilewright.ir.expr import Call, Expr
from tilewright.ir.op import CallEffectKind, Op, register_op

__all__ = ["new_array", "new_tuple", "release_objects"]

register_op("tir.new_array", CallEffectKind.OPAQUE, arity=4, vectorizable=False)
register_op("tir.new_tuple", CallEffectKind.OPAQUE, arity=3, vectorizable=False)
register_op("tir.release_objects", CallEffectKind.OPAQUE, arity=2, vectorizable=False)


def new_array(slot: Expr, ndim: Expr, dtype_word: Expr, shape: Expr) -> Expr:
    """A status, after a new compact array was put into a slot.

    Args:
        slot: where it goes.
        ndim: the number of dimensions.
        dtype_word: the dtype, as `call_boundary.dtype_word` says it.
        shape: the address of `ndim` int64 extents.
    """
    return Call(INT32, Op.get("tir.new_array"), (slot, ndim, dtype_word, shape))


def new_tuple(items: Expr, count: Expr, slot: Expr) -> Expr:
    """A status, after a new tuple of the values of `count` slots was put into a slot.

    The slots of the values are empty afterwards, whatever the status is.
    """
    return Call(INT32, Op.get("tir.new_tuple"), (items, count, slot))


def release_objects(slots: Expr, count: Expr) -> Expr:
    """Give up the objects in `count` slots, of which some may be empty; for its effect only."""
    return Call(VOID, Op.get("tir.release_objects"), (slots, count))
