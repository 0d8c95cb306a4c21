"""What kernels use, and limits of devices."""

import pytest

import tilewright as tvm
from tilewright import te, tir
from tilewright.driver.pipeline import for_backend
from tilewright.error import ArgumentValueError, LoweringError
from tilewright.script import tir as T
from tilewright.target import Target
from tilewright.tir.analysis.kernel_limits import exceeded, kernel_uses
from tilewright.tir.transform.device.passes import SplitHostDevice


def copied(threads=(8, 4), scope="shared", tile=64):
    """Rows of 64 elements, copied into memory of a block or thread first."""
    a = te.placeholder((16, 64), name="A")
    sch = tir.Schedule(te.create_prim_func([a, te.compute(a.shape, lambda i, j: a[i, j] + 1.0)]))
    i, j = sch.get_loops("compute")
    copy = sch.cache_read("compute", 0, scope)
    block, y = sch.split(i, [None, threads[0]])
    j, x = sch.split(j, [None, threads[1]])
    sch.reorder(block, y, x, j)
    for loop, axis in zip((block, y, x), ("blockIdx.x", "threadIdx.y", "threadIdx.x"), strict=True):
        sch.bind(loop, axis)
    sch.compute_at(copy, x)
    return sch.mod["main"]


def test_what_a_kernel_uses():
    (kernel,) = kernel_uses(copied())
    assert kernel.threads == {"threadIdx.y": 8, "threadIdx.x": 4}
    assert kernel.threads_of_block == 32
    assert kernel.shared_bytes == 8 * 64 * 4
    assert kernel.local_bytes == 0
    (kernel,) = kernel_uses(copied(scope="local"))
    assert (kernel.shared_bytes, kernel.local_bytes) == (0, 61 * 4)


def test_kernels_that_are_lowered_use_the_same():
    func = copied(scope="local")
    mod = for_backend(tvm.IRModule({"main": func}), Target("cuda"))
    kernels = [f for f in SplitHostDevice(2)(mod).functions.values() if len(f.params) > 1]
    before, (after,) = kernel_uses(func)[0], kernel_uses(kernels[-1])
    assert before.threads == after.threads
    assert before.local_bytes == after.local_bytes


@pytest.mark.parametrize(
    ("constraint", "limit", "told"),
    [
        ("max_threads_per_block", 31, "kernel main has 32 threads per block, and at most 31"),
        ("max_thread_x", 3, "has 4 threads along threadIdx.x"),
        ("max_thread_y", 7, "has 8 threads along threadIdx.y"),
        ("max_shared_memory_per_block", 2047, "has 2048 bytes of shared memory"),
        ("max_vector_bytes", 3, "has 4 bytes of a vector"),
        ("max_registers_per_block", 32, "estimated registers per block, and at most 32"),
        ("max_kernels", 0, "function main has 1 kernels, and at most 0"),
    ],
)
def test_the_limit_that_is_exceeded_is_told(constraint, limit, told):
    func = copied()
    (text,) = exceeded(func, {constraint: limit})
    assert told in text
    assert f"({constraint}); " in text
    assert not tir.analysis.verify_gpu_code(func, {constraint: limit})
    assert tir.analysis.verify_gpu_code(func, {constraint: limit + 1000})


def test_local_memory_and_virtual_threads_are_limited():
    (text,) = exceeded(copied(scope="local"), {"max_local_memory_per_block": 243})
    assert "has 244 bytes of local memory" in text

    @T.prim_func
    def virtual(A: T.Buffer((8, 4), "float32")):
        for i in T.thread_binding(8, thread="vthread"):
            for j in T.thread_binding(4, thread="threadIdx.x"):
                A[i, j] = T.float32(0)

    assert exceeded(virtual, {"max_vthread": 8}) == []
    assert "has 8 virtual threads" in exceeded(virtual, {"max_vthread": 7})[0]


def test_what_is_no_constant_exceeds_every_limit():
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    sch = tir.Schedule(te.create_prim_func([a, te.compute((n,), lambda i: a[i] + 1.0, name="B")]))
    sch.bind(sch.get_loops("B")[0], "threadIdx.x")
    (text,) = exceeded(sch.mod["main"], {"max_threads_per_block": 1024})
    assert "has an unknown number of threads per block" in text


def test_unknown_constraints_are_refused():
    with pytest.raises(ArgumentValueError, match=r"no constraint 'max_thread'.*max_thread_x"):
        tir.analysis.verify_gpu_code(copied(), {"max_thread": 3})


def test_registers_hold_what_has_constant_indices():
    def product(size):
        n = 64
        A, B = (te.placeholder((n, n), name=name) for name in "AB")
        k = te.reduce_axis((0, n), name="k")
        C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
        sch = tir.Schedule(te.create_prim_func([A, B, C]))
        local = sch.cache_write("C", 0, "local")
        i, j, k = sch.get_loops("C")
        (y, i), (x, j) = (sch.split(loop, [None, size]) for loop in (i, j))
        sch.reorder(y, x, k, i, j)
        sch.reverse_compute_at(local, x)
        sch.bind(y, "blockIdx.x")
        sch.bind(x, "threadIdx.x")
        return kernel_uses(sch.mod["main"])[0]

    small, large = product(2), product(8)
    assert large.registers - small.registers > 64 - 4
    assert large.registers < 64 + 16 * 6 + 20


@pytest.mark.parametrize(
    ("func", "target", "told"),
    [
        (copied((16, 64)), "cuda -max_num_threads=512", "1024 threads per block, and at most 512"),
        (copied((16, 64)), "opencl -max_num_threads=512", "threads per block"),
        (copied((2, 4)), "cuda -max_shared_memory_per_block=256", "512 bytes of shared memory"),
    ],
)
def test_building_refuses_what_the_device_of_a_target_has_not(func, target, told):
    with pytest.raises(LoweringError, match=rf"VerifyGPUCode: kernel main_kernel has .*{told}"):
        tvm.build(func, target=target)


def test_gpus_have_limits_without_attributes():
    a = te.placeholder((4096,), name="A")
    sch = tir.Schedule(te.create_prim_func([a, te.compute((4096,), lambda i: a[i] * 2, name="B")]))
    sch.bind(sch.get_loops("B")[0], "threadIdx.x")
    for target in ("cuda", "nvidia/nvidia-h100"):
        with pytest.raises(LoweringError, match=r"4096 threads per block, and at most 1024 are"):
            tvm.build(sch.mod, target=target)
