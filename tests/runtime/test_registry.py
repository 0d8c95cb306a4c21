"""Functions by name, and Python callables as functions."""

import numpy as np
import pytest
import tvm_ffi

import tilewright as tvm
from tilewright.error import ArgumentError, ArgumentValueError, UnknownNameError


@pytest.fixture
def registered():
    """Registers functions for one test."""
    names = []

    def register(name, function):
        tvm.register_func(name, function)
        names.append(name)
        return tvm.get_global_func(name)

    yield register
    for name in names:
        tvm.remove_global_func(name)


def test_arguments_arrive_in_the_classes_of_this_package(registered):
    seen = []
    function = registered("test.look", lambda *args: seen.extend(map(type, args)))
    array = tvm.nd.array([1.0])
    assert function(array, np.zeros(2), 3, 2.5, True, "text", None, tvm.cpu(), function) is None
    assert seen[:2] == [tvm.nd.NDArray, tvm.nd.NDArray]
    assert seen[2:5] == [int, float, bool]
    assert issubclass(seen[5], str)
    assert seen[6:] == [type(None), type(tvm.cpu()), type(function)]


def test_arrays_are_not_copied(registered):
    def double(array):
        array[:] = array.numpy() * 2
        return array

    function = registered("test.double", double)
    values = np.arange(3.0)
    result = function(values)
    assert isinstance(result, tvm.nd.NDArray)
    assert result.data_ptr() == values.ctypes.data
    assert values.tolist() == [0, 2, 4]


def test_the_exception_itself_comes_back(registered):
    class OddError(Exception):
        pass

    raised = []

    def fail(make):
        raised.append(make())
        raise raised[-1]

    function = registered("test.fail", lambda kind: fail(kinds[kind]))
    kinds = [lambda: OddError("a", 1), lambda: KeyError("b"), lambda: ValueError("c")]
    for number in range(len(kinds)):
        with pytest.raises(Exception) as caught:  # noqa: PT011, the identity is checked
            function(number)
        assert caught.value is raised[number]


def test_a_callback_that_calls_back(registered):
    inner = registered("test.inner", lambda n: n + 1)
    outer = registered("test.outer", lambda f, n: f(n) * 2)
    assert outer(inner, 4) == 10


def test_decorators_and_names():
    @tvm.register_func("test.named")
    def first(x):
        return x

    try:
        assert first(3) == 3
        assert "test.named" in tvm.list_global_func_names()
        assert tvm_ffi.get_global_func("test.named")(4) == 4
        with pytest.raises(ArgumentValueError, match="override=True"):
            tvm.register_func("test.named", first)
        tvm.register_func("test.named", lambda x: -x, override=True)
        assert tvm.get_global_func("test.named")(3) == -3
        assert "test.named" in repr(tvm.get_global_func("test.named"))
    finally:
        tvm.remove_global_func("test.named")
    assert tvm.get_global_func("test.named", allow_missing=True) is None


def test_a_function_may_be_registered_under_its_own_name():
    @tvm.register_func
    def own_name_of_a_test():
        return 5

    assert tvm.get_global_func("own_name_of_a_test")() == 5
    tvm.remove_global_func("own_name_of_a_test")


def test_convert():
    assert tvm.runtime.convert(lambda x: x + 1)(2) == 3
    first, rest = tvm.runtime.convert([lambda: 7, (1, "a")])
    assert first() == 7
    assert rest == (1, "a")
    with pytest.raises(ArgumentError, match="cannot be passed"):
        tvm.runtime.convert(object())


def test_mistakes():
    with pytest.raises(UnknownNameError, match="no function is registered under 'test"):
        tvm.get_global_func("test.absent")
    with pytest.raises(UnknownNameError):
        tvm.remove_global_func("test.absent")
    with pytest.raises(ArgumentError, match="must be callable"):
        tvm.register_func("test.three", 3)
    with pytest.raises(ArgumentError, match="string"):
        tvm.get_global_func(3)
    with pytest.raises(ArgumentValueError, match="reserved"):
        tvm.register_func("ffi.Array", lambda: 0, override=True)
