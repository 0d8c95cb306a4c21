"""Conditions that do not change in a loop move out of it."""

import numpy as np

import tilewright as tvm
from tilewright.script import tir as T
from tilewright.tir.interpreter import interpret
from tilewright.tir.transform.branches import hoist_conditions


@T.prim_func
def before(A: T.Buffer((10, 16), "float32"), n: T.int32):
    for i in range(4):
        for j in range(3):
            for k in range(16):
                if i * 3 + j < 10 and k < n and n > 2:
                    A[i * 3 + j, k] = T.float32(1)


@T.prim_func
def after(A: T.Buffer((10, 16), "float32"), n: T.int32):
    T.func_attr({"global_symbol": "before"})
    if n > 2:
        for i in range(4):
            for j in range(3):
                if i * 3 + j < 10:
                    for k in range(16):
                        if k < n:
                            A[i * 3 + j, k] = T.float32(1)


def test_each_condition_goes_as_far_out_as_it_can():
    found = hoist_conditions(before)
    tvm.ir.assert_structural_equal(found, after)
    for n in (0, 3, 16):
        results = [np.zeros((10, 16), "float32") for _ in range(2)]
        interpret(before, results[0], n)
        interpret(found, results[1], n)
        np.testing.assert_array_equal(*results)


def test_conditions_that_read_memory_or_may_fail_stay():
    @T.prim_func
    def reading(A: T.Buffer((8,), "int32"), n: T.int32):
        for i in range(8):
            if A[0] < 4:
                A[i] = A[i] + 4

    @T.prim_func
    def dividing(A: T.Buffer((8,), "int32"), n: T.int32):
        for i in range(n):
            if 8 // n < 4:
                A[i] = 1

    @T.prim_func
    def with_else(A: T.Buffer((8,), "int32"), n: T.int32):
        for i in range(8):
            if n < 4:
                A[i] = 1
            else:
                A[i] = 2

    @T.prim_func
    def lanes(A: T.Buffer((8,), "int32"), n: T.int32):
        for i in T.vectorized(8):
            if n < 4:
                A[i] = 1

    for func in (reading, dividing, with_else, lanes):
        assert hoist_conditions(func) is func
