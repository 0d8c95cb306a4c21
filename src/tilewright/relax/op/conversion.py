"""Conversions of dtypes, quantisation, and arrays on devices."""

from __future__ import annotations

from typing import Any, Final

from tilewright import topi
from tilewright.error import ArgumentError
from tilewright.ir.arithmetic import maximum, minimum
from tilewright.ir.convert import cast
from tilewright.ir.dtype import FLOAT32, DType
from tilewright.ir.expr import Expr
from tilewright.ir.module import VDevice
from tilewright.relax.expr import Call, Constant
from tilewright.relax.op.rules import agreeing, axis_of, sized
from tilewright.relax.op.table import Inference, call, kernel, register
from tilewright.relax.struct_info import UNKNOWN_NDIM, StructInfo, TensorStructInfo
from tilewright.te.compute import compute
from tilewright.te.tensor import Tensor, extent_text
from tilewright.tir.op.dtypes import max_value, min_value
from tilewright.topi import tag
from tilewright.topi.operands import normalized_axis


def _infer_to_vdevice(inference: Inference) -> TensorStructInfo:
    info, device = inference.tensor(0), inference.attr("dst_vdevice")
    assert isinstance(device, VDevice)
    return TensorStructInfo(info.shape, info.dtype, device, info.ndim)


def _infer_hint(inference: Inference) -> TensorStructInfo:
    return inference.tensor(0)


TO_VDEVICE = register("to_vdevice", ("data",), _infer_to_vdevice, is_view=True)
HINT_ON_DEVICE = register("hint_on_device", ("data",), _infer_hint, is_view=True)


MOVES: Final = (TO_VDEVICE, HINT_ON_DEVICE)
"""Operators whose result may be in another memory."""


def _device(caller: str, value: Any) -> VDevice:
    if not isinstance(value, VDevice):
        raise ArgumentError(f"{caller}: dst_vdevice is one of I.vdevice, got {value!r}")
    return value


def to_vdevice(data: Any, dst_vdevice: VDevice) -> Call:
    """`data` on a device.

    Args:
        data: an array.
        dst_vdevice: the device; in a script, also its name, such as ``"llvm:0"``.
    """
    device = _device("R.to_vdevice", dst_vdevice)
    return call(TO_VDEVICE, data, attrs={"dst_vdevice": device})


def hint_on_device(data: Any, dst_vdevice: VDevice) -> Call:
    """`data`, with the hint that the operation that uses it should run on a device.

    Args:
        data: an array.
        dst_vdevice: the device; in a script, also its name, such as ``"llvm:0"``.
    """
    device = _device("R.hint_on_device", dst_vdevice)
    return call(HINT_ON_DEVICE, data, attrs={"dst_vdevice": device})


def _infer_astype(inference: Inference) -> TensorStructInfo:
    info = inference.tensor(0)
    return TensorStructInfo(info.shape, inference.attr("dtype"), info.vdevice, info.ndim)


_ASTYPE = register("astype", ("x",), _infer_astype, kernel(topi.cast, "dtype"))


def astype(x: Any, dtype: str) -> Call:
    """`x` with each element converted to `dtype`."""
    return call(_ASTYPE, x, attrs={"dtype": DType(dtype)})


_WRAP_PARAM = register("wrap_param", ("data",), _infer_astype, kernel(topi.cast, "dtype"))


def wrap_param(data: Any, dtype: str = "float32") -> Call:
    """The parameter `data` of a model, converted to `dtype`."""
    return call(_WRAP_PARAM, data, attrs={"dtype": DType(dtype)})


def _infer(inference: Inference, is_quantize: bool) -> StructInfo:
    info = inference.tensor(0)
    target: Any = inference.attr("out_dtype")
    real, short = (info.dtype, target) if is_quantize else (target, info.dtype)
    if real is not None and not real.is_float:
        inference.error(f"the numbers must have a float dtype, it is {real!s}")
    if short is not None and (not short.is_integral or short.is_bool):
        inference.error(f"the integers must have an integer dtype, it is {short!s}")
    for position in (1, 2):
        _check_parameter(inference, position, info)
    return TensorStructInfo(info.shape, target, info.vdevice, info.ndim)


def _check_parameter(inference: Inference, position: int, data: TensorStructInfo) -> None:
    """The scale and the zero point are one number, or one for each index along the axis."""
    info = inference.tensor(position)
    if info.dtype is not None and position == 1 and not info.dtype.is_float:
        inference.error(f"{inference.name_of(1)} must have a float dtype, it has {info.dtype!s}")
    if info.dtype is not None and position == 2 and info.dtype.is_bool:
        inference.error(f"{inference.name_of(2)} must have numbers, it has {info.dtype!s}")
    if info.ndim not in (0, 1, UNKNOWN_NDIM):
        inference.error(f"{inference.name_of(position)} must be one number or a vector")
    if info.ndim == 1 and data.ndim != UNKNOWN_NDIM:
        axis = axis_of(inference, data.ndim)
        if data.extents is not None and info.extents is not None:
            wanted, found = data.extents[axis], info.extents[0]
            if inference.differ(wanted, found):
                inference.error(
                    f"{inference.name_of(position)} has {extent_text(found)} elements, axis "
                    f"{axis} of the data {extent_text(wanted)}"
                )


def _legalize(builder: Any, expr: Call, kernel: Any, name: str) -> Any:
    axis, dtype = expr.attrs["axis"], expr.attrs["out_dtype"]
    data, extents = sized(builder, expr.args[0])
    length = {0: extents[axis]} if extents else {}
    parameters = [agreeing(builder, parameter, length) for parameter in expr.args[1:]]
    return builder.call_te(kernel, data, *parameters, axis, dtype, primfunc_name_hint=name)


def _at(parameter: Tensor, place: tuple[Expr, ...], axis: int) -> Expr:
    return parameter(place[axis]) if parameter.ndim else parameter()


def _legalize_quantize(builder: Any, expr: Call) -> Any:
    data, scale, zero_point = expr.args
    if isinstance(scale, Constant) and scale.data.numpy().ndim == 0 and scale.data.numpy() == 1:
        return _legalize(builder, expr.replace(args=(data, zero_point)), _round, "quantize")
    return _legalize(builder, expr, _quantize, "quantize")


def _round(data: Tensor, zero_point: Tensor, axis: int, dtype: DType) -> Tensor:
    """Quantisation of numbers that are in steps already."""
    return _quantize(data, None, zero_point, axis, dtype)


def _quantize(
    data: Tensor, scale: Tensor | None, zero_point: Tensor, axis: int, dtype: DType
) -> Tensor:
    along = normalized_axis("R.quantize", axis, data.ndim) if data.ndim else 0
    wide = data.dtype if data.dtype.bits >= 32 else FLOAT32
    low, high = (cast(wide, limit(dtype)) for limit in (min_value, max_value))

    def element(*i: Expr) -> Expr:
        value = cast(wide, data(*i))
        steps = value if scale is None else value / cast(wide, _at(scale, i, along))
        moved = topi.round(steps) + cast(wide, _at(zero_point, i, along))
        return cast(dtype, minimum(maximum(moved, low), high))

    return compute(data.shape, element, "quantized", tag.BROADCAST)


def _dequantize(data: Tensor, scale: Tensor, zero_point: Tensor, axis: int, dtype: DType) -> Tensor:
    along = normalized_axis("R.dequantize", axis, data.ndim) if data.ndim else 0
    wide = dtype if dtype.bits >= 32 else FLOAT32

    def element(*i: Expr) -> Expr:
        steps = _as_number(data(*i), wide) - _as_number(_at(zero_point, i, along), wide)
        return cast(dtype, cast(wide, steps) * cast(wide, _at(scale, i, along)))

    return compute(data.shape, element, "dequantized", tag.BROADCAST)


def _as_number(value: Expr, real: DType) -> Expr:
    """`value` in a type in which differences of integers are exact."""
    return cast("int32" if value.dtype.is_integral and value.dtype.bits < 32 else real, value)


_QUANTIZE = register(
    "quantize",
    ("data", "scale", "zero_point"),
    lambda inference: _infer(inference, True),
    _legalize_quantize,
)
_DEQUANTIZE = register(
    "dequantize",
    ("data", "scale", "zero_point"),
    lambda inference: _infer(inference, False),
    lambda builder, expr: _legalize(builder, expr, _dequantize, "dequantize"),
)


def quantize(
    data: Any, scale: Any, zero_point: Any, axis: int = -1, out_dtype: str = "int8"
) -> Call:
    """The nearest integers ``data / scale + zero_point``, or the nearest that `out_dtype` has.

    Args:
        data: floats.
        scale: the distance of two neighbouring numbers; one, or one for each index along `axis`.
        zero_point: the integer that stands for 0; one, or one for each index along `axis`.
        axis: the dimension of the parameters.
        out_dtype: of the result.
    """
    attrs = {"axis": axis, "out_dtype": DType(out_dtype)}
    return call(_QUANTIZE, data, scale, zero_point, attrs=attrs)


def dequantize(
    data: Any, scale: Any, zero_point: Any, axis: int = -1, out_dtype: str = "float32"
) -> Call:
    """The numbers ``(data - zero_point) * scale`` that the integers in `data` stand for.

    See `quantize` for the arguments.
    """
    attrs = {"axis": axis, "out_dtype": DType(out_dtype)}
    return call(_DEQUANTIZE, data, scale, zero_point, attrs=attrs)
