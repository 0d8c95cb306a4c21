"""A factor and a summand for each channel."""

from __future__ import annotations

from tilewright import te
from tilewright.te import Tensor
from tilewright.topi.nn.convolution import require_rank
from tilewright.topi.nn.window import require_equal


def scale_shift_nchw(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:  # noqa: N803
    """``x * scale + shift`` of each channel of ``(batch, channel, height, width)``."""
    return _scale_shift("scale_shift_nchw", Input, Scale, Shift, "NCHW")


def scale_shift_nhwc(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:  # noqa: N803
    """``x * scale + shift`` of each channel of ``(batch, height, width, channel)``."""
    return _scale_shift("scale_shift_nhwc", Input, Scale, Shift, "NHWC")


def _scale_shift(owner: str, data: Tensor, scale: Tensor, shift: Tensor, layout: str) -> Tensor:
    require_rank(owner, "Input", data, layout)
    channel = layout.index("C")
    for name, parameter in (("Scale", scale), ("Shift", shift)):
        require_rank(owner, name, parameter, "C")
        require_equal(owner, f"the channels and {name}", data.shape[channel], parameter.shape[0])
    return te.compute(
        data.shape, lambda *i: data(*i) * scale(i[channel]) + shift(i[channel]), owner, "broadcast"
    )
