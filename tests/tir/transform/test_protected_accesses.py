"""What a condition protects is not evaluated where the condition fails; and its neighbours."""

import numpy as np
import pytest
from tests.passes import legalize_for, lower

import tilewright as tvm
from tilewright.script import tir as T
from tilewright.tir.interpreter import interpret
from tilewright.tir.transform.machine import Machine

MACHINES = [Machine(128, 16), Machine(256, 16), Machine(512, 32)]


def assert_same(func, *arguments):
    """Codegen forms for several machines, and native code, compute what `func` does."""

    def after(run):
        copies = [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]
        run(*copies)
        return copies

    expected = after(lambda *copies: interpret(func, *copies))
    lowered = lower(func)
    stages = [legalize_for(lowered, machine) for machine in MACHINES]
    # The interpreter comes first: it refuses what would end the process in native code.
    runs = [lambda *copies, stage=stage: interpret(stage, *copies) for stage in stages]
    for run in (*runs, lambda *copies: tvm.build(func, target="llvm")(*copies)):
        for want, got in zip(expected, after(run), strict=True):
            np.testing.assert_array_equal(got, want)


def floats(size):
    return np.arange(1, size + 1).astype("float32")


def integers(size):
    return np.arange(size).astype("int32")


@T.prim_func
def guarded_by_a_scalar(A: T.Buffer((4,)), B: T.Buffer((64,), "int32"), n: T.int32):
    T.func_attr({"tir.noalias": True})
    for i in range(64):
        B[i] = T.Select(n < 4 and A[n] > T.float32(0), i, i * 2)


@T.prim_func
def guarded_in_each_iteration(A: T.Buffer((4,)), B: T.Buffer((64,), "int32"), n: T.int32):
    T.func_attr({"tir.noalias": True})
    for i in range(8):
        if i + n < 4 and A[n] > T.float32(0):
            B[i * 3 % 8] = i


@T.prim_func
def guarded_lanes(A: T.Buffer((4,)), B: T.Buffer((64,), "int32"), n: T.int32):
    T.func_attr({"tir.noalias": True})
    for i in T.vectorized(4):
        B[i] = T.Select(n < 1 and A[n + i] > T.float32(2), i, i * 2)


@T.prim_func
def guarded_by_lanes(A: T.Buffer((4,)), B: T.Buffer((64,), "int32"), n: T.int32):
    T.func_attr({"tir.noalias": True})
    for i in T.vectorized(8):
        if n + i < 4 and A[n] > T.float32(0):
            B[i] = i


@pytest.mark.parametrize("n", [0, 500_000_000])
@pytest.mark.parametrize(
    "func",
    [guarded_by_a_scalar, guarded_in_each_iteration, guarded_lanes, guarded_by_lanes],
    ids=lambda func: func.attrs["global_symbol"],
)
def test_the_second_part_of_a_condition_reads_only_where_the_first_holds(func, n):
    assert_same(func, floats(4), integers(64), n)


@pytest.mark.parametrize("n", [0, 3])
def test_a_division_is_not_made_before_it_is_known_to_be_needed(n):
    @T.prim_func
    def in_a_loop(n: T.int32, B: T.Buffer((16,))):
        T.func_attr({"tir.noalias": True})
        for _ in range(n):
            for j in range(16):
                if j < 8 // n:
                    B[j] = B[j] + T.float32(1)

    @T.prim_func
    def in_lanes(n: T.int32, B: T.Buffer((16,))):
        T.func_attr({"tir.noalias": True})
        for j in range(16):
            B[j] = T.Select(n > 0 and j // n > 2, T.float32(1), T.float32(2))

    assert_same(in_a_loop, n, floats(16))
    assert_same(in_lanes, n, floats(16))


@pytest.mark.parametrize("h", [1, 1_000_000_000])
def test_rows_are_not_read_where_a_condition_forbids_it(h):
    @T.prim_func
    def func(A: T.Buffer((64,)), B: T.Buffer((16,)), h: T.int32):
        T.func_attr({"tir.noalias": True})
        for i in T.unroll(4):
            for j in T.vectorized(4):
                B[i * 4 + j] = T.if_then_else(h < 4, A[h * 16 + j * 4 + i], T.float32(0))

    assert_same(func, floats(64), floats(16), h)


def test_rows_are_read_where_the_index_says_by_then():
    @T.prim_func
    def func(A: T.Buffer((64,)), B: T.Buffer((16,)), F: T.Buffer((1,), "int32")):
        T.func_attr({"tir.noalias": True})
        for i in T.unroll(4):
            for j in T.vectorized(4):
                B[i * 4 + j] = A[F[0] + j * 4 + i]
            F[0] = F[0] + 4

    assert_same(func, floats(64), floats(16), np.array([1], "int32"))


def test_stores_stay_apart_whose_place_one_of_them_writes():
    @T.prim_func
    def func(A: T.Buffer((8,), "int32"), F: T.Buffer((16,), "int32")):
        T.func_attr({"tir.noalias": True})
        F[T.Ramp(F[0], 2, 4)] = A[0:4]
        F[T.Ramp(F[0] + 1, 2, 4)] = A[4:8]

    assert_same(func, np.arange(3, 11).astype("int32"), np.zeros(16, "int32"))


@pytest.mark.parametrize("vectorized", [False, True])
def test_an_element_behind_a_name_changes_with_the_name(vectorized):
    @T.prim_func
    def lanes(F: T.Buffer((64,), "int32"), C: T.Buffer((8,), "int32")):
        T.func_attr({"tir.noalias": True})
        for i in T.vectorized(64):
            with T.LetStmt(F[i]) as x:
                C[x] = C[x] + i

    @T.prim_func
    def serial(F: T.Buffer((64,), "int32"), C: T.Buffer((8,), "int32")):
        T.func_attr({"tir.noalias": True})
        for i in range(64):
            with T.LetStmt(F[i]) as x:
                C[x] = C[x] + i

    assert_same(lanes if vectorized else serial, integers(64) * 5 % 8, integers(8))


def test_what_a_loop_only_reads_may_be_written_behind_it():
    @T.prim_func
    def func(A: T.Buffer((4,)), B: T.Buffer((8,)), C: T.Buffer((1,)), D: T.Buffer((1,))):
        T.func_attr({"tir.noalias": True})
        for k in range(8):
            C[0] = C[0] + A[2] * B[k]
        A[2] = C[0]
        D[0] = A[2] + C[0]

    assert_same(func, floats(4), floats(8), floats(1), floats(1))


@pytest.mark.parametrize("n", [0, 3])
def test_what_a_loop_without_iterations_would_read_is_not_read(n):
    @T.prim_func
    def func(n: T.int32, A: T.Buffer((4,)), B: T.Buffer((8,)), C: T.Buffer((1,))):
        T.func_attr({"tir.noalias": True})
        C[0] = T.float32(0)
        for k in range(n):
            C[0] = C[0] + A[n - 1] * B[k]

    assert_same(func, n, floats(4), floats(8), floats(1))


def test_views_of_another_type_are_the_same_memory():
    @T.prim_func
    def behind(A: T.Buffer((8,)), C: T.Buffer((1,)), D: T.Buffer((2,), "int32")):
        T.func_attr({"tir.noalias": True})
        words = T.Buffer((1,), "int32", data=C.data)
        halves = T.Buffer((2,), "int16", data=C.data)
        for k in range(8):
            C[0] = C[0] + A[k]
        D[0] = words[0]
        D[1] = halves[1]

    @T.prim_func
    def before(A: T.Buffer((8,)), C: T.Buffer((1,)), D: T.Buffer((2,), "int32")):
        T.func_attr({"tir.noalias": True})
        words = T.Buffer((1,), "int32", data=C.data)
        words[0] = 1065353216
        for k in range(8):
            C[0] = C[0] + A[k]
        D[0] = words[0]

    for func in (behind, before):
        assert_same(func, floats(8), floats(1), integers(2))


@pytest.mark.parametrize("n", [0, 3, 20])
def test_lanes_under_two_conditions_combine_only_where_both_hold(n):
    @T.prim_func
    def func(A: T.Buffer((8, 16), "int32"), C: T.Buffer((8,), "int32"), n: T.int32):
        T.func_attr({"tir.noalias": True})
        for i in range(8):
            for block in range(4):
                for lane in T.vectorized(4):
                    if block * 4 + lane <= i and block * 4 + lane < n:
                        C[i] = C[i] + A[i, block * 4 + lane]

    assert_same(func, integers(128).reshape(8, 16), integers(8), n)
