"""Stages that share the loop over rows ask for the next row of what is in no cache of a core."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te, topi
from tilewright.schedule_rules.default import default_schedule

TARGET = "llvm -num-cores=1"


def softmax(rows, columns):
    X = te.placeholder((rows, columns), name="X")
    return te.create_prim_func([X, topi.nn.softmax(X)])


def annotations(func):
    script = default_schedule(func, TARGET).mod["main"].script()
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


@pytest.mark.parametrize("columns", [2048, 2045])
def test_the_result_is_the_same(columns):
    x = np.random.default_rng(0).standard_normal((1040, columns), "float32")
    y = np.zeros_like(x)
    module = tvm.build(softmax(*x.shape), target=TARGET)
    assert "llvm.prefetch" in module.get_source("ll")
    module["main"](x, y)
    np.testing.assert_allclose(y, topi.testing.softmax_python(x), rtol=2e-6)
