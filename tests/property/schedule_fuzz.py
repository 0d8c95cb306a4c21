"""One random program under one random schedule, and the smallest steps that still go wrong."""

from __future__ import annotations

import json
import random
from typing import Any, NamedTuple

import numpy as np
from tests.counts import COMPILED, PAIRS, REPLAYED, SMALL, count_program
from tests.property import nest_stages, plain_stages, reduction_stages
from tests.property.block_programs import HEADER, BlockPrograms
from tests.property.harness import assert_same
from tests.property.random_schedules import Steps
from tests.time_limit import LAST_WORDS, TakesTooLongError, time_limit

import tilewright as tvm
from tilewright import tir
from tilewright.arith import Analyzer
from tilewright.error import InterpreterError
from tilewright.ir import IRModule, assert_structural_equal
from tilewright.ir.expr import IntImm
from tilewright.script import from_source
from tilewright.tir import Buffer, PrimFunc, Schedule, Trace
from tilewright.tir.interpreter import interpret
from tilewright.tir.stmt import For, ForKind
from tilewright.tir.substitute import symbolic_sizes

STAGES = [*plain_stages.STAGES, *reduction_stages.STAGES, *nest_stages.STAGES]

LARGEST = 10
"""The largest number of steps."""

SMALL_SIZES = (0, 1)
"""Values of a symbolic size for which most programs still have a meaning."""

TRACES = 0.15
"""The share of the pairs whose traces are replayed."""


class Case(NamedTuple):
    """A program and a schedule of it.

    Attributes:
        source: the text of the program.
        mod: the program.
        trace: the steps.
        size: the value of a symbolic size.
    """

    source: str
    mod: IRModule
    trace: Trace
    size: int

    def __str__(self) -> str:
        return f"{self.source}\n{self.trace}"


def check_pair(seed: int, *, compiled: bool) -> None:
    """Schedule a random program at random; it must compute what it computed before.

    Args:
        seed: chooses both.
        compiled: whether to check the native code of the result, too.

    Raises:
        AssertionError: if it does not, or takes too long; with the seed, the program and its steps.
    """
    rng = random.Random(seed)
    case, others = random_case(rng)
    LAST_WORDS.begin(f"seed {seed}\n{case.source}")
    sch = Schedule(case.mod, seed=seed + 1, debug_mask="all")
    sch.work_on("main")
    steps = Steps(rng, sch)
    try:
        with time_limit():
            copied = _take_steps(rng, steps)
    except (Exception, TakesTooLongError) as error:
        case = case._replace(trace=sch.trace)
        message = f"seed {seed}: {type(error).__name__}: {error}\nin {steps.last}\n{case}"
        raise AssertionError(message) from error
    case = case._replace(trace=sch.trace)
    _check_case(case, sch.mod, seed, compiled=compiled)
    if rng.random() < TRACES:
        LAST_WORDS.add("replaying the trace")
        check_trace(case, sch, seed)
        count_program(REPLAYED)
    if copied is not None:
        copy, func, length = copied
        assert copy.mod["main"] is func, f"seed {seed}: a copy changed with its original"
        assert len(copy.trace) == length, f"seed {seed}: the trace of a copy changed"
    for name in others:
        assert sch.mod[name] is case.mod[name], f"seed {seed}: another function changed"
    _count(steps)


def _take_steps(rng: random.Random, steps: Steps) -> tuple[Schedule, PrimFunc, int] | None:
    """Take random steps; sometimes copy the schedule in between, with what it is then."""
    copied: tuple[Schedule, PrimFunc, int] | None = None
    for _ in range(rng.randint(1, LARGEST)):
        steps.step()
        if copied is None and rng.random() < 0.05:
            copy = steps.sch.copy()
            copied = copy, copy.mod["main"], len(copy.trace)
    return copied


def random_case(rng: random.Random, **options: Any) -> tuple[Case, list[str]]:
    """A program without steps, and the names of its other functions.

    Args:
        rng: where the choices come from.
        options: of `BlockPrograms`.
    """
    programs = BlockPrograms(rng, STAGES, **options)
    source = programs.make()
    functions = {"main": from_source(HEADER + source)}
    if rng.random() < 0.05:
        functions["other"] = from_source(HEADER + BlockPrograms(rng, STAGES).make("other"))
    size = 0 if programs.symbol is None else int(programs.symbol)
    return Case(source, IRModule(functions), Trace(), size), [n for n in functions if n != "main"]


def _count(steps: Steps) -> None:
    count_program(PAIRS)
    for name in steps.applied:
        count_program(f"step {name}: accepted")
    for name in steps.refused:
        count_program(f"step {name}: refused")


# --- running --------------------------------------------------------------------------------


def _check_case(case: Case, mod: IRModule, seed: int, *, compiled: bool) -> None:
    try:
        with time_limit():
            check_result(case, mod, seed, compiled=compiled)
    except TakesTooLongError as error:
        message = f"seed {seed}: it takes too long to run\n{case}\n{mod['main'].script()}"
        raise AssertionError(message) from error
    except Exception as error:
        smallest = shrunk(case, seed, compiled=compiled)
        raise AssertionError(f"seed {seed}: {error}\n{smallest}") from error


def arguments_of(func: PrimFunc, seed: int) -> list[np.ndarray]:
    """Arrays of small whole numbers for the parameters of `func`."""
    rng = np.random.default_rng(seed)
    arrays = []
    for param in func.params:
        buffer = func.buffer_map[param]
        shape = _shape(buffer)
        arrays.append(rng.integers(-3, 4, shape).astype(buffer.dtype.numpy))
    return arrays


def _shape(buffer: Buffer) -> list[int]:
    return [int(Analyzer().simplify(extent).value) for extent in buffer.shape]  # type: ignore[attr-defined]


def specialized(func: PrimFunc, size: int) -> PrimFunc:
    values = dict.fromkeys(symbolic_sizes(func), size)
    return func.specialize(values) if values else func


def check_result(case: Case, mod: IRModule, seed: int, *, compiled: bool) -> None:
    """Run a function before and after scheduling, and compare what it leaves in its arrays.

    Where there is a symbolic size, it is 0 and 1, too.
    """
    if not has_same_parameters(case.mod["main"], mod["main"]):
        return  # the layout of a parameter was changed, and with it the interface
    function = None
    if compiled and not uses_threads(mod["main"]) and not unrolls_sizes(mod["main"]):
        LAST_WORDS.add("compiled")
        function = tvm.build(mod["main"], target="llvm")["main"]
        count_program(COMPILED)
    check_size(case, mod, seed, case.size, function)
    if symbolic_sizes(case.mod["main"]):
        for size in SMALL_SIZES:
            if is_defined(specialized(case.mod["main"], size), seed):
                check_size(case, mod, seed, size, function)
                count_program(SMALL)


def is_defined(func: PrimFunc, seed: int) -> bool:
    """Whether a program reads only what it has written, of a size for which it was not made."""
    if any(extent < 0 for buffer in func.buffer_map.values() for extent in _shape(buffer)):
        return False
    try:
        interpret(func, *arguments_of(func, seed), check_reads=True)
    except InterpreterError:
        return False
    return True


def check_size(case: Case, mod: IRModule, seed: int, size: int, function: Any) -> None:
    """Compare the results for one symbolic size; also of the compiled function, if there is one."""
    before, after = (specialized(m["main"], size) for m in (case.mod, mod))
    expected, actual = arguments_of(before, seed), arguments_of(before, seed)
    interpret(before, *expected)
    try:
        interpret(after, *actual, check_reads=True, reverse_parallel=True)
    except InterpreterError as error:
        if "is read before anything was written" not in str(error):
            raise
        # Copies may have elements that nobody needs. The results tell whether somebody does.
        actual = arguments_of(before, seed)
        interpret(after, *actual, reverse_parallel=True)
    for one, other in zip(actual, expected, strict=True):
        assert_same(one, other, "interpreted")
    if function is not None:
        arrays = [tvm.nd.array(array) for array in arguments_of(before, seed)]
        function(*arrays)
        for array, other in zip(arrays, expected, strict=True):
            assert_same(array.numpy(), other, "compiled")


def has_same_parameters(before: PrimFunc, after: PrimFunc) -> bool:
    """Whether no layout of a parameter may have been changed, and with it the interface."""
    return all(before.buffer_map[param] is after.buffer_map[param] for param in before.params)


def uses_threads(func: PrimFunc) -> bool:
    """Whether loops are bound to GPU threads."""
    return any(
        isinstance(node, For) and node.kind is ForKind.THREAD_BINDING
        for node in tvm.ir.walk(func.body)
    )


def unrolls_sizes(func: PrimFunc) -> bool:
    """Whether loops are to be unrolled that have no constant extent, which cannot be compiled."""
    return any(
        isinstance(node, For)
        and node.kind is ForKind.UNROLLED
        and not isinstance(Analyzer().simplify(node.extent), IntImm)
        for node in tvm.ir.walk(func.body)
    )


# --- traces ---------------------------------------------------------------------------------


def check_trace(case: Case, sch: Schedule, seed: int) -> None:
    """Replay the trace in all its forms, and print and parse the program."""
    try:
        with time_limit():
            _replay(case, sch)
    except (Exception, TakesTooLongError) as error:
        message = f"seed {seed}: replaying: {type(error).__name__}: {error}\n{case}"
        raise AssertionError(message) from error


def _replay(case: Case, sch: Schedule) -> None:
    func = sch.mod["main"]
    replayed = Schedule(case.mod)
    replayed.work_on("main")
    sch.trace.apply_to_schedule(replayed)
    assert_structural_equal(replayed.mod["main"], func)
    unchecked = Schedule(case.mod, enable_check=False)
    sch.trace.apply_to_schedule(unchecked)
    assert_structural_equal(unchecked.mod["main"], func)
    from_json = Schedule(case.mod)
    Trace.apply_json_to_schedule(json.loads(json.dumps(sch.trace.as_json())), from_json)
    assert_structural_equal(from_json.mod["main"], func)
    from_text = Schedule(case.mod)
    names: dict[str, Any] = {"tir": tir}
    exec(str(sch.trace), names)
    names["apply_trace"](from_text)
    assert_structural_equal(from_text.mod["main"], func)
    assert str(from_text.trace) == str(sch.trace)
    assert_structural_equal(from_source(func.script()), func)


# --- shrinking ------------------------------------------------------------------------------


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
    sch: Any = Schedule(case.mod)
    try:
        with time_limit():
            trace.apply_to_schedule(sch)
    except (Exception, TakesTooLongError):
        return False  # the other steps do not apply any more
    try:
        with time_limit():
            check_result(case, sch.mod, seed, compiled=compiled)
    except TakesTooLongError:
        return False
    except Exception:
        return True
    return False
