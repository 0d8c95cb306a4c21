"""One random program on a device, under a random schedule of its loops on blocks and threads."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest
from tests.property import block_programs
from tests.property.device_schedules import SHARES, random_threads
from tests.property.harness import assert_same
from tests.property.schedule_fuzz import (
    SMALL_SIZES,
    arguments_of,
    has_same_parameters,
    is_defined,
    random_case,
    specialized,
)
from tests.target.codegen.device.emulated_cuda import EmulatedCuda, use_emulation
from tests.target.codegen.device.oclgrind import complaints
from tests.time_limit import LAST_WORDS, TakesTooLongError, time_limit

import tilewright as tvm
from tilewright.error import CodegenError, LoweringError
from tilewright.runtime import Device, Module
from tilewright.schedule_rules.eligible import lacks_threads
from tilewright.tir import PrimFunc, Schedule, ScheduleError
from tilewright.tir.interpreter import interpret
from tilewright.tir.substitute import symbolic_sizes
from tilewright.tir.transform.device import large_memory

NOT_ITS_MEMORY = re.compile(
    r"each (?:block|thread) has (\w+) of|(\w+) is in (?:shared|local) memory"
)
DTYPES = (*block_programs.DTYPES, *block_programs.DTYPES, *block_programs.LARGEST)
"""Of the values of a program."""

SYMBOLIC = 0.25
"""The share of programs of which some extents are symbolic; half of these get constant ones."""

SMALL_MEMORY = 64
"""Bytes from which on some programs have the memory of a thread in that of the device."""

ORDERS = 2
"""In so many orders of threads the emulation runs each program."""


class Result(NamedTuple):
    """The arguments of a call, and what they are afterwards."""

    arguments: list[np.ndarray]
    expected: list[np.ndarray]


class DeviceCase(NamedTuple):
    """A random program, and its loops on threads.

    Attributes:
        seed: what it was made from.
        kind: of the schedule, one of `SHARES`.
        source: the text of the program.
        program: what is built: a function called ``seed_<seed>``.
        results: what it does by the interpreter, for one or more sizes.
    """

    seed: int
    kind: str
    source: str
    program: PrimFunc
    results: list[Result]

    @property
    def name(self) -> str:
        """Of the function, by which reports name it."""
        return f"seed_{self.seed}"

    def failed(self, error: object) -> AssertionError:
        """An error that shows the program."""
        shown = self.program
        if lacks_threads(shown):
            shown = tvm.default_schedule(shown, "opencl").mod["main"]
        text = f"{self.source}\n{shown.script()}"
        return AssertionError(f"seed {self.seed} ({self.kind}): {error}\n{text}")


def random_device_case(seed: int) -> DeviceCase | None:
    """A program and its results by the interpreter; None where a step changed the parameters."""
    rng = random.Random(seed)
    case, _ = random_case(rng, dtypes=DTYPES, symbolic=SYMBOLIC)
    LAST_WORDS.begin(f"seed {seed}\n{case.source}")
    func = case.mod["main"].with_attr("tir.noalias", True)
    if not lacks_threads(func):
        return None
    if rng.random() < 0.5:
        func = specialized(func, case.size)
    kind = rng.choices([*SHARES], [*SHARES.values()])[0]
    try:
        with time_limit():
            program = random_threads(func, kind, rng)
    except (Exception, TakesTooLongError) as error:
        raise AssertionError(f"seed {seed} ({kind}): {error!r}\n{case.source}") from error
    if not has_same_parameters(func, program):
        return None
    sizes = [case.size]
    if symbolic_sizes(func):
        sizes += [size for size in SMALL_SIZES if is_defined(specialized(func, size), seed)]
    results = [_result(specialized(func, size), seed) for size in sizes]
    program = program.with_attr("global_symbol", f"seed_{seed}")
    return DeviceCase(seed, kind, case.source, program, results)


def _result(func: PrimFunc, seed: int) -> Result:
    arguments, expected = arguments_of(func, seed), arguments_of(func, seed)
    interpret(func, *expected)
    return Result(arguments, expected)


def assert_right(case: DeviceCase, module: Module, device: Device) -> None:
    """Run a program on a device, and compare what it computes."""
    try:
        with time_limit():
            for arguments, expected in case.results:
                arrays = [tvm.nd.array(array, device) for array in arguments]
                module[case.name](*arrays)
                for array, wanted in zip(arrays, expected, strict=True):
                    assert_same(array.numpy(), wanted)
    except (Exception, TakesTooLongError) as error:
        raise case.failed(error) from error


def built(case: DeviceCase, target: str) -> Module | str:
    """The module of a program, or why it was refused.

    Memory that is used by more threads than have it is put into global memory instead.
    """
    program, reason = case.program, ""
    large = SMALL_MEMORY if case.seed % 8 == 0 else large_memory.LARGE
    try:
        while True:
            try:
                with time_limit(), mock.patch.object(large_memory, "LARGE", large):
                    return tvm.build(program, target=target)
            except (LoweringError, CodegenError) as error:
                reason = f"{type(error).__name__}: {error}"
            changed = with_global_memory(program, reason)
            if changed is None:
                return reason
            program = changed
    except (Exception, TakesTooLongError) as error:
        raise case._replace(program=program).failed(repr(error)) from error


def with_global_memory(program: PrimFunc, reason: str) -> PrimFunc | None:
    """The program with the buffer that a refusal is about in global memory, if there is one."""
    named = NOT_ITS_MEMORY.search(reason)
    if named is None:
        return None
    sch = Schedule(program)
    for realize in sch.state.tree("main").blocks():
        for number, region in enumerate(realize.block.writes):
            buffer = region.buffer
            if buffer.name in named.groups() and buffer.scope() != "global":
                try:
                    sch.set_scope(sch.get_block(realize.block.name_hint), number, "global")
                except ScheduleError:
                    return None
                return sch.mod["main"]
    return None


def check_on_device(seed: int) -> str:
    """Build a random program for OpenCL, and compare what it computes with the interpreter.

    Returns:
        The kind of its schedule, or why it was refused.
    """
    case = random_device_case(seed)
    if case is None:
        return "other parameters"
    module = built(case, "opencl")
    if isinstance(module, str):
        return module
    assert_right(case, module, tvm.opencl(0))
    return case.kind


def check_on_emulated_cuda(seeds: Sequence[int]) -> int:
    """Run the CUDA text of random programs, each in several orders of threads.

    Returns:
        The number of programs that were run.
    """
    cases = [case for case in map(random_device_case, seeds) if case is not None]
    modules = [
        (case, module) for case in cases if not isinstance(module := built(case, "cuda"), str)
    ]
    api = EmulatedCuda([module.imported_modules[0].get_source() for _, module in modules])
    with pytest.MonkeyPatch.context() as monkeypatch:
        use_emulation(monkeypatch, api)
        for case, module in modules:
            for order in range(ORDERS):
                api.seed = ORDERS * case.seed + order
                assert_right(case, module, tvm.cuda(0))
    return len(modules)


SIMULATED = """
import sys
from tests.property.device_fuzz import check_on_device
for seed in range(int(sys.argv[1]), int(sys.argv[2])):
    check_on_device(seed)
"""


def check_on_simulator(seeds: range) -> None:
    """Run random programs under Oclgrind, which finds races, and indices outside of memory."""
    found = complaints(SIMULATED, str(seeds.start), str(seeds.stop), unwritten=False)
    assert not found, found[:4000]
