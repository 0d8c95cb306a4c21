"""Products by tensor cores: what the intrinsics describe, and what their calls stand for."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tensor_intrin.tensor_cores import Unit, inputs_of, scheduled

import tilewright as tvm
from tilewright.error import LoweringError, UnknownNameError
from tilewright.script import tir as T
from tilewright.tir import TensorIntrin
from tilewright.tir.interpreter import interpret

WIDE = ((16, 16, 16), (8, 32, 16), (32, 8, 16))
UNITS = [
    *(Unit(*shape, *types) for shape in WIDE for types in (("f16", "f32"), ("f16", "f16"))),
    *(Unit(*shape, *types) for shape in WIDE for types in (("bf16", "f32"), ("s8", "s32"))),
    Unit(16, 16, 8, "tf32"),
    Unit(16, 16, 16, "u8", "s32"),
    *(Unit(16, 8, k, "f16", "f32", family="mma") for k in (8, 16)),
    Unit(16, 8, 16, "bf16", "f32", family="mma"),
    Unit(16, 8, 32, "s8", "s32", family="mma"),
]


def assert_multiplies(sch, unit, sizes, run):
    """Compare with the product of small integers, which all types can tell."""
    a, b, result = inputs_of(sizes, unit)
    found = run(sch.mod["main"], a, b, result)
    right = (b.T if unit.trans else b).astype("float64")
    np.testing.assert_array_equal(found.astype("float64"), a.astype("float64") @ right)


def interpreted(func, a, b, result):
    interpret(func, a, b, result)
    return result


@settings(max_examples=8, deadline=None)
@given(
    st.sampled_from(UNITS), st.booleans(), st.integers(1, 2), st.integers(1, 2), st.integers(1, 2),
    st.integers(1, 2), st.booleans(), st.booleans(),
)  # fmt: skip
def test_tensorized_products_mean_the_same(unit, trans, warps, m, n, k, shared, pad):
    # Eight elements of 8 bits are less than the 16 bytes that rows of tiles have.
    unit = unit._replace(trans=trans or (unit.operand.endswith("8") and unit.n == 8))
    shared |= unit.family == "mma"
    sizes = m * warps * unit.m, n * unit.n, k * unit.k
    sch = scheduled(*sizes, unit, warps=warps, shared=shared, pad=pad)
    assert "tvm_mma_sync" in sch.mod.script()
    assert_multiplies(sch, unit, sizes, interpreted)


def test_devices_without_tensor_cores_execute_the_description():
    def built(func, *arrays):
        arrays = [tvm.nd.array(array, tvm.opencl(0)) for array in arrays]
        tvm.build(func, target="opencl")(*arrays)
        return arrays[-1].numpy()

    unit = Unit(8, 32, 16, "s8", "s32", trans=True)
    assert_multiplies(scheduled(16, 32, 16, unit), unit, (16, 32, 16), built)


@pytest.mark.parametrize(
    "name",
    [
        "wmma_sync_16x16x16_f16f16s32", "wmma_sync_16x16x16_f16bf16f32", "wmma_fill_4x4x4_f32",
        "wmma_load_16x16x16_f16_A_shared", "wmma_load_16x16x16_f16_a_local",
        "mma_load_m16n8k16_f16_A_global", "wmma_sync_16x16x16_s8s8f32", "mma_fill_m16n8k16",
    ],
)  # fmt: skip
def test_units_that_do_not_exist_have_no_names(name):
    with pytest.raises(UnknownNameError, match=name):
        TensorIntrin.get(name)


@T.prim_func
def by_hand(A: T.Buffer((32, 16), "float16"), B: T.Buffer((256,), "float16"), c: T.handle):
    """Fragments of several tiles, pointers into matrices, and a result with its columns as rows."""
    C = T.match_buffer(c, (16, 32), "float32")
    a = T.alloc_buffer((2, 16, 16), "float16", scope="wmma.matrix_a")
    b = T.alloc_buffer((256,), "float16", scope="wmma.matrix_b")
    sums = T.alloc_buffer((16, 32), "float32", scope="wmma.accumulator")
    T.evaluate(T.tvm_load_matrix_sync(b.data, 16, 16, 16, 0, B.data, 16, "col_major"))
    for i in range(2):
        T.evaluate(T.tvm_fill_fragment(sums.data, 16, 16, 16, i, T.float32(1)))
        T.evaluate(
            T.tvm_load_matrix_sync(
                a.data, 16, 16, 16, i, A.access_ptr("r", offset=i * 256), 16, "row_major"
            )
        )
        T.evaluate(T.tvm_mma_sync(sums.data, i, a.data, i, b.data, 0, sums.data, i))
        T.evaluate(
            T.tvm_store_matrix_sync(
                sums.data, 16, 16, 16, i, T.address_of(C[0, i * 16]), 32, "col_major"
            )
        )


@pytest.mark.parametrize("is_built", [False, True])
def test_calls_by_hand_mean_what_they_say(is_built):
    a, b = np.random.default_rng(0).integers(-4, 4, (2, 32, 16)).astype("float16")
    result = np.zeros((16, 32), "float32")
    run = tvm.build(by_hand, target="llvm") if is_built else partial(interpret, by_hand)
    run(a, b[:16].reshape(-1), result)
    right = a.astype("float32") @ b[:16].astype("float32").T + 1
    np.testing.assert_array_equal(result[:, :16], right[:16].T)
    np.testing.assert_array_equal(result[:, 16:], right[16:].T)


def changed(old, new):
    """The program by hand, with another call."""
    text = by_hand.script()
    assert old in text
    return tvm.script.from_source(text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('B.data, 16, "col_major"', 'B.data, 16, "by_rows"', "'row_major' or 'col_major', got"),
        ("A.data, i * 256, 512 - i * 256, 1), 16", "A.data, i * 256, 256, 1), 8",
         "rows of A are 16 elements apart, and not 8"),
        ("a.data, 16, 16, 16, i,", "a.data, 16, 16, 32, i,", r"has no tiles of 16 by 32 elements"),
        ("b.data, 0, sums.data, i)", "b.data, 0, sums.data, 0)", "use the same fragment for both"),
        ('16, "row_major")', '16, "col_major")\n        T.tvm_load_matrix_sync(a.data, 16, 16, 16, '
         'i, A.data, 16, "row_major")', "tiles of two shapes or layouts"),
        ("tvm_fill_fragment(sums.data", "tvm_fill_fragment(A.data", "global memory: not"),
        ('(16, 32), scope="wmma.accumulator"', '(16, 32), "float16", scope="wmma.accumulator"',
         "C has elements of float32, and sums of float16"),
    ],
)  # fmt: skip
def test_what_is_no_tile_is_refused(old, new, message):
    with pytest.raises(LoweringError, match=message):
        tvm.build(changed(old, new), target="llvm")
