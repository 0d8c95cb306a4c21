"""Operators on values that are not arrays."""

import numpy as np
from tests.relax.builders import module_of, negative

from tilewright import relax
from tilewright.relax import op
from tilewright.relax.interpreter import evaluate


def test_closures_with_effects_are_called():
    info = relax.TensorStructInfo((2,), "float32")
    x, a, b = (relax.Var(name, info) for name in "xab")
    builder = relax.BlockBuilder()
    with builder.function("difference", [a, b]):
        builder.emit_func_output(op.subtract(a, b))
    difference = builder.get().get_global_var("difference")
    with builder.function("main", [x], pure=False):
        closure = builder.emit(op.make_closure(difference, (x,)))
        result = op.invoke_closure(closure, (negative(x),), sinfo_args=info)
        builder.emit_func_output(result)
    data = np.array([1, 2], "float32")
    np.testing.assert_array_equal(evaluate(builder.get(), data), -data - data)


def test_there_may_be_no_value():
    module = module_of([], lambda builder: builder.emit(op.null_value()))
    assert isinstance(module["main"].ret_struct_info, relax.ObjectStructInfo)
    assert evaluate(module) is None
