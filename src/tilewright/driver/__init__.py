"""What a user calls to compile: `tvm.lower` and `tvm.build`, also by the name of this package."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tilewright.driver.building import build
    from tilewright.driver.lowering import lower

__all__ = ["build", "lower"]

_HOME: Final = {"build": "tilewright.driver.building", "lower": "tilewright.driver.lowering"}


def __getattr__(name: str) -> Any:
    if name in ("build_module", "default"):
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
