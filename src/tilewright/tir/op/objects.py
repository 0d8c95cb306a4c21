"""Operators on objects of the host: arrays and tuples that a function makes and gives away.

They are for the functions with a calling convention, see
`tilewright.tir.call_boundary.return_results`. A *slot* is the address of a ``TVMFFIAny``.
"""

from __future__ import annotations

from tilewright.ir.dtype import BOOL, HANDLE, INT32, VOID
from tilewright.ir.expr import Call, Expr, IntImm, StringImm
from tilewright.ir.op import CallEffectKind, Op, register_op

__all__ = [
    "any_at", "any_value", "call_cpacked_into", "call_packed_into", "compact_object", "has_packed",
    "new_array", "new_tuple", "own_value", "print_text", "release_objects", "view_object",
]  # fmt: skip

register_op("tir.new_array", CallEffectKind.OPAQUE, arity=4, vectorizable=False)
register_op("tir.new_tuple", CallEffectKind.OPAQUE, arity=3, vectorizable=False)
register_op("tir.release_objects", CallEffectKind.OPAQUE, arity=2, vectorizable=False)
register_op("tir.compact_object", CallEffectKind.OPAQUE, arity=1, vectorizable=False)
register_op("tir.print_text", CallEffectKind.OPAQUE, vectorizable=False)
register_op("tir.has_packed", CallEffectKind.OPAQUE, arity=1, vectorizable=False)
register_op("tir.call_packed_into", CallEffectKind.OPAQUE, vectorizable=False)
register_op("tir.call_cpacked_into", CallEffectKind.OPAQUE, vectorizable=False)
register_op("tir.own_value", CallEffectKind.OPAQUE, arity=2, vectorizable=False)
register_op("tir.view_object", CallEffectKind.OPAQUE, arity=3, vectorizable=False)
register_op("tir.any_value", CallEffectKind.PURE, arity=2, vectorizable=False)
register_op("tir.any_at", CallEffectKind.OPAQUE, arity=1, vectorizable=False)
# What `own_value` and `view_object` become, with addresses of a ``TVMFFIAny`` and a ``DLTensor``.
register_op("tir.own_any", CallEffectKind.OPAQUE, arity=2, vectorizable=False)
register_op("tir.new_view", CallEffectKind.OPAQUE, arity=3, vectorizable=False)


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


def compact_object(slot: Expr) -> Expr:
    """A status, after an array in a slot was replaced by a copy if it has gaps or is misaligned.

    Other values stay as they are.
    """
    return Call(INT32, Op.get("tir.compact_object"), (slot,))


def has_packed(name: str) -> Expr:
    """Whether a function is registered under a name."""
    return Call(BOOL, Op.get("tir.has_packed"), (StringImm(name),))


def print_text(form: str, *values: Expr) -> Expr:
    """Write a text, a printf format of `values`, to the standard output; for its effect only."""
    return Call(VOID, Op.get("tir.print_text"), (StringImm(form), *values))


# --- before calls by name are lowered --------------------------------------------------------


def call_packed_into(slot: Expr, name: str, *args: Expr) -> Expr:
    """The call of a registered function whose result is put into a slot, which is empty.

    Where it fails, the function that calls is left with an error. It stands in an `Evaluate`.
    """
    return Call(VOID, Op.get("tir.call_packed_into"), (slot, StringImm(name), *args))


def call_cpacked_into(slot: Expr, name: str, *args: Expr) -> Expr:
    """As `call_packed_into`, for a function of the same module with the packed convention."""
    return Call(VOID, Op.get("tir.call_cpacked_into"), (slot, StringImm(name), *args))


def own_value(slot: Expr, value: Expr) -> Expr:
    """Put an argument of a call by name into a slot, which is empty; in an `Evaluate`.

    An array that only borrows its memory is copied.
    """
    return Call(VOID, Op.get("tir.own_value"), (slot, value))


def view_object(source: Expr, array: Expr, slot: Expr) -> Expr:
    """Put an array into a slot whose memory is kept by the array in another one; in an `Evaluate`.

    Args:
        source: the slot of the array that keeps the memory.
        array: as `tvm_stack_make_array` says it.
        slot: where the new array goes.
    """
    return Call(VOID, Op.get("tir.view_object"), (source, array, slot))


def any_value(kind: int, bits: Expr) -> Expr:
    """An argument of a call by name: a value of some type index, which is not an object."""
    return Call(HANDLE, Op.get("tir.any_value"), (IntImm(INT32, kind), bits))


def any_at(address: Expr) -> Expr:
    """An argument of a call by name: the value in a slot."""
    return Call(HANDLE, Op.get("tir.any_at"), (address,))
