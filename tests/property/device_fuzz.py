"""One random program on a device, with random loops bound to its blocks and threads."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest
from tests.property.harness import assert_same
from tests.property.schedule_fuzz import arguments_of, random_case, specialized
from tests.target.codegen.device.emulated_cuda import EmulatedCuda, use_emulation
from tests.time_limit import LAST_WORDS, time_limit

import tilewright as tvm
from tilewright.error import CodegenError, LoweringError
from tilewright.ir import IRModule
from tilewright.runtime import Device, Module
from tilewright.schedule_rules import thread_rows
from tilewright.schedule_rules.eligible import lacks_threads
from tilewright.schedule_rules.nest import attempt
from tilewright.tir import PrimFunc, Schedule
from tilewright.tir.expr import IterType
from tilewright.tir.interpreter import interpret
from tilewright.tir.schedule import BlockRV, LoopRV
from tilewright.tir.stmt import For, ForKind, SeqStmt
from tilewright.tir.substitute import variables_of

AXES = ("blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y", "threadIdx.x", "vthread.x")


class DeviceCase(NamedTuple):
    """A random program, and its loops on threads.

    Attributes:
        seed: what it was made from.
        source: its text.
        func: the program.
        kind: ``"default"`` for the default schedule, ``"bound"`` for random threads.
        program: what is built.
        expected: its arguments after it has run.
    """

    seed: int
    source: str
    func: PrimFunc
    kind: str
    program: PrimFunc
    expected: list[np.ndarray]


def random_device_case(seed: int) -> DeviceCase | None:
    """A program and its results by the interpreter; None for one that has threads already."""
    rng = random.Random(seed)
    case, _ = random_case(rng)
    LAST_WORDS.begin(f"seed {seed}\n{case.source}")
    func = specialized(case.mod["main"], case.size).with_attr("tir.noalias", True)
    if not lacks_threads(func):
        return None
    expected = arguments_of(func, seed)
    interpret(func, *expected)
    kind = rng.choice(("default", "default", "bound", "bound", "bound"))
    if kind == "bound":
        program = with_random_threads(func, rng)
    else:
        program = func if rng.random() < 0.5 else with_shared_rows(func)
    return DeviceCase(seed, case.source, func, kind, program, expected)


def assert_right(case: DeviceCase, module: Module, device: Device) -> None:
    """Run a program on a device, and compare what it computes."""
    try:
        with time_limit():
            arrays = [tvm.nd.array(array, device) for array in arguments_of(case.func, case.seed)]
            module["main"](*arrays)
            for array, wanted in zip(arrays, case.expected, strict=True):
                assert_same(array.numpy(), wanted)
    except Exception as error:
        text = f"{case.source}\n{script(case.program)}"
        raise AssertionError(f"seed {case.seed}: {error}\n{text}") from error


def built(case: DeviceCase, target: str) -> Module | str:
    """The module of a program, or why it was refused."""
    try:
        with time_limit():
            return tvm.build(case.program, target=target)
    except (LoweringError, CodegenError) as error:
        return f"{type(error).__name__}: {error}"
    except Exception as error:
        raise AssertionError(f"seed {case.seed}: {error}\n{case.source}") from error


def check_on_device(seed: int) -> str:
    """Build a random program for OpenCL, and compare what it computes with the interpreter.

    Returns:
        What was done: ``"default"`` or ``"bound"``, or why it was refused.
    """
    case = random_device_case(seed)
    if case is None:
        return "has threads"
    module = built(case, "opencl")
    if isinstance(module, str):
        return module
    assert_right(case, module, tvm.opencl(0))
    return case.kind


def check_on_emulated_cuda(seeds: Sequence[int]) -> int:
    """Run the CUDA text of random programs, each in two orders of threads.

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
            for order in range(2):
                api.seed = 2 * case.seed + order
                assert_right(case, module, tvm.cuda(0))
    return len(modules)


def is_thread(loop: For) -> bool:
    """Whether a loop is bound to an axis of the device."""
    return loop.thread_binding is not None and "Idx" in loop.thread_binding.thread_tag


def script(program: PrimFunc) -> str:
    """The program as it is scheduled."""
    if lacks_threads(program):
        return tvm.default_schedule(program, "opencl").mod.script()
    return program.script()


def with_random_threads(func: PrimFunc, rng: random.Random) -> PrimFunc:
    """A program with random loops bound, and each nest of loops in a thread at least."""
    sch = Schedule(IRModule({"main": func}), error_render_level="none")
    for block in sch.get_child_blocks(sch.get_block("root")):
        if rng.random() < 0.3:
            sch = attempt(sch, partial(share_operand, rng, block)) or sch
    for block in sch.get_child_blocks(sch.get_block("root")):
        if rng.random() < 0.5:
            sch = with_shared_reduction(sch, block, rng)
        loops = sch.get_loops(block)
        for loop in loops:
            if sch.get(loop).kind is not ForKind.SERIAL or rng.random() < 0.4:
                continue
            sch = attempt(sch, partial(bind_randomly, rng, loop, rng.choice(AXES), 0.3)) or sch
        if loops and rng.random() < 0.4:
            step = rng.choice((vectorize_randomly, vectorize_randomly, unroll_randomly))
            sch = attempt(sch, partial(step, rng, block)) or sch
        outer = sch.get_loops(block)
        if not any(is_thread(sch.get(loop)) for loop in outer):
            place = outer[0] if outer else block
            sch = attempt(sch, lambda s, p=place: s.bind(s.add_unit_loop(p), "threadIdx.x")) or sch
    for block in sch.get_child_blocks(sch.get_block("root")):
        for loop in sch.get_loops(block):
            if rng.random() < 0.4:
                pipeline_randomly(rng, loop, sch)
    return sch.mod["main"]


def with_shared_rows(func: PrimFunc) -> PrimFunc:
    """A program with the default schedule of a device for which short rows are long."""
    small = {"WARP": 2, "PART": 4, "BLOCK_THREADS": 8, "ROW_THREADS": 4, "SHARED_BYTES": 64}
    with mock.patch.multiple(thread_rows, **small):
        return tvm.default_schedule(func, "opencl").mod["main"]


def share_operand(rng: random.Random, block: BlockRV, sch: Schedule) -> None:
    """Let a block read an operand from shared memory, into which it is copied at a loop."""
    copy = sch.cache_read(block, 0, "shared")
    loops = sch.get_loops(block)
    sch.compute_at(copy, rng.choice(loops))
    for loop in sch.get_loops(copy)[-2:]:
        if rng.random() < 0.4:
            bind_randomly(rng, loop, rng.choice(AXES), 0.3, sch)
    if rng.random() < 0.5:
        vectorize_randomly(rng, copy, sch)


def vectorize_randomly(rng: random.Random, block: BlockRV, sch: Schedule) -> None:
    """Vectorise the innermost loop around a block, or a part of it."""
    *_, loop = sch.get_loops(block)
    if rng.random() < 0.7:
        *_, loop = sch.split(loop, [None, rng.choice((2, 4, 4, 8, 16))])
    sch.vectorize(loop)


def pipeline_randomly(rng: random.Random, loop: LoopRV, sch: Schedule) -> None:
    """Let the iterations of a loop of several statements overlap."""
    stmt = sch.get(loop)
    if stmt.kind is not ForKind.SERIAL or not isinstance(stmt.body, SeqStmt):
        return
    count = len(stmt.body.seq)
    stages = [0] * (count - 1) + [rng.choice((1, 1, 2, 3))]
    if rng.random() < 0.2:
        stages = sorted(rng.randint(0, 2) for _ in range(count))
    sch.annotate(loop, "software_pipeline_stage", stages)
    if rng.random() < 0.5:
        sch.annotate(loop, "software_pipeline_async_stages", [stages[0]])
    if rng.random() < 0.3:
        sch.annotate(loop, "software_pipeline_order", [*range(1, count), 0])


def unroll_randomly(rng: random.Random, block: BlockRV, sch: Schedule) -> None:
    """Unroll the innermost loop around a block, or those that are short."""
    loops = sch.get_loops(block)
    if rng.random() < 0.5:
        sch.unroll(loops[-1])
        return
    sch.annotate(loops[0], "pragma_auto_unroll_max_step", rng.choice((2, 8, 64)))
    sch.annotate(loops[0], "pragma_unroll_explicit", rng.choice((0, 1)))


def with_shared_reduction(sch: Schedule, block: BlockRV, rng: random.Random) -> Schedule:
    """A schedule in which threads share a reduction of a block, if it has one."""
    _, realize = sch.statement(block)
    iterators = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    values = [value for item, value in iterators if item.iter_type is IterType.COMM_REDUCE]
    reduced = {var for value in values for var in variables_of(value)}
    loops = [loop for loop in sch.get_loops(block) if sch.get(loop).loop_var in reduced]
    for axis in rng.sample(("threadIdx.x", "threadIdx.y"), rng.choice((1, 1, 1, 2))):
        if not loops:
            break
        loop = loops.pop(rng.randrange(len(loops)))
        sch = attempt(sch, partial(bind_randomly, rng, loop, axis, 0.6)) or sch
    return sch


def bind_randomly(rng: random.Random, loop: LoopRV, axis: str, split: float, sch: Schedule) -> None:
    """Bind a loop, or with a probability of `split` one of its parts."""
    if rng.random() < split:
        loop = rng.choice(sch.split(loop, [None, rng.choice((2, 3, 4, 8))]))
    sch.bind(loop, axis)
