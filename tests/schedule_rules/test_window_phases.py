"""Windows that move by several columns, over data that is stored phase by phase."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.schedule_rules.programs import LARGE, SMALL, TWO_CORES, loops_of, scheduled

import tilewright as tvm
from tilewright import te, topi
from tilewright.target import Target

TARGETS = ["llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v2"]
RUNNABLE = [spec for spec in TARGETS if Target(spec).is_host]


def of_channels(channels, rows, columns, window, step, pad=None, dtype="float32", batch=1):
    """A convolution of each channel on its own."""
    x = te.placeholder((batch, channels, rows, columns), dtype, name="X")
    w = te.placeholder((channels, 1, window, window), dtype, name="W")
    pad = window // 2 if pad is None else pad
    y = topi.nn.depthwise_conv2d_nchw(x, w, step, pad, 1)
    return te.create_prim_func([x, w, y])


def largest(channels, size, window, step):
    x = te.placeholder((2, channels, size, size), name="X")
    pads = (window // 2,) * 4
    y = topi.nn.pool2d(x, (window,) * 2, (step,) * 2, (1, 1), pads, "max", False)
    return te.create_prim_func([x, y])


def windows_of(x, window, step, pad, value=0.0):
    """The windows of images, in two more dimensions."""
    padded = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)], constant_values=value)
    found = np.lib.stride_tricks.sliding_window_view(padded, (window, window), (2, 3))
    return found[:, :, ::step, ::step]


def run(func, inputs, target):
    """The result of a function with its default schedule, whose last parameter is the result."""
    out = func.buffer_map[func.params[-1]]
    result = tvm.nd.array(np.full([int(n) for n in out.shape], 77, str(out.dtype)))
    module = tvm.IRModule({"main": func.with_attr("global_symbol", "main")})
    tvm.build(module, target=target)["main"](*map(tvm.nd.array, inputs), result)
    return result.numpy()


def has_phases(sch, name="pad_temp"):
    """Whether a block stores rows phase by phase."""
    block = sch.get(sch.get_block(name))
    return len(block.writes[0].buffer.shape) == 5


@settings(max_examples=30, deadline=None)
@given(
    target=st.sampled_from(RUNNABLE),
    channels=st.integers(1, 5),
    rows=st.integers(3, 40),
    columns=st.integers(3, 130),
    window=st.integers(2, 7),
    step=st.integers(2, 4),
    pad=st.integers(0, 3),
    seed=st.integers(0, 99),
)
def test_convolutions_are_right(target, channels, rows, columns, window, step, pad, seed):
    pad = min(pad, window - 1)
    if min(rows, columns) + 2 * pad < window:
        return
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((2, channels, rows, columns)).astype("float32")
    w = rng.standard_normal((channels, 1, window, window)).astype("float32")
    got = run(of_channels(channels, rows, columns, window, step, pad, batch=2), [x, w], target)
    windows = windows_of(x.astype("float64"), window, step, pad)
    want = np.einsum("nchwij,cij->nchw", windows, w[:, 0].astype("float64"))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5 * window**2)


@pytest.mark.parametrize("size", [16, 30, 57, 112])
@pytest.mark.parametrize(("window", "step"), [(3, 2), (5, 2), (5, 3)])
@pytest.mark.parametrize("target", RUNNABLE)
def test_pools_are_right(target, size, window, step):
    x = np.random.default_rng(0).standard_normal((2, 3, size, size)).astype("float32")
    want = windows_of(x, window, step, window // 2, -np.inf).max((-1, -2))
    np.testing.assert_array_equal(run(largest(3, size, window, step), [x], target), want)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "int32"])
def test_other_elements(dtype):
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, (1, 3, 20, 70)).astype(dtype)
    w = rng.integers(-3, 4, (3, 1, 3, 3)).astype(dtype)
    func = of_channels(3, 20, 70, 3, 2, dtype=dtype)
    assert has_phases(tvm.default_schedule(func))
    want = np.einsum("nchwij,cij->nchw", windows_of(x.astype("float64"), 3, 2, 1), w[:, 0])
    np.testing.assert_array_equal(run(func, [x, w], "llvm"), want)


@pytest.mark.parametrize("machine", [SMALL, LARGE, TWO_CORES])
@pytest.mark.parametrize("step", [2, 3, 4])
@pytest.mark.parametrize(("columns", "lanes"), [(4, 4), (10, 4), (16, 4), (20, 16)])
def test_phases_are_stored_in_vectors(machine, step, columns, lanes):
    """Of a line of the cache, if rows are longer."""
    sch = scheduled(of_channels(8, 12, columns * step - 4, 5, step), machine)
    assert has_phases(sch)
    assert loops_of(sch, "pad_temp")[-2:] == [("unrolled", step), ("vectorized", lanes)]


def test_data_of_bands_of_rows_is_stored_phase_by_phase():
    """A channel of the image is larger than the first cache."""
    func = of_channels(4, 224, 256, 3, 2)
    sch = tvm.default_schedule(func, "llvm -mcpu=x86-64-v3 -num-cores=1")
    assert has_phases(sch)
    loops = zip(sch.get_loops("pad_temp"), sch.get_loops("depthwise_conv2d_nchw"), strict=False)
    assert sum(sch.get(a) is sch.get(b) for a, b in loops) == 3


@pytest.mark.parametrize(("channels", "expected"), [(3, True), (64, False)])
def test_sums_over_channels_in_vectors_of_columns(channels, expected):
    """Vectors of filters read each element of an image on its own, in any order."""
    x = te.placeholder((1, channels, 56, 56), name="X")
    w = te.placeholder((128, channels, 3, 3), name="W")
    func = te.create_prim_func([x, w, topi.nn.conv2d_nchw(x, w, 2, 1, 1)])
    sch = tvm.default_schedule(func, "llvm -mcpu=skylake-avx512 -num-cores=1")
    assert ("% 2" in sch.mod.script()) == expected


@pytest.mark.parametrize(
    "func",
    [
        of_channels(4, 20, 30, 3, 1),  # neighbours are next to each other
        of_channels(4, 20, 29, 3, 2),  # rows are no multiple of two
        of_channels(4, 20, 40, 11, 5),  # many phases
        of_channels(4, 20, 32, 2, 2, 1),  # windows share no columns
    ],
)
def test_data_that_stays_as_it_is(func):
    assert not has_phases(scheduled(func))


def test_data_for_others_stays_as_it_is():
    x = te.placeholder((1, 4, 20, 30), name="X")
    w = te.placeholder((4, 1, 3, 3), name="W")
    padded = topi.nn.pad(x, [0, 0, 1, 1], name="pad")
    y = topi.nn.depthwise_conv2d_nchw(padded, w, 2, 0, 1)
    total = topi.sum(padded, axis=(2, 3))
    sch = scheduled(te.create_prim_func([x, w, y, total]))
    assert not any(
        len(item.writes[0].buffer.shape) == 5
        for item in map(sch.get, sch.get_child_blocks(sch.get_block("root")))
    )
