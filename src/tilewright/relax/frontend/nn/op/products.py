"""Products and convolutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.relax import op
from tilewright.relax.frontend.nn.op.operator import renamed, tensor_operator

matmul = renamed(op.matmul, "matmul", "a", "b", "out_dtype")


def _with_bias(product: Any, bias: Any, layout: str) -> Any:
    """A convolution plus a number for each channel."""
    if bias is None:
        return product
    return op.add(product, op.reshape(bias, [-1 if axis == "C" else 1 for axis in layout]))


def _convolution(name: str, layout: str) -> Callable[..., Any]:
    function = getattr(op.nn, name)

    def convolution(
        x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, data_layout: str = layout,
    ) -> Any:  # fmt: skip
        product = function(x, weight, stride, padding, dilation, groups, data_layout)
        return _with_bias(product, bias, data_layout)

    convolution.__name__ = name
    convolution.__doc__ = f"""`tilewright.relax.op.nn.{name}`, plus a number for each channel.

    Args:
        x: the images.
        weight: the filters.
        bias: ``(channels,)``, or None.
        stride: the steps of the filters.
        padding: how many zeros are around the images.
        dilation: the steps between elements of a filter.
        groups: of channels, which are convolved on their own.
        data_layout: the order of the dimensions.
    """
    return tensor_operator(convolution)


conv1d = _convolution("conv1d", "NCW")
conv2d = _convolution("conv2d", "NCHW")
conv3d = _convolution("conv3d", "NCDHW")


@tensor_operator
def conv1d_transpose(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, dilation: Any = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """The transposed convolution, plus a number for each channel.

    Args:
        x: ``(batch, channels, width)``.
        weight: ``(channels, channels of the result / groups, width)``.
        bias: ``(channels of the result,)``, or None.
        stride: the steps of the filters in the result.
        padding: how many elements are cut off at both ends.
        output_padding: how many are added at the end.
        dilation: the steps between elements of a filter.
        groups: of channels, which are convolved on their own.
    """
    product = op.nn.conv1d_transpose(x, weight, stride, padding, output_padding, dilation, groups)
    return _with_bias(product, bias, "NCW")
