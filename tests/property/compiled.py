"""Native code against the interpreter."""

from __future__ import annotations

import shutil
import sys

import hypothesis
import pytest
from tests.counts import count_program
from tests.property.harness import assert_same_outcome, memory_of
from tests.property.programs import Program

import tilewright as tvm
from tilewright.script import parse
from tilewright.target import Target
from tilewright.tir.interpreter import interpret

WITHOUT_FMA = "llvm -mattr=-fma"
"""This machine without fused multiply-add: floats must agree to the last bit."""


def processors() -> list[str]:
    """Targets whose code this machine can run, and that need other code than it would get."""
    if Target("llvm").architecture != "x86_64":
        return [WITHOUT_FMA]
    known = Target("llvm").features
    others = {"haswell -mattr=-fma": "avx2", "skylake-avx512 -mattr=-fma": "avx512f"}
    usable = [f"llvm -mcpu={name}" for name, feature in others.items() if feature in known]
    return [WITHOUT_FMA, "llvm -mcpu=x86-64", *usable]


needs_c_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="there is no C compiler"
)


def share(percent: int) -> hypothesis.settings:
    """So many percent of the examples that the profile of the tests asks for."""
    current = hypothesis.settings.default
    return hypothesis.settings(
        current,
        max_examples=max(1, current.max_examples * percent // 100),
        suppress_health_check=list(hypothesis.HealthCheck),
    )


def check_compiled(program: Program, target: str, *, printed: bool = True) -> None:
    """Check that compiled code leaves the same memory behind as the interpreter.

    Args:
        program: what to run.
        target: what it is compiled for.
        printed: whether it goes through its text on the way.
    """
    expected, arguments = program.make_arguments(), program.make_arguments()
    interpret(program.func, *expected)
    func = parse(program.func.script()) if printed else program.func
    # A crash of native code ends the process: let the last words be the program.
    print(f"{target}\n{program}", file=sys.stderr, flush=True)
    tvm.build(func, target=target)["main"](*arguments)
    assert_same_outcome(memory_of(arguments), memory_of(expected))
    count_program(f"compiled by {target.split()[0]}")
