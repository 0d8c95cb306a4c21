"""One thread does the work of its virtual threads, statement by statement."""

import numpy as np
from tests.target.codegen.device.collection import PROGRAMS

from tilewright.ir import assert_structural_equal
from tilewright.ir.rewrite import walk
from tilewright.script import tir as T
from tilewright.tir.interpreter import interpret
from tilewright.tir.stmt import Allocate, ForKind
from tilewright.tir.transform.device.virtual_threads import inject_virtual_threads


def allocations(root):
    """The allocations in a function or statement, outer ones first."""
    return [node for node in walk(getattr(root, "body", root)) if isinstance(node, Allocate)]


def check(before, after):
    """The pass makes `after` of `before`."""
    result = inject_virtual_threads(before).without_attr("global_symbol")
    assert_structural_equal(result, after.without_attr("global_symbol"))


def test_what_does_not_depend_on_the_virtual_thread_is_done_once():
    @T.prim_func
    def before(A: T.Buffer((8,), "float32"), B: T.Buffer((2, 8), "float32")):
        for v in T.thread_binding(2, thread="vthread"):
            shared = T.allocate([8], "float32", "shared")
            cells = T.Buffer((8,), data=shared, scope="shared")
            for k in range(8):
                cells[k] = A[k]
                B[v, k] = cells[k]

    @T.prim_func
    def after(A: T.Buffer((8,), "float32"), B: T.Buffer((2, 8), "float32")):
        shared = T.allocate([8], "float32", "shared")
        cells = T.Buffer((8,), data=shared, scope="shared")
        for k in range(8):
            cells[k] = A[k]
            for v in T.unroll(2):
                B[v, k] = cells[k]

    check(before, after)


def test_memory_of_virtual_threads_gets_a_dimension():
    @T.prim_func
    def before(A: T.Buffer((2, 8), "float32"), B: T.Buffer((2,), "float32")):
        for v in T.thread_binding(2, thread="vthread.x"):
            local = T.allocate([1], "float32", "local")
            total = T.Buffer((1,), data=local, scope="local")
            total[0] = T.float32(0)
            for k in range(8):
                total[0] = total[0] + A[v, k]
            B[v] = total[0]

    @T.prim_func
    def after(A: T.Buffer((2, 8), "float32"), B: T.Buffer((2,), "float32")):
        local = T.allocate([2, 1], "float32", "local")
        total = T.Buffer((2, 1), data=local, scope="local")
        for v in T.unroll(2):
            total[v, 0] = T.float32(0)
        for k in range(8):
            for v in T.unroll(2):
                total[v, 0] = total[v, 0] + A[v, k]
        for v in T.unroll(2):
            B[v] = total[v, 0]

    check(before, after)


def test_loops_that_depend_on_the_virtual_thread_stay_whole():
    @T.prim_func
    def before(A: T.Buffer((2, 8), "float32")):
        for v in T.thread_binding(2, thread="vthread"):
            for k in range(v + 1):
                A[v, k] = T.float32(0)

    @T.prim_func
    def after(A: T.Buffer((2, 8), "float32")):
        for v in T.unroll(2):
            for k in range(v + 1):
                A[v, k] = T.float32(0)

    check(before, after)


def test_a_product_in_the_form_of_the_classic_schedule():
    source = PROGRAMS["product_of_virtual_threads"]().build("opencl")
    source = source.imported_modules[0].get_source()
    assert source.count("__local float") == 2
    assert source.count("barrier(CLK_LOCAL") == 2


def test_a_store_depends_on_what_decides_it_and_on_definitions():
    @T.prim_func
    def before(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        for v in T.thread_binding(2, thread="vthread"):
            by_value = T.allocate([1], "float32", "local")
            X = T.Buffer((1,), data=by_value, scope="local")
            by_branch = T.allocate([1], "float32", "local")
            Y = T.Buffer((1,), data=by_branch, scope="local")
            by_count = T.allocate([1], "float32", "local")
            Z = T.Buffer((1,), data=by_count, scope="local")
            element: T.float32 = A[v]
            X[0] = element
            Y[0] = T.float32(0)
            if v == 1:
                Y[0] = T.float32(5)
            Z[0] = T.float32(0)
            for _ in range(v):
                Z[0] = Z[0] + T.float32(1)
            B[v] = X[0] + Y[0] + Z[0]

    func = inject_virtual_threads(before)
    assert [list(map(int, stmt.extents)) for stmt in allocations(func)] == [[2, 1]] * 3
    a, b = np.array([10, 20], "float32"), np.empty(2, "float32")
    interpret(func, a, b)
    assert b.tolist() == [10, 26]


def test_memory_that_a_pointer_points_to_stays_and_the_loop_is_around_all():
    @T.prim_func
    def before(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        for v in T.thread_binding(2, thread="vthread"):
            local = T.allocate([1], "float32", "local")
            X = T.Buffer((1,), data=local, scope="local")
            X[0] = T.float32(1)
            T.evaluate(T.call_extern("int32", "update", T.address_of(X[0]), local, A[v]))
            B[v] = X[0]

    loop = inject_virtual_threads(before).body
    assert loop.kind is ForKind.UNROLLED
    assert [list(map(int, stmt.extents)) for stmt in allocations(loop)] == [[1]]


def test_virtual_threads_that_change_the_same_element_run_one_after_the_other():
    @T.prim_func
    def before(A: T.Buffer((6,), "int32"), B: T.Buffer((1,), "int32")):
        for v in T.thread_binding(6, thread="vthread.x"):
            B[0] = 0
            B[0] = B[0] + A[v]

    @T.prim_func
    def after(A: T.Buffer((6,), "int32"), B: T.Buffer((1,), "int32")):
        for v in T.unroll(6):
            B[0] = 0
            B[0] = B[0] + A[v]

    check(before, after)
