"""Convolutions of few channels, whose windows are unfolded into the columns of a matrix."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.schedule_rules.test_amx_products import (
    SPEC,
    TARGET,
    convolved,
    grouped_convolution,
    run,
)
from tests.schedule_rules.test_dot_products import (
    PROCESSORS,
    assert_close,
    convolution,
    numbers,
)

import tilewright as tvm
from tilewright import te, topi
from tilewright.schedule_rules.operands import CONSTANT_PARAMS
from tilewright.target import Target
from tilewright.tir.stmt import Allocate, ForKind
from tilewright.tir.transform.building.statements import statements
from tilewright.tir.transform.lift_copies import lift_copies

TARGETS = {
    "haswell": Target(PROCESSORS["haswell"][0]),
    "cascadelake": Target(PROCESSORS["cascadelake"][0]),
    "alderlake": Target(PROCESSORS["alderlake"][0]),
    "sapphirerapids": TARGET,
}


def allocated(func):
    """Number of elements of each buffer that a lowered function allocates."""
    found = (stmt for stmt in statements(func.body) if isinstance(stmt, Allocate))
    return [int(np.prod([int(n) for n in stmt.extents])) for stmt in found]


def is_unfolded(func, target=TARGET):
    """Whether panels are copied of what was first a matrix of windows."""
    return bool(re.search("[AP]_reindex", tvm.default_schedule(func, target).mod.script()))


@settings(max_examples=40, deadline=None)
@given(
    target=st.sampled_from(sorted(TARGETS)),
    dtype=st.sampled_from(["int8", "uint8", "bfloat16"]),
    channels=st.sampled_from([1, 3, 4, 9, 40]),
    size=st.integers(8, 40),
    filters=st.sampled_from([3, 16, 20, 64]),
    width=st.sampled_from([1, 2, 3, 5, 7]),
    stride=st.sampled_from([1, 2, 3]),
    batch=st.integers(1, 2),
    seed=st.integers(0, 99),
)
def test_convolutions_are_right(target, dtype, channels, size, filters, width, stride, batch, seed):
    rng = np.random.default_rng(seed)
    b = "int8" if dtype == "uint8" else dtype
    func = convolution(batch, channels, size, filters, width, stride, dtype, b)
    x = numbers(rng, (batch, channels, size, size), dtype)
    w = numbers(rng, (filters, channels, width, width), b)
    want = convolved(x, w, stride)
    got, _ = run(func, [x, w], want.shape, TARGETS[target])
    assert_close(got, want)


@pytest.mark.parametrize("dtype", ["int8", "bfloat16"])
def test_groups_of_channels(dtype):
    case = (1, 6, 9, 32, 64, 5, 2)
    rng = np.random.default_rng(0)
    x, w = numbers(rng, (1, 6, 9, 32), dtype), numbers(rng, (64, 3, 5, 5), dtype)
    func = grouped_convolution(*case, dtype)
    assert "temp_reindex" in tvm.default_schedule(func, TARGET).mod.script()
    parts = zip(np.split(x, 2, 1), np.split(w, 2), strict=True)
    want = np.concatenate([convolved(a, b) for a, b in parts], 1)
    got, _ = run(func, [x, w], want.shape)
    assert_close(got, want)


def test_all_elements_of_a_window_are_steps_of_one_sum():
    """Three channels of 49 elements are 147 steps, or five of tiles; channel by channel, there
    would be 49 with three of 32 products each."""
    rng = np.random.default_rng(0)
    x, w = numbers(rng, (1, 3, 32, 32), "bfloat16"), numbers(rng, (32, 3, 7, 7), "bfloat16")
    func = convolution(1, 3, 32, 32, 7, 2, "bfloat16", "bfloat16")
    got, counts = run(func, [x, w], (1, 32, 16, 16))
    assert_close(got, convolved(x, w, 2))
    assert counts["tdpbf16ps"] == 16 * 2 * 5  # rows of the image, tiles of filters, and of steps


def test_windows_are_unfolded_row_by_row():
    """Panels for a row of 112 windows, instead of all windows of the image."""
    func = convolution(1, 3, 224, 64, 7, 2, "bfloat16", "bfloat16")
    lowered = tvm.lower(tvm.default_schedule(func, TARGET).mod)
    sizes = allocated(lowered["main"])
    assert max(sizes) == 3 * 230 * 230  # the image with zeros around it
    assert 112 * 160 in sizes


@pytest.mark.parametrize(
    ("channels", "width", "stride", "expected"),
    [
        (3, 7, 2, True),
        (1, 5, 1, True),
        (64, 3, 1, False),
        (3, 7, 3, False),
        (3, 1, 1, False),
        (64, 1, 2, True),
        (64, 3, 2, False),
    ],
)
def test_few_channels_or_every_other_pixel(channels, width, stride, expected):
    func = convolution(1, channels, 56, 64, width, stride, "int8", "int8")
    assert is_unfolded(func) == expected


def test_a_single_step_is_no_sum():
    rng = np.random.default_rng(0)
    x, w = numbers(rng, (1, 1, 9, 9), "int8"), numbers(rng, (16, 1, 1, 1), "int8")
    func = convolution(1, 1, 9, 16, 1, 2, "int8", "int8")
    got, _ = run(func, [x, w], (1, 16, 5, 5))
    assert_close(got, convolved(x, w, 2))


def test_only_instructions_that_add_several_products_need_it():
    func = convolution(1, 3, 56, 64, 7, 2, "bfloat16", "bfloat16")
    assert not is_unfolded(func, Target(PROCESSORS["haswell"][0]))
    assert not is_unfolded(convolution(1, 3, 56, 64, 7, 2, "float32", "float32"))


def test_what_reads_the_result_is_computed_for_each_tile():
    A, W = te.placeholder((1, 3, 32, 32), "int8", "A"), te.placeholder((32, 3, 5, 5), "int8", "W")
    total = topi.nn.conv2d_nchw(A, W, 1, 2, 1, "int32")
    C = te.compute(total.shape, lambda *at: te.max(total(*at), 0).astype("float32") * 0.5, "C")
    func = te.create_prim_func([A, W, C])
    rng = np.random.default_rng(0)
    x, w = numbers(rng, (1, 3, 32, 32), "int8"), numbers(rng, (32, 3, 5, 5), "int8")
    want = np.maximum(convolved(x, w), 0).astype("float32") / 2
    got, counts = run(func, [x, w], want.shape)
    np.testing.assert_array_equal(got, want)
    assert counts["tdpbssd"] > 0
    assert max(allocated(tvm.lower(tvm.default_schedule(func, TARGET).mod)["main"])) < 32 * 32 * 32


def test_filters_that_are_constants_are_packed_once():
    func = convolution(1, 3, 32, 32, 7, 2, "int8", "int8").with_attr(CONSTANT_PARAMS, [1])
    sch = tvm.default_schedule(func, TARGET)
    _, copies = lift_copies(sch.mod["main"].without_attr(CONSTANT_PARAMS), [1])
    assert len(copies) == 1


def test_cores_share_the_rows_of_an_image():
    func = convolution(1, 3, 32, 32, 7, 2, "int8", "int8")
    target = Target(f"{SPEC} -num-cores=2")
    sch = tvm.default_schedule(func, target)
    assert sch.get(sch.get_loops("C_update_o")[1]).kind is ForKind.PARALLEL
    rng = np.random.default_rng(0)
    x, w = numbers(rng, (1, 3, 32, 32), "int8"), numbers(rng, (32, 3, 7, 7), "int8")
    got, _ = run(func, [x, w], (1, 32, 16, 16), target)
    assert_close(got, convolved(x, w, 2))


def test_results_of_short_rows_are_calculated_in_vectors():
    """Seven pixels are less than half of a vector: the filters of a pixel are one."""
    A = te.placeholder((1, 64, 7, 7), "int8", "A")
    W = te.placeholder((32, 64, 3, 3), "int8", "W")
    total = topi.nn.conv2d_nchw(A, W, 1, 1, 1, "int32")
    C = te.compute(total.shape, lambda *at: total(*at).astype("float32") * 0.5 + 1, "C")
    func = te.create_prim_func([A, W, C])
    sch = tvm.default_schedule(func, TARGET)
    *_, pixel, filters = (sch.get(loop) for loop in sch.get_loops("C"))
    assert int(pixel.extent) == 7
    assert filters.kind is ForKind.VECTORIZED
    rng = np.random.default_rng(0)
    x, w = numbers(rng, (1, 64, 7, 7), "int8"), numbers(rng, (32, 64, 3, 3), "int8")
    got, _ = run(func, [x, w], (1, 32, 7, 7))
    np.testing.assert_array_equal(got, convolved(x, w).astype("float32") / 2 + 1)
