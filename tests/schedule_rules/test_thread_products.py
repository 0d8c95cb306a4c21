"""The default schedule of products for devices."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tvm
from tilewright import te, topi
from tilewright.schedule_rules import thread_rows
from tilewright.schedule_rules.thread_products import Tile, tile_for
from tilewright.target.accelerator import accelerator_of

TURING, AMPERE, H100 = "cuda -arch=sm_75", "cuda -arch=sm_80", "-multi_processor_count=132"
extents = st.one_of(st.integers(8, 35), st.sampled_from([8, 16, 32]))


def product_of(rows, columns, steps, transposed=(False, False), batch=(), dtype="float32"):
    """Operands and the result of a product of matrices."""
    shapes = (rows, steps), (steps, columns)
    operands = [
        te.placeholder((*batch, *(shape[::-1] if swap else shape)), dtype, name)
        for shape, swap, name in zip(shapes, transposed, "ab", strict=True)
    ]
    multiply = topi.nn.batch_matmul if batch else topi.matmul
    if batch:
        return [
            *operands,
            multiply(*operands, transpose_a=transposed[0], transpose_b=transposed[1]),
        ]
    return [*operands, multiply(*operands, transp_a=transposed[0], transp_b=transposed[1])]


def sources(tensors, target="cuda -arch=sm_90"):
    return tvm.build(te.create_prim_func(tensors), target).imported_modules[0].get_source()


def check(tensors, sizes=()):
    """Require what numpy computes, of whole numbers, in one kernel through shared memory."""
    func = te.create_prim_func(tensors)
    module = tvm.build(func, target="opencl")
    source = module.imported_modules[0].get_source()
    assert (source.count("__kernel"), source.count("__local")) == (1, 2)
    rng = np.random.default_rng(0)
    sizes = dict(sizes)
    host = [
        rng.integers(-3, 4, [sizes.get(str(n), n) for n in map(_plain, t.shape)]).astype(
            str(t.dtype)
        )
        for t in tensors
    ]
    device = [tvm.nd.array(values, tvm.opencl(0)) for values in host]
    module(*device)
    tvm.build(func, target="llvm")(*host)
    np.testing.assert_array_equal(device[-1].numpy(), host[-1])


def _plain(extent):
    return getattr(extent, "value", None) or str(extent)


@settings(max_examples=4)
@given(
    extents, extents, extents, st.tuples(st.booleans(), st.booleans()),
    st.sampled_from([(), (1,), (3,)]), st.sampled_from(["float32", "float64", "int32"]),
)  # fmt: skip
def test_random_products(rows, columns, steps, transposed, batch, dtype):
    check(product_of(rows, columns, steps, transposed, batch, dtype))


@settings(max_examples=3)
@given(
    st.integers(8, 12), st.integers(8, 20), st.integers(1, 9), st.integers(1, 3),
    st.integers(1, 2), st.integers(0, 1), st.booleans(),
)  # fmt: skip
def test_random_convolutions(size, channels, inputs, window, stride, padding, channels_last):
    steps = inputs * window**2
    if steps < 8:
        inputs = 8
    if channels_last:
        data = te.placeholder((1, size, size, inputs), name="data")
        weight = te.placeholder((window, window, inputs, channels), name="weight")
        check([data, weight, topi.nn.conv2d_nhwc(data, weight, stride, padding, 1)])
    else:
        data = te.placeholder((1, inputs, size, size), name="data")
        weight = te.placeholder((channels, inputs, window, window), name="weight")
        check([data, weight, topi.nn.conv2d_nchw(data, weight, stride, padding, 1)])


@pytest.mark.parametrize("rows", [1, 37])
def test_sizes_that_are_not_known(rows):
    check(product_of(te.var("n"), 40, 24), {"n": rows}.items())


def test_operands_are_copied_and_read_by_vectors():
    for transposed in ((False, False), (False, True), (True, False), (True, True)):
        source = sources(product_of(1024, 1024, 1024, transposed), f"{TURING} {H100}")
        copies = source[source.index("__syncthreads") : source.rindex("__syncthreads")]
        assert copies.count("*(float4*)&a[") == copies.count("*(float4*)&b[") == 1
        result = source[source.rindex("for (") :]
        assert result.count("*(float4*)&T_matmul[") == 1


@pytest.mark.parametrize(("transposed", "size"), [(False, 4), (True, 16)])
def test_operands_are_on_the_way_while_threads_compute(transposed, size):
    """Those whose rows become columns are copied one by one, others by vectors."""
    source = sources(product_of(1000, 1000, 1000, (transposed, False)), f"{AMPERE} {H100}")
    loop = source[source.index("tw_wait_copies(0)") : source.rindex("tw_wait_copies(0)")]
    assert (loop.count("tw_copy_async("), loop.count("__syncthreads")) == (2, 1)
    assert re.search(rf"tw_copy_async\(&a\w+\[.*\], &a\[.*\], {size}\);", loop)
    assert re.search(r"tw_copy_async\(&b\w+\[.*\], &b\[.*\], 16\);", loop)


@pytest.mark.parametrize(
    ("size", "multiprocessors", "expected"),
    [
        (4096, 132, Tile(128, 128)),
        (1024, 132, Tile(64, 64)),
        (1024, 16, Tile(128, 128)),
        (64, 132, Tile(16, 16)),
    ],
)
def test_tiles_are_large_where_enough_of_them_are_left(size, multiprocessors, expected):
    device = accelerator_of(tvm.target.Target(f"cuda -multi_processor_count={multiprocessors}"))
    assert tile_for(size, size, 1, device) == expected


def test_long_products_of_few_tiles_are_added_up_in_parts():
    a, b = te.placeholder((16, 4096), name="a"), te.placeholder((4096, 24), name="b")
    func = te.create_prim_func([a, b, topi.nn.relu(topi.matmul(a, b))])
    module = tvm.build(func, target="opencl")
    source = module.imported_modules[0].get_source()
    assert source.count("__kernel") == 3
    assert "get_group_id(1);  // of 16" in source
    rng = np.random.default_rng(0)
    host = [rng.integers(-3, 4, shape).astype("float32") for shape in ((16, 4096), (4096, 24))]
    result = tvm.nd.empty((16, 24), "float32", tvm.opencl(0))
    module(*(tvm.nd.array(values, tvm.opencl(0)) for values in host), result)
    np.testing.assert_array_equal(result.numpy(), np.maximum(host[0] @ host[1], 0))


@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("vectors", [2, 7])
def test_a_matrix_is_read_once_for_a_few_vectors(vectors, is_transposed, monkeypatch):
    monkeypatch.setattr(thread_rows, "BLOCK_THREADS", 32)
    shape = (40, 200) if is_transposed else (200, 40)
    a, b = te.placeholder((vectors, 200), name="a"), te.placeholder(shape, name="b")
    func = te.create_prim_func([a, b, topi.matmul(a, b, transp_b=is_transposed)])
    module = tvm.build(func, target="opencl")
    assert f"get_local_id(2);  // of {vectors}" in module.imported_modules[0].get_source()
    rng = np.random.default_rng(0)
    host = [rng.integers(-3, 4, shape).astype("float32") for shape in ((vectors, 200), shape)]
    result = tvm.nd.empty((vectors, 40), "float32", tvm.opencl(0))
    module(*(tvm.nd.array(values, tvm.opencl(0)) for values in host), result)
    expected = host[0] @ (host[1].T if is_transposed else host[1])
    np.testing.assert_array_equal(result.numpy(), expected)


def test_rows_of_few_threads_have_no_tiles():
    source = sources(product_of(64, 64, 64), "cuda -max_threads_per_block=128")
    assert "__launch_bounds__(128)" in source
