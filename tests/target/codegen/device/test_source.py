"""The text of kernels."""

import pytest
from tests.target.codegen.device.collection import PROGRAMS
from tests.target.codegen.device.programs import reverse

import tilewright as tvm
from tilewright.error import CodegenError, LoweringError
from tilewright.script import tir as T


def kernels(func, target):
    (module,) = tvm.build(func, target=target).imported_modules
    return module.get_source()


def test_opencl():
    source = kernels(reverse(), "opencl")
    definition = source[source.index("__kernel") :]
    assert definition == (
        "__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void reverse_kernel"
        "(__global float* restrict A, __global float* restrict B) {\n"
        "  __local float row[32];\n"
        "  const int32_t b = get_group_id(0);  // of 4\n"
        "  const int32_t i = get_local_id(0);  // of 32\n"
        "  row[i] = exp(A[b * 32 + i]);\n"
        "  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);\n"
        "  B[b * 32 + i] = row[31 - i];\n"
        "}\n"
    )


def test_cuda():
    source = kernels(reverse(), "cuda")
    definition = source[source.index('extern "C"') :]
    assert definition == (
        'extern "C" __global__ void __launch_bounds__(32) reverse_kernel'
        "(float* __restrict__ A, float* __restrict__ B) {\n"
        "  __shared__ float row[32] __attribute__((aligned(16)));\n"
        "  const int32_t b = (int)blockIdx.x;  // of 4\n"
        "  const int32_t i = (int)threadIdx.x;  // of 32\n"
        "  row[i] = expf(A[b * 32 + i]);\n"
        "  __syncthreads();\n"
        "  B[b * 32 + i] = row[31 - i];\n"
        "}\n"
    )


def test_the_host_starts_the_kernel():
    module = tvm.build(reverse(), target="opencl")
    assert "reverse_kernel" in module.get_source()
    assert module.function_names() == ["reverse"]


def test_names_that_a_language_has_are_not_taken():
    @T.prim_func
    def main(kernel: T.Buffer((8,), "float32"), half: T.Buffer((8,), "float32")):
        T.func_attr({"global_symbol": "main"})
        for local in T.thread_binding(8, thread="threadIdx.x"):
            half[local] = kernel[local]

    assert "half_1[local_1] = kernel_1[local_1];" in kernels(main, "opencl")
    assert "half[local] = kernel[local];" in kernels(main, "cuda")


def test_each_nest_is_a_kernel():
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"global_symbol": "main"})
        for i in T.thread_binding(8, thread="threadIdx.x"):
            A[i] = T.float32(1)
        for i in T.thread_binding(8, thread="threadIdx.x"):
            B[i] = A[7 - i]

    source = kernels(main, "opencl")
    assert source.count("__kernel ") == 2
    assert "void main_kernel(" in source
    assert "void main_kernel_1(" in source


@pytest.mark.parametrize("target", ["opencl", "cuda"])
def test_statements_outside_of_threads_are_refused(target):
    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        T.func_attr({"global_symbol": "main"})
        for i in range(8):
            A[i] = T.float32(1)

    with pytest.raises(LoweringError, match=r"A is accessed .* bind a loop around it"):
        tvm.build(main, target=target)


def test_the_number_of_threads_is_a_constant():
    @T.prim_func
    def main(a: T.handle, n: T.int32):
        T.func_attr({"global_symbol": "main"})
        A = T.match_buffer(a, (n,))
        for i in T.thread_binding(n, thread="threadIdx.x"):
            A[i] = T.float32(1)

    with pytest.raises(CodegenError, match=r"n threads along threadIdx.x.*blockIdx"):
        tvm.build(main, target="opencl")


def test_assertions_stay_on_the_host():
    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        T.func_attr({"global_symbol": "main"})
        for i in T.thread_binding(8, thread="threadIdx.x"):
            assert A[i] > T.float32(0), "positive"
            A[i] = T.float32(1)

    with pytest.raises(CodegenError, match="cannot report that positive failed"):
        tvm.build(main, target="opencl")


@pytest.mark.parametrize("target", ["opencl", "cuda"])
def test_the_host_is_not_called(target):
    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        T.func_attr({"global_symbol": "main"})
        for i in T.thread_binding(8, thread="threadIdx.x"):
            T.evaluate(T.call_packed("some.function", A[i]))

    with pytest.raises(CodegenError, match="work of the host; move it out of the loops"):
        tvm.build(main, target=target)


def test_threads_that_share_a_reduction():
    source = PROGRAMS["factored_sums"]().build("cuda").imported_modules[0].get_source()
    assert "__shared__" not in source
    assert source.count("__shfl_down_sync(") == 3
    assert source.count("__syncthreads();") == 0
