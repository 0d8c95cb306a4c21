"""Modules: finding, calling and showing functions."""

import numpy as np
import pytest
from tests.runtime.programs import add_one, prim_func, scaled, transposed_sum

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import ArgumentError, ExportError, UnknownNameError
from tilewright.ir.dtype import PrimType


def floats(*shape):
    return np.random.default_rng(0).random(shape, np.float32)


def test_calling_with_every_kind_of_array():
    module = add_one()
    source, target = floats(4), np.zeros(4, np.float32)
    module(source, target)
    np.testing.assert_array_equal(target, source + 1)
    array, result = tvm.nd.array(source), tvm.nd.empty((4,))
    module["main"](array, result)
    np.testing.assert_array_equal(result.numpy(), source + 1)
    module.get_function("__tvm_main__")(source, result)
    module[module.entry_name](result, result.copyto(tvm.cpu()))
    assert module.imported_modules == []


def test_any_dlpack_producer_is_accepted():
    class Producer:
        def __init__(self, values):
            self.values = values

        def __dlpack__(self, **options):
            return self.values.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.values.__dlpack_device__()

    target = np.zeros(4, np.float32)
    add_one()(Producer(floats(4)), Producer(target))
    np.testing.assert_array_equal(target, floats(4) + 1)


def test_read_only_arrays_can_be_read():
    source, target = floats(4), np.zeros(4, np.float32)
    source.flags.writeable = False
    add_one()(source, target)
    np.testing.assert_array_equal(target, source + 1)


def test_symbolic_sizes_come_from_the_arrays():
    for n in (0, 1, 5):
        a, b, c = floats(n, 7), floats(7, n), floats(n, 7)
        transposed_sum()(a, b, c)
        np.testing.assert_array_equal(c, a + b.T)


@pytest.mark.parametrize(
    ("dtype", "value", "factor"),
    [
        ("int32", -3, -3.0), ("int8", True, 1.0), ("uint64", 2**40, 2.0**40),
        ("float32", 2.5, 2.5), ("float64", 3, 3.0), ("float16", 0.5, 0.5), ("bool", True, 1.0),
        ("bool", 0, 0.0), ("int64", np.int64(-7), -7.0), ("float64", np.float32(0.25), 0.25),
    ],
)  # fmt: skip
def test_scalars_of_every_kind(dtype, value, factor):
    result = np.zeros(2)
    scaled(dtype)(np.array([1.0, 2.0]), value, result)
    assert result.tolist() == [factor, 2 * factor]


@pytest.mark.parametrize(
    ("dtype", "value"), [("int32", 42), ("float32", 1.5), ("bool", True), ("int64", -(2**40))]
)
def test_results_are_returned(dtype, value):
    body = tir.Evaluate(tir.ret(tir.const(value, dtype)))
    function = prim_func([], body, ret_type=PrimType(tvm.ir.DType(dtype)))
    result = tvm.build(function, target="llvm")()
    assert result == value
    assert type(result) is type(value)


def test_names():
    module = add_one(4, "float32", "only")
    assert module.function_names() == ["only"]
    assert module.implements_function("only")
    assert module.implements_function("__tvm_main__")
    assert module.entry_func is module["only"] is module["main"]
    assert not two_functions("one", "other").implements_function("main")
    assert "only" in repr(module)
    with pytest.raises(UnknownNameError, match="no function 'absent'; it has"):
        module["absent"]
    with pytest.raises(ArgumentError, match="string"):
        module[3]


def two_functions(*names):
    def add(step, name):
        a = te.placeholder((4,), name="A")
        b = te.compute((4,), lambda i: a[i] + tir.const(step, "float32"), name="B")
        return tvm.lower(te.create_schedule(b.op), [a, b], name)[name]

    functions = {name: add(step, name) for step, name in enumerate(names, 1)}
    return tvm.build(tvm.IRModule(functions), target="llvm")


def test_several_functions():
    module = two_functions("first", "main")
    result = np.zeros(4, np.float32)
    module["first"](floats(4), result)
    np.testing.assert_array_equal(result, floats(4) + 1)
    module(floats(4), result)
    np.testing.assert_array_equal(result, floats(4) + 2)
    with pytest.raises(UnknownNameError, match="no function 'main' to call"):
        two_functions("first", "second")(floats(4), result)


def test_functions_outlive_the_module():
    function = two_functions("main", "other")["other"]
    result = np.zeros(4, np.float32)
    function(floats(4), result)
    np.testing.assert_array_equal(result, floats(4) + 2)


def test_the_source_can_be_shown():
    text = add_one().get_source()
    assert "define" in text
    assert "__tvm_ffi_main" in text


def test_text_of_a_loaded_module(tmp_path):
    loaded = tvm.runtime.load_module(add_one().export_library(tmp_path / "a.so"))
    with pytest.raises(ExportError, match="loaded from"):
        loaded.get_source()
