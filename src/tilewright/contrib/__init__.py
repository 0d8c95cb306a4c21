"""Tools beside the compiler, under the names that programs for TVM use."""

from tilewright.contrib import cc, clang, utils

__all__ = ["cc", "clang", "utils"]
