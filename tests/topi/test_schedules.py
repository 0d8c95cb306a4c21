"""Functions that schedule the results of operators."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te, topi


@pytest.mark.parametrize("module", [topi.generic, topi.x86])
def test_schedules_of_a_result(module):
    x = te.placeholder((4, 6), name="x")
    y = topi.sum(topi.exp(x), axis=-1)
    for schedule in (module.schedule_reduce, topi.testing.get_reduce_schedule("llvm")):
        for outs in (y, [y]):
            func = tvm.build(schedule(outs), [x, y], "llvm")
            data, result = np.random.rand(4, 6).astype("float32"), np.zeros(4, "float32")
            func(data, result)
            np.testing.assert_allclose(result, np.exp(data).sum(-1), rtol=1e-5)


def test_an_unknown_schedule():
    with pytest.raises(AttributeError, match="schedule_everything"):
        topi.generic.schedule_everything
