"""Stages that share the loop over rows ask for the next row of what is in no cache of a core."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te, topi
from tilewright.schedule_rules.default import default_schedule

TARGET = "llvm -num-cores=1 -cache-sizes=32768,524288,33554432"
FAR = "llvm -num-cores=1 -cache-sizes=49152,2097152,33554432"
"""Beside caches of cores as large as that, the shared one is far away."""


def softmax(rows, columns):
    X = te.placeholder((rows, columns), name="X")
    return te.create_prim_func([X, topi.nn.softmax(X)])


def annotations(func, target=TARGET):
    script = default_schedule(func, target).mod["main"].script()
    return [line for line in script.splitlines() if "software_prefetch" in line]


def test_of_large_arrays_the_next_row_is_asked_for():
    (line,) = annotations(softmax(4096, 2048))
    assert '"X": 1' in line
    assert '"T_softmax_norm": 1' in line
    assert "exp" not in line


@pytest.mark.parametrize(
    ("rows", "columns"), [(8, 2048), (1 << 20, 16), (64, 1 << 18)], ids=["few", "short", "long"]
)
def test_others_are_left_to_the_hardware(rows, columns):
    assert annotations(softmax(rows, columns)) == []


def test_what_stages_hand_to_each_other_is_not_asked_for():
    (line,) = annotations(softmax(4096, 2048))
    assert "T_softmax_exp" not in line


def test_long_results_go_past_a_far_cache():
    (line,) = annotations(softmax(4096, 2048), FAR)
    assert '"nontemporal_stores": {"T_softmax_norm": 1}' in line
    assert '"software_prefetch": {"X": 1}' in line
    (line,) = annotations(softmax(400, 2048), FAR)
    assert "nontemporal_stores" not in line
    assert '"software_prefetch": {"X": 1}' in line


@pytest.mark.parametrize("change", ["cores", "columns", "cache"])
def test_where_results_stay_in_the_caches(change):
    cores, columns = (2 if change == "cores" else 1), (2045 if change == "columns" else 2048)
    caches = "32768,524288,33554432" if change == "cache" else "49152,2097152,33554432"
    (line,) = annotations(softmax(8192, columns), f"llvm -num-cores={cores} -cache-sizes={caches}")
    assert "nontemporal_stores" not in line


@pytest.mark.parametrize("target", [TARGET, FAR], ids=["near", "far"])
@pytest.mark.parametrize("columns", [2048, 2045])
def test_the_result_is_the_same(columns, target):
    x = np.random.default_rng(0).standard_normal((1040, columns), "float32")
    y = np.zeros_like(x)
    module = tvm.build(softmax(*x.shape), target=target)
    assert "llvm.prefetch" in module.get_source("ll")
    module["main"](x, y)
    np.testing.assert_allclose(y, topi.testing.softmax_python(x), rtol=2e-6)


def test_rows_that_indices_in_memory_say_are_not_asked_for():
    I, W = te.placeholder((4096,), "int32", "I"), te.placeholder((1000, 1024), name="W")
    r = te.reduce_axis((0, 1024), "r")
    total = te.compute((4096,), lambda i: te.sum(W[I[i], r] * W[I[i], r], axis=r), name="total")
    Y = te.compute((4096, 1024), lambda i, j: W[I[i], j] / total[i], name="Y")
    func = te.create_prim_func([I, W, Y])
    (line,) = annotations(func)
    assert '{"Y": 1}' in line
    rng = np.random.default_rng(0)
    rows, w = rng.integers(0, 1000, 4096, "int32"), rng.random((1000, 1024), "float32")
    y = np.zeros((4096, 1024), "float32")
    tvm.build(func, target=TARGET)(rows, w, y)
    taken = w[rows].astype("float64")
    expected = taken / (taken**2).sum(1, keepdims=True)
    np.testing.assert_allclose(y, expected, rtol=1e-5)
