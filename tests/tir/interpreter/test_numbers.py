"""Numbers at the edges of their types, in the interpreter."""

import numpy as np
from tests.target.llvm.programs import elementwise

from tilewright import tir
from tilewright.ir import DType
from tilewright.tir.interpreter import interpret


def test_doubles_beyond_the_short_types_are_infinite():
    """Scaling them to whole numbers of units overflows."""
    values = np.array([1.7e308, -1.7e308, np.inf, 1e300], "float64")
    for dtype in ("float16", "bfloat16"):
        result = np.zeros(4, DType(dtype).numpy)
        convert = elementwise(lambda x, t=dtype: x.astype(t), 4, "float64", result=dtype)
        interpret(convert, values, result)
        assert result.astype("float64").tolist() == [np.inf, -np.inf, np.inf, np.inf]


def test_the_square_root_of_minus_infinity_as_a_power():
    result = np.zeros(2, "float32")
    power = elementwise(tir.pow, 2, "float32", "float32")
    interpret(power, np.array([-np.inf, 4], "float32"), np.array([0.5, 0.5], "float32"), result)
    assert result.tolist() == [np.inf, 2]
