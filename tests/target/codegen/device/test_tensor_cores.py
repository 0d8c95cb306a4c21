"""Products by tensor cores: what NVRTC makes of them, and what the emulation computes."""

import re
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.target.codegen.device.emulated_cuda import EmulatedCuda, use_emulation
from tests.target.codegen.device.test_nvrtc import ELF, requires_nvrtc
from tests.tensor_intrin.tensor_cores import Unit, inputs_of, scheduled

import tilewright as tvm
from tilewright.error import CodegenError, DeviceError, LoweringError
from tilewright.script import tir as T
from tilewright.target.codegen.device import nvrtc

emulated = pytest.mark.skipif(sys.platform != "linux", reason="the emulation needs ucontext.h")

UNITS = {
    "half": Unit(),
    "half_sums": Unit(32, 8, 16, result="f16", trans=True),
    "bytes": Unit(8, 32, 16, "s8", "s32"),
    "mma_8": Unit(16, 8, 8, family="mma"),
}
"""What GPUs from Turing on have."""

NEW_UNITS = {
    "bfloat": Unit(32, 8, 16, "bf16", trans=True),
    "tf32": Unit(16, 16, 8, "tf32"),
    "mma": Unit(16, 8, 16, family="mma"),
    "mma_half_sums": Unit(16, 8, 16, "f16", "f16", family="mma", trans=True),
    "mma_bytes": Unit(16, 8, 32, "s8", "s32", family="mma", trans=True),
}
"""What those from Ampere on have."""

ALL_UNITS = {**UNITS, **NEW_UNITS}

FAULTS = [
    ("mma", '"=r"(to[0]), "=r"(to[1])', '"=r"(to[1]), "=r"(to[0])', ""),
    ("mma", "threadIdx.x % 16 * stride", "threadIdx.x % 8 * stride", ""),
    ("mma", "x2.trans.b16", "x2.b16", ""),
    ("mma_bytes", "threadIdx.x / 4, column", "(threadIdx.x ^ 4) / 4, column", ""),
    ("half", "wmma.load.b.sync.aligned.row", "wmma.load.b.sync.aligned.col", ""),
    ("half", "wmma.mma.sync.aligned.row.row", "wmma.mma.sync.aligned.row.col", ""),
    ("half", "  __syncthreads();\n  for (int32_t ax0", "  for (int32_t ax0", ""),
    ("half", "    __syncthreads();\n    for (int32_t k_0_1", "    for (int32_t k_0_1", ""),
    ("half", '"r"(a[0]), "r"(a[1])', '"r"(a[1]), "r"(a[0])', "two threads have different values"),
    ("half", ", 40);", ", 36);", "misaligned address"),
    ("mma", "&A_shared[i_0_1", "&A[i_0_1", "the address is not in shared memory"),
    (
        "half",
        "for (int32_t k_0_1 = 0;",
        "if (threadIdx.x < 16) for (int32_t k_0_1 = 0;",
        r"divergence in block .*waits for its warp",
    ),
]
"""What is replaced in the text of a product, and what the emulation says if it can tell."""


def sizes_of(unit):
    return 4 * unit.m, 2 * unit.n, 4 * unit.k


def source_of(module):
    return module.imported_modules[0].get_source()


@pytest.fixture(scope="module")
def functions():
    return {
        name: scheduled(*sizes_of(unit), unit).mod["main"].with_attr("global_symbol", name)
        for name, unit in ALL_UNITS.items()
    }


@pytest.fixture(scope="module")
def modules(functions):
    return {name: tvm.build(func, target="cuda") for name, func in functions.items()}


@pytest.fixture(scope="module")
def faulty(modules):
    texts = {name: source_of(module) for name, module in modules.items()}
    assert all(old in texts[name] for name, old, _, _ in FAULTS)
    return [texts[name].replace(old, new) for name, old, new, _ in FAULTS]


@pytest.fixture(scope="module")
def api(modules, faulty):
    device = EmulatedCuda([*map(source_of, modules.values()), *faulty])
    with pytest.MonkeyPatch.context() as monkeypatch:
        use_emulation(monkeypatch, device)
        yield device


def product(module, unit, sizes):
    """What a module makes of small integers, and what that should be."""
    inputs = inputs_of(sizes, unit)
    arrays = [tvm.nd.array(array, tvm.cuda(0)) for array in inputs]
    module(*arrays)
    a, b, _ = (array.astype("float64") for array in inputs)
    return arrays[2].numpy().astype("float64"), a @ (b.T if unit.trans else b)


# --- text ---------------------------------------------------------------------------------------


@requires_nvrtc
@pytest.mark.parametrize("name", ALL_UNITS)
def test_kernels_compile(modules, name):
    source = source_of(modules[name])
    for architecture in ("sm_75", "sm_80", "sm_90"):
        if name in NEW_UNITS and architecture == "sm_75":
            with pytest.raises(CodegenError, match=r"requires \.target sm_80"):
                nvrtc.compile_kernels(source, architecture)
            continue
        assert nvrtc.compile_kernels(source, architecture).startswith(ELF)
    assembly = nvrtc.compile_kernels(source, "sm_90", "ptx").decode()
    count = assembly.count("mma.sync.aligned")
    assert count in (8, 16)  # of 2 by 2 tiles for two steps, perhaps unrolled once more
    assert ".local" not in assembly  # fragments are in registers


def test_the_text_of_a_step(modules):
    source = source_of(modules["mma"])
    start = source.index("    for (int32_t k_0_1")
    text = re.sub(r"\s+", " ", source[start : source.index("\n    }\n", start)])
    for part in (
        "uint32_t A_m16n8k16_matrixA[8];",
        "tw_mma_load_a_m16n8k16_row_f16(&A_m16n8k16_matrixA[ax0_0 * 4], "
        "&A_shared[i_0_1 * 1280 + ax0_0 * 640 + k_0_1 * 16], 40);",
        "tw_mma_multiply_m16n8k16_row_row_f32_f16_f16(&C_m16n8k16_matrixC[i_0_2 * 8 + j_0_1 * 4], "
        "&A_m16n8k16_matrixA[i_0_2 * 4], &B_m16n8k16_matrixB[j_0_1 * 2]);",
    ):
        assert part in text


# --- numbers ------------------------------------------------------------------------------------


@emulated
@pytest.mark.parametrize("name", ALL_UNITS)
def test_kernels_compute_products(api, modules, name):
    unit = ALL_UNITS[name]
    for seed in (1, 2):
        api.seed = seed
        found, wanted = product(modules[name], unit, sizes_of(unit))
        np.testing.assert_array_equal(found, wanted)


@emulated
@settings(max_examples=3, deadline=None)
@given(
    st.sampled_from([*ALL_UNITS.values()]), st.booleans(), st.integers(1, 4),
    st.tuples(*[st.integers(1, 2)] * 3), st.booleans(), st.integers(0, 99),
)  # fmt: skip
def test_random_products(api, unit, trans, warps, counts, shared, seed):
    unit = unit._replace(trans=trans or (unit.operand.endswith("8") and unit.n == 8))
    m, n, k = (count * size for count, size in zip(counts, unit[:3], strict=True))
    sizes = m * warps, n, k
    sch = scheduled(*sizes, unit, warps=warps, shared=shared or unit.family == "mma")
    api.seed = seed
    found, wanted = product(tvm.build(sch.mod, target="cuda"), unit, sizes)
    np.testing.assert_array_equal(found, wanted)


@emulated
@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_what_is_wrong_in_a_text_is_noticed(api, functions, faulty, monkeypatch, number):
    name, _, _, message = FAULTS[number]
    monkeypatch.setattr(
        "tilewright.target.codegen.device.compile.generate_kernels", lambda *_: faulty[number]
    )
    module, unit = tvm.build(functions[name], target="cuda"), ALL_UNITS[name]
    if message:
        with pytest.raises(DeviceError, match=message):
            product(module, unit, sizes_of(unit))
        return
    wrong = []
    for api.seed in range(4):
        found, wanted = product(module, unit, sizes_of(unit))
        wrong.append(not np.array_equal(found, wanted))
    assert any(wrong)


# --- refusals -----------------------------------------------------------------------------------


def test_a_warp_has_32_threads():
    @T.prim_func
    def half_a_warp(A: T.Buffer((16, 16), "float16"), B: T.Buffer((16, 16), "float16")):
        a = T.alloc_buffer((16, 16), "float16", scope="wmma.accumulator")
        for _block in T.thread_binding(1, thread="blockIdx.x"):
            for _thread in T.thread_binding(16, thread="threadIdx.x"):
                T.evaluate(T.tvm_load_matrix_sync(a.data, 16, 16, 16, 0, A.data, 16, "row_major"))
                T.evaluate(T.tvm_store_matrix_sync(a.data, 16, 16, 16, 0, B.data, 16, "row_major"))

    with pytest.raises(LoweringError, match=r"over threadIdx\.x has 16 iterations, but the 32"):
        tvm.build(half_a_warp, target="cuda")


def test_tiles_start_at_multiples_of_16_bytes():
    unit = Unit(16, 16, 16, "f16", "f32")
    sch = scheduled(64, 64, 64, unit, pad=False)
    sch.storage_align("A_shared", 0, 0, 32, 4)
    with pytest.raises(LoweringError, match="A_shared: rows are apart by 36 elements of float16"):
        tvm.build(sch.mod, target="cuda")


def test_elements_of_fragments_are_not_known():
    @T.prim_func
    def peek(A: T.Buffer((16, 16), "float16"), B: T.Buffer((16,), "float16")):
        a = T.alloc_buffer((16, 16), "float16", scope="wmma.matrix_a")
        for _block in T.thread_binding(1, thread="blockIdx.x"):
            for thread in T.thread_binding(32, thread="threadIdx.x"):
                T.evaluate(T.tvm_load_matrix_sync(a.data, 16, 16, 16, 0, A.data, 16, "row_major"))
                if thread < 16:
                    B[thread] = a[0, thread]

    with pytest.raises(LoweringError, match="a is a fragment, of which no thread knows"):
        tvm.build(peek, target="cuda")


def test_all_threads_of_a_warp_come():
    @T.prim_func
    def some(A: T.Buffer((16, 16), "float16"), B: T.Buffer((16, 16), "float16")):
        a = T.alloc_buffer((16, 16), "float16", scope="wmma.accumulator")
        for _block in T.thread_binding(1, thread="blockIdx.x"):
            for thread in T.thread_binding(32, thread="threadIdx.x"):
                if thread < 16:
                    T.evaluate(
                        T.tvm_load_matrix_sync(a.data, 16, 16, 16, 0, A.data, 16, "row_major")
                    )
                T.evaluate(T.tvm_store_matrix_sync(a.data, 16, 16, 16, 0, B.data, 16, "row_major"))

    with pytest.raises(LoweringError, match="load a tile together, but not all of them come where"):
        tvm.build(some, target="cuda")
