"""Default schedules of products for GPUs with tensor cores, run by an emulation of CUDA."""

import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.target.codegen.device.emulated_cuda import EmulatedCuda, use_emulation
from tests.target.codegen.device.programs import Program, assert_computes

import tilewright as tvm
from tilewright import te

emulated = pytest.mark.skipif(sys.platform != "linux", reason="the emulation needs ucontext.h")

AMPERE = "cuda -arch=sm_80"


def matmul(m, n, k, operand="float16", result="float32", trans=False, batch=()):
    a = te.placeholder((*batch, m, k), operand, name="A")
    b = te.placeholder((*batch, n, k) if trans else (*batch, k, n), operand, name="B")
    r = te.reduce_axis((0, k), name="r")

    def element(*place):
        *lead, i, j = place
        left, right = a[(*lead, i, r)], b[(*lead, j, r) if trans else (*lead, r, j)]
        return te.sum(left.astype(result) * right.astype(result), axis=r)

    return te.create_prim_func([a, b, te.compute((*batch, m, n), element, name="C")])


def dense_with_relu():
    a, b = (
        te.placeholder((48, 32), "float16", name="A"),
        te.placeholder((32, 40), "float16", name="B"),
    )
    bias, r = te.placeholder((40,), "float32", name="bias"), te.reduce_axis((0, 32), name="r")
    c = te.compute(
        (48, 40),
        lambda i, j: te.sum(a[i, r].astype("float32") * b[r, j].astype("float32"), axis=r),
        name="C",
    )
    d = te.compute((48, 40), lambda i, j: te.max(c[i, j] + bias[j], 0.0), name="D")
    return te.create_prim_func([a, b, bias, d])


def convolution():
    data = te.placeholder((1, 16, 8, 8), "float16", name="data")
    weight = te.placeholder((24, 16, 3, 3), "float16", name="weight")
    result = tvm.topi.nn.conv2d_nchw(data, weight, 1, 1, 1, out_dtype="float32")
    return te.create_prim_func([data, weight, result])


PROGRAMS = {
    "whole_tiles": matmul(64, 32, 64),
    "padded": matmul(33, 50, 20, trans=True),
    "bytes": matmul(40, 32, 32, "int8", "int32", trans=True),
    "bfloat": matmul(32, 48, 32, "bfloat16"),
    "batch": matmul(32, 16, 32, batch=(2,)),
    "relu": dense_with_relu(),
    "convolution": convolution(),
}


def source_of(module):
    return module.imported_modules[0].get_source()


@pytest.fixture(scope="module")
def modules():
    return {
        name: tvm.build(func.with_attr("global_symbol", name), target=AMPERE)
        for name, func in PROGRAMS.items()
    }


@pytest.fixture(scope="module")
def api(modules):
    device = EmulatedCuda([*map(source_of, modules.values())])
    with pytest.MonkeyPatch.context() as monkeypatch:
        use_emulation(monkeypatch, device)
        yield device


@emulated
@pytest.mark.parametrize("name", PROGRAMS)
def test_products_of_small_numbers_are_by_tensor_cores(api, modules, name):
    source = source_of(modules[name])
    assert source.count("__global__") == 1
    assert "mma.sync" in source
    api.seed = 3
    assert_computes(Program(PROGRAMS[name]), modules[name], tvm.cuda(0))


@pytest.mark.parametrize("name", ["whole_tiles", "padded"])
def test_copies_run_in_the_background(modules, name):
    source = source_of(modules[name])
    kernel = source[source.index("__global__") :]
    assert kernel.count("tw_copy_async(") == 4  # of both operands, before the loop and in it
    assert re.search(r"tw_wait_copies\(0\);\n +__syncthreads", kernel)


@emulated
@settings(max_examples=2, deadline=None)
@given(
    st.tuples(*[st.integers(16, 70)] * 3), st.booleans(),
    st.sampled_from([("float16", "float32"), ("uint8", "int32"), ("bfloat16", "float32")]),
)  # fmt: skip
def test_random_products(api, sizes, trans, types):
    func = matmul(*sizes, *types, trans)
    module = tvm.build(func, target=AMPERE)
    assert "mma.sync" in source_of(module)
    assert_computes(Program(func), module, tvm.cuda(0))


@pytest.mark.parametrize(
    ("func", "target"),
    [
        (matmul(32, 32, 32, "bfloat16"), "cuda"),  # from Ampere on
        (matmul(32, 32, 32, "float32"), AMPERE),
        (matmul(32, 8, 32), AMPERE),
        (matmul(32, 32, 32), "opencl"),
    ],
    ids=["old", "float32", "small", "opencl"],
)
def test_other_products_are_not(func, target):
    assert "mma" not in source_of(tvm.build(func, target=target))
