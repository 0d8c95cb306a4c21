"""Where elements are that are not 0, against numpy."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te, topi
from tilewright.topi.nonzero import PART


@pytest.mark.parametrize(
    "shape", [(PART,), (2, PART + 3), (2 * PART + 1,), (3, 0), (7, 1, 3)], ids=str
)
@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "float16"])
@pytest.mark.parametrize("is_known", [True, False], ids=["known", "symbolic"])
def test_places_in_order(shape, dtype, is_known):
    rng = np.random.default_rng(0)
    x = rng.integers(-1, 2, shape).astype(dtype)
    if dtype.startswith("float"):
        x.reshape(-1)[::5], x.reshape(-1)[::7] = np.nan, -0.0
    extents = shape if is_known else [te.size_var(f"n{n}", "int64") for n in range(len(shape))]
    data, count = te.placeholder(extents, dtype, name="data"), te.size_var("count", "int64")
    expected = np.stack(np.nonzero(x))

    number = np.empty(1, "int64")
    tvm.build(te.create_prim_func([data, topi.count_nonzero(data)]), "llvm")(x, number)
    assert number[0] == expected.shape[1]
    for rows, places in ((False, expected), (True, expected.T)):
        function = te.create_prim_func([data, topi.nonzero(data, count, rows)])
        found = np.full(places.shape, -1, "int64")
        tvm.build(function, "llvm")(x, found)
        np.testing.assert_array_equal(found, places)
