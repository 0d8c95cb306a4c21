"""Whether a scheduled program still means what it meant."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tilewright as tvm
from tilewright.arith import Analyzer
from tilewright.error import InterpreterError, TVMError
from tilewright.ir.module import IRModule
from tilewright.script import from_source
from tilewright.tir import BlockRV, LoopRV, PrimFunc, Schedule, ScheduleError
from tilewright.tir.analysis.verify import verify_well_formed
from tilewright.tir.interpreter import Interpreter
from tilewright.tir.substitute import symbolic_sizes


def assert_same_meaning(
    before: PrimFunc | IRModule,
    sch: Schedule,
    *,
    sizes: dict[str, int] | None = None,
    name: str | None = None,
) -> None:
    """Check that the scheduled function computes what it computed before.

    Both run in the reference interpreter on the same random data. The result must be well-formed,
    replaying the trace must give it again, and so must parsing its script.

    Args:
        before: the function, or the module, as it was.
        sch: the schedule, after its primitives.
        sizes: values of the symbolic sizes, by name.
        name: the name of the function in the module of the schedule; by default the only one.
    """
    again = Schedule(before)
    sch.trace.apply_to_schedule(again)
    tvm.ir.assert_structural_equal(again.mod, sch.mod)
    name = name or sch.mod.get_global_vars()[0].name_hint
    old = before[name] if isinstance(before, IRModule) else before
    new = sch.mod[name]
    verify_well_formed(new)
    tvm.ir.assert_structural_equal(from_source(new.script()), new)
    assert_equal_results(results_of(old, sizes), results_of(new, sizes))


def assert_equal_results(expected: list[np.ndarray], found: list[np.ndarray]) -> None:
    """Check that two runs left the same in all arguments."""
    assert len(expected) == len(found)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one, other)


def results_of(func: PrimFunc, sizes: dict[str, int] | None = None) -> list[np.ndarray]:
    """All arguments of `func` after a run on random data, which is the same every time.

    The data are small integers, so that sums in any order are exact.
    """
    values = {var: (sizes or {})[var.name] for var in symbolic_sizes(func)}
    func = func.specialize(values) if values else func
    random = np.random.default_rng(0)
    arguments = []
    for param in func.params:
        buffer = func.buffer_map[param]
        shape = tuple(Analyzer().simplify(extent).value for extent in buffer.shape)
        arguments.append(random.integers(-8, 9, shape).astype(str(buffer.dtype)))
    Interpreter(func, check_reads=True).run("main", *arguments)
    return arguments


def assert_would_be_wrong(before: PrimFunc, steps: Callable[[Schedule], object]) -> None:
    """Check that refused steps, done without proofs, compute something else.

    Args:
        before: the program.
        steps: does to a schedule what a schedule with proofs refuses.
    """
    sch = Schedule(before, enable_check=False)
    steps(sch)
    try:
        found = results_of(sch.mod[sch.mod.get_global_vars()[0].name_hint])
    except InterpreterError:
        return  # it reads what is not written yet
    expected = results_of(before)
    assert any((one != other).any() for one, other in zip(expected, found, strict=True))


def assert_refused(
    func: PrimFunc,
    prepare: Callable[[Schedule], Callable[[], object]],
    message: str,
    *,
    differs: bool = False,
    fails: bool = False,
) -> str:
    """Check that a step is refused and leaves the program as it was; returns the refusal.

    Args:
        func: the program.
        prepare: does to a schedule what goes before the step, and returns the step.
        message: a pattern that the refusal matches.
        differs: whether the step, done without proofs, computes something else.
        fails: whether the program cannot run after it.
    """

    def program(sch: Schedule) -> PrimFunc:
        return sch.mod["main"]

    sch = Schedule(func, debug_mask="all")
    step = prepare(sch)
    before = program(sch)
    with pytest.raises(ScheduleError, match=message) as caught:
        step()
    assert program(sch) is before
    if differs or fails:
        unchecked = Schedule(func, enable_check=False)
        prepare(unchecked)()
        if fails:
            with pytest.raises(TVMError):
                results_of(program(unchecked))
        else:
            pairs = zip(results_of(func), results_of(program(unchecked)), strict=True)
            assert any(not np.array_equal(one, other) for one, other in pairs)
    return str(caught.value)


def at(
    block: str, other: str, depth: int, *factors: int
) -> Callable[[Schedule], tuple[BlockRV, LoopRV]]:
    """Where to compute `block`: a loop of another block, at a depth after tiling by factors."""

    def prepare(sch: Schedule) -> tuple[BlockRV, LoopRV]:
        loops = sch.get_loops(other)
        pairs = [sch.split(x, [None, f]) for x, f in zip(loops, factors, strict=False)]
        if pairs:
            sch.reorder(*[a for a, _ in pairs], *[b for _, b in pairs])
        return sch.get_block(block), sch.get_loops(other)[depth]

    return prepare
