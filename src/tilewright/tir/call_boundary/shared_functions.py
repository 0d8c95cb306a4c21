"""The functions that check arguments and are the same for all modules.

A backend may compile them once and leave them out of the modules.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType

from tilewright.ir.module import GlobalVar
from tilewright.tir.call_boundary.argument_errors import (
    DEVICE_ERROR,
    DTYPE_ERROR,
    KIND_ERROR,
    device_error_function,
    dtype_error_function,
    kind_error_function,
)
from tilewright.tir.call_boundary.array_check import ARRAY_CHECK, array_check_function
from tilewright.tir.function import PrimFunc


@functools.cache
def shared_functions() -> Mapping[GlobalVar, PrimFunc]:
    """The functions by name."""
    return MappingProxyType(
        {
            KIND_ERROR: kind_error_function(),
            DTYPE_ERROR: dtype_error_function(),
            DEVICE_ERROR: device_error_function(),
            ARRAY_CHECK: array_check_function(),
        }
    )
