"""One random program under one random schedule, and the smallest steps that still go wrong."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np
from tests.property.block_programs import HEADER, BlockPrograms
from tests.property.harness import assert_same, count_program
from tests.property.random_schedules import Steps

import tilewright as tvm
from tilewright.ir import IRModule
from tilewright.script import from_source
from tilewright.tir import PrimFunc, Schedule, Trace
from tilewright.tir.interpreter import interpret
from tilewright.tir.stmt import For, ForKind

LARGEST = 10
"""The largest number of steps."""


class Case(NamedTuple):
    """A program and a schedule of it."""

    source: str
    func: PrimFunc
    trace: Trace

    def __str__(self) -> str:
        return f"{self.source}\n{self.trace}"


def check_pair(seed: int, *, compiled: bool) -> None:
    """Schedule a random program at random; it must compute what it computed before.

    Args:
        seed: chooses both.
        compiled: whether to check the native code of the result, too.
    """
    rng = random.Random(seed)
    source = BlockPrograms(rng).make()
    func = from_source(HEADER + source)
    assert isinstance(func, PrimFunc)
    sch = Schedule(func, seed=seed + 1, debug_mask="all")
    steps = Steps(rng, sch)
    for _ in range(rng.randint(1, LARGEST)):
        steps.step()
    case = Case(source, func, sch.trace)
    try:
        check_result(func, sch.mod, seed, compiled=compiled)
    except Exception as error:
        smallest = shrunk(case, seed, compiled=compiled)
        raise AssertionError(f"seed {seed}: {error}\n{smallest}") from error
    count_program("program and schedule pairs")
    for name in steps.applied:
        count_program(f"step {name}: accepted")
    for name in steps.refused:
        count_program(f"step {name}: refused")
    if compiled:
        count_program("program and schedule pairs compiled")


def arguments_of(func: PrimFunc, seed: int, like: PrimFunc | None = None) -> list[np.ndarray]:
    """Arrays of small whole numbers for the parameters of `func`."""
    rng = np.random.default_rng(seed)
    arrays = []
    for param in (like or func).params:
        buffer = func.buffer_map[param]
        shape = [int(extent.value) for extent in buffer.shape]  # type: ignore[attr-defined]
        arrays.append(rng.integers(-3, 4, shape).astype(buffer.dtype.numpy))
    return arrays


def check_result(func: PrimFunc, mod: IRModule, seed: int, *, compiled: bool) -> None:
    """Run a function before and after scheduling, and compare what it leaves in its arrays."""
    expected, actual = arguments_of(func, seed), arguments_of(func, seed)
    interpret(func, *expected)
    scheduled = mod["main"]
    if not has_same_parameters(func, scheduled):
        return  # the layout of a parameter was changed, and with it the interface
    interpret(scheduled, *actual, reverse_parallel=True)
    for one, other in zip(actual, expected, strict=True):
        assert_same(one, other, "interpreted")
    if compiled and not uses_threads(scheduled):
        arrays = [tvm.nd.array(array) for array in arguments_of(func, seed)]
        tvm.build(mod, target="llvm")["main"](*arrays)
        for array, other in zip(arrays, expected, strict=True):
            assert_same(array.numpy(), other, "compiled")


def has_same_parameters(before: PrimFunc, after: PrimFunc) -> bool:
    """Whether two functions take arrays of the same shapes."""
    shapes = [
        [[e.value for e in func.buffer_map[p].shape] for p in func.params]  # type: ignore[attr-defined]
        for func in (before, after)
    ]
    return shapes[0] == shapes[1]


def uses_threads(func: PrimFunc) -> bool:
    """Whether loops are bound to GPU threads."""
    return any(
        isinstance(node, For) and node.kind is ForKind.THREAD_BINDING
        for node in tvm.ir.walk(func.body)
    )


def shrunk(case: Case, seed: int, *, compiled: bool) -> Case:
    """The case with as many steps left out as possible, so that it still goes wrong."""
    insts = case.trace.simplified().insts
    position = len(insts) - 1
    while position >= 0:
        fewer = [*insts[:position], *insts[position + 1 :]]
        if _fails(case, Trace(fewer, case.trace.decisions), seed, compiled=compiled):
            insts = fewer
        position -= 1
    return case._replace(trace=Trace(insts, case.trace.decisions))


def _fails(case: Case, trace: Trace, seed: int, *, compiled: bool) -> bool:
    sch: Any = Schedule(case.func)
    try:
        trace.apply_to_schedule(sch)
    except Exception:
        return False  # the other steps do not apply any more
    try:
        check_result(case.func, sch.mod, seed, compiled=compiled)
    except Exception:
        return True
    return False
