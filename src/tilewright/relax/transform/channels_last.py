"""Images with their channels side by side, as vectors read them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from tilewright.ir.dtype import DType
from tilewright.ir.expr import const_int_value
from tilewright.ir.module import IRModule
from tilewright.ir.op import Op
from tilewright.relax import op
from tilewright.relax.analysis.functions import remove_all_unused
from tilewright.relax.analysis.variables import definition
from tilewright.relax.expr import (
    Call,
    Constant,
    Function,
    PrimValue,
    RelaxExpr,
    Tuple,
)
from tilewright.relax.op import elementwise, unary
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.transform.function_pass import ConvertingMutator, constant_of, is_call_of
from tilewright.relax.transform.processor_pass import ProcessorPass
from tilewright.relax.visitor import bindings_of
from tilewright.target import Target

TO_LAST: Final = (0, 2, 3, 1)
TO_FIRST: Final = (0, 3, 1, 2)

CONVOLUTIONS: Final = {"nn.conv2d": ("OIHW", "HWIO"), "nn.conv2d_transpose": ("IOHW", "HWIO")}
"""The layouts of weights, and what they become."""

DTYPES: Final = frozenset(map(DType, ("float32", "float64", "int8", "uint8")))
"""Of images; others are converted."""

IN_LAYOUTS: Final = (
    "nn.max_pool2d", "nn.avg_pool2d", "nn.adaptive_avg_pool2d", "image.resize2d",
)  # fmt: skip
"""Operators that are told the layout of their images."""

ELEMENTWISE: Final = frozenset((
    *unary.__all__, *elementwise.__all__, "astype", "where", "nn.relu", "nn.gelu", "nn.gelu_tanh",
    "nn.silu", "nn.leakyrelu",
))  # fmt: skip
"""Operators on elements at the same place, which broadcast."""

QUANTIZATION: Final = ("quantize", "dequantize")
"""Operators on elements, where one scale is for all of them."""

REDUCTIONS: Final = frozenset(("max", "mean", "min", "prod", "std", "sum", "variance"))

MULTIPLICATIONS_PER_MOVE: Final = 512
"""Multiplications of scalars for each element that is moved to another layout, so that it pays: a
move takes about two cycles, in which vectors of 8 lanes multiply 32 pairs, and what is gained is
between a tenth of a convolution and a half of it."""


class ChannelsLast(ProcessorPass):
    """Keep the channels of each pixel side by side between convolutions.

    Vectors then hold neighbouring channels, however large the images and the steps of windows are,
    and nothing has to be transposed. Pools, element-wise operators, and so on between convolutions
    work in that layout, too::

        before:  lv = R.nn.conv2d(x, w)             # (batch, channel, height, width)
                 lv1 = R.nn.relu(lv)
        after:   lv = R.permute_dims(x, axes=[0, 2, 3, 1])
                 lv1 = R.nn.conv2d(lv, w1, data_layout="NHWC", kernel_layout="HWIO")
                 lv2 = R.nn.relu(lv1)
                 lv3 = R.permute_dims(lv2, axes=[0, 3, 1, 2])

    The weights must be constants, and their filters fill vectors. Functions in which more would be
    moved than gained stay as they are; so does everything for devices.

    Args:
        target: what the program is compiled for; see `ProcessorPass`.
    """

    def transform_for(self, mod: IRModule, target: Target) -> IRModule:
        if not target.machine.vector_bits:
            return mod
        changed = _Conversion(mod, target.machine.lanes).module()
        better = {
            var: converted
            for var, function in changed.functions.items()
            if isinstance(function, Function) and function is not mod[var]
            if _pays(converted := remove_all_unused(function))
        }
        if not better:
            return mod
        result = mod.clone()
        for var, function in better.items():
            result.update_func(var, function)
        return result


def _pays(function: Function) -> bool:
    """Whether convolutions with their channels last gain more than moving images costs."""
    moved = multiplied = 0.0
    for binding in bindings_of(function):
        call: Any = binding.value
        if is_call_of(call, "permute_dims") and _is_large(call):
            moved += _count(call.struct_info)
        elif is_call_of(call, *CONVOLUTIONS) and call.attrs["data_layout"] == "NHWC":
            outputs = "O" if is_call_of(call, "nn.conv2d") else "I"
            weight = call.args[1].struct_info
            channels = weight.extents[call.attrs["kernel_layout"].index(outputs)]
            spread = call if outputs == "O" else call.args[0]
            multiplied += _count(spread.struct_info) * _count(weight) / _number(channels)
    return multiplied >= MULTIPLICATIONS_PER_MOVE * moved


def _is_large(call: Any) -> bool:
    """Whether elements really move: not where all but one of the dimensions have extent 1."""
    extents = call.struct_info.extents
    return extents is None or sum(const_int_value(extent) != 1 for extent in extents) > 1


def _number(extent: Any) -> int:
    """An extent; a symbolic one, such as of a batch, counts as 1."""
    return const_int_value(extent) or 1


def _count(info: Any) -> float:
    """How many elements an array has."""
    return math.prod(map(_number, info.extents or ()))


class _Conversion(ConvertingMutator):
    """Puts transpositions around convolutions, and moves those behind an operator in front of it
    through it, where they meet the next one."""

    def __init__(self, mod: IRModule, lanes: Callable[[DType], int]) -> None:
        super().__init__(mod)
        self._lanes = lanes

    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        if not isinstance(call.op, Op):
            return call
        name = call.op.name.removeprefix("relax.")
        if name in CONVOLUTIONS:
            return self._convolution(call, *CONVOLUTIONS[name])
        if not any(self._is_moved(operand) for operand in self._operands(call)):
            return call
        if name in IN_LAYOUTS and call.attrs["layout"] == "NCHW":
            return self._with(call, {"layout": "NHWC"})
        if name == "nn.pad":
            width = call.attrs["pad_width"]
            moved = [n for axis in TO_LAST for n in width[2 * axis : 2 * axis + 2]]
            return self._with(call, {"pad_width": tuple(moved)})
        if name in ELEMENTWISE or (name in QUANTIZATION and self._has_one_scale(call)):
            return self._elementwise(call)
        if name == "concat" and call.attrs["axis"] is not None:
            return self._concat(call)
        if name in REDUCTIONS and call.attrs["axis"] is not None:
            return self._reduction(call)
        return call

    def _operands(self, call: Call) -> Iterator[RelaxExpr]:
        """The arrays that a call takes, those of a tuple one by one."""
        for argument in call.args:
            found = definition(self.builder_.lookup_usable, argument)
            yield from found.fields if isinstance(found, Tuple) else [argument]

    # --- values in the layout --------------------------------------------------------------

    def _is_moved(self, value: Any) -> bool:
        """Whether a value is one with its channels last that was transposed."""
        source = definition(self.builder_.lookup_usable, value)
        return is_call_of(source, "permute_dims") and source.attrs["axes"] == TO_FIRST

    def _last(self, value: Any) -> RelaxExpr:
        """An array with its channels last."""
        source = definition(self.builder_.lookup_usable, value)
        if self._is_moved(value):
            return source.args[0]
        if isinstance(source, Constant):
            return Constant(np.ascontiguousarray(source.data.numpy().transpose(TO_LAST)))
        return self.converted(value, lambda images: op.permute_dims(images, TO_LAST))

    def _first(self, value: RelaxExpr) -> RelaxExpr:
        """The transposition of a result."""
        return op.permute_dims(self.builder_.emit(value), TO_FIRST)

    # --- operators ----------------------------------------------------------------------------

    def _with(self, call: Call, attrs: dict[str, Any]) -> RelaxExpr:
        """A call whose first operand is an image."""
        args = (self._last(call.args[0]), *call.args[1:])
        return self._first(call.replace(args=args, attrs={**call.attrs, **attrs}, struct_info=None))

    def _convolution(self, call: Call, before: str, after: str) -> RelaxExpr:
        attrs, weight = call.attrs, constant_of(self.builder_, call.args[1])
        if weight is None or (attrs["data_layout"], attrs["kernel_layout"]) != ("NCHW", before):
            return call
        info, result = call.args[0].struct_info, call.struct_info
        if not isinstance(info, TensorStructInfo) or not isinstance(result, TensorStructInfo):
            return call
        if info.ndim != 4 or info.dtype not in DTYPES or result.dtype is None:
            return call
        values = weight.data.numpy()
        groups, inputs = int(attrs["groups"]), values.shape[before.index("I")]
        filters = values.shape[before.index("O")] // (groups if before == "OIHW" else 1)
        is_depthwise = groups > 1 and before == "OIHW" and inputs == filters == 1
        if (groups if is_depthwise else filters) < self._lanes(result.dtype):
            return call
        order = [before.index(letter) for letter in after]
        moved = Constant(np.ascontiguousarray(values.transpose(order)))
        layouts = {**attrs, "data_layout": "NHWC", "kernel_layout": after}
        args = (self._last(call.args[0]), moved)
        return self._first(call.replace(args=args, attrs=layouts, struct_info=None))

    def _elementwise(self, call: Call) -> RelaxExpr:
        args = [self._broadcasting(argument) for argument in call.args]
        known = [argument for argument in args if argument is not None]
        if len(known) < len(args):
            return call
        return self._first(call.replace(args=tuple(known), struct_info=None))

    def _has_one_scale(self, call: Call) -> bool:
        infos = [parameter.struct_info for parameter in call.args[1:]]
        return all(isinstance(info, TensorStructInfo) and info.ndim == 0 for info in infos)

    def _broadcasting(self, value: Any) -> RelaxExpr | None:
        """An operand of an element-wise operator; None for one that would have to be reshaped when
        the program runs."""
        info = value.struct_info
        if isinstance(value, PrimValue):
            return value
        if not isinstance(info, TensorStructInfo) or not 0 <= info.ndim <= 4:
            return None
        if info.ndim in (0, 4):
            return value if info.ndim == 0 else self._last(value)
        constant = constant_of(self.builder_, value)
        if constant is None:
            return None
        data = constant.data.numpy()
        return self._last(Constant(data.reshape((1,) * (4 - data.ndim) + data.shape)))

    def _concat(self, call: Call) -> RelaxExpr:
        fields = list(self._operands(call))
        axis = TO_LAST.index(int(call.attrs["axis"]) % 4)
        return self._first(op.concat([self._last(field) for field in fields], axis))

    def _reduction(self, call: Call) -> RelaxExpr:
        axis = call.attrs["axis"]
        axes = [int(n) % 4 for n in (axis if isinstance(axis, (tuple, list)) else [axis])]
        attrs = {**call.attrs, "axis": tuple(sorted(map(TO_LAST.index, axes)))}
        result = call.replace(args=(self._last(call.args[0]),), attrs=attrs, struct_info=None)
        if attrs["keepdims"]:
            return self._first(result)
        left = [n for n in TO_LAST if n not in axes]
        return result if left == sorted(left) else call
