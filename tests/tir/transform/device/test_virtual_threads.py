"""One thread does the work of its virtual threads, statement by statement."""

import numpy as np

import tilewright as tvm
from tilewright import te
from tilewright.ir import assert_structural_equal
from tilewright.script import tir as T
from tilewright.tir.transform.device.virtual_threads import inject_virtual_threads


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
    n, tile = 32, 16
    a, b = (te.placeholder((n, n), name=name) for name in "AB")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[k, i] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    shared = [s.cache_read(tensor, "shared", [c]) for tensor in (a, b)]
    local = [s.cache_read(tensor, "local", [c]) for tensor in shared]
    total = s.cache_write(c, "local")
    threads = {name: te.thread_axis((0, 4), f"threadIdx.{name}") for name in "xy"}
    for axis, name in zip(c.op.axis, "yx", strict=True):
        block, inner = s[c].split(axis, factor=tile)
        virtual, inner = s[c].split(inner, nparts=2)
        thread, inner = s[c].split(inner, nparts=4)
        s[c].bind(block, te.thread_axis(f"blockIdx.{name}"))
        s[c].bind(virtual, te.thread_axis((0, 2), "vthread", name=f"v{name}"))
        s[c].bind(thread, threads[name])
    loops = s[c].leaf_iter_vars
    s[c].reorder(*loops[0::4], *loops[1::4], *loops[2::4], *loops[3::4])
    s[total].compute_at(s[c], s[c].leaf_iter_vars[5])
    i, j = total.op.axis
    outer, inner = s[total].split(k, factor=8)
    s[total].reorder(outer, inner, i, j)
    for copy in shared:
        s[copy].compute_at(s[total], outer)
        y, x = copy.op.axis
        thread, x = s[copy].split(x, nparts=4)
        row, y = s[copy].split(y, nparts=4)
        s[copy].reorder(row, thread, y, x)
        s[copy].bind(row, threads["y"])
        s[copy].bind(thread, threads["x"])
    for copy in local:
        s[copy].compute_at(s[total], inner)
    module = tvm.build(s, [a, b, c], "opencl")
    source = module.imported_modules[0].get_source()
    assert source.count("__local float") == 2
    assert source.count("barrier(CLK_LOCAL") == 2
    device = tvm.opencl(0)
    values = np.random.default_rng(0).normal(size=(2, n, n)).astype("float32")
    result = tvm.nd.empty((n, n), "float32", device)
    module(*(tvm.nd.array(value, device) for value in values), result)
    np.testing.assert_allclose(result.numpy(), values[0].T @ values[1], rtol=1e-4, atol=1e-4)
