"""From a tensor expression to a function that can be called."""

from __future__ import annotations

from collections.abc import Callable

import tilewright as tvm
from benchmarks.compiler.measure import Figure, scaled, seconds
from benchmarks.compiler.programs import TARGET, build, chain
from tilewright import te, tir
from tilewright.driver.build_module import lower
from tilewright.driver.pipeline import generate_code, legalization
from tilewright.target import Target
from tilewright.tir.transform.passes import MakePackedAPI

AIM_MS = 80.0
KERNEL_AIM_MS = 40.0


def measure(repeat: int) -> list[Figure]:
    rows = [
        Figure(
            "exp(A @ B) @ E, as written", scaled(seconds(as_written, repeat), 1e3), "ms", AIM_MS
        ),
        Figure("exp(A @ B) @ E, register tiles", scaled(seconds(in_tiles, repeat), 1e3), "ms"),
    ]
    tile = register_tile()
    kernel = scaled(seconds(lambda: callable_of(tile), repeat), 1e3)
    rows.append(Figure("matrix product of 6x64, register tile", kernel, "ms", KERNEL_AIM_MS))
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


def register_tile() -> tir.Schedule:
    """A product of 6x512 and 512x64 that keeps its result in registers."""
    a, b = te.placeholder((6, 512), name="A"), te.placeholder((512, 64), name="B")
    k = te.reduce_axis((0, 512), name="k")
    c = te.compute((6, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=[k]), name="C")
    sch = tir.Schedule(te.create_prim_func([a, b, c]))
    i, j, k = sch.get_loops("C")
    j_vector, j_lane = sch.split(j, [None, 16])
    sch.reorder(k, i, j_vector, j_lane)
    sch.unroll(i)
    sch.unroll(j_vector)
    sch.vectorize(j_lane)
    return sch


def callable_of(schedule: tir.Schedule) -> object:
    """From a schedule to a function that can be called."""
    return tvm.build(schedule.mod, target=TARGET)["main"]


def stages() -> list[tuple[str, Callable[[], object]]]:
    """The stages of the unscheduled program, each from the result of the one before."""
    program = chain()
    schedule = te.create_schedule(program.arguments[-1].op)
    arguments = list(program.arguments)
    target = Target(TARGET)
    lowered = lower(schedule, arguments)
    legal = legalization(target)(lowered)
    return [
        ("tensor expressions", chain),
        ("tvm.lower", lambda: tvm.lower(schedule, arguments)),
        ("vectors and registers", lambda: legalization(target)(lowered)),
        ("call boundary", lambda: MakePackedAPI()(legal)),
        ("call boundary and llvm", lambda: machine_code(legal, target)),
    ]


def machine_code(legal: tvm.IRModule, target: Target) -> int:
    """The call boundary, LLVM IR, and machine code in memory."""
    return generate_code(legal, target).function_address("__tvm_ffi_main")
