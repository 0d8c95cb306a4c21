"""What a function computes from one parameter, as a function of its own."""

import numpy as np
import pytest
from tests.schedule_rules.programs import SMALL, conv2d, elementwise, matmul, matmul_relu

from tilewright.ir import IRModule
from tilewright.schedule_rules.default import schedule_module
from tilewright.script import tir as T
from tilewright.tir.analysis import verify_well_formed
from tilewright.tir.interpreter import interpret
from tilewright.tir.transform.lift_copies import lift_copy


def scheduled(func):
    return schedule_module(IRModule.from_expr(func), SMALL).mod["main"]


def shapes_of(func):
    return [tuple(int(n.value) for n in func.buffer_map[p].shape) for p in func.params]


@pytest.mark.parametrize(
    "program",
    [
        matmul(16, 24, 8),
        matmul(5, 7, 9, transposed=True),
        matmul(16, 40, 53),
        matmul_relu(16, 42, 64),
        conv2d(2, 6, 4, 3, 1),
    ],
)
def test_the_panels_of_an_operand(program):
    func = scheduled(program)
    lifted = lift_copy(func, func.params[1])
    assert lifted is not None
    for part in (lifted.func, lifted.copy):
        verify_well_formed(part)
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-4, 5, shape).astype("float32") for shape in shapes_of(func)]
    expected = arrays[-1].copy()
    interpret(func, *arrays[:-1], expected)
    panels = np.full(shapes_of(lifted.copy)[1], np.nan, "float32")
    interpret(lifted.copy, arrays[1], panels)
    arrays[1] = panels
    interpret(lifted.func, *arrays)
    np.testing.assert_array_equal(arrays[-1], expected)


def test_an_operand_that_is_read_as_it_is():
    func = scheduled(matmul(8, 8, 4))
    assert lift_copy(func, func.params[0]) is None
    assert lift_copy(func, func.params[2]) is None


def test_what_is_read_in_place_stays():
    assert lift_copy(elementwise(4, 4), elementwise(4, 4).params[0]) is None


@T.prim_func
def two_readers(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    P = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("P"):
            vi = T.axis.spatial(8, i)
            P[vi] = A[7 - vi]
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = P[vi] + A[vi]


@T.prim_func
def two_writers(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    P = T.alloc_buffer((9,))
    for i in range(8):
        with T.block("P"):
            vi = T.axis.spatial(8, i)
            P[vi] = A[7 - vi]
    for i in range(1):
        with T.block("Q"):
            vi = T.axis.spatial(1, i)
            P[vi + 8] = T.float32(0)
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = P[vi + 1]


@T.prim_func
def of_another_size(A: T.Buffer((8,), "float32"), n: T.int32, B: T.Buffer((8,), "float32")):
    P = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("P"):
            vi = T.axis.spatial(8, i)
            P[vi] = A[vi] * T.Cast("float32", n)
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = P[vi]


@T.prim_func
def of_two_parameters(
    A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")
):
    P = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("P"):
            vi = T.axis.spatial(8, i)
            P[vi] = A[7 - vi] * C[vi]
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = P[vi]


@pytest.mark.parametrize("func", [two_readers, two_writers, of_another_size, of_two_parameters])
def test_what_is_no_copy_stays(func):
    assert lift_copy(func, func.params[0]) is None
