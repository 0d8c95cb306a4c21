"""Whether a scheduled program still means what it meant."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import tilewright as tvm
from tilewright.arith import Analyzer
from tilewright.error import InterpreterError
from tilewright.ir.module import IRModule
from tilewright.script import from_source
from tilewright.tir import PrimFunc, Schedule
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
