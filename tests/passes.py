"""The parts of the pipeline for one function or a module, and in steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.driver import pipeline
from tilewright.ir.module import IRModule
from tilewright.ir.transform import Pass
from tilewright.target import Target
from tilewright.tir.transform.machine import Machine


def lower(program: Any) -> Any:
    """The lowered form."""
    return applied(pipeline.lowering(), program)


def legalize_for(program: Any, target: Target | Machine | None = None) -> Any:
    """The codegen form of a lowered program."""
    return applied(pipeline.legalization(target or Machine()), program)


def applied(step: Pass | Callable[[IRModule], IRModule], program: Any) -> Any:
    """The result of a pass for a program."""
    if isinstance(program, IRModule):
        return step(program)
    (result,) = step(IRModule.from_expr(program)).functions.values()
    return result
