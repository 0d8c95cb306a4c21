"""Threads of a warp exchange values by shuffles."""

import re
import sys

import numpy as np
import pytest
from tests.target.codegen.device.emulated_cuda import EmulatedCuda, use_emulation
from tests.target.codegen.device.programs import assert_computes
from tests.target.codegen.device.test_nvrtc import requires_nvrtc
from tests.target.codegen.device.warp_programs import WARP_PROGRAMS, shared_rows

import tilewright as tvm
from tilewright.error import CodegenError, DeviceError, LoweringError
from tilewright.script import tir as T
from tilewright.target.codegen.device import nvrtc

emulated = pytest.mark.skipif(sys.platform != "linux", reason="the emulation needs ucontext.h")


@pytest.fixture(scope="module")
def built():
    """The programs by name, with their modules."""
    return {
        name: (program, tvm.build(program.func, target="cuda"))
        for name, program in ((name, make()) for name, make in WARP_PROGRAMS.items())
    }


def source_of(module):
    return module.imported_modules[0].get_source()


@pytest.fixture(scope="module")
def api(built):
    api = EmulatedCuda([source_of(module) for _, module in built.values()])
    with pytest.MonkeyPatch.context() as monkeypatch:
        use_emulation(monkeypatch, api)
        yield api


@emulated
@pytest.mark.parametrize("name", WARP_PROGRAMS)
def test_programs_compute_what_they_say(api, built, name):
    api.seed = 3
    assert_computes(*built[name], tvm.cuda(0))


@pytest.mark.parametrize(
    ("name", "barriers", "shuffles"),
    [
        ("one_warp", 0, 5), ("groups_of_a_warp", 0, 3), ("two_warps", 1, 6), ("three_warps", 1, 7),
        ("results_of_a_group", 0, 3), ("reversed_in_warps", 0, 1),
    ],
)  # fmt: skip
def test_fewer_barriers(built, name, barriers, shuffles):
    source = source_of(built[name][1])
    assert source.count("__syncthreads();") == barriers
    assert len(re.findall(r"__shfl(_down)?_sync\(", source)) == shuffles


@requires_nvrtc
@pytest.mark.parametrize("name", WARP_PROGRAMS)
def test_programs_compile(built, name):
    source = source_of(built[name][1])
    assembly = nvrtc.compile_kernels(source, "sm_80", "ptx").decode()
    assert "shfl.sync" in assembly
    assert assembly.count("bar.sync") == source.count("__syncthreads();")
    for architecture in ("sm_75", "sm_90"):
        nvrtc.compile_kernels(source, architecture)


def test_a_tree_where_threads_are_no_lanes_of_whole_warps():
    for target, threads in (("cuda", 5), ("cuda", 48), ("opencl", 32)):
        source = source_of(tvm.build(shared_rows("rows", threads).func, target=target))
        assert "shfl" not in source
        assert "barrier" in source or "__syncthreads();" in source


@T.prim_func
def some_lanes(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for i in T.thread_binding(32, thread="threadIdx.x"):
        if i < 20:
            B[i] = T.tvm_warp_shuffle_down(T.uint32(0xFFFFFFFF), A[i], 1, 32, 32)


def test_lanes_that_do_not_come_are_noticed(monkeypatch):
    with pytest.raises(LoweringError, match=r"only some of them come: under the condition i < 20"):
        tvm.build(some_lanes, target="cuda")
    monkeypatch.setattr(
        "tilewright.tir.transform.device.barriers.lanes_that_exchange", lambda stmt: 0
    )
    module = tvm.build(some_lanes, target="cuda")
    if sys.platform != "linux":
        return
    with pytest.MonkeyPatch.context() as patch:
        use_emulation(patch, EmulatedCuda([source_of(module)]))
        arrays = [tvm.nd.array(np.zeros(32, "float32"), tvm.cuda(0)) for _ in range(2)]
        with pytest.raises(DeviceError, match=r"waits for its warp"):
            module(*arrays)


def test_the_mask_may_say_which_lanes_come():
    @T.prim_func
    def active(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        for i in T.thread_binding(32, thread="threadIdx.x"):
            if i < 20:
                B[i] = T.tvm_warp_shuffle(T.tvm_warp_activemask(), A[i], 0, 32, 32)

    assert "__shfl_sync(__activemask(), A[i], 0, 32)" in source_of(tvm.build(active, target="cuda"))
    with pytest.raises(CodegenError, match="threads cannot exchange values"):
        tvm.build(active, target="opencl")


def warp_memory(threads=32, stored=lambda t: t, loaded=lambda t: 31 - t):
    @T.prim_func
    def func(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        memory = T.allocate([64], "float32", "warp")
        cells = T.Buffer((64,), data=memory, scope="warp")
        for t in T.thread_binding(threads, thread="threadIdx.x"):
            cells[stored(t)] = A[t]
            B[t] = cells[loaded(t)]

    return func


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            {"threads": 48, "loaded": lambda t: 47 - t},
            "memory of a warp of 32 threads, and threadIdx.x has 48 threads",
        ),
        ({"stored": lambda t: 3}, "its threads do not store to elements of their own"),
        ({"stored": lambda t: t + 1}, "belongs to lane"),
        ({"loaded": lambda t: t // 16 * 33}, "exchange the same register only"),
    ],
)
def test_memory_of_a_warp_that_is_not_in_its_threads_is_refused(options, reason):
    with pytest.raises(LoweringError, match=reason):
        tvm.build(warp_memory(**options), target="cuda")
