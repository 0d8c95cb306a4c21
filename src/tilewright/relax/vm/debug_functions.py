"""Registered functions that print and call while a graph function runs, for debugging."""

from __future__ import annotations

from typing import Any, Final

from tilewright.error import UnknownNameError
from tilewright.runtime.registry import get_global_func, register_func

CALL_FUNCTION: Final = "vm.builtin.invoke_debug_func"


@register_func(CALL_FUNCTION, override=True)
def invoke_debug_func(effect: Any, name: str, line: str, *args: Any) -> Any:
    """Call the registered function `name` with a line of the source and arguments.

    Args:
        effect: the state before the call, which is returned.
        name: the function.
        line: ``"file:line"``, the place in the user's source.
        *args: its further arguments.

    Raises:
        UnknownNameError: if no such function is registered.
    """
    function = get_global_func(name, allow_missing=True)
    if function is None:
        raise UnknownNameError(
            f"{line}: debug_func calls {name!r}, and no function of that name is registered: use "
            f"register_func({name!r})"
        )
    function(line, *args)
    return effect


@register_func("vm.builtin.debug_print", override=True)
def debug_print(line: str, value: Any) -> None:
    """Print a value, and the place in the source where that is asked for."""
    print(f"[{line}]: {value!r}", flush=True)
