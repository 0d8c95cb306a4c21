"""Programs that call ``ptx_ldmatrix`` and ``ptx_mma`` for the registers of each thread."""

import sys

import numpy as np
import pytest
from tests.target.codegen.device.emulated_cuda import EmulatedCuda, use_emulation
from tests.target.codegen.device.test_nvrtc import requires_nvrtc

import tilewright as tvm
from tilewright.error import CodegenError
from tilewright.script import tir as T
from tilewright.target.codegen.device import nvrtc

AMPERE = "cuda -arch=sm_80"


def product(shape="m16n8k16", trans=False):
    """``C = A @ B.T``, by one instruction of one warp."""

    @T.prim_func
    def main(
        A: T.Buffer((16, 16), "float16"), B: T.Buffer((8, 16), "float16"),
        C: T.Buffer((16, 8), "float32"),
    ):  # fmt: skip
        block = T.env_thread("blockIdx.x")
        lane = T.env_thread("threadIdx.x")
        T.launch_thread(block, 1)
        T.launch_thread(lane, 32)
        shared = T.decl_buffer((16, 16), "float16", scope="shared")
        a = T.decl_buffer((8,), "float16", scope="local")
        b = T.decl_buffer((4,), "float16", scope="local")
        sums = T.decl_buffer((4,), "float32", scope="local")
        for i in range(4):
            sums[i] = T.float32(0)
            b[i] = B[lane // 4, lane % 4 * 2 + i % 2 + i // 2 * 8]
        for i in range(8):
            shared[i * 2 + lane // 16, lane % 16] = A[i * 2 + lane // 16, lane % 16]
        T.evaluate(
            T.ptx_ldmatrix(
                trans, 4, ".b16", a.data, 0, shared.data, 16 * (lane % 16) + 8 * (lane // 16),
                dtype="float16",
            )
        )  # fmt: skip
        T.evaluate(
            T.ptx_mma(
                "float32", shape, "row", "col", "fp16", "fp16", "fp32", a.data, 0, b.data, 0,
                sums.data, 0, False,
            )
        )  # fmt: skip
        for i in range(4):
            C[lane // 4 + i // 2 * 8, lane % 4 * 2 + i % 2] = sums[i]

    return main


@pytest.mark.skipif(sys.platform != "linux", reason="the emulation needs ucontext.h")
def test_a_product_of_one_warp(monkeypatch):
    module = tvm.build(product(), target=AMPERE)
    source = module.imported_modules[0].get_source()
    kernel = source[source.index("__global__") :]
    assert kernel.index("__syncthreads") < kernel.index("tw_ldmatrix_x4(")
    use_emulation(monkeypatch, EmulatedCuda([source]))
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, (rows, 16)).astype("float16") for rows in (16, 8))
    result = tvm.nd.empty((16, 8), "float32", tvm.cuda(0))
    module(*(tvm.nd.array(array, tvm.cuda(0)) for array in (a, b)), result)
    np.testing.assert_array_equal(result.numpy(), a.astype("float32") @ b.T.astype("float32"))


@requires_nvrtc
@pytest.mark.parametrize("trans", [False, True])
def test_registers_stay_registers(trans):
    source = tvm.build(product(trans=trans), target=AMPERE).imported_modules[0].get_source()
    assembly = nvrtc.compile_kernels(source, "sm_80", "ptx").decode()
    assert ".local" not in assembly
    assert (".x4.trans.shared.b16" in assembly or ".x4.trans.b16" in assembly) == trans


@pytest.mark.parametrize(
    ("func", "target", "message"),
    [
        (product("m16n8k64"), AMPERE, "ptx_mma: there is no product m16n8k64 of fp16 and fp16"),
        (product(), "opencl", "target opencl: there is no instruction for ptx_ldmatrix"),
    ],
    ids=["shape", "opencl"],
)
def test_refusals(func, target, message):
    with pytest.raises(CodegenError, match=message):
        tvm.build(func, target=target)
