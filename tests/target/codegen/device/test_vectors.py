"""Vectors in the text of kernels, and in what NVRTC makes of it."""

import re

import numpy as np
import pytest
from tests.target.codegen.device.test_nvrtc import requires_nvrtc
from tests.target.codegen.device.vector_programs import (
    by_vectors,
    vector_product,
    vectors_of_rows_around_a_matrix,
)

import tilewright as tvm
from tilewright import te, tir


def source_of(func, target="cuda"):
    source = tvm.build(func, target=target).imported_modules[0].get_source()
    return source[re.search(r'__kernel|extern "C"', source).start() :]


def body_of(func, target="cuda"):
    """The statements of the only kernel, without the definitions of its axes."""
    lines = source_of(func, target).splitlines()[1:-1]
    return [line.strip() for line in lines if not line.startswith("  const int32_t")]


def doubled(dtype="float32", length=64, lanes=4, add=0):
    a = te.placeholder((length + 4,), dtype, name="A")
    two = tir.const(2, dtype)
    b = te.compute((length,), lambda i: a[i + add] * two, name="B")
    return by_vectors("doubled", lanes, a, b).func


def test_lanes_are_computed_one_by_one():
    place = "[B_0 * 16 + B_1 * 4]"

    def text(func, target):
        return [line.replace("i_", "B_") for line in body_of(func, target)]

    lanes = ", ".join(f"A_vector.{lane} * 2.0f" for lane in "xyzw")
    assert text(doubled(), "cuda") == [
        f"const float4 A_vector = *(float4*)&A{place};",
        f"*(float4*)&B{place} = float4{{{lanes}}};",
    ]
    assert text(doubled(), "opencl") == [
        f"const float4 A_vector = *(__global float4*)&A{place};",
        f"*(__global float4*)&B{place} = (float4)({lanes});",
    ]


@pytest.mark.parametrize(
    ("dtype", "kinds"),
    [
        ("int8", ("char16", "char16")), ("uint16", ("ushort8", "ushort8")),
        ("float16", ("float16x8", "ushort8")), ("int64", ("longlong2", "long2")),
        ("float64", ("double2", "double2")),
    ],
)  # fmt: skip
def test_vectors_have_16_bytes_at_most(dtype, kinds):
    for target, kind in zip(("cuda", "opencl"), kinds, strict=True):
        found = set(re.findall(r"\w+(?=\*\)&)", source_of(doubled(dtype, 64, 16), target)))
        assert found == {kind}


def test_addresses_that_suit_no_vector_are_those_of_elements():
    assert "*)&A" not in source_of(doubled(add=1))
    assert "*)&A" in source_of(doubled(add=4))


def test_loops_that_would_access_no_vector_stay_loops():
    a = te.placeholder((64, 8), name="A")
    b = te.compute((8, 64), lambda i, j: a[j, i], name="B")
    sch = tir.Schedule(te.create_prim_func([a, b]))
    i, j = sch.get_loops("B")
    sch.bind(j, "threadIdx.x")
    sch.reorder(j, i)
    sch.vectorize(i)
    assert body_of(sch.mod)[0].startswith("for (int32_t")


def test_a_condition_is_asked_once_for_a_vector():
    def rows(length):
        a = te.placeholder((length,), name="A")
        return by_vectors("rows", 4, a, te.compute((length,), lambda i: a[i] + 1.0, name="B")).func

    lines = body_of(rows(60))
    assert lines[0] == "if (i_0 * 16 + i_1 * 4 < 60) {"
    assert [line for line in lines if "for" in line or "else" in line] == []
    lines = body_of(rows(62))
    assert lines[0] == "if (i_0 * 16 + i_1 * 4 < 59) {"
    assert sum("else" in line for line in lines) == 1


def test_a_vector_is_loaded_only_where_its_condition_holds():
    lines = body_of(vectors_of_rows_around_a_matrix().func)
    (load,) = (line for line in lines if "const float4" in line)
    assert re.search(r"A_vector = \w+ >= 1 && \w+ < 4 \? \*\(float4\*\)&A\[.*\] : float4", load)


@requires_nvrtc
def test_copies_into_shared_memory_are_of_16_bytes():
    module = tvm.build(vector_product().mod, target="cuda -arch=sm_80").imported_modules[0]
    assembly = module.get_source("ptx")
    assert re.search(r"ld\.global(\.nc)?\.v4", assembly)
    assert "st.shared.v4" in assembly
    assert "ld.shared.v4" in assembly
    assert "st.global.v4" in assembly
    assert not re.search(r"(ld\.global(\.nc)?|st\.shared|st\.global)\.[fub]\d", assembly)


@requires_nvrtc
@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_small_elements_are_copied_by_16_bytes(dtype):
    a = te.placeholder((256,), dtype, name="A")
    func = by_vectors("copy", 16, a, te.compute((256,), lambda i: a[i], name="B")).func
    assembly = tvm.build(func, target="cuda").imported_modules[0].get_source("ptx")
    assert set(re.findall(r"(?:ld|st)\.global(?:\.nc)?(\S*)", assembly)) == {".v4.u32"}


def test_arrays_at_other_addresses_are_refused():
    module, device = tvm.build(doubled(length=60), target="opencl"), tvm.opencl(0)
    memory = tvm.nd.array(np.arange(65, dtype="float32"), device)
    result = tvm.nd.empty((60,), "float32", device)
    module(memory._create_view((64,)), result)
    np.testing.assert_array_equal(result.numpy(), np.arange(60) * 2)
    with pytest.raises(ValueError, match=r"A.*not a multiple of 16 bytes; pass an aligned copy"):
        module(memory._create_view((64,), relative_byte_offset=4), result)


def test_vectors_can_be_left_out():
    with tvm.transform.PassContext(config={"tir.disable_vectorize": True}):
        assert "float4" not in source_of(doubled())
