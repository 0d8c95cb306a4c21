"""Questions about tensor programs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tilewright.tir.analysis.verify import verify_well_formed

if TYPE_CHECKING:
    from tilewright.tir.analysis.dependence import dependences


def __getattr__(name: str) -> Any:
    """Dependences are loaded when they are first asked for."""
    if name == "dependences":
        return importlib.import_module("tilewright.tir.analysis.dependence").dependences
    raise AttributeError(f"module 'tilewright.tir.analysis' has no attribute {name!r}")
