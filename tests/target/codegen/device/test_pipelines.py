"""Pipelines in kernels: copies in the background, the waits for them, and barriers."""

import re
import sys

import numpy as np
import pytest
from tests.target.codegen.device.emulated_cuda import EmulatedCuda, use_emulation
from tests.target.codegen.device.pipeline_programs import pipelined_product
from tests.target.codegen.device.test_cuda_emulation import product, with_source
from tests.target.codegen.device.test_nvrtc import requires_nvrtc
from tests.target.codegen.device.test_vectors import body_of
from tests.tensor_intrin.tensor_cores import Unit, inputs_of, scheduled

import tilewright as tvm
from tilewright.error import LoweringError
from tilewright.script import tir as T

BACKGROUND = ((0, 0, 1), (0, 1, 2), (0,))
EVENTS = ("tw_commit", "tw_wait", "__syncthreads")


def events(stages, target="cuda"):
    """Groups, waits and barriers in a kernel, and the loop over steps."""
    lines = body_of(pipelined_product(*stages).mod, target)
    return [line.rstrip(";") for line in lines if line.startswith(EVENTS) or "k_0 <" in line]


def test_threads_wait_for_their_copies_and_then_for_each_other():
    assert events(BACKGROUND) == [
        "tw_commit_copies()",
        "for (int32_t k_0 = 0; k_0 < 3; ++k_0) {",
        "tw_wait_copies(0)", "__syncthreads()",
        "tw_commit_copies()",
        "tw_wait_copies(0)", "__syncthreads()",
    ]  # fmt: skip


def test_several_groups_are_on_the_way():
    waits = [line for line in events(((0, 0, 3), (0, 1, 2), (0,))) if "wait" in line]
    assert waits == [f"tw_wait_copies({number})" for number in (2, 2, 1, 0)]


def test_groups_of_several_stages_are_all_waited_for():
    found = events(((0, 1, 2), (0, 1, 2), (0, 1)))
    assert {line for line in found if "wait" in line} == {"tw_wait_copies(0)"}


def test_without_asynchronous_stages_there_is_one_barrier_for_a_step():
    loop, *rest = [line for line in events(((0, 0, 1), (0, 1, 2))) if "wait" not in line][-3:]
    assert "k_0 < 3" in loop
    assert rest == ["__syncthreads()"] * 2


def test_opencl_copies_at_once():
    assert "copy_async" not in "".join(body_of(pipelined_product(*BACKGROUND).mod, "opencl"))


@requires_nvrtc
@pytest.mark.parametrize(("architecture", "copies"), [("sm_75", 0), ("sm_80", 8), ("sm_90", 8)])
def test_instructions(architecture, copies):
    module = tvm.build(pipelined_product(*BACKGROUND).mod, target=f"cuda -arch={architecture}")
    assembly = module.imported_modules[0].get_source("ptx")
    assert len(
        re.findall(r"cp\.async\.cg\.shared\.global \[%r\d+\], \[%rd\d+\], 16", assembly)
    ) == (copies)
    waits = re.findall(r"cp\.async\.(commit_group|wait_group \d)|(bar)\.sync", assembly)
    assert [one or other for one, other in waits] == (
        ["commit_group", "wait_group 0", "bar", "commit_group", "wait_group 0", "bar"]
        if copies
        else ["bar"] * 2
    )


@pytest.fixture
def api(monkeypatch):
    emulated = EmulatedCuda()
    use_emulation(monkeypatch, emulated)
    return emulated


needs_emulation = pytest.mark.skipif(
    sys.platform != "linux", reason="the emulation needs ucontext.h"
)


@needs_emulation
@pytest.mark.parametrize(
    ("missing", "replacement"),
    [("    tw_wait_copies(0)", "tw_wait_copies(1)"), ("\n  tw_wait_copies(0);", ";"),
     ("tw_wait_copies(0);\n    __syncthreads();", "tw_wait_copies(0);")],
)  # fmt: skip
def test_what_is_missing_is_noticed(api, monkeypatch, missing, replacement):
    def without(text):
        assert missing in text
        return text.replace(missing, replacement)

    module = with_source(monkeypatch, pipelined_product(*BACKGROUND).mod, without)
    results = [product(module, seed, api) for seed in range(3)]
    assert not all(np.allclose(found, wanted, atol=0.1) for found, wanted in results)


def test_copies_by_hand():
    @T.prim_func
    def main(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        T.func_attr({"global_symbol": "main"})
        memory = T.allocate([128], "float32", "shared")
        row = T.Buffer((128,), data=memory, scope="shared")
        for i in T.thread_binding(32, thread="threadIdx.x"):
            T.evaluate(T.ptx_cp_async("float32", row.data, i * 4, A.data, i * 4, 16))
            T.evaluate(T.ptx_commit_group())
            T.evaluate(T.ptx_wait_group(0))
            T.evaluate(T.tvm_storage_sync("shared"))
            for j in range(4):
                B[j * 32 + i] = row[127 - j * 32 - i]

    for target in ("cuda", "opencl"):
        source = "\n".join(body_of(main, target))
        assert "tw_copy_async(&memory[i * 4], &A[i * 4], 16);" in source
        assert source.index("tw_wait_copies(0);") < source.index(
            "barrier" if target == "opencl" else "__sync"
        )
    arrays = [tvm.nd.array(np.arange(128, dtype="float32"), tvm.opencl(0)) for _ in range(2)]
    tvm.build(main, target="opencl")(*arrays)
    np.testing.assert_array_equal(arrays[1].numpy(), np.arange(128)[::-1])


def test_copies_that_their_own_statement_reads_are_done_at_once():
    @T.prim_func
    def main(A: T.Buffer((3, 8), "float32"), B: T.Buffer((3, 8), "float32")):
        row = T.alloc_buffer((3, 8), "float32", scope="shared")
        total = T.alloc_buffer((3, 8), "float32")
        for _ in T.thread_binding(1, thread="threadIdx.x"):
            for i in T.serial(
                3,
                annotations={
                    "software_pipeline_stage": [0, 1],
                    "software_pipeline_order": [1, 0],
                    "software_pipeline_async_stages": [0],
                },
            ):
                for j in range(8):
                    with T.block("row"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        row[vi, vj] = A[vi, vj]
                    with T.block("total"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        total[vi, vj] = row[vi, vj] + T.float32(3)
                for j in range(8):
                    with T.block("B"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        B[vi, vj] = total[vi, 7 - vj]

    assert "copy_async" not in "".join(body_of(main, "cuda"))


def test_stages_that_would_change_results_are_refused():
    with pytest.raises(LoweringError, match=r"statement 0 .* accesses A_shared before statement 2"):
        tvm.build(pipelined_product((1, 0, 0)).mod, target="opencl")


def test_tiles_of_tensor_cores_whose_rows_are_padded():
    """Each version of the memory is at a multiple of 32 bytes, as the loads of tiles need it."""
    unit, sizes = Unit(16, 16, 16, "f16", "f32"), (32, 32, 64)
    sch = scheduled(*sizes, unit)
    k = sch.get_loops("C_o_update")[3]
    sch.annotate(k, "software_pipeline_stage", [0, 0, 1])
    sch.annotate(k, "software_pipeline_async_stages", [0])
    text = "\n".join(body_of(sch.mod))
    assert "float16_t A_shared[2560]" in text  # twice 32 rows of 40 elements
    assert "tw_wmma_multiply" in text
    a, b, c = inputs_of(sizes, unit)
    arrays = [tvm.nd.array(value, tvm.opencl(0)) for value in (a, b, c)]
    tvm.build(sch.mod, target="opencl")(*arrays)
    np.testing.assert_array_equal(arrays[2].numpy(), a.astype("float32") @ b.astype("float32"))
