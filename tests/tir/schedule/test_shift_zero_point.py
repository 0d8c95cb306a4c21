"""shift_zero_point: an operand of the other sign, and results that are corrected."""

import numpy as np
import pytest
from tests.tir.schedule.checking import assert_same_meaning

import tilewright as tvm
from tilewright import te
from tilewright.ir.structural import assert_structural_equal_ignore_global_symbol
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError
from tilewright.tir.interpreter import interpret


@T.prim_func
def matmul(A: T.Buffer((4, 7), "int8"), B: T.Buffer((7, 5), "int8"), C: T.Buffer((4, 5), "int32")):
    for i, j, k in T.grid(4, 5, 7):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])


@T.prim_func
def shifted(A: T.Buffer((4, 7), "int8"), B: T.Buffer((7, 5), "int8"), C: T.Buffer((4, 5), "int32")):
    B_shifted = T.alloc_buffer((7, 5), "uint8")
    A_sum = T.alloc_buffer((4,), "int32")
    C_shifted = T.alloc_buffer((4, 5), "int32")
    for i0, i1 in T.grid(7, 5):
        with T.block("B_shifted"):
            v0, v1 = T.axis.remap("SS", [i0, i1])
            B_shifted[v0, v1] = T.reinterpret("uint8", T.bitwise_xor(B[v0, v1], T.int8(-128)))
    for i, k in T.grid(4, 7):
        with T.block("A_sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                A_sum[vi] = 0
            A_sum[vi] = A_sum[vi] + T.Cast("int32", A[vi, vk])
    for i, j, k in T.grid(4, 5, 7):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C_shifted[vi, vj] = 0
            C_shifted[vi, vj] = C_shifted[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast(
                "int32", B_shifted[vk, vj]
            )
    for i, j in T.grid(4, 5):
        with T.block("C_shifted"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = C_shifted[vi, vj] - A_sum[vi] * 128


def check(func, operand, block="C"):
    sch = Schedule(func, debug_mask="all")
    sch.shift_zero_point(block, operand)
    assert_same_meaning(func, sch)
    return sch


def product(a="int8", b="int8", sums="int32", start=0, value=None):
    """C[i, j] = start + the sum over k of products."""
    A, B = te.placeholder((3, 9), a, "A"), te.placeholder((9, 4), b, "B")
    k = te.reduce_axis((0, 9), "k")

    def element(i, j):
        x, y = A[i, k].astype(sums), B[k, j].astype(sums)
        return te.sum(x * y if value is None else value(x, y), axis=k, init=start)

    return te.create_prim_func([A, B, te.compute((3, 4), element, "C")])


def test_the_result_prints_as_users_know_it():
    sch = check(matmul, "B")
    assert_structural_equal_ignore_global_symbol(sch.mod["main"], shifted)


@pytest.mark.parametrize("operand", ["A", "B", 0, 1])
@pytest.mark.parametrize(
    ("a", "b", "sums"),
    [("int8", "int8", "int32"), ("uint8", "uint8", "int32"), ("uint8", "int8", "int32"),
     ("int8", "uint8", "int16"), ("int16", "int8", "int32"), ("uint16", "int16", "int64")],
)  # fmt: skip
def test_operands_of_all_widths_and_signs(a, b, sums, operand):
    sch = check(product(a, b, sums), operand)
    copy = sch.get(sch.get_block(f"{'A' if operand in ('A', 0) else 'B'}_shifted"))
    before = a if operand in ("A", 0) else b
    assert {str(copy.writes[0].buffer.dtype), before} in (
        {"int8", "uint8"}, {"int16", "uint16"},
    )  # fmt: skip


def test_sums_wrap_around_as_before():
    """The largest numbers, in sums of 16 bits: each part overflows, and the result does not
    change."""
    func = product("int8", "int8", "int16", start=32000)
    sch = check(func, "B")
    x, y = np.full((3, 9), -128, "int8"), np.full((9, 4), -128, "int8")
    results = [np.zeros((3, 4), "int16") for _ in range(2)]
    interpret(func, x, y, results[0])
    interpret(sch.mod["main"], x, y, results[1])
    np.testing.assert_array_equal(*results)


def test_each_window_has_a_sum_of_its_own():
    X, W = te.placeholder((12,), "int8", "X"), te.placeholder((5, 3), "int8", "W")
    k = te.reduce_axis((0, 3), "k")
    conv = te.compute(
        (5, 10), lambda f, i: te.sum(X[i + k].astype("int32") * W[f, k].astype("int32"), k), "C"
    )
    func = te.create_prim_func([X, W, conv])
    for operand, shape in (("W", [10]), ("X", [5])):
        sch = check(func, operand)
        name = "X_sum" if operand == "W" else "W_sum"
        assert [int(n) for n in sch.get(sch.get_block(name)).writes[0].buffer.shape] == shape


def test_a_dot_product():
    """Nothing is left of the other operand's iterators."""
    x, y = (te.placeholder((20,), "int8", name) for name in "xy")
    k = te.reduce_axis((0, 20), "k")
    dot = te.compute((1,), lambda _: te.sum(x[k].astype("int32") * y[k].astype("int32"), k), "C")
    check(te.create_prim_func([x, y, dot]), "y")


def test_after_padding():
    sch = Schedule(matmul, debug_mask="all")
    sch.pad_einsum("C", [4, 4, 4])
    sch.shift_zero_point("C", "B_pad")
    assert_same_meaning(matmul, sch)


@pytest.mark.parametrize(
    ("func", "why"),
    [
        (product("float16", "float16", "float32"), "two integers"),
        (product(value=lambda x, y: x * y * 2), "two integers"),
        (product(value=lambda x, y: x * y + x), "two integers"),
        (product(value=lambda x, y: x), "two integers"),
        (product("int32", "int8", "int32"), "two integers"),
        (product("int64", "int8", "int32"), "less than 32 bits"),
    ],
)
def test_other_sums(func, why):
    with pytest.raises(ScheduleError, match=why):
        Schedule(func).shift_zero_point("C", "A")


def test_a_matrix_times_itself():
    A, k = te.placeholder((4, 4), "int8", "A"), te.reduce_axis((0, 4), "k")
    square = te.compute(
        (4, 4), lambda i, j: te.sum(A[i, k].astype("int32") * A[k, j].astype("int32"), k), "C"
    )
    with pytest.raises(ScheduleError, match="by each other"):
        Schedule(te.create_prim_func([A, square])).shift_zero_point("C", "A")


def test_loops_that_are_split():
    sch = Schedule(matmul)
    sch.split(sch.get_loops("C")[0], [2, None])
    with pytest.raises(ScheduleError, match="not bound to a loop of its own"):
        sch.shift_zero_point("C", "B")


def test_compiled_code():
    sch = Schedule(matmul)
    sch.shift_zero_point("C", "B")
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-128, 128, shape).astype("int8") for shape in ((4, 7), (7, 5)))
    found = tvm.nd.empty((4, 5), "int32")
    tvm.build(sch.mod, target="llvm")(tvm.nd.array(x), tvm.nd.array(y), found)
    np.testing.assert_array_equal(found.numpy(), x.astype("int32") @ y.astype("int32"))
