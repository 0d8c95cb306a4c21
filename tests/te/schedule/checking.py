"""Running scheduled tensor expressions: as blocks, lowered, and as native code."""

from __future__ import annotations

import numpy as np

import tilewright as tvm
from tilewright.te.schedule import schedule_to_prim_func
from tilewright.tir.analysis.verify import verify_well_formed
from tilewright.tir.interpreter import interpret


def random_array(shape, seed=0):
    """Small whole numbers, so that sums are exact in any order."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype("float32")


def lowered_text(schedule, args):
    """The body of what `tvm.lower` gives."""
    text = tvm.lower(schedule, args, simple_mode=False).script()
    return text[text.index("T.func_attr") :].split("\n", 1)[1]


def check(schedule, args, inputs, expected, native=True):
    """Compare what a schedule computes with what it must be.

    Args:
        schedule: the schedule.
        args: the parameters; inputs, then outputs.
        inputs: an array for each input.
        expected: an array for each output.
        native: whether to run it as native code, too.
    """
    expected = [np.ascontiguousarray(value) for value in expected]
    func = schedule_to_prim_func(schedule, args)
    verify_well_formed(func)
    lowered = tvm.lower(schedule, args)
    verify_well_formed(lowered)
    for program in (func, lowered["main"]):
        outputs = [np.full_like(value, 99) for value in expected]
        interpret(program, *(value.copy() for value in inputs), *outputs)
        for output, value in zip(outputs, expected, strict=True):
            np.testing.assert_array_equal(output, value)
    if native:
        module = tvm.build(schedule, args, "llvm")
        arrays = [tvm.nd.array(value) for value in inputs]
        outputs = [tvm.nd.array(np.full_like(value, 99)) for value in expected]
        module(*arrays, *outputs)
        for output, value in zip(outputs, expected, strict=True):
            np.testing.assert_array_equal(output.numpy(), value)
