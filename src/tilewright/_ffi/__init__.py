"""The registry of functions, where programs for older versions of TVM look for it."""

from tilewright._ffi import registry
from tilewright.runtime.registry import (
    convert,
    get_global_func,
    list_global_func_names,
    register_func,
    remove_global_func,
)

__all__ = [
    "convert",
    "get_global_func",
    "list_global_func_names",
    "register_func",
    "registry",
    "remove_global_func",
]
