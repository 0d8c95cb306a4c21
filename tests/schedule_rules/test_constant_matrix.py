"""A vector times a large matrix that is the same in all calls."""

import numpy as np
import pytest
from tests.schedule_rules.programs import (
    LARGE,
    SMALL,
    TWO_CORES,
    loops_of,
    matmul,
    names_of,
    scheduled,
)

from tilewright import nd, relax, te
from tilewright.schedule_rules.operands import CONSTANT_PARAMS

TARGET = "llvm -num-cores=1"


def known(func, *positions):
    return func.with_attr(CONSTANT_PARAMS, positions or (1,))


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("columns", "panels"), [(64, 3), (61, 3), (20, 2), (5, 1)])
def test_panels_of_a_constant_are_read_in_turns(columns, panels, transposed):
    sch = scheduled(known(matmul(1, columns, 33, transposed)))
    assert len(names_of(sch)) == 2  # the panels are packed first, and once
    kinds = loops_of(sch, "C")
    assert kinds[-3:] == [("unrolled", panels), ("unrolled", 4), ("vectorized", 4)]
    assert kinds[-4] == ("serial", 33)


def test_cores_share_the_panels():
    sch = scheduled(known(matmul(1, 130, 33)), TWO_CORES)
    assert "parallel" in [kind for kind, _ in loops_of(sch, "C")]


def both_ways():
    """A matrix that is read along its rows, and along its columns."""
    x, w = te.placeholder((16,), name="X"), te.placeholder((16, 16), name="W")
    k = te.reduce_axis((0, 16), name="k")
    y = te.compute((16,), lambda j: te.sum(x[k] * w[k, j], axis=k), name="Y")
    r = te.reduce_axis((0, 16), name="r")
    z = te.compute((16,), lambda i: te.sum(y[r] * w[i, r], axis=r), name="Z")
    return te.create_prim_func([x, w, z])


@pytest.mark.parametrize(
    ("func", "machine"),
    [
        (matmul(1, 64, 33), SMALL),  # no constant
        (known(matmul(1, 64, 33)), LARGE),  # the matrix stays in the cache
        (known(both_ways()), SMALL),
        (known(matmul(1, te.var("n"), 33)), SMALL),
    ],
)
def test_other_matrices_stay_as_they_are(func, machine):
    assert not any("global" in name for name in names_of(scheduled(func, machine, {"n": 9})))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [1023, 1024])
def test_kernels_take_panels(columns, dtype):
    """One matrix is read as it is, and one along its rows; both results go on."""
    rng = np.random.default_rng(0)
    w = rng.standard_normal((517, columns)).astype(dtype)
    v = rng.standard_normal((517, columns)).astype(dtype)
    x = relax.Var("x", relax.TensorStructInfo((1, 517), dtype))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(relax.op.nn.relu(relax.op.matmul(x, relax.const(w))))
            result = builder.emit_output(relax.op.linear(y, relax.const(v)))
        builder.emit_func_output(result)
    main = relax.VirtualMachine(relax.build(builder.get(), TARGET))["main"]
    value = rng.standard_normal((1, 517)).astype(dtype)
    exact = np.maximum(value.astype("float64") @ w, 0) @ v.T.astype("float64")
    found = main(nd.array(value)).numpy()
    error = np.abs(found - exact).max() / np.abs(exact).max()
    assert error < (1e-5 if dtype == "float32" else 1e-13)
