"""Statements in C: programs against the interpreter and numpy."""

import numpy as np
import pytest
from tests.target.codegen.c.compiled import compiled, needs_compiler, source_of

import tilewright as tvm
from tilewright import te
from tilewright.error import CodegenError, ProgramAssertionError
from tilewright.script import tir as T
from tilewright.tir.interpreter import interpret

pytestmark = needs_compiler


def check(program, directory, *arguments, rtol=0.0):
    """Run C and interpreter on copies of `arguments`, which must agree on all arrays."""
    ours = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    theirs = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    compiled(program, directory)(*ours)
    interpret(program, *theirs)
    for got, want in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(got, want, rtol=rtol)
    return ours


def scheduled_matmul(schedule):
    a, b = te.placeholder((13, 17), name="A"), te.placeholder((17, 20), name="B")
    k = te.reduce_axis((0, 17), name="k")
    c = te.compute((13, 20), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    schedule(s[c], *c.op.axis, k)
    return tvm.lower(s, [a, b, c])


def tiles(stage, i, j, k):
    io, ii = stage.split(i, 4)
    jo, ji = stage.split(j, 8)
    stage.reorder(io, jo, k, ii, ji)
    stage.unroll(ii)
    stage.vectorize(ji)
    stage.parallel(io)


def rows(stage, i, j, k):
    stage.reorder(i, k, j)


@pytest.mark.parametrize("schedule", [tiles, rows])
def test_scheduled_matmul(schedule, tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.random((13, 17), "float32"), rng.random((17, 20), "float32")
    c = np.zeros((13, 20), "float32")
    compiled(scheduled_matmul(schedule), tmp_path)(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


@T.prim_func
def collatz(x: T.handle, steps: T.handle):
    n = T.int64()
    X = T.match_buffer(x, (n,), "int64")
    S = T.match_buffer(steps, (n,), "int32")
    for i in T.serial(n):
        value = T.decl_buffer((1,), "int64", scope="local")
        value[0] = X[i]
        S[i] = 0
        while value[0] != T.int64(1):
            if value[0] % T.int64(2) == T.int64(0):
                value[0] = value[0] // T.int64(2)
            else:
                value[0] = value[0] * T.int64(3) + T.int64(1)
            S[i] = S[i] + 1


def test_while_and_branches(tmp_path):
    x = np.arange(1, 60, dtype="int64")
    _, steps = check(collatz, tmp_path, x, np.zeros(59, "int32"))
    assert steps[26] == 111


@T.prim_func
def shifted(a: T.handle, b: T.handle, distance: T.int32):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in T.serial(n):
        source: T.int32 = i - distance
        B[i] = T.if_then_else(source >= 0 and source < n, A[source], T.float32(-1))


def test_a_conditional_reads_only_what_it_takes(tmp_path):
    a = np.arange(1, 9, dtype="float32")
    for number, distance in enumerate((0, 3, -5, 1000)):
        directory = tmp_path / str(number)
        directory.mkdir()
        check(shifted, directory, a, np.zeros_like(a), distance)


@T.prim_func
def read_before_written(a: T.Buffer((200,), "int8"), b: T.Buffer((200,), "int8")):
    for i in range(3, 12):
        for j in range(16):
            b[j + i + 1] = a[j + i * 2 + 15]
            a[j + i + 7] = a[j + i + 3] & T.int8(-128)
        b[i + 3] = T.max(b[i + 3], a[i + 8])


@pytest.mark.parametrize("order", [1, -1])
def test_loads_stay_before_stores(order):
    arrays = np.random.default_rng(0).integers(-128, 128, (2, 200)).astype("int8")[::order]
    expected = arrays.copy()
    interpret(read_before_written, *expected)
    tvm.build(read_before_written, target="c")(*arrays)
    np.testing.assert_array_equal(arrays, expected)


@T.prim_func
def root(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        assert a[i] >= T.float32(0), "100% of the elements must not be negative"
        b[i] = T.sqrt(a[i])


def test_assertions(tmp_path):
    module = compiled(root, tmp_path)
    b = np.zeros(4, "float32")
    module(np.array([0, 1, 4, 9], "float32"), b)
    np.testing.assert_array_equal(b, [0, 1, 2, 3])
    with pytest.raises(ProgramAssertionError, match="100% of the elements must not be negative"):
        module(np.array([0, -1, 4, 9], "float32"), b)


@T.prim_func
def with_workspace(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, n), "float32")
    B = T.match_buffer(b, (n,), "float32")
    sums = T.alloc_buffer((n,), "float32")
    for i, j in T.grid(n, n):
        with T.block("sums"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                sums[vi] = T.float32(0)
            sums[vi] += A[vi, vj]
    for i in T.serial(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = sums[n - T.int64(1) - vi]


def test_memory_whose_size_is_known_at_run_time(tmp_path):
    a = np.random.default_rng(0).random((50, 50), "float32")
    check(with_workspace, tmp_path, a, np.zeros(50, "float32"), rtol=1e-6)


@T.prim_func
def strided(a: T.handle, b: T.handle):
    n = T.int64()
    rows_apart = T.int64()
    A = T.match_buffer(a, (n, 4), "float32", strides=(rows_apart, 1))
    B = T.match_buffer(b, (n, 4), "float32")
    for i, j in T.grid(n, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)


def test_strides(tmp_path):
    a = np.random.default_rng(0).random((6, 9), "float32")
    b = np.zeros((6, 4), "float32")
    compiled(strided, tmp_path)(a[:, 2:6], b)
    np.testing.assert_array_equal(b, a[:, 2:6] + 1)


def test_calls_of_registered_functions(tmp_path):
    calls = []

    @tvm.register_func("tests.c.collect", override=True)
    def collect(array, number, real, text):
        calls.append((np.array(array), number, real, text))

    @T.prim_func
    def program(a: T.Buffer((2, 3), "float32"), n: T.int32):
        T.func_attr({"global_symbol": "program"})
        T.evaluate(T.call_packed("tests.c.collect", a, n, T.float64(2.5), "text"))

    a = np.arange(6, dtype="float32").reshape(2, 3)
    compiled(program, tmp_path)(a, 7)
    ((array, number, real, text),) = calls
    np.testing.assert_array_equal(array, a)
    assert (number, real, text) == (7, 2.5, "text")
    tvm.remove_global_func("tests.c.collect")


def test_an_error_of_a_registered_function_arrives(tmp_path):
    @tvm.register_func("tests.c.fail", override=True)
    def fail():
        raise ValueError("no luck today")

    @T.prim_func
    def program(a: T.Buffer((1,), "float32")):
        T.evaluate(T.call_packed("tests.c.fail"))
        a[0] = T.float32(1)

    a = np.zeros(1, "float32")
    with pytest.raises(ValueError, match="no luck today"):
        compiled(program, tmp_path)(a)
    assert a[0] == 0
    tvm.remove_global_func("tests.c.fail")


def test_names_that_mean_something_in_c(tmp_path):
    @T.prim_func
    def double(float_: T.Buffer((3,), "float32"), restrict: T.Buffer((3,), "float32")):
        for int_ in T.serial(3):
            restrict[int_] = float_[int_] * T.float32(2)

    x = np.ones(3, "float32")
    check(double, tmp_path, x, np.zeros_like(x))


def test_threads_of_a_gpu_are_refused():
    @T.prim_func
    def program(a: T.Buffer((8,), "float32")):
        for i in T.thread_binding(8, thread="threadIdx.x"):
            a[i] = T.float32(0)

    with pytest.raises(CodegenError, match="GPU threads"):
        source_of(program)


@pytest.mark.parametrize(
    ("schedule", "clause"),
    [("static", ""), ("dynamic", " schedule(dynamic)"), ("dynamic,4", " schedule(dynamic, 4)")],
)
def test_how_parallel_loops_are_divided(schedule, clause):
    a = te.placeholder((8,), name="a")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="b")
    s = te.create_schedule(b.op)
    s[b].parallel(b.op.axis[0])
    s[b].pragma(b.op.axis[0], "parallel_schedule", schedule)
    source = tvm.build(s, [a, b], target="c").get_source()
    assert f"#pragma omp parallel for{clause}\n" in source


def test_names_of_functions_that_the_code_calls_are_not_taken():
    a = te.placeholder((4,), "float64", name="A")
    b = te.compute((4,), lambda i: te.sqrt(a[i]), name="sqrt")
    module = tvm.build(te.create_schedule(b.op), [a, b], target="c")
    values, result = np.arange(4.0), np.zeros(4)
    module(values, result)
    np.testing.assert_array_equal(result, np.sqrt(values))
