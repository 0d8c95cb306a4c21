"""Models as graphs: classes of `nn`, and models of other frameworks, one package each."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from tilewright.ir.module import IRModule
from tilewright.relax.expr import Function
from tilewright.runtime.ndarray import NDArray

if TYPE_CHECKING:
    from tilewright.relax.frontend import nn, onnx, torch

_MODULES: Final = ("nn", "onnx", "torch")
"""Packages that are imported when they are first used."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def detach_params(mod: IRModule) -> tuple[IRModule, dict[str, list[NDArray]]]:
    """Take the weights out of the attribute ``params`` of each graph function.

    Args:
        mod: a module that was imported with ``keep_params_as_input=True``.

    Returns:
        The module without them, and for each function that had some the weights in the order of
        its last parameters.
    """
    result = mod.clone()
    params: dict[str, list[NDArray]] = {}
    for name, function in mod.functions.items():
        if isinstance(function, Function) and "params" in function.attrs:
            params[name.name_hint] = [weight.data for weight in function.attrs["params"]]
            result.update_func(name, function.without_attr("params"))
    return result, params
