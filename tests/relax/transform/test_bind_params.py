"""Parameters become constants."""

import numpy as np
import pytest
from tests.relax.builders import array, bindings_in, module_of
from tests.relax.transform.parts import shape_of

import tilewright as tvm
from tilewright import relax
from tilewright.error import ArgumentError, DTypeError, ShapeError, UnknownNameError
from tilewright.ir import Var as Size
from tilewright.relax.transform import BindParams


def mlp():
    """Two layers of symbolic sizes, computed by functions that are called by name."""
    m, n, k = (Size(name, "int64") for name in "mnk")
    names = ("x", "w0", "b0", "w1", "b1")
    infos = [array(1, m), array(n, m), array(n), array(k, n), array(k)]
    params = [relax.Var(*pair) for pair in zip(names, infos, strict=True)]
    x, w0, b0, w1, b1 = params

    def body(builder):
        with builder.dataflow():
            h = builder.emit(relax.op.call_dps_packed("linear", (x, w0, b0), array(1, n)))
            output = relax.op.call_dps_packed("linear", (h, w1, b1), array(1, k))
            return builder.emit_output(output)

    return module_of(params, body)


def weights():
    shapes = {"w0": (128, 784), "b0": (128,), "w1": (10, 128), "b1": (10,)}
    return {name: np.zeros(shape, "float32") for name, shape in shapes.items()}


def test_sizes_become_numbers_everywhere():
    before = mlp()
    main = BindParams("main", weights())(before)["main"]
    assert [shape_of(param) for param in main.params] == [(1, 784)]
    hidden, result = bindings_in(main)
    assert (shape_of(hidden.var), shape_of(result.var)) == ((1, 128), (1, 10))
    assert shape_of(hidden.value) == (1, 128)
    assert hidden.value.sinfo_args[0].extents[1].value == 128
    assert shape_of(main.body.body) == (1, 10)
    assert main.ret_struct_info.extents[1].value == 10
    assert main.body.body is result.var
    assert isinstance(hidden.value.args[1].fields[1], relax.Constant)
    assert main.attrs["global_symbol"] == "main"
    assert len(before["main"].params) == 5, "the module before stays as it is"


def test_arrays_of_the_runtime_and_variables_as_keys():
    before = mlp()
    params = before["main"].params
    arrays = {name: tvm.nd.array(value) for name, value in weights().items()}
    main = BindParams("main", {params[1]: arrays["w0"], "b0": arrays["b0"]})(before)["main"]
    assert [shape_of(param) for param in main.params] == [(1, 784), ("k", 128), ("k",)]
    assert shape_of(main.body.body) == (1, "k")


def test_a_name_that_is_nearly_right():
    with pytest.raises(UnknownNameError, match="did you mean 'w0'"):
        BindParams("main", {"w00": weights()["w0"]})(mlp())


def test_nothing_to_bind():
    before = mlp()
    assert BindParams("main", {})(before) is before


def test_an_extent_that_is_an_expression():
    n = Size("n", "int64")
    x, w = relax.Var("x", array(n)), relax.Var("w", array(n * 2))
    before = module_of([x, w], lambda b: b.emit(relax.op.add(x, x)))
    main = BindParams("main", {"w": np.zeros(6, "float32")})(before)["main"]
    assert shape_of(main.params[0]) == (3,)
    with pytest.raises(ShapeError, match=r"shape \(n \* 2\), .* has \(7,\), from which n \* 2"):
        BindParams("main", {"w": np.zeros(7, "float32")})(before)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"weight": np.zeros(3)}, UnknownNameError, "no parameter 'weight'; it has .*w0"),
        ({"w0": np.zeros((8, 4))}, DTypeError, "'w0' has elements of type float32.*float64"),
        ({"w0": np.zeros(4, "float32")}, ShapeError, r"'w0' has the shape \(n, m\).*\(4,\)"),
        ({"x": np.zeros((2, 4), "float32")}, ShapeError, r"'x' has the shape \(1, m\)"),
        (
            {"w0": np.zeros((8, 4), "float32"), "b0": np.zeros(9, "float32")},
            ShapeError,
            r"'b0' has the shape \(n\).*\(9,\), but n is 8",
        ),
        ({"w0": "text"}, ArgumentError, "'w0': the value must be an array"),
        ({"w0": None}, ArgumentError, "'w0': the value must be an array: None"),
        ({relax.Var("w0"): np.zeros(3)}, UnknownNameError, "another one of that name"),
        ([np.zeros(3)], ArgumentError, "params is a dictionary .* got a list"),
    ],
)
def test_values_that_do_not_fit(params, error, message):
    with pytest.raises(error, match=f"BindParams: .*{message}"):
        BindParams("main", params)(mlp())


def test_a_function_that_is_not_there():
    with pytest.raises(UnknownNameError, match="no function 'mian'; did you mean 'main'"):
        BindParams("mian", weights())(mlp())


def test_a_function_that_others_call():
    before = mlp()
    x = relax.Var("x", array(2))
    builder = relax.BlockBuilder(before)
    with builder.function("caller", [x]):
        call = relax.Call(before.get_global_var("main"), [x] * 5, struct_info=array(2))
        builder.emit_func_output(builder.emit(call))
    with pytest.raises(ArgumentError, match="because 'caller' calls it"):
        BindParams("main", weights())(builder.get())
