"""Building vectors and taking them apart."""

from __future__ import annotations

from typing import Final

from tilewright.error import ArgumentError, DTypeError
from tilewright.ir.arithmetic import match_operands
from tilewright.ir.convert import as_expr, const
from tilewright.ir.dtype import BOOL, INT32, DType
from tilewright.ir.expr import (
    Add,
    Broadcast,
    Call,
    Expr,
    Max,
    Min,
    Mul,
    Ramp,
    Shuffle,
    StringImm,
    is_const_int,
)
from tilewright.ir.op import Op, register_op

__all__ = [
    "any_lane", "broadcast", "concat_vectors", "dp2a", "dp4a", "dp4a_narrow", "extract_lane",
    "get_active_lane_mask", "mmla", "ramp", "reduce_lanes", "shuffle", "vectorcombine",
    "vectorhigh", "vectorlow", "vscale",
]  # fmt: skip

register_op("tir.vscale", arity=0, vectorizable=False)
register_op("tir.get_active_lane_mask", arity=2, vectorizable=False)
register_op("tir.vectorlow", arity=1, vectorizable=False)
register_op("tir.vectorhigh", arity=1, vectorizable=False)
register_op("tir.vectorcombine", arity=2, vectorizable=False)
register_op("tir.dp2a", arity=3, vectorizable=False)
register_op("tir.dp4a", arity=3, vectorizable=False)
register_op("tir.dp4a_narrow", arity=3, vectorizable=False)
register_op("tir.mmla", arity=3, vectorizable=False)
register_op("tir.any_lane", arity=1, vectorizable=False)
register_op("tir.reduce_lanes", arity=2, vectorizable=False)

register_op("tir.lookup", arity=2, vectorizable=False)
"""The lanes of its second operand, 32 float32, whose numbers are the low bits of its first operand,
int32 with any number of lanes. Expansions of mathematical functions make it for AVX-512."""

LANE_OPERATORS: Final = {"add": Add, "mul": Mul, "min": Min, "max": Max}
"""The operators by which `reduce_lanes` combines lanes."""


def ramp(base: object, stride: object, lanes: object) -> Expr:
    """The vector ``[base, base + stride, ...]`` of `lanes` numbers; itself for one lane."""
    a, b = match_operands(base, stride, "ramp")
    if not a.dtype.is_scalar_integer:
        raise DTypeError(f"`ramp` needs scalar integers, got {a!r} of dtype {a.dtype!s}")
    count = lane_count(lanes, "ramp")
    return a if count == 1 else Ramp(a, b, count)


def broadcast(value: object, lanes: object) -> Expr:
    """The vector of `lanes` copies of the scalar `value`; itself for one lane."""
    operand, count = as_expr(value), lane_count(lanes, "broadcast")
    if operand.dtype.is_vector:
        raise DTypeError(f"`broadcast` needs a scalar, got {operand!r} of dtype {operand.dtype!s}")
    return operand if count == 1 else Broadcast(operand, count)


def shuffle(vectors: list[object], indices: list[object]) -> Expr:
    """The lanes numbered `indices` (integers) of the concatenation of `vectors`."""
    items, picks = tuple(map(as_expr, vectors)), tuple(const(i, "int32") for i in indices)
    if not items or not picks:
        raise ArgumentError("`shuffle` needs at least one vector and one index")
    element = items[0].dtype.element
    if any(item.dtype.element is not element for item in items):
        raise DTypeError(
            f"`shuffle` needs vectors of one dtype, got {[str(i.dtype) for i in items]}"
        )
    total = sum(item.dtype.lanes for item in items)
    for pick in picks:
        if not 0 <= int(pick) < total:  # type: ignore[call-overload]
            raise ArgumentError(f"`shuffle`: there is no lane {pick!r} among {total}")
    return Shuffle(items, picks)


def concat_vectors(*vectors: object) -> Expr:
    """The lanes of all `vectors` (or scalars), one after the other."""
    items = list(map(as_expr, vectors))
    return shuffle(list(items), list(range(sum(item.dtype.lanes for item in items))))


def extract_lane(vector: object, index: int) -> Expr:
    """Lane number `index` of a vector."""
    return shuffle([vector], [index])


def vscale() -> Expr:
    """The factor by which the vectors of this machine are longer than the architecture's least."""
    return Call(INT32, Op.get("tir.vscale"), ())


def get_active_lane_mask(dtype: str, base: object, limit: object) -> Expr:
    """The bool vector of type `dtype` whose lane ``i`` says whether ``base + i < limit``."""
    target = DType(dtype)
    a, b = match_operands(base, limit, "get_active_lane_mask")
    if target.element is not BOOL or not a.dtype.is_integral:
        raise DTypeError(
            f"`get_active_lane_mask` gives a bool vector from two integers, not {target!s} "
            f"from {a.dtype!s}"
        )
    return Call(target, Op.get("tir.get_active_lane_mask"), (a, b))


def vectorlow(dtype: str, vec: object) -> Expr:
    """The first half of the lanes of `vec`, of type `dtype`."""
    return _half("vectorlow", dtype, vec)


def vectorhigh(dtype: str, vec: object) -> Expr:
    """The second half of the lanes of `vec`, of type `dtype`."""
    return _half("vectorhigh", dtype, vec)


def vectorcombine(dtype: str, vec1: object, vec2: object) -> Expr:
    """The lanes of `vec1` and then those of `vec2`, of type `dtype`."""
    a, b, target = as_expr(vec1), as_expr(vec2), DType(dtype)
    if a.dtype is not b.dtype or target is not a.dtype.with_lanes(2 * a.dtype.lanes):
        raise DTypeError(f"`vectorcombine` of {a.dtype!s} and {b.dtype!s} is not {target!s}")
    return Call(target, Op.get("tir.vectorcombine"), (a, b))


def dp4a(vec1: object, vec2: object, acc: object = 0) -> Expr:
    """`acc` plus the dot products of groups of four 8-bit integers, in the dtype of `acc`.

    Lane ``i`` of the result is ``acc[i] + vec1[4*i] * vec2[4*i] + ... + vec1[4*i + 3] * vec2[4*i +
    3]``. The vectors are of int8 or uint8, each of four times the lanes of `acc` (which may be 0
    for all lanes); `acc` is of int32, or uint32 if both vectors are unsigned. The products are
    exact, the sum wraps around. Processors with dot-product instructions compute it by them.
    """
    a, b, total = as_expr(vec1), as_expr(vec2), as_expr(acc)
    lanes = a.dtype.lanes // 4
    for operand in (a, b):
        known = operand.dtype.element in ("int8", "uint8")
        if not known or operand.dtype.lanes % 4 or operand.dtype.lanes != a.dtype.lanes:
            raise DTypeError(
                "`dp4a` needs two vectors of int8 or uint8 with the same lanes, a multiple of 4, "
                f"got {a.dtype!s} and {b.dtype!s}"
            )
    if lanes > 1 and is_const_int(total, 0):
        total = Broadcast(total, lanes)
    if total.dtype.element not in ("int32", "uint32") or total.dtype.lanes != lanes:
        raise DTypeError(
            f"`dp4a` of {a.dtype!s} and {b.dtype!s} adds to an int32 or uint32 of {lanes} lanes, "
            f"got {total.dtype!s}"
        )
    return Call(total.dtype, Op.get("tir.dp4a"), (a, b, total))


def dp4a_narrow(vec1: object, vec2: object, acc: object = 0) -> Expr:
    """`dp4a` of a vector of uint8 and one of int8 whose numbers are from -64 to 64.

    Then two products and their sum have 16 bits, and x86 processors without an instruction for all
    four products have a faster one, for two. With numbers outside of that range the result is not
    defined.
    """
    call = dp4a(vec1, vec2, acc)
    assert isinstance(call, Call)
    a, b = call.args[:2]
    if a.dtype.is_int is b.dtype.is_int:
        raise DTypeError(
            f"`dp4a_narrow` needs vectors of uint8 and of int8, got {a.dtype!s} and {b.dtype!s}"
        )
    return call.replace(op=Op.get("tir.dp4a_narrow"))


def dp2a(vec1: object, vec2: object, acc: object = 0) -> Expr:
    """`acc` plus the dot products of pairs of 16-bit numbers, in the dtype of `acc`.

    Lane ``i`` of the result is ``acc[i] + vec1[2*i] * vec2[2*i] + vec1[2*i + 1] * vec2[2*i + 1]``.
    The vectors are both of int16, and `acc` is of int32 (or 0), or both of bfloat16, and `acc` is
    of float32 (or 0); they have twice the lanes of `acc`. Sums of integers wrap around. Products of
    bfloat16 are exact in float32; in which order they are added, whether a sum is rounded in
    between, and whether denormal numbers count as 0, is up to the machine.
    """
    a, b, total = as_expr(vec1), as_expr(vec2), as_expr(acc)
    lanes = a.dtype.lanes // 2
    sums = {"int16": "int32", "bfloat16": "float32"}.get(a.dtype.element)
    if sums is None or a.dtype is not b.dtype or a.dtype.lanes % 2:
        raise DTypeError(
            "`dp2a` needs two vectors of int16 or of bfloat16 with the same even number of lanes, "
            f"got {a.dtype!s} and {b.dtype!s}"
        )
    if is_const_int(total, 0):
        total = broadcast(const(0, sums), lanes)
    if total.dtype.element != sums or total.dtype.lanes != lanes:
        raise DTypeError(
            f"`dp2a` of {a.dtype!s} adds to {sums} of {lanes} lanes, got {total.dtype!s}"
        )
    return Call(total.dtype, Op.get("tir.dp2a"), (a, b, total))


def mmla(vec1: object, vec2: object, acc: object = 0) -> Expr:
    """`acc` plus the product of two rows and two columns, as a 2 x 2 matrix of four lanes.

    Lane ``2*i + j`` of the result is ``acc[2*i + j]`` plus the dot product of half ``i`` of `vec1`
    and half ``j`` of `vec2`. The vectors are of 16 lanes of int8 or uint8, and `acc` is of int32
    (or 0), or uint32 if both are unsigned; or they are of 8 lanes of bfloat16, and `acc` is of
    float32 (or 0). Sums of integers wrap around; those of bfloat16 are rounded as by `dp2a`.
    """
    a, b, total = as_expr(vec1), as_expr(vec2), as_expr(acc)
    kinds = a.dtype.element, b.dtype.element
    is_real = kinds[0] == "bfloat16"
    known = ("bfloat16",) if is_real else ("int8", "uint8")
    lanes = 8 if is_real else 16
    if any(x.dtype.element not in known or x.dtype.lanes != lanes for x in (a, b)):
        raise DTypeError(
            "`mmla` needs two vectors of 16 lanes of int8 or uint8, or of 8 lanes of bfloat16, "
            f"got {a.dtype!s} and {b.dtype!s}"
        )
    if is_const_int(total, 0):
        total = broadcast(const(0, "float32" if is_real else "int32"), 4)
    sums = ("float32",) if is_real else ("int32", "uint32")
    if total.dtype.element not in sums or total.dtype.lanes != 4:
        raise DTypeError(
            f"`mmla` of {a.dtype!s} and {b.dtype!s} adds to {' or '.join(sums)} of 4 lanes, "
            f"got {total.dtype!s}"
        )
    return Call(total.dtype, Op.get("tir.mmla"), (a, b, total))


def any_lane(mask: object) -> Expr:
    """Whether any lane of a bool vector is true; a scalar stays as it is."""
    operand = as_expr(mask)
    if not operand.dtype.is_bool:
        raise DTypeError(f"`any_lane` needs a bool vector, got {operand!r}")
    return operand if operand.dtype.lanes == 1 else Call(BOOL, Op.get("tir.any_lane"), (operand,))


def reduce_lanes(operator: str, vector: object) -> Expr:
    """All lanes of `vector` combined: by ``"add"``, ``"mul"``, ``"min"`` or ``"max"``.

    The number of lanes is a power of two. The first half is combined with the second, lane by lane,
    and so on with what that gives, which decides how sums of floats are rounded. A scalar stays as
    it is.
    """
    operand = as_expr(vector)
    if operator not in LANE_OPERATORS:
        raise ArgumentError(
            f"`reduce_lanes` combines by {', '.join(map(repr, LANE_OPERATORS))}, not {operator!r}"
        )
    lanes = operand.dtype.lanes
    if lanes & (lanes - 1) or operand.dtype.is_bool or operand.dtype.is_handle:
        raise DTypeError(f"`reduce_lanes` needs 2**n numbers, got {operand.dtype!s}")
    if lanes == 1:
        return operand
    op = Op.get("tir.reduce_lanes")
    return Call(operand.dtype.element, op, (StringImm(operator), operand))


def lane_count(lanes: object, name: str) -> int:
    """`lanes`, which must be a constant of at least 1."""
    try:
        count = int(as_expr(lanes))  # type: ignore[call-overload]
    except TypeError:
        raise ArgumentError(f"`{name}` needs a constant number of lanes, got {lanes!r}") from None
    if count < 1:
        raise ArgumentError(f"`{name}` needs at least one lane, got {count}")
    return count


def _half(name: str, dtype: str, vec: object) -> Expr:
    operand, target = as_expr(vec), DType(dtype)
    if operand.dtype.lanes % 2 or target is not operand.dtype.with_lanes(operand.dtype.lanes // 2):
        raise DTypeError(f"`{name}` of {operand.dtype!s} is not {target!s}")
    return Call(target, Op.get(f"tir.{name}"), (operand,))
