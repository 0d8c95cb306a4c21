"""What the arguments of a measured function look like."""

from tilewright.tune.candidate import ArgInfo, TensorInfo

__all__ = ["ArgInfo", "TensorInfo"]
