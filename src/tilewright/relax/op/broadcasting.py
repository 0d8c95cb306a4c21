"""Operands of one dtype that repeat to one shape: their inference, and what kernels get.

Where two symbolic extents are not known to be equal, the result has the extent that broadcasting
will give, and the program checks when it runs that they fit together::

    R.add(x, y)           # x: (n,), y: (m,)

    x1 = R.match_cast(x, R.Tensor((T.Select(n == 1, 1, T.Select(n == 1, m, n)),)))
    ...
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright import topi
from tilewright.arith import Analyzer
from tilewright.error import ShapeError, StructInfoError
from tilewright.ir.arithmetic import select
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import FLOAT32, FLOAT64, INT64, DType, promote
from tilewright.ir.expr import Expr, FloatImm, IntImm, Var, is_const_int
from tilewright.relax.expr import Constant, PrimValue, RelaxExpr, ShapeExpr
from tilewright.relax.expr import const as array_constant
from tilewright.relax.struct_info import UNKNOWN_NDIM, PrimStructInfo, TensorStructInfo
from tilewright.te.compute import compute
from tilewright.te.elementwise import same_extent
from tilewright.te.tensor import Tensor, extent_text, shape_text

if TYPE_CHECKING:
    from tilewright.relax.expr import Call
    from tilewright.relax.op.table import Inference

Extents = tuple[Expr, ...]


# --- making calls ---------------------------------------------------------------------------


def with_numbers(*operands: Any) -> list[Any]:
    """Operands in which Python numbers take the dtype of the arrays among them.

    With arrays whose dtype is not known yet, they keep all their digits.
    """
    infos = [o.struct_info for o in operands if isinstance(o, RelaxExpr)]
    dtype = next((i.dtype for i in infos if isinstance(i, TensorStructInfo) and i.dtype), None)
    if dtype is not None:
        return [_number(operand, dtype) for operand in operands]
    if all(isinstance(info, PrimStructInfo) for info in infos):
        return list(operands)
    return [exact_number(operand) for operand in operands]


def exact_number(value: Any, dtype: DType | None = None) -> Any:
    """A Python float as a scalar of a float dtype; float64 if none is given and it needs that.

    Other values stay as they are.
    """
    if not isinstance(value, float):
        return value
    if dtype is not None and dtype.is_float:
        return PrimValue(const(value, dtype))
    short = const(value, FLOAT32)
    is_short = math.isnan(value) or short.value == value  # type: ignore[attr-defined]
    return PrimValue(short if is_short else const(value, FLOAT64))


def _number(value: Any, dtype: DType) -> Any:
    if not isinstance(value, (bool, int, float)) or not _fits(value, dtype):
        return value  # inference says what is wrong with it
    return array_constant(value, dtype)


def _fits(value: float, dtype: DType) -> bool:
    if dtype.is_float:
        return not isinstance(value, bool)
    if dtype.is_bool:
        return isinstance(value, bool)
    whole = isinstance(value, int) and not isinstance(value, bool)
    return whole and dtype.is_integral and dtype.min_int <= value <= dtype.max_int


# --- inference ------------------------------------------------------------------------------


def operand_dtype(inference: Inference, positions: Sequence[int]) -> DType | None:
    """The dtype that all operands share; None if it is not known.

    A constant scalar takes the dtype of the others; scalars alone are promoted.
    """
    dtypes: dict[int, DType] = {}
    numbers: dict[int, IntImm | FloatImm] = {}
    unknown = False
    for position in positions:
        info = inference.struct_info(position)
        if isinstance(info, PrimStructInfo):
            if isinstance(info.value, (IntImm, FloatImm)):
                numbers[position] = info.value
            else:
                dtypes[position] = info.dtype
        else:
            dtype = inference.tensor(position).dtype
            unknown = unknown or dtype is None
            if dtype is not None:
                dtypes[position] = dtype
    if len(set(dtypes.values())) > 1:
        listed = ", ".join(f"{inference.name_of(p)} has {d!s}" for p, d in dtypes.items())
        inference.error(f"the dtypes differ: {listed}; convert one with astype")
    dtype = next(iter(dtypes.values()), None)
    if dtype is None:
        if unknown or not numbers:
            return None
        return functools.reduce(promote, (number.dtype for number in numbers.values()))
    for position, number in numbers.items():
        value = bool(number.value) if number.dtype.is_bool else number.value
        if not _fits(value, dtype):
            inference.error(
                f"{inference.name_of(position)} is {value!r}, which is not a value of the dtype "
                f"{dtype!s} of the others; convert them with astype"
            )
    return dtype


def broadcast_info(
    inference: Inference, positions: Sequence[int], dtype: DType | None
) -> TensorStructInfo:
    """The struct info of an array of all elements of the operands, repeated to one shape."""
    infos = [
        inference.tensor(position)
        for position in positions
        if not isinstance(inference.struct_info(position), PrimStructInfo)
    ]
    vdevice = next((info.vdevice for info in infos if info.vdevice is not None), None)
    if not infos:
        return TensorStructInfo((), dtype, vdevice)
    first = infos[0]
    if len(infos) == 1:
        return TensorStructInfo(first.shape, dtype, vdevice, first.ndim)
    shapes = [info.extents for info in infos]
    known = [shape for shape in shapes if shape is not None]
    if len(known) == len(shapes):
        extents = known[0]
        for shape in known[1:]:
            try:
                extents = broadcast_extents(extents, shape, inference.analyzer)
            except ShapeError as error:
                inference.error(str(error))
        return TensorStructInfo(ShapeExpr(extents), dtype, vdevice)
    ranks = [info.ndim for info in infos]
    rank = UNKNOWN_NDIM if UNKNOWN_NDIM in ranks else max(ranks)
    return TensorStructInfo(None, dtype, vdevice, rank)


def broadcast_extents(a: Extents, b: Extents, analyzer: Analyzer) -> Extents:
    """The shape that arrays of two shapes repeat to.

    Raises:
        ShapeError: if there is none.
    """
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    offset = len(longer) - len(shorter)
    result = list(longer[:offset])
    for position, (one, other) in enumerate(zip(longer[offset:], shorter, strict=True), offset):
        extent = _broadcast_extent(one, other, analyzer)
        if extent is None:
            raise ShapeError(
                f"the shapes {shape_text(a)} and {shape_text(b)} do not broadcast: extents "
                f"{extent_text(one)} and {extent_text(other)} of dimension "
                f"{position} differ, and neither is 1"
            )
        result.append(extent)
    return tuple(result)


def _broadcast_extent(one: Expr, other: Expr, analyzer: Analyzer) -> Expr | None:
    if is_const_int(other, 1) or same_extent(one, other):
        return one
    if is_const_int(one, 1):
        return other
    if is_const_int(one) and is_const_int(other):
        return None
    if analyzer.can_prove_equal(one, other):
        return one
    if is_const_int(one) or is_const_int(other):
        known, symbolic = (one, other) if is_const_int(one) else (other, one)
        never = analyzer.can_prove(symbolic != known) and analyzer.can_prove(symbolic != 1)
        return None if never else known
    return select(one == 1, other, one)


# --- legalisation ---------------------------------------------------------------------------


def scalar_of(value: RelaxExpr, dtype: DType | None) -> PrimValue | None:
    """The number that `value` is, in `dtype`; None if it is not a known scalar."""
    if isinstance(value, PrimValue):
        return value if dtype is None else PrimValue(cast(dtype, value.value))
    if isinstance(value, Constant) and not value.data.shape:
        return PrimValue(const(value.data.numpy()[()], value.data.dtype))
    return None


def call_broadcasting(
    builder: Any, call: Call, function: Any, name: str, positions: Sequence[int],
    scalar_dtype: DType | None = None,
) -> Any:  # fmt: skip
    """The call of the kernel that `function` makes of operands which broadcast.

    Args:
        function: from tensors and scalars to a tensor, or to a scalar if all are scalars.
        positions: the arguments of `call` that are operands.
        scalar_dtype: what numbers are converted to; by default the dtype of the first array.
    """
    result = call.struct_info
    assert isinstance(result, TensorStructInfo)
    operands = [call.args[position] for position in positions]
    infos = [operand.struct_info for operand in operands]
    first = next((i.dtype for i in infos if isinstance(i, TensorStructInfo)), None)
    dtype = scalar_dtype or first
    scalars = {operand: scalar_of(operand, dtype) for operand in operands}
    arrays = {
        operand: with_extents(builder, operand)
        for operand, scalar in scalars.items()
        if scalar is None
    }
    target = result.extents or common_extents(builder, list(arrays.values()))
    for operand, array in arrays.items():
        arrays[operand] = fitting(builder, array, target)

    def kernel(*values: Any) -> Tensor:
        computed = function(*values)
        return computed if isinstance(computed, Tensor) else compute((), lambda: computed, name)

    values = {**scalars, **arrays}
    prepared = [values[operand] for operand in operands]
    return builder.call_te(kernel, *prepared, primfunc_name_hint=name)


def with_extents(builder: Any, operand: RelaxExpr) -> RelaxExpr:
    """`operand`, an array, with named extents."""
    info = operand.struct_info
    assert isinstance(info, TensorStructInfo)
    if info.extents is not None:
        return operand
    if info.ndim == UNKNOWN_NDIM:
        raise StructInfoError(
            f"the rank of {operand!r} is not known, so no tensor program can be made for it; use "
            "match_cast",
            operand.span,
        )
    sizes = ShapeExpr([Var(f"d{n}", INT64) for n in range(info.ndim)])
    return builder.match_cast(operand, info.replace(shape=sizes))


def shape_of(builder: Any, operand: RelaxExpr) -> RelaxExpr:
    """The shape of an array, in terms of sizes that have names."""
    info = with_extents(builder, operand).struct_info
    assert isinstance(info, TensorStructInfo)
    assert info.shape is not None
    return info.shape


def common_extents(builder: Any, operands: Sequence[RelaxExpr]) -> Extents:
    """The shape that the operands broadcast to, which may be more precise than at the call."""
    extents: Extents = ()
    for operand in operands:
        info = operand.struct_info
        assert isinstance(info, TensorStructInfo)
        assert info.extents is not None
        extents = broadcast_extents(extents, info.extents, builder.analyzer)
    return extents


def fitting(builder: Any, operand: RelaxExpr, target: Extents) -> RelaxExpr:
    """`operand`, checked and repeated where it is not known at compile time that it fits."""
    info = operand.struct_info
    assert isinstance(info, TensorStructInfo)
    assert info.extents is not None
    checked = [
        extent
        if is_const_int(extent, 1) or same_extent(extent, wanted)
        else select(extent == 1, const(1, "int64"), wanted)
        for extent, wanted in zip(info.extents, target[len(target) - info.ndim :], strict=True)
    ]
    if all(a is b for a, b in zip(checked, info.extents, strict=True)):
        return operand
    fits = builder.match_cast(operand, info.replace(shape=ShapeExpr(checked)))
    plain = builder.match_cast(fits, info)
    return builder.emit(
        builder.call_te(topi.broadcast_to, plain, ShapeExpr(target), primfunc_name_hint="repeat")
    )
