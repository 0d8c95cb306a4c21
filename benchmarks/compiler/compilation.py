"""From a tensor expression to a function that can be called."""

from __future__ import annotations

from collections.abc import Callable

import tilewright as tvm
from benchmarks.compiler.measure import Figure, scaled, seconds
from benchmarks.compiler.programs import TARGET, build, chain
from tilewright import te
from tilewright.driver.lower import lower
from tilewright.target import Target
from tilewright.tir.transform.make_packed_api import make_packed_api
from tilewright.tir.transform.pipeline import legalize_for

AIM_MS = 80.0


def measure(repeat: int) -> list[Figure]:
    rows = [
        Figure(
            "exp(A @ B) @ E, as written", scaled(seconds(as_written, repeat), 1e3), "ms", AIM_MS
        ),
        Figure("exp(A @ B) @ E, register tiles", scaled(seconds(in_tiles, repeat), 1e3), "ms"),
    ]
    return rows + [
        Figure(f"  {name}", scaled(seconds(stage, repeat), 1e3), "ms") for name, stage in stages()
    ]


def as_written() -> None:
    """Without a schedule."""
    build(chain().arguments)["default_function"]


def in_tiles() -> None:
    """Both products in register tiles."""
    program = chain()
    build(program.arguments, *program.products)["default_function"]


def stages() -> list[tuple[str, Callable[[], object]]]:
    """The stages of the unscheduled program, each from the result of the one before."""
    program = chain()
    schedule = te.create_schedule(program.arguments[-1].op)
    arguments = list(program.arguments)
    target = Target(TARGET)
    lowered = lower(schedule, arguments)
    legal = legalize_for(lowered, target)
    packed = make_packed_api(legal)
    return [
        ("tensor expressions", chain),
        ("tvm.lower", lambda: tvm.lower(schedule, arguments)),
        ("vectors and registers", lambda: legalize_for(lowered, target)),
        ("call boundary", lambda: make_packed_api(legal)),
        ("llvm", lambda: compile_packed(packed, target)),
    ]


def compile_packed(module: tvm.IRModule, target: Target) -> int:
    """LLVM's part: text, optimisation and machine code in memory."""
    from tilewright.target.codegen.llvm import compile_module

    return compile_module(module, target).function_address("__tvm_ffi_main")
