"""Comparing results."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.property.programs import Program

from tilewright.tir import PrimFunc
from tilewright.tir.interpreter import interpret


def assert_same(actual: np.ndarray, expected: np.ndarray, what: str = "") -> None:
    """Check that two arrays are equal; NaN equals NaN, and 0 equals -0."""
    assert actual.dtype == expected.dtype
    if actual.dtype.kind not in "iub":  # bfloat16 is not a float to numpy
        actual, expected = actual.astype("float64"), expected.astype("float64")
    np.testing.assert_array_equal(actual, expected, err_msg=what)


def outcome(func: PrimFunc, program: Program, **options: Any) -> list[np.ndarray]:
    """The arrays of a call after it, with all the memory that they are views of.

    Args:
        func: what to call: the function of `program`, or something made from it.
        program: gives the arguments.
        options: those of `interpret`.
    """
    arguments = program.make_arguments()
    interpret(func, *arguments, **options)
    return memory_of(arguments)


def memory_of(arguments: list[Any]) -> list[np.ndarray]:
    """The whole memory behind the arrays among the arguments."""
    arrays = (argument for argument in arguments if isinstance(argument, np.ndarray))
    return [array if array.base is None else array.base for array in arrays]


def assert_same_outcome(actual: list[np.ndarray], expected: list[np.ndarray]) -> None:
    """Check that two calls left the same memory behind."""
    assert len(actual) == len(expected)
    for position, (one, other) in enumerate(zip(actual, expected, strict=True)):
        assert_same(one, other, f"argument {position}")
