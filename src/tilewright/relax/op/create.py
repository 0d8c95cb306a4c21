"""Arrays made from a shape and a formula."""

from __future__ import annotations

from typing import Any

from tilewright import topi
from tilewright.error import ArgumentError
from tilewright.ir.convert import const
from tilewright.ir.dtype import DType
from tilewright.relax.expr import Call, PrimValue, RelaxExpr, as_relax, as_shape
from tilewright.relax.op.broadcasting import exact_number, scalar_of, shape_of
from tilewright.relax.op.rules import require_value, scalar_argument, shape_argument
from tilewright.relax.op.table import Inference, call, kernel, named, register
from tilewright.relax.op.unary import is_number
from tilewright.relax.struct_info import PrimStructInfo, StructInfo, TensorStructInfo
from tilewright.te import Tensor
from tilewright.topi.creation import arange_length

__all__ = [
    "arange", "full", "full_like", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip


def _dtype_attr(dtype: Any) -> dict[str, Any]:
    return {"dtype": None if dtype is None else DType(dtype)}


def _number(value: Any, dtype: Any) -> Any:
    """A Python number as a scalar of `dtype`, if that is given."""
    if dtype is not None and isinstance(value, (bool, int, float)):
        return PrimValue(const(value, DType(dtype)))
    return value


# --- full -----------------------------------------------------------------------------------


def _of_shape(inference: Inference, dtype: Any) -> StructInfo:
    info = shape_argument(inference, 0)
    return TensorStructInfo(inference.call.args[0], dtype, ndim=info.ndim)


def _scalar_dtype(inference: Inference, position: int) -> DType | None:
    """The dtype of a scalar, or an array without dimensions."""
    info = inference.struct_info(position)
    if isinstance(info, PrimStructInfo):
        return info.dtype
    if not isinstance(info, TensorStructInfo) or info.ndim not in (0, -1):
        inference.error(
            f"{inference.name_of(position)} must be a number or an array without dimensions, it "
            f"is {info!r}"
        )
    return info.dtype


def _infer_full(inference: Inference) -> StructInfo:
    dtype = _scalar_dtype(inference, 1)
    return _of_shape(inference, inference.attr("dtype") or dtype)


def _filled(builder: Any, expr: Call, shape: Any, value: Any, name: str) -> Any:
    """The call of a kernel that fills an array of the dtype of the result."""
    info = expr.struct_info
    assert isinstance(info, TensorStructInfo)
    dtype = info.dtype
    assert dtype is not None, "arrays of unknown dtype are not compiled"
    return builder.call_te(
        lambda shape, fill: topi.full(shape, dtype, fill), shape, value, primfunc_name_hint=name
    )


def _legalize_full(builder: Any, expr: Call) -> Any:
    return _filled(builder, expr, expr.args[0], _number_of(expr.args[1]), "full")


_FULL = register("full", ("shape", "fill_value"), _infer_full, _legalize_full)


def full(shape: Any, fill_value: Any, dtype: str | None = None) -> Call:
    """An array whose elements are all `fill_value`, of the dtype of that if none is given."""
    return call(_FULL, as_shape(shape), _number(fill_value, dtype), attrs=_dtype_attr(dtype))


def _infer_like(inference: Inference) -> TensorStructInfo:
    info = inference.tensor(0)
    dtype = inference.attr("dtype") or info.dtype
    return TensorStructInfo(info.shape, dtype, info.vdevice, info.ndim)


def _infer_full_like(inference: Inference) -> StructInfo:
    _scalar_dtype(inference, 1)
    result = _infer_like(inference)
    value = scalar_of(inference.call.args[1], None)
    if value is not None and result.dtype is not None:
        require_value(inference, value.value, result.dtype)
    return result


def _legalize_full_like(builder: Any, expr: Call) -> Any:
    value = _number_of(expr.args[1])
    return _filled(builder, expr, shape_of(builder, expr.args[0]), value, "full")


def _number_of(value: RelaxExpr) -> RelaxExpr:
    """`value`, or the number that it is if that is known."""
    scalar = scalar_of(value, None)
    return value if scalar is None else scalar


_FULL_LIKE = register("full_like", ("x", "fill_value"), _infer_full_like, _legalize_full_like)


def full_like(x: Any, fill_value: Any, dtype: str | None = None) -> Call:
    """An array like `x` whose elements are all `fill_value`."""
    info = getattr(x, "struct_info", None)
    known = DType(dtype) if dtype is not None else getattr(info, "dtype", None)
    value = _number(fill_value, dtype)
    return call(_FULL_LIKE, x, exact_number(value, known), attrs=_dtype_attr(dtype))


# --- zeros and ones -------------------------------------------------------------------------


def _register_constant(name: str, value: int) -> tuple[Any, Any]:
    def infer(inference: Inference) -> StructInfo:
        return _of_shape(inference, inference.attr("dtype"))

    def legalize(builder: Any, expr: Call) -> Any:
        number = PrimValue(const(value, expr.attrs["dtype"]))
        return _filled(builder, expr, expr.args[0], number, name)

    def legalize_like(builder: Any, expr: Call) -> Any:
        return _filled(builder, expr, shape_of(builder, expr.args[0]), PrimValue(value), name)

    like = register(f"{name}_like", ("x",), _infer_like, legalize_like)
    return register(name, ("shape",), infer, legalize), like


_ZEROS, _ZEROS_LIKE = _register_constant("zeros", 0)
_ONES, _ONES_LIKE = _register_constant("ones", 1)


def zeros(shape: Any, dtype: str) -> Call:
    """An array of zeros."""
    return call(_ZEROS, as_shape(shape), attrs={"dtype": DType(dtype)})


def zeros_like(x: Any, dtype: str | None = None) -> Call:
    """An array of zeros like `x`."""
    return call(_ZEROS_LIKE, x, attrs=_dtype_attr(dtype))


def ones(shape: Any, dtype: str) -> Call:
    """An array of ones."""
    return call(_ONES, as_shape(shape), attrs={"dtype": DType(dtype)})


def ones_like(x: Any, dtype: str | None = None) -> Call:
    """An array of ones like `x`."""
    return call(_ONES_LIKE, x, attrs=_dtype_attr(dtype))


# --- arange ---------------------------------------------------------------------------------


def _infer_arange(inference: Inference) -> StructInfo:
    bounds = [scalar_argument(inference, position) for position in range(3)]
    dtype: Any = inference.attr("dtype")
    if not is_number(dtype):
        inference.error(f"the elements are numbers, not {dtype!s}")
    if any(bound is None for bound in bounds):
        return TensorStructInfo(None, dtype, ndim=1)
    try:
        return TensorStructInfo((arange_length(*bounds),), dtype)
    except ArgumentError as error:
        inference.error(str(error).removeprefix("arange: "))


def _legalize_arange(builder: Any, expr: Call) -> Any:
    dtype = expr.attrs["dtype"]
    return builder.call_te(topi.arange, *expr.args, dtype=dtype, primfunc_name_hint="arange")


_ARANGE = register("arange", ("start", "end", "step"), _infer_arange, _legalize_arange)


def arange(start: Any, end: Any = None, step: Any = 1, dtype: str | None = None) -> Call:
    """The numbers ``start, start + step, ...`` before `end`; from 0 if only one is given.

    Their dtype is float32 if one of the three is a float, else int64, if none is given.
    """
    if end is None:
        start, end = 0, start
    bounds = [as_relax(exact_number(bound)) for bound in (start, end, step)]
    if dtype is None:
        infos = [bound.struct_info for bound in bounds]
        floats = [i for i in infos if isinstance(i, PrimStructInfo) and i.dtype.is_float]
        dtype = "float32" if floats else "int64"
    return call(_ARANGE, *bounds, attrs=_dtype_attr(dtype))


# --- triangles ------------------------------------------------------------------------------


def _infer_triangle(inference: Inference) -> StructInfo:
    info = inference.tensor(0)
    if info.ndim in (0, 1):
        inference.error(
            f"{inference.name_of(0)} must have at least 2 dimensions, it has {info.ndim}"
        )
    scalar_argument(inference, 1)
    diagonal = inference.struct_info(1)
    assert isinstance(diagonal, PrimStructInfo)
    if not diagonal.dtype.is_integral:
        inference.error(f"{inference.name_of(1)} must be an integer, it is {diagonal!r}")
    return info


def _triangle(name: str, upper: bool, doc: str) -> Any:
    def compute(x: Tensor, k: Any) -> Tensor:
        return topi.trilu(x, k, upper)

    op = register(name, ("x", "k"), _infer_triangle, kernel(compute, name=name))

    @named(name, doc)
    def make(x: Any, k: Any = 0) -> Call:
        return call(op, x, k)

    return make


tril = _triangle(
    "tril", False, "The lower triangle of matrices, up to diagonal `k`, with zeros elsewhere."
)
triu = _triangle(
    "triu", True, "The upper triangle of matrices, from diagonal `k` on, with zeros elsewhere."
)
