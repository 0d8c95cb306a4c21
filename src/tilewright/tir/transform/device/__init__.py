"""From loops over blocks and threads of a device to kernels and the code that launches them."""

from typing import Final

LAUNCH_AXES: Final = "tir.kernel_launch_params"
"""The attribute of a kernel: the tags of its axes, the outermost first."""
