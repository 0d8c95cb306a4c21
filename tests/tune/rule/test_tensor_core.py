"""Tiles that a unit for products of small matrices computes; here described by plain loops."""

import logging
import sys

import numpy as np
import pytest
from tests.schedule_rules.programs import matmul, softmax
from tests.target.codegen.device.emulated_cuda import EmulatedCuda, use_emulation
from tests.target.codegen.device.test_nvrtc import HAS_NVRTC
from tests.tensor_intrin.tensor_cores import Unit, inputs_of, product
from tests.tune.rule.sketching import (
    assert_candidates_right,
    finished,
    names_of,
    resampled,
    sketches_of,
)

import tilewright as tvm
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.script import tir as T
from tilewright.target.codegen.device.nvrtc import compile_kernels
from tilewright.tir import TensorIntrin
from tilewright.tune.postproc import (
    RewriteCooperativeFetch,
    RewriteParallelVectorizeUnroll,
    RewriteReductionBlock,
    RewriteTensorize,
)
from tilewright.tune.rule import MultiLevelTilingTensorCore, ReuseType, ScheduleRule

GPU = "cuda -thread_warp_size=2"

GROUP = {
    "init": "test.unit.init",
    "load_a": "test.unit.load_a",
    "load_b": "test.unit.load_b",
    "compute": "test.unit.compute",
    "store": "test.unit.store",
}


def copying(read, write):
    @T.prim_func
    def copy(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (4, 4), "float32", scope=read, offset_factor=1)
        B = T.match_buffer(b, (4, 4), "float32", scope=write, offset_factor=1)
        with T.block("root"):
            T.reads(A[0:4, 0:4])
            T.writes(B[0:4, 0:4])
            for i, j in T.grid(4, 4):
                with T.block("copy"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vi, vj]

    return copy


@T.prim_func
def fill(c: T.handle):
    C = T.match_buffer(c, (4, 4), "float32", scope="wmma.accumulator", offset_factor=1)
    with T.block("root"):
        T.reads()
        T.writes(C[0:4, 0:4])
        for i, j in T.grid(4, 4):
            with T.block("fill"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.float32(0)


@T.prim_func
def multiply(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (4, 4), "float32", scope="wmma.matrix_a", offset_factor=1)
    B = T.match_buffer(b, (4, 4), "float32", scope="wmma.matrix_b", offset_factor=1)
    C = T.match_buffer(c, (4, 4), "float32", scope="wmma.accumulator", offset_factor=1)
    with T.block("root"):
        T.reads(C[0:4, 0:4], A[0:4, 0:4], B[0:4, 0:4])
        T.writes(C[0:4, 0:4])
        for i, j, k in T.grid(4, 4, 4):
            with T.block("multiply"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@pytest.fixture(autouse=True, scope="module")
def unit():
    for name, func in (
        ("init", fill),
        ("load_a", copying("shared", "wmma.matrix_a")),
        ("load_b", copying("shared", "wmma.matrix_b")),
        ("compute", multiply),
        ("store", copying("wmma.accumulator", "shared")),
    ):
        TensorIntrin.register(GROUP[name], func, func, override=True)


def rule(groups=GROUP, **options):
    return MultiLevelTilingTensorCore(
        groups,
        "SSSRRSRS",
        tile_binds=["blockIdx.y", "blockIdx.x", "threadIdx.y"],
        max_innermost_factor=4,
        vector_load_lens=[1, 4],
        reuse_read=ReuseType("must", (4,), "shared"),
        reuse_write=ReuseType("must", (2,), "shared"),
        **options,
    )


POSTPROCS = [
    RewriteCooperativeFetch(),
    RewriteParallelVectorizeUnroll(),
    RewriteReductionBlock(),
    RewriteTensorize(),
]


def test_all_of_a_tile_is_done_by_the_unit():
    (sch,) = sketches_of(matmul(8, 16, 8), [rule()], GPU)
    assert [name for name in names_of(sch) if name.endswith("_o")] == [
        "A_wmma.matrix_a_o",
        "B_wmma.matrix_b_o",
        "C_o",
        "C_wmma.accumulator_o",
    ]
    assert finished(sch, POSTPROCS, GPU)
    inner = {"fill", "copy", "multiply"}
    assert inner <= set(names_of(sch))
    assert "auto_tensorize" not in sch.mod.script()
    # The threads of a warp, and the warps of a block, fill shared memory together.
    threads = [
        sch.get(loop).thread_binding.thread_tag
        for loop in sch.get_loops("A_shared")
        if sch.get(loop).thread_binding is not None
    ]
    assert threads == ["blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.y", "threadIdx.x"]


def test_candidates_compute_the_same():
    assert_candidates_right(matmul(8, 16, 8), [rule()], POSTPROCS, GPU, tries=2)


@pytest.mark.parametrize("func", [matmul(6, 8, 8), softmax(4, 4)], ids=["odd", "softmax"])
def test_what_does_not_fit_stays(func):
    (sch,) = sketches_of(func, [rule()], GPU)
    assert "_o" not in "".join(names_of(sch))
    assert len(sch.trace.simplified()) == 0


def test_a_missing_intrinsic_is_named(caplog):
    with caplog.at_level(logging.WARNING):
        sketches_of(matmul(8, 8, 8), [rule([{**GROUP, "store": "test.unit.none"}, GROUP])], GPU)
    assert "there is no tensor intrinsic test.unit.none" in caplog.text
    kinds = [type(item) for item in ScheduleRule.create("cuda-tensorcore")]
    assert MultiLevelTilingTensorCore in kinds


@pytest.mark.skipif(sys.platform != "linux", reason="the emulation needs ucontext.h")
def test_candidates_run_on_an_emulated_gpu(monkeypatch):
    use_emulation(monkeypatch, EmulatedCuda())
    unit, sizes = Unit(), (64, 32, 32)
    rules = [
        item
        for item in ScheduleRule.create("cuda-tensorcore")
        if isinstance(item, MultiLevelTilingTensorCore)
    ]
    (sketch,) = sketches_of(product(*sizes, unit), rules, "cuda")
    candidates = [sch for seed in range(1, 9) if (sch := resampled(sketch, seed))][:2]
    assert candidates
    for sch in candidates:
        assert finished(sch, POSTPROCS, "cuda")
        module = tvm.build(sch.mod, target="cuda")
        source = module.imported_modules[0].get_source()
        assert "wmma.mma.sync" in source
        if HAS_NVRTC:
            compile_kernels(source, "sm_75")
        a, b, result = inputs_of(sizes, unit)
        arrays = [tvm.nd.array(array, tvm.cuda(0)) for array in (a, b, result)]
        module(*arrays)
        wanted = a.astype("float64") @ b.astype("float64")
        np.testing.assert_array_equal(arrays[2].numpy().astype("float64"), wanted)


def test_wrong_groups_are_refused():
    with pytest.raises(ArgumentError, match="with the keys init, load_a, load_b, compute, store"):
        rule({"init": "a"})
    with pytest.raises(ArgumentValueError, match="software pipelines are not supported"):
        rule(use_software_pipeline=True)
