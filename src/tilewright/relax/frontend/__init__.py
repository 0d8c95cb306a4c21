"""Models as graphs: classes of `nn`, and models of other frameworks, one package each."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from tilewright.relax.frontend.parameters import detach_params

if TYPE_CHECKING:
    from tilewright.relax.frontend import nn, torch

_MODULES: Final = ("nn", "torch")
"""Packages that are imported when they are first used."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
