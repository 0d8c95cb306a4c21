"""Functions as values: what is known of them, and functions that say what calls of them give."""

import pickle

import pytest

from tilewright import relax
from tilewright.error import ScriptError, StructInfoError
from tilewright.ir import assert_structural_equal, load_json, save_json
from tilewright.runtime import register_func
from tilewright.runtime.registry import remove_global_func
from tilewright.script import from_source
from tilewright.script import relax as R


def as_first_argument(call):
    return call.args[0].struct_info


@pytest.fixture
def registered():
    register_func("test.as_first_argument", as_first_argument)
    register_func("test.nothing", lambda call: 3)
    yield
    remove_global_func("test.as_first_argument")
    remove_global_func("test.nothing")


TEXT = """\
@R.function(pure=False)
def main(f: R.Callable(derive_func="test.as_first_argument"), x: R.Tensor(("n", 2), "int8")):
    y = f(x)
    return y
"""


def test_a_registered_function_says_what_a_call_gives(registered):
    function = from_source(TEXT)
    assert_structural_equal(function.ret_struct_info, function.params[1].struct_info)
    text = function.script()
    assert 'R.Callable(None, R.Object, False, derive_func="test.as_first_argument")' in text
    again = from_source(text)
    assert_structural_equal(again, function)
    assert again.script() == text
    assert_structural_equal(load_json(save_json(function)), function)
    assert_structural_equal(pickle.loads(pickle.dumps(function)), function)


def test_a_function_of_python_says_what_a_call_gives():
    @R.function(pure=False)
    def main(f: R.Callable(None, R.Object, derive_func=as_first_argument), x: R.Shape([2])):
        return f(x)

    assert_structural_equal(main.ret_struct_info, relax.ShapeStructInfo([2]))
    names = {"as_first_argument": as_first_argument}
    assert_structural_equal(from_source(main.script(), extra_vars=names), main)


@pytest.mark.parametrize(
    ("name", "message"),
    [("test.none", "registered as 'test.none'"), ("test.nothing", "must give struct info")],
)
def test_functions_that_say_nothing(registered, name, message):
    with pytest.raises(ScriptError, match=message) as caught:
        from_source(TEXT.replace("test.as_first_argument", name))
    assert caught.value.lineno == 3


def test_derive_func_must_be_one():
    with pytest.raises(TypeError, match="derive_func is a function"):
        R.Callable(derive_func=3)
    with pytest.raises(TypeError, match="for functions of unknown parameters"):
        R.Callable((R.Object,), derive_func="f")


def test_a_function_with_other_names_of_its_sizes_may_be_used():
    text = """\
@R.function
def main(f: R.Callable((R.Tensor(("m",), "int8"),), R.Tensor(("m",), "int8")), x: R.Object):
    n = T.int64()
    g: R.Callable((R.Tensor((n,), "int8"),), R.Tensor((n,), "int8")) = f
    return g
"""
    function = from_source(text)
    assert_structural_equal(function.ret_struct_info, function.params[0].struct_info)
    with pytest.raises((ScriptError, StructInfoError), match="is said to be"):
        from_source(text.replace('R.Tensor((n,), "int8")) = f', 'R.Tensor((n + 1,), "int8")) = f'))
