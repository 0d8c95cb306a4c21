"""Lowering: from scheduled blocks to the loops, vectors and registers that backends accept.

``tvm.tir.transform.VectorizeLoop()`` is a pass of `tilewright.tir.transform.passes`, which is
loaded when the first of them is used: proofs about schedules need a few of the files only.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from tilewright.ir.transform import EachFunctionPass, Pass, pass_decorator
from tilewright.tir.function import PrimFunc

__all__ = ["PrimFuncPass", "prim_func_pass"]


def __getattr__(name: str) -> Any:
    if name[:1].isupper():  # others are files of this package
        for module in ("passes", "device.passes"):
            found = getattr(importlib.import_module(f"{__name__}.{module}"), name, None)
            if isinstance(found, type) and issubclass(found, Pass):
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class PrimFuncPass(EachFunctionPass):
    """A pass that transforms each `PrimFunc` of a module."""

    name = "PrimFuncPass"
    function_class = PrimFunc


def prim_func_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str | Pass] | None = None,
    traceable: bool = False,
) -> Any:
    """Make a pass of a function ``(func, mod, ctx) -> func``.

    It gets each `PrimFunc` of the module. A class with a method
    ``transform_function(self, func, mod, ctx)`` becomes a class of passes.

    Args:
        pass_func: the function or class; without, the result is a decorator.
        opt_level: from which level on a `Sequential` runs it.
        name: by default that of the function or class.
        required: passes, or their names, that a `Sequential` runs before it.
        traceable: kept for old programs.
    """
    del traceable
    return pass_decorator(PrimFuncPass, "transform_function", pass_func, opt_level, name, required)
