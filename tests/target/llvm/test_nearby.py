"""Vectors of elements that are near each other."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tilewright as tvm
from tilewright import te, tir

SIZE = 160


def picked(place, count, lanes, dtype="float32"):
    """A program of ``B[i] = A[place(i)]`` in unrolled vectors."""
    A = te.placeholder((SIZE,), dtype, name="A")
    B = te.compute((count,), lambda i: A[place(i)], name="B")
    sch = tir.Schedule(te.create_prim_func([A, B]))
    (loop,) = sch.get_loops(sch.get_block("B"))
    vector, lane = sch.split(loop, [None, lanes])
    sch.unroll(vector)
    sch.vectorize(lane)
    return sch.mod


def checked(place, count, lanes, dtype="float32"):
    """The LLVM text of the program, whose results are compared."""
    built = tvm.build(picked(place, count, lanes, dtype), target="llvm -mcpu=x86-64-v3")
    a = np.arange(SIZE).astype(dtype)
    b = tvm.nd.array(np.full(count, 77, dtype))
    built(tvm.nd.array(a), b)
    np.testing.assert_array_equal(b.numpy(), a[[place(i) for i in range(count)]])
    return built.get_source("ll")


@settings(max_examples=40, deadline=None)
@given(
    divisor=st.integers(1, 9),
    factor=st.integers(0, 11),
    modulus=st.integers(1, 9),
    count=st.integers(1, 24),
    lanes=st.sampled_from([4, 8, 16]),
    dtype=st.sampled_from(["float32", "float64", "int8", "float16"]),
)
@example(divisor=7, factor=9, modulus=7, count=49, lanes=8, dtype="float32")
@example(divisor=1, factor=0, modulus=1, count=9, lanes=8, dtype="float32")
def test_any_distances(divisor, factor, modulus, count, lanes, dtype):
    checked(
        lambda i: (i // divisor * factor + i % modulus) % SIZE if factor > 6 else
        i // divisor * factor + i % modulus,
        count, lanes, dtype,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("place", "count"),
    [
        (lambda i: i * 3, 16),
        (lambda i: i // 2, 16),
        (lambda i: i // 7 * 9 + i % 7, 49),
        (lambda i: i // 3 * 7 + i % 3 * 2, 13),
        (lambda i: 100 - i * 2, 16),
    ],
)
def test_elements_near_each_other_are_shuffled(place, count):
    text = checked(place, count, 8)
    assert "shufflevector" in text
    assert "masked.gather" not in text


def test_elements_far_from_each_other_are_gathered():
    assert "masked.gather" in checked(lambda i: i * 17 % 19 * 8, 16, 8)


def test_nothing_outside_of_the_array_is_loaded():
    """A vector of two different elements loads only these: they may be the last of a page."""
    text = checked(lambda i: SIZE - 2 + i // 4, 8, 8)
    assert "load <2 x float>" in text
    assert "load <8 x float>" not in text
