"""See `tilewright.runtime.registry`."""

from tilewright.runtime.registry import (
    get_global_func,
    list_global_func_names,
    register_func,
    remove_global_func,
)

__all__ = ["get_global_func", "list_global_func_names", "register_func", "remove_global_func"]
