"""The dot-product intrinsics: what they compute, and programs that use them."""

import itertools

import numpy as np
import pytest
from tests.passes import legalize_for, lower
from tests.tir.schedule.checking import assert_same_meaning

import tilewright as tvm
from tilewright import te
from tilewright.error import UnknownNameError
from tilewright.ir import Ramp, assert_structural_equal, walk
from tilewright.tensor_intrin.dot_product import ALIASES
from tilewright.tir import BufferLoad, BufferStore, Schedule, ScheduleError, TensorIntrin
from tilewright.tir.interpreter.program import first_difference

SIGNS = list(itertools.product(("i8", "u8"), repeat=2))
KINDS = [*(f"{a}{b}i32" for a, b in SIGNS), "u8u8u32", "u8i7i32", "i7u8i32"]
DTYPES = {"i7": "int8", "i8": "int8", "u8": "uint8"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_the_implementation_is_what_the_description_says(lanes, kind):
    intrinsic = TensorIntrin.get(f"dot_{lanes}x4_{kind}")
    assert first_difference(intrinsic.desc, intrinsic.impl) is None
    a, b, c = (intrinsic.desc.buffer_map[param] for param in intrinsic.desc.params)
    assert [str(x.dtype) for x in (a, b)] == [DTYPES[kind[:2]], DTYPES[kind[2:4]]]
    assert str(c.dtype) == {"i": "int32", "u": "uint32"}[kind[4]]


@pytest.mark.parametrize("kind", [*(f"x4_{k}" for k in KINDS), "x2_i16i16i32", "x2_bf16bf16f32"])
@pytest.mark.parametrize("lanes", [4, 16])
def test_lanes_of_long_sums_are_what_their_description_says(lanes, kind):
    intrinsic = TensorIntrin.get(f"dots_{lanes}{kind}")
    assert first_difference(intrinsic.desc, intrinsic.impl) is None
    a, b, c = (intrinsic.desc.buffer_map[param] for param in intrinsic.desc.params)
    assert [int(x.shape[0]) for x in (a, b, c)] == [lanes * int(kind[1])] * 2 + [lanes]


@pytest.mark.parametrize(
    "kind", ["2x2x8_" + k for k in KINDS if "i7" not in k] + ["2x2x4_bf16bf16f32"]
)
def test_products_of_matrices_are_what_their_description_says(kind):
    intrinsic = TensorIntrin.get(f"mmla_{kind}")
    assert first_difference(intrinsic.desc, intrinsic.impl) is None


@pytest.mark.parametrize("name", ALIASES)
def test_other_names(name):
    lanes, kind = ALIASES[name].removeprefix("dot_").split("x4_")
    intrinsic = TensorIntrin.get(name)
    assert_structural_equal(intrinsic.desc, TensorIntrin.get(f"dot_{lanes}x4_{kind}").desc)


@pytest.mark.parametrize(
    "name",
    [
        "dot_5x4_i8i8i32",
        "dot_16x4_i8i8u32",
        "dot_8x4_i7i8i32",
        "dot_16x4",
        "dot_16x4_f",
        "dots_5x4_i8i8i32",
        "mmla_2x2x4_i8i8i32",
    ],
)
def test_there_are_no_others(name):
    assert TensorIntrin.get(name, allow_missing=True) is None
    with pytest.raises(UnknownNameError, match=name):
        TensorIntrin.get(name)


def test_an_intrinsic_is_made_once():
    assert TensorIntrin.get("dot_4x4_i8i8i32") is TensorIntrin.get("dot_4x4_i8i8i32")


def product(m, n, k, a, b):
    """C = A @ B, of 8-bit integers, in int32."""
    A, B = te.placeholder((m, k), a, "A"), te.placeholder((k, n), b, "B")
    r = te.reduce_axis((0, k), "k")
    C = te.compute(
        (m, n),
        lambda i, j: te.sum(A[i, r].astype("int32") * B[r, j].astype("int32"), axis=r),
        "C",
    )
    return te.create_prim_func([A, B, C])


def panels(sch, a, b, rows, vectors, lanes):
    """Four steps of the reduction lie next to each other in panels of B."""
    width = lanes * vectors
    sch.pad_einsum("C", [rows, width, 4])
    i, j, k = sch.get_loops("C")
    copy = sch.reindex_cache_read(
        "C", 1, "global", lambda i, j, k: (j // width, k // 4, j % width, k % 4)
    )
    panel, vector, lane = sch.split(j, [None, vectors, lanes])
    i, row = sch.split(i, [None, rows])
    k, part = sch.split(k, [None, 4])
    sch.reorder(panel, i, k, row, vector, lane, part)
    sch.compute_at(copy, panel)
    column, depth = sch.get_loops(copy)[1:]
    depth, part = sch.split(depth, [None, 4])
    sch.reorder(depth, part, column)
    sch.vectorize(column)
    sch.unroll(part)
    sch.unroll(row)
    sch.unroll(vector)
    sch.decompose_reduction("C", k)
    sch.tensorize(lane, f"dot_{lanes}x4_{a}{b}i32")


@pytest.mark.parametrize(("m", "n", "k"), [(2, 16, 8), (3, 9, 5), (1, 4, 3)])
@pytest.mark.parametrize(("a", "b"), SIGNS)
def test_a_product_by_panels(m, n, k, a, b):
    before = product(m, n, k, DTYPES[a], DTYPES[b])
    sch = Schedule(before, debug_mask="all")
    panels(sch, a, b, rows=2, vectors=2, lanes=4)
    assert "dp4a" in sch.mod["main"].script()
    assert_same_meaning(before, sch)


def test_vectors_are_loaded_and_stored_as_neighbours():
    sch = Schedule(product(4, 64, 16, "int8", "uint8"))
    panels(sch, "i8", "u8", rows=2, vectors=2, lanes=16)
    body = legalize_for(lower(sch.mod))["main"].body
    accesses = [node for node in walk(body) if isinstance(node, (BufferLoad, BufferStore))]
    indices = [access.indices[0] for access in accesses if access.indices[0].dtype.lanes > 1]
    assert indices
    assert all(isinstance(index, Ramp) and int(index.stride) == 1 for index in indices)


@pytest.mark.parametrize(
    ("lanes", "a", "b"),
    [(4, "i8", "i8"), (8, "u8", "u8"), (8, "i8", "u8"), (16, "u8", "i8"), (16, "i8", "i8")],
)
def test_a_product_by_panels_natively(lanes, a, b):
    m, n, k = 5, 37, 19
    sch = Schedule(product(m, n, k, DTYPES[a], DTYPES[b]))
    panels(sch, a, b, rows=3, vectors=2, lanes=lanes)
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 256, shape).astype("uint8") for shape in ((m, k), (k, n)))
    x[0], y[:, 0] = 128, 128  # the least int8
    x, y = x.view(DTYPES[a]), y.view(DTYPES[b])
    result = tvm.nd.empty((m, n), "int32")
    tvm.build(sch.mod)(tvm.nd.array(x), tvm.nd.array(y), result)
    np.testing.assert_array_equal(result.numpy(), x.astype("int32") @ y.astype("int32"))


def test_rows_that_are_not_side_by_side_are_refused():
    A, B = te.placeholder((2, 8), "uint8", "A"), te.placeholder((16, 8), "int8", "B")
    r = te.reduce_axis((0, 8), "k")
    C = te.compute(
        (2, 16),
        lambda i, j: te.sum(A[i, r].astype("int32") * B[j, r].astype("int32"), axis=r),
        "C",
    )
    sch = Schedule(te.create_prim_func([A, B, C]))
    i, j, k = sch.get_loops("C")
    k_0, k_1 = sch.split(k, [None, 4])
    sch.reorder(i, k_0, j, k_1)
    with pytest.raises(ScheduleError, match="`B` of the implementation has other strides"):
        sch.tensorize(j, "dot_16x4_vnni")
