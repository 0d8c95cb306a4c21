"""Convolutions of patches that do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray as Array

from tilewright.ir.expr import const_int_value
from tilewright.ir.module import IRModule
from tilewright.relax import op
from tilewright.relax.expr import Call, RelaxExpr, const
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.transform.channels_last import TO_FIRST
from tilewright.relax.transform.function_pass import ModuleMutator, constant_of, is_call_of
from tilewright.relax.transform.processor_pass import ProcessorPass
from tilewright.relax.transform.winograd import is_of_floats
from tilewright.target import Target

LEAST_FILTERS: Final = 64
"""Number of filters from which on an element of a patch is used so often that moving it pays."""


class PatchConv2DToMatmul(ProcessorPass):
    """Multiply patches that do not overlap by one matrix.

    That is the first step of vision transformers. The patches of all rows of an image are the rows
    of one product then, and the elements of each are side by side::

        before:  lv = R.nn.conv2d(x, w, strides=16)     # w of shape (768, 3, 16, 16)
        after:   lv = R.reshape(x, (1, 3, 14, 16, 14, 16))
                 lv1 = R.permute_dims(lv, axes=[0, 2, 4, 1, 3, 5])
                 lv2 = R.matmul(R.reshape(lv1, (1, 196, 768)), w1)
                 lv3 = R.permute_dims(R.reshape(lv2, (1, 14, 14, 768)), axes=[0, 3, 1, 2])

    The weights are constants; images are divided into whole patches. Convolutions of images with
    their channels last read their patches in order as it is.

    Args:
        target: what the program is compiled for; see `ProcessorPass`.
    """

    def transform_for(self, mod: IRModule, target: Target) -> IRModule:
        return _Products(mod).module()


class _Products(ModuleMutator):
    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        if not is_call_of(call, "nn.conv2d"):
            return call
        weights = constant_of(self.builder_, call.args[1])
        result = self.builder_.normalize(call).struct_info
        if weights is None or not is_of_floats(call, result):
            return call
        if not _takes_patches(call, weights.data.shape):
            return call
        return self._product(call.args[0], weights.data.numpy())

    def _product(self, images: Any, weights: Array[Any]) -> RelaxExpr:
        """The convolution of `images`, of shape ``(batch, channels, height, width)``."""
        filters, channels, high, wide = weights.shape
        batch, _, *extents = images.struct_info.extents
        rows, columns = int(extents[0]) // high, int(extents[1]) // wide
        emit = self.builder_.emit
        parts = emit(op.reshape(images, (batch, channels, rows, high, columns, wide)))
        moved = emit(op.permute_dims(parts, (0, 2, 4, 1, 3, 5)))
        patches = emit(op.reshape(moved, (batch, rows * columns, channels * high * wide)))
        matrix = const(np.ascontiguousarray(weights.reshape(filters, -1).T))
        product = emit(op.matmul(patches, matrix))
        last = emit(op.reshape(product, (batch, rows, columns, filters)))
        return op.permute_dims(last, TO_FIRST)


def _takes_patches(call: Call, shape: Sequence[int]) -> bool:
    """Whether windows do not overlap, and make up whole images with their channels first.

    Args:
        shape: of the weights.
    """
    attrs, info = call.attrs, call.args[0].struct_info
    if (attrs["data_layout"], attrs["kernel_layout"]) != ("NCHW", "OIHW"):
        return False
    if not isinstance(info, TensorStructInfo) or info.extents is None:
        return False
    filters, _, *kernel = shape
    is_plain = attrs["groups"] == 1 and tuple(attrs["dilation"]) == (1, 1)
    is_padded = isinstance(attrs["padding"], str) or any(attrs["padding"])
    if not is_plain or is_padded or tuple(attrs["strides"]) != tuple(kernel):
        return False
    extents = map(const_int_value, info.extents[2:])
    is_whole = all(n and n % size == 0 for n, size in zip(extents, kernel, strict=True))
    return is_whole and kernel != [1, 1] and filters >= LEAST_FILTERS
