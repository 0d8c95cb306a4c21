"""What `tir.trace` calls where nothing else is asked for."""

from __future__ import annotations

from typing import Any

from tilewright.runtime.registry import register_func


@register_func("tvm.default_trace_action", override=True)
def default_trace_action(*args: Any) -> None:
    """Print the arguments."""
    print(list(args), flush=True)
