"""Reductions that threads of a device share, against numpy."""

import os
import subprocess
import sys

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te, tir

DEVICE = tvm.opencl(0)


def on_device(values):
    return tvm.nd.array(values, DEVICE)


def rows(reducer, shape, threads, rows=1, dtype="float32"):
    """A schedule of a reduction of rows, of which a block of threads takes some."""
    a = te.placeholder(shape, dtype, name="A")
    k = te.reduce_axis((0, shape[1]), name="k")
    b = te.compute(shape[:1], lambda i: reducer(a[i, k], axis=k), name="B")
    sch = tir.Schedule(te.create_prim_func([a, b]))
    i, k = sch.get_loops("B")
    i, row = sch.split(i, [None, rows])
    _, thread = sch.split(k, [None, threads])
    sch.bind(i, "blockIdx.x")
    sch.bind(row, "threadIdx.y")
    sch.bind(thread, "threadIdx.x")
    return sch.mod


def run(module, *arrays):
    """What a module stores into its last arguments, those that are given as dtype and shape."""
    values = [
        on_device(a if isinstance(a, np.ndarray) else np.full(a[1], 99, a[0])) for a in arrays
    ]
    tvm.build(module, target="opencl")(*values)
    found = [v.numpy() for v, a in zip(values, arrays, strict=True) if isinstance(a, tuple)]
    return found[0] if len(found) == 1 else found


@pytest.mark.parametrize(
    ("shape", "threads", "count"),
    [((4, 32), 32, 1), ((5, 100), 16, 2), ((6, 37), 7, 3), ((2, 3), 8, 1), ((3, 64), 1, 4)],
)
def test_sums_and_maxima(shape, threads, count):
    values = np.random.default_rng(0).normal(size=shape).astype("float32")
    for reducer, expected in ((te.sum, values.sum(1)), (te.max, values.max(1))):
        found = run(rows(reducer, shape, threads, count), values, ("float32", shape[0]))
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "int8", "int64"])
def test_narrow_and_wide_numbers(dtype):
    values = (np.arange(80) % 5 - 2).reshape(2, 40).astype(dtype)
    found = run(rows(te.sum, (2, 40), 16, dtype=dtype), values, (dtype, 2))
    np.testing.assert_array_equal(found, values.sum(1, dtype=dtype))


def test_sizes_are_known_when_it_runs():
    n, m = te.var("n"), te.var("m")
    module = tvm.build(rows(te.sum, (n, m), 8, rows=2), target="opencl")
    for shape in ((1, 1), (5, 37), (4, 16), (3, 0)):
        values = np.random.default_rng(0).normal(size=shape).astype("float32")
        result = on_device(np.full(shape[0], 99, "float32"))
        module(on_device(values), result)
        np.testing.assert_allclose(result.numpy(), values.sum(1), rtol=1e-4, atol=1e-5)


def argmax(shape=(5, 50), threads=16):
    def combine(x, y):
        first = tir.any(x[1] > y[1], tir.all(x[1].equal(y[1]), x[0] < y[0]))
        return tir.Select(first, x[0], y[0]), tir.Select(first, x[1], y[1])

    reducer = te.comm_reducer(combine, lambda a, b: (tir.const(-1, a), te.min_value(b)))
    a = te.placeholder(shape, name="A")
    k = te.reduce_axis((0, shape[1]), name="k")
    index, value = te.compute(shape[:1], lambda i: reducer((k.var, a[i, k]), axis=k), name="R")
    sch = tir.Schedule(te.create_prim_func([a, index, value]))
    i, k = sch.get_loops("R")
    sch.bind(i, "blockIdx.x")
    sch.bind(sch.split(k, [None, threads])[1], "threadIdx.x")
    return sch.mod


def test_the_arguments_of_maxima():
    values = np.random.default_rng(0).integers(0, 9, (5, 50)).astype("float32")
    index, value = run(argmax(), values, ("int32", 5), ("float32", 5))
    np.testing.assert_array_equal(index, values.argmax(1))
    np.testing.assert_array_equal(value, values.max(1))


def test_a_reducer_of_the_program():
    product = te.comm_reducer(lambda x, y: x * y, lambda t: tir.const(1, t), name="product")
    values = np.random.default_rng(0).uniform(0.8, 1.2, (3, 20)).astype("float32")
    found = run(rows(product, (3, 20), 8), values, ("float32", 3))
    np.testing.assert_allclose(found, values.prod(1), rtol=1e-5)


def test_two_axes_of_threads_share_a_reduction():
    a = te.placeholder((4, 6, 8), name="A")
    k, m = te.reduce_axis((0, 6), name="k"), te.reduce_axis((0, 8), name="m")
    b = te.compute((4,), lambda i: te.sum(a[i, k, m], axis=[k, m]), name="B")
    sch = tir.Schedule(te.create_prim_func([a, b]))
    for loop, axis in zip(sch.get_loops("B"), ("blockIdx.x", "threadIdx.y", "threadIdx.x")):  # noqa: B905, three each
        sch.bind(loop, axis)
    values = np.random.default_rng(0).normal(size=(4, 6, 8)).astype("float32")
    np.testing.assert_allclose(
        run(sch.mod, values, ("float32", 4)), values.sum((1, 2)), rtol=1e-4, atol=1e-5
    )


def test_several_results_of_a_thread():
    a = te.placeholder((40, 6), name="A")
    k = te.reduce_axis((0, 40), name="k")
    b = te.compute((6,), lambda j: te.sum(a[k, j], axis=k), name="B")
    sch = tir.Schedule(te.create_prim_func([a, b]))
    j, k = sch.get_loops("B")
    k, thread = sch.split(k, [None, 16])
    sch.reorder(k, thread, j)
    sch.bind(thread, "threadIdx.x")
    values = np.random.default_rng(0).normal(size=(40, 6)).astype("float32")
    np.testing.assert_allclose(
        run(sch.mod, values, ("float32", 6)), values.sum(0), rtol=1e-4, atol=1e-5
    )


def normalized(shape=(3, 40), threads=16):
    """Rows divided by their sums, in one kernel."""
    a = te.placeholder(shape, name="A")
    k = te.reduce_axis((0, shape[1]), name="k")
    total = te.compute(shape[:1], lambda i: te.sum(a[i, k], axis=k), name="total")
    b = te.compute(shape, lambda i, j: a[i, j] / total[i], name="B")
    sch = tir.Schedule(te.create_prim_func([a, b]))
    i, j = sch.get_loops("B")
    sch.set_scope("total", 0, "shared")
    sch.compute_at("total", i)
    sch.bind(i, "blockIdx.x")
    sch.bind(sch.split(j, [None, threads])[1], "threadIdx.x")
    sch.bind(sch.split(sch.get_loops("total")[-1], [None, threads])[1], "threadIdx.x")
    return sch.mod


def test_threads_read_what_they_have_reduced():
    values = np.random.default_rng(0).uniform(1, 2, (3, 40)).astype("float32")
    found = run(normalized(), values, ("float32", (3, 40)))
    np.testing.assert_allclose(found, values / values.sum(1, keepdims=True), rtol=1e-5)


def factored():
    """Sums of rows as the tutorials write them: factorised, bound, and stored by one thread."""
    a = te.placeholder((4, 20), name="A")
    k = te.reduce_axis((0, 20), "k")
    b = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    _, inner = s[b].split(k, factor=8)
    part = s.rfactor(b, inner)
    outer, row = s[b].split(s[b].op.axis[0], factor=2)
    s[b].bind(outer, te.thread_axis("blockIdx.x"))
    s[b].bind(row, te.thread_axis("threadIdx.y"))
    thread = te.thread_axis("threadIdx.x")
    s[b].bind(s[b].op.reduce_axis[0], thread)
    s[part].compute_at(s[b], s[b].op.reduce_axis[0])
    s[b].set_store_predicate(thread.var.equal(0))
    return s, [a, b]


def test_a_schedule_of_stages():
    s, tensors = factored()
    values = np.random.default_rng(0).normal(size=(4, 20)).astype("float32")
    result = on_device(np.zeros(4, "float32"))
    tvm.build(s, tensors, target="opencl")(on_device(values), result)
    np.testing.assert_allclose(result.numpy(), values.sum(1), rtol=1e-5, atol=1e-6)


def test_the_same_kernels_in_cuda():
    s, tensors = factored()
    source = tvm.build(s, tensors, target="cuda").imported_modules[0].get_source()
    assert "__shared__" not in source
    assert source.count("__shfl_down_sync(") == 3
    assert source.count("__syncthreads();") == 0


RACES = """
import sys
import numpy as np
import tilewright as tvm
from tests.schedule_rules.test_threads import column_sums, layer_norm, long_softmax
from tilewright.target.codegen.device import dialect
from tests.runtime.test_cross_thread_reduction import argmax, factored, normalized, rows, te

if sys.argv[1] == "without barriers":
    changed = dialect.OPENCL._replace(barrier="mem_fence(CLK_LOCAL_MEM_FENCE)")
    dialect.DIALECTS["opencl"] = changed

def run(module, *shapes):
    arrays = [tvm.nd.array(np.ones(s, d), tvm.opencl(0)) for d, s in shapes]
    tvm.build(*module, target="opencl")(*arrays)
    arrays[-1].numpy()

f = "float32"
run([rows(te.sum, (4, 20), 6, 2)], (f, (4, 20)), (f, 4))
run([argmax((2, 20), 8)], (f, (2, 20)), ("int32", 2), (f, 2))
run([normalized((2, 20), 8)], (f, (2, 20)), (f, (2, 20)))
run(factored(), (f, (4, 20)), (f, 4))
run([te.create_prim_func(column_sums())], (f, (100, 20)), (f, 20))
run([te.create_prim_func(layer_norm())], (f, (10, 64)), (f, 64), (f, 64), (f, (10, 64)))
run([te.create_prim_func(long_softmax())], (f, (3, 2, 100)), (f, (3, 2, 100)))
"""


@pytest.mark.parametrize("case", ["with barriers", "without barriers"])
def test_a_simulator_finds_races_where_barriers_are_missing(tmp_path, case):
    log = tmp_path / "log"
    environment = {
        **os.environ, "OCLGRIND_DATA_RACES": "1", "OCLGRIND_LOG": str(log),
        "TILEWRIGHT_OPENCL_DEVICE": "oclgrind",
    }  # fmt: skip
    subprocess.run([sys.executable, "-c", RACES, case], check=True, env=environment)
    found = log.read_text() if log.exists() else ""
    assert ("data race" in found) is (case == "without barriers"), found[:2000]
    assert "Invalid" not in found, found[:2000]
