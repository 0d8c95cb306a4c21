"""The default schedule for devices."""

import numpy as np
import pytest
from tests.target.codegen.device.collection import PROGRAMS

import tilewright as tvm
from tilewright import te, topi
from tilewright.runtime.device_driver import driver_of


@pytest.mark.parametrize("name", ["matmul_relu", "convolution_with_bias", "batch_matmul"])
def test_products_are_one_kernel_through_shared_memory(name):
    module = PROGRAMS[name]().build("cuda")
    source = module.imported_modules[0].get_source()
    assert source.count("__global__") == 1
    assert source.count("__shared__") == 2
    assert source.count("__syncthreads();") == 2


@pytest.mark.parametrize(
    ("name", "threads"),
    [("long_softmax", 64), ("layer_norm", 64), ("argmax", 32), ("row_sums", 128), ("total", 256)],
)
def test_what_is_done_to_a_row_is_one_kernel_whose_threads_reduce_together(name, threads):
    module = PROGRAMS[name]().build("opencl")
    source = module.imported_modules[0].get_source()
    assert source.count("__kernel") == 1
    assert f"reqd_work_group_size({threads}, " in source
    assert "_parts[" in source


@pytest.mark.parametrize("name", ["pooling", "depthwise"])
def test_threads_reduce_in_registers(name):
    source = PROGRAMS[name]().build("cuda").imported_modules[0].get_source()
    assert "_local[0] = " in source


def test_parts_of_a_long_sum_are_a_kernel_of_many_blocks():
    module = PROGRAMS["long_total"]().build("opencl")
    source = module.imported_modules[0].get_source()
    assert source.count("__kernel") == 2
    assert "get_group_id(0);  // of 3" in source


def test_rows_of_sizes_that_are_not_known():
    n, m = te.var("n"), te.var("m")
    data = te.placeholder((n, m), name="data")
    func = te.create_prim_func([data, topi.nn.softmax(data)])
    module = tvm.build(func, target="opencl")
    assert module.imported_modules[0].get_source().count("__kernel") == 1
    for shape in ((1, 1), (3, 50), (2, 300)):
        values = np.random.default_rng(0).normal(size=shape).astype("float32")
        result = tvm.nd.empty(shape, "float32", tvm.opencl(0))
        module(tvm.nd.array(values, tvm.opencl(0)), result)
        expected = np.exp(values) / np.exp(values).sum(1, keepdims=True)
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5)


def test_each_row_is_sorted_by_a_thread_with_memory_of_its_own():
    data = te.placeholder((te.var("m"), te.var("n")), name="data")
    module = tvm.build(te.create_prim_func([data, topi.sort(data)]), target="opencl")
    for shape in ((5, 50), (3, 7), (0, 2)):
        values = np.random.default_rng(0).normal(size=shape).astype("float32")
        result = tvm.nd.empty(shape, "float32", tvm.opencl(0))
        module(tvm.nd.array(values, tvm.opencl(0)), result)
        np.testing.assert_array_equal(result.numpy(), np.sort(values))


@pytest.mark.parametrize(
    "operator",
    [
        lambda x: topi.sum(x, 1),
        lambda x: topi.sum(x, 0),
        lambda x: topi.sort(x),
        lambda x: topi.reshape(x, (40, 0)),
        lambda x: topi.matmul(x, te.placeholder((40, 0), name="right")),
    ],
)
def test_nothing_is_computed_of_no_elements(operator):
    data = te.placeholder((0, 40), name="data")
    result = operator(data)
    inputs = [data, *(tensor for tensor in result.op.input_tensors if tensor.op.name == "right")]
    module = tvm.build(te.create_prim_func([*inputs, result]), target="opencl")
    arrays = [
        tvm.nd.empty([int(n) for n in tensor.shape], "float32", tvm.opencl(0))
        for tensor in (*inputs, result)
    ]
    module(*arrays)
    assert not arrays[-1].numpy().any()


def test_a_schedule_of_tensors_gets_threads():
    a = te.placeholder((70,), name="a")
    b = te.compute((70,), lambda i: a[i] + 1.0, name="b")
    source = tvm.build(te.create_schedule(b.op), [a, b], "opencl").imported_modules[0].get_source()
    assert "reqd_work_group_size(70, 1, 1)" in source


def test_sizes_that_are_not_known():
    n = te.var("n")
    a = te.placeholder((n, n), name="a")
    b = te.compute((n, n), lambda i, j: a[j, i] + 1.0, name="b")
    module = tvm.build(te.create_schedule(b.op), [a, b], "opencl")
    values = np.arange(400, dtype="float32").reshape(20, 20)
    result = tvm.nd.empty((20, 20), "float32", tvm.opencl(0))
    module(tvm.nd.array(values, tvm.opencl(0)), result)
    np.testing.assert_array_equal(result.numpy(), values.T + 1)


def test_devices_are_driven_by_one_driver():
    assert driver_of(4) is driver_of(4)
    assert tvm.opencl(0).total_global_memory > 0
