"""What a user calls to compile: `tvm.lower` and `tvm.build`, also by the name of this package."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.driver.build_module import build, lower

__all__ = ["build", "lower"]


def __getattr__(name: str) -> Any:
    if name in ("build_module", "default"):
        return importlib.import_module(f"{__name__}.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.build_module"), name)
