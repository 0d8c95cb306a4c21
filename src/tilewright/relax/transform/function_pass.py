"""Passes over graph functions, and over their dataflow blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.transform import EachFunctionPass, Pass, pass_decorator
from tilewright.relax.expr import DataflowBlock, Function
from tilewright.relax.transform.scopes import ScopeRewriter


def map_functions(mod: IRModule, change: Callable[[Function], Function]) -> IRModule:
    """`mod` with `change` applied to each graph function; `mod` itself if nothing changes."""
    functions = {
        var: change(func) if isinstance(func, Function) else func
        for var, func in mod.functions.items()
    }
    if all(functions[var] is func for var, func in mod.functions.items()):
        return mod
    return IRModule(functions, mod.attrs, mod.global_infos)


class FunctionPass(EachFunctionPass):
    """A pass that transforms each graph function of a module."""

    name = "FunctionPass"
    function_class = Function

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        """The transformed function, or None to remove it; `mod` is the module before the pass."""
        raise NotImplementedError


class DataflowBlockPass(FunctionPass):
    """A pass that transforms each dataflow block of the graph functions of a module."""

    name = "DataflowBlockPass"

    def transform_dataflowblock(
        self, block: DataflowBlock, mod: IRModule, ctx: PassContext
    ) -> DataflowBlock:
        """The transformed block, which must bind the same variables that others use."""
        raise NotImplementedError

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return _EachBlock(self, mod, ctx)(func)


class _EachBlock(ScopeRewriter):
    def __init__(self, block_pass: DataflowBlockPass, mod: IRModule, ctx: PassContext) -> None:
        self._pass, self._mod, self._ctx = block_pass, mod, ctx

    def DataflowBlock(self, block: DataflowBlock) -> DataflowBlock:
        block = block.map_children(self)
        result = self._pass.transform_dataflowblock(block, self._mod, self._ctx)
        if not isinstance(result, DataflowBlock):
            raise ArgumentError(
                "a pass over dataflow blocks gives a DataflowBlock, this one gave a "
                f"{type(result).__name__}"
            )
        return result


def function_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str | Pass] | None = None,
    traceable: bool = False,
) -> Any:
    """Make a pass of a function ``(func, mod, ctx) -> func``.

    It gets each graph function of the module. A class with a method
    ``transform_function(self, func, mod, ctx)`` becomes a class of passes.

    Args:
        pass_func: the function or class; without, the result is a decorator.
        opt_level: from which level on a `Sequential` runs it.
        name: by default that of the function or class.
        required: passes, or their names, that a `Sequential` runs before it.
        traceable: kept for old programs.
    """
    del traceable
    return pass_decorator(FunctionPass, "transform_function", pass_func, opt_level, name, required)


def dataflowblock_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str | Pass] | None = None,
    traceable: bool = False,
) -> Any:
    """Make a pass of a function ``(block, mod, ctx) -> block``.

    It gets each dataflow block of the graph functions of the module. A class with a method
    ``transform_dataflowblock(self, block, mod, ctx)`` becomes a class of passes.

    Args:
        pass_func: the function or class; without, the result is a decorator.
        opt_level: from which level on a `Sequential` runs it.
        name: by default that of the function or class.
        required: passes, or their names, that a `Sequential` runs before it.
        traceable: kept for old programs.
    """
    del traceable
    return pass_decorator(
        DataflowBlockPass, "transform_dataflowblock", pass_func, opt_level, name, required
    )
