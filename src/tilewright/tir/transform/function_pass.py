"""Passes over tensor programs, for modules that hold other functions, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.ir.passes import EachFunctionPass, Pass, pass_decorator
from tilewright.tir.function import PrimFunc


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
