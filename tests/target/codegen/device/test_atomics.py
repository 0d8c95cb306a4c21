"""Threads add to the same elements, and no addition is lost."""

import re

import numpy as np
import pytest
from tests.target.codegen.device.collection import PROGRAMS
from tests.target.codegen.device.test_nvrtc import requires_nvrtc

import tilewright as tvm
from tilewright.error import ArgumentError, CodegenError, DTypeError, LoweringError
from tilewright.script import tir as T
from tilewright.target.codegen.device import nvrtc
from tilewright.tir.interpreter import interpret


def source_of(name):
    return PROGRAMS[name]().build("cuda").imported_modules[0].get_source()


@requires_nvrtc
@pytest.mark.parametrize(
    ("name", "instruction"),
    [
        ("histogram_int32", r"(atom|red)\.global\.add\.u32"),
        ("histogram_float32", r"(atom|red)\.global\.add\.f32"),
        ("histogram_float16", r"atom(\.global)?\.cas\.b16"),
        ("shared_histogram", r"atom\.shared\.add\.f32"),
    ],
)
def test_instructions(name, instruction):
    assembly = nvrtc.compile_kernels(source_of(name), "sm_80", "ptx").decode()
    assert re.search(instruction, assembly)


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_the_cpu_loses_no_addition(target, dtype):
    @T.prim_func
    def total(A: T.Buffer((4000,), dtype), B: T.Buffer((2,), dtype)):
        for i in T.parallel(4000):
            T.evaluate(T.atomic_add(B[i % 2], A[i]))

    values = (np.arange(4000) % 7).astype(dtype)
    result = np.full(2, 3, dtype)
    tvm.build(total, target=target)(values, result)
    expected = np.full(2, 3, dtype)
    interpret(total, values, expected)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(result, 3 + values.reshape(-1, 2).sum(0))


def test_what_was_there_before():
    @T.prim_func
    def before(A: T.Buffer((1,), "float32"), B: T.Buffer((2,), "float32")):
        B[0] = T.atomic_add(A[0], T.float32(2))
        B[1] = T.atomic_add(T.address_of(A[0]), T.float32(3))

    for run in (tvm.build(before), tvm.build(before, target="c"), lambda *a: interpret(before, *a)):
        a, b = np.ones(1, "float32"), np.zeros(2, "float32")
        run(a, b)
        assert (a.tolist(), b.tolist()) == ([6], [1, 3])


def test_a_barrier_stands_between_additions_and_what_needs_them():
    assert source_of("shared_histogram").count("__syncthreads();") == 2
    assert "__syncthreads" not in source_of("histogram_int32")


def test_blocks_that_read_what_others_add_to_are_refused():
    @T.prim_func
    def mixed(A: T.Buffer((8,), "int32"), B: T.Buffer((1,), "int32")):
        for i in T.thread_binding(8, thread="blockIdx.x"):
            T.evaluate(T.atomic_add(B[0], 1))
            A[i] = B[0]

    with pytest.raises(LoweringError, match="B: threads of two blocks access the same element"):
        tvm.build(mixed, target="cuda")


def test_what_cannot_be_added_to():
    A = tvm.tir.decl_buffer((4,), "float32", "A")
    with pytest.raises(ArgumentError, match="needs an element of a buffer"):
        T.atomic_add(A.data, 1.0)
    with pytest.raises(DTypeError, match="the element is float32 and the value int32; cast it"):
        T.atomic_add(A[0], T.int32(1))
    with pytest.raises(DTypeError, match=r"elements are int32.*not int8"):
        T.atomic_add(tvm.tir.decl_buffer((4,), "int8", "B")[0], 1)


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_the_cpu_adds_to_no_halves(target):
    @T.prim_func
    def half(A: T.Buffer((1,), "float16")):
        T.evaluate(T.atomic_add(A[0], T.float16(1)))

    with pytest.raises(CodegenError, match="add in float32"):
        tvm.build(half, target=target)
