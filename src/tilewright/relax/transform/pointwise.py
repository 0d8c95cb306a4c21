"""Convolutions that look at one pixel each."""

from __future__ import annotations

import math
from typing import Any

from tilewright.ir.expr import const_int_value
from tilewright.ir.module import IRModule
from tilewright.ir.op import Op
from tilewright.ir.structural import structural_equal
from tilewright.relax import op
from tilewright.relax.analysis.variables import definition
from tilewright.relax.expr import Call, Constant, PrimValue, RelaxExpr, Var
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.transform.channels_last import ELEMENTWISE
from tilewright.relax.transform.function_pass import ConvertingMutator, constant_of, is_call_of
from tilewright.relax.transform.processor_pass import ProcessorPass
from tilewright.relax.transform.winograd import is_of_floats
from tilewright.target import Target


class PointwiseConv2DToMatmul(ProcessorPass):
    """Multiply the pixels of images, as rows of one matrix, by the weights of 1 x 1 kernels.

    Tiles of registers then have the number of rows that suits them, however short the rows of
    images are. Element-wise operators that follow work on the matrix, too::

        before:  lv = R.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="HWIO")
                 lv1 = R.nn.relu(lv)                             # of shape (1, 7, 7, 960)
        after:   lv = R.matmul(R.reshape(x, (49, 160)), w1)
                 lv1 = R.nn.relu(lv)
                 lv2 = R.reshape(lv1, (1, 7, 7, 960))            # no element moves

    That is about convolutions with stride 1 of images with their channels last, as `ChannelsLast`
    makes them, and with weights that are constants.

    Args:
        target: what the program is compiled for; see `ProcessorPass`.
    """

    def transform_for(self, mod: IRModule, target: Target) -> IRModule:
        return _Conversion(mod).module()


class _Conversion(ConvertingMutator):
    """Puts reshapes around convolutions, and moves those behind an operator through the next."""

    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        if not isinstance(call.op, Op):
            return call
        if is_call_of(call, "nn.conv2d"):
            return self._convolution(call)
        if call.op.name.removeprefix("relax.") in ELEMENTWISE:
            return self._elementwise(call)
        return call

    def _convolution(self, call: Call) -> RelaxExpr:
        weights = constant_of(self.builder_, call.args[1])
        images: Any = call.args[0].struct_info
        result: Any = self.builder_.normalize(call).struct_info
        if weights is None or not _is_pointwise(call) or not is_of_floats(call, result):
            return call
        if images.extents is None:
            return call
        matrix = Constant(weights.data.numpy()[0, 0])
        product = self.builder_.emit(op.matmul(self._matrix(call.args[0]), matrix))
        return op.reshape(product, result.extents)

    def _elementwise(self, call: Call) -> RelaxExpr:
        """An operator on images, of which one at least was a matrix before."""
        result: Any = self.builder_.normalize(call).struct_info
        matrices = map(self._matrix_before, call.args)
        if result.extents is None or all(matrix is None for matrix in matrices):
            return call
        args = [self._operand(argument, result) for argument in call.args]
        known = tuple(argument for argument in args if argument is not None)
        if len(known) < len(args):
            return call
        changed = self.builder_.emit(call.replace(args=known, struct_info=None))
        return op.reshape(changed, result.extents)

    def _operand(self, value: Any, result: TensorStructInfo) -> RelaxExpr | None:
        """An operand of an element-wise operator.

        None if it is not an image, or depends on the position of a pixel.
        """
        if isinstance(value, PrimValue):
            return value
        info, constant = value.struct_info, constant_of(self.builder_, value)
        if not isinstance(info, TensorStructInfo) or info.extents is None:
            return None
        if constant is not None and math.prod(constant.data.shape[:-1]) == 1:
            return Constant(constant.data.numpy().reshape(constant.data.shape[-1:]))
        if not isinstance(value, Var) or not structural_equal(info.extents, result.extents):
            return None
        return self._matrix(value)

    def _matrix_before(self, value: Any) -> RelaxExpr | None:
        """The matrix that images were before; None for other values."""
        source: Any = definition(self.builder_.lookup_usable, value)
        if not is_call_of(source, "reshape"):
            return None
        before, after = source.args[0].struct_info.extents, value.struct_info.extents
        if before is None or after is None or (len(before), len(after)) != (2, 4):
            return None
        return source.args[0] if structural_equal(before[-1], after[-1]) else None

    def _matrix(self, value: Any) -> RelaxExpr:
        """Images as a matrix with a row for each pixel."""
        before = self._matrix_before(value)
        return self.converted(value, _pixels) if before is None else before


def _pixels(images: Any) -> RelaxExpr:
    *places, channels = images.struct_info.extents
    return op.reshape(images, (math.prod(places), channels))


def _is_pointwise(call: Call) -> bool:
    """Whether a convolution reads one pixel for each of its own, and has the layout."""
    attrs, padding = call.attrs, call.attrs["padding"]
    layouts = (attrs["data_layout"], attrs["kernel_layout"])
    if layouts != ("NHWC", "HWIO") or isinstance(padding, str) or any(padding):
        return False
    weights: Any = call.args[1].struct_info
    kernel = map(const_int_value, weights.extents[:2])
    return all(int(n or 0) == 1 for n in (*attrs["strides"], attrs["groups"], *kernel))
