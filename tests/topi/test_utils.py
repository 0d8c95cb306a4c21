"""`topi.utils`: numbers out of expressions."""

import numpy as np
import pytest

from tilewright import te, tir, topi
from tilewright.error import ArgumentValueError, ShapeError
from tilewright.topi import utils


def test_constants():
    n = te.var("n")
    A = te.placeholder((4, n, 6), name="A")
    assert topi.utils.get_const_tuple(A.shape) == (4, n, 6)
    assert utils.get_const_int(tir.const(3) + n - n) == 3
    assert utils.get_const_float(tir.const(0.5)) == 0.5
    assert utils.get_float_tuple([1.0, tir.const(0.25)]) == (1.0, 0.25)
    assert utils.equal_const_int(n - n + 2, 2)
    assert not utils.equal_const_int(n, 2)
    with pytest.raises(ArgumentValueError, match="a constant integer, got n"):
        utils.get_const_int(n)
    with pytest.raises(ArgumentValueError, match="a constant float"):
        utils.get_const_float(n)


def test_arithmetic():
    n = te.var("n")
    assert utils.prod((2, 3, n)) == 6 * n
    assert int(utils.prod(())) == 1
    assert utils.ceil_div(7, 2) == 4
    assert utils.get_max_power2_factor(48) == 16
    assert utils.get_max_power2_factor(48, 8) == 8


@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 3, 4)])
def test_positions(shape):
    for position in range(int(np.prod(shape))):
        indices = utils.unravel_index(position, shape)
        assert tuple(indices) == tuple(int(i) for i in np.unravel_index(position, shape))
        assert utils.ravel_index(indices, shape) == position
    with pytest.raises(ShapeError, match="for 1 dimensions"):
        utils.ravel_index((1, 2), (3,))
