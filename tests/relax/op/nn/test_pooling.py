"""Graph operators of pooling."""

import numpy as np
import pytest
from tests.relax.op.graphs import compute, infer, real, tensor

from tilewright.error import ArgumentValueError, StructInfoError
from tilewright.relax import op
from tilewright.topi import testing


def close(result, expected):
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("known", ["shape", "symbolic", "rank"])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("count_include_pad", [False, True])
def test_pool2d(known, ceil_mode, kind, count_include_pad):
    a = real(2, 2, 7, 6)
    pool = op.nn.max_pool2d if kind == "max" else op.nn.avg_pool2d
    result = compute(
        lambda x: pool(x, (3, 2), 2, (1, 0, 1, 1), 1, ceil_mode, count_include_pad), a, known=known
    )
    expected = testing.poolnd_python(
        a, (3, 2), (2, 2), (1, 1), (1, 0), (1, 1), kind, count_include_pad, ceil_mode
    )
    close(result, expected)


def test_sequences_volumes_and_layouts():
    a = real(2, 3, 9)
    expected = testing.poolnd_python(a, (3,), (2,), (1,), (1,), (1,), "max")
    close(compute(lambda x: op.nn.max_pool1d(x, 3, 2, 1), a), expected)
    expected = testing.poolnd_python(a, (3,), (2,), (1,), (1,), (1,), "avg", True)
    close(compute(lambda x: op.nn.avg_pool1d(x, 3, 2, 1, count_include_pad=True), a), expected)
    a = real(1, 2, 4, 4, 4)
    for pool, kind in ((op.nn.max_pool3d, "max"), (op.nn.avg_pool3d, "avg")):
        expected = testing.poolnd_python(a, (2,) * 3, (2,) * 3, (1,) * 3, (0,) * 3, (0,) * 3, kind)
        close(compute(lambda x, pool=pool: pool(x, 2, 2), a), expected)
    a = real(1, 6, 5, 2)
    expected = testing.poolnd_python(
        a, (2, 2), (2, 2), (2, 1), (0, 0), (0, 0), "max", layout="NHWC"
    )
    close(compute(lambda x: op.nn.max_pool2d(x, 2, 2, 0, (2, 1), layout="NHWC"), a), expected)


@pytest.mark.parametrize("known", ["shape", "symbolic", "rank"])
@pytest.mark.parametrize("size", [1, (2, 3), None])
def test_adaptive_avg_pool2d(known, size):
    a = real(2, 3, 4, 7)
    expected = a if size is None else testing.adaptive_pool(a, size, "avg")
    close(compute(lambda x: op.nn.adaptive_avg_pool2d(x, size), a, known=known), expected)


def test_adaptive_avg_pool_of_sequences_and_volumes():
    a = real(2, 3, 7)
    expected = testing.adaptive_pool(a, 3, "avg", "NCW")
    close(compute(lambda x: op.nn.adaptive_avg_pool1d(x, 3), a), expected)
    a = real(1, 2, 4, 3, 5)
    expected = testing.adaptive_pool(a, (2, 1, 3), "avg", "NCDHW")
    close(compute(lambda x: op.nn.adaptive_avg_pool3d(x, (2, 1, 3)), a), expected)


def test_mistakes_are_named():
    with pytest.raises(StructInfoError, match="layout NCHW, so 4 dimensions, not 3"):
        infer(op.nn.max_pool2d(tensor(1, 2, 3), 2))
    with pytest.raises(StructInfoError, match=r"R\.nn\.max_pool2d: `padding` 2 is not less"):
        infer(op.nn.max_pool2d(tensor(1, 2, 8, 8), 2, 2, 2))
    with pytest.raises(ArgumentValueError, match="`pool_size` is at least 1"):
        op.nn.max_pool2d(tensor(1, 2, 8, 8), 0)
    with pytest.raises(ArgumentValueError, match="each of the letters NCHW once"):
        op.nn.avg_pool2d(tensor(1, 2, 8, 8), 2, layout="NCDHW")
