"""Names that mean something else in Python or in scripts."""

import pytest

from tilewright import relax
from tilewright.ir import GlobalVar, assert_structural_equal
from tilewright.script import from_source
from tilewright.tir import Var as Size

INFO = relax.TensorStructInfo((2,), "float32")


def calling(name):
    """A module with a function of that name, and one that calls it."""
    builder = relax.BlockBuilder()
    for caller in (name, "caller"):
        x = relax.Var(name, INFO)
        with builder.function(caller, [x]):
            value = relax.op.exp(x) if caller == name else relax.Call(GlobalVar(name), [x])
            builder.emit_func_output(builder.emit(value, name))
    return builder.get()


@pytest.mark.parametrize("name", ["R", "T", "cls", "metadata", "Module", "naïve", "match", "range"])
def test_functions_whose_names_scripts_use(name):
    module = calling(name)
    again = from_source(module.script())
    assert_structural_equal(again, module)
    assert again.script() == module.script()


@pytest.mark.parametrize("name", ["class", "None", "a b", "a.b", "1a", "", "ﬁ"])
def test_functions_whose_names_are_none_in_python(name):
    module = calling(name)
    again = from_source(module.script())
    first, second = again.functions
    assert first.name_hint.isidentifier()
    assert again[first].global_symbol == name
    assert again[second].body.blocks[0].bindings[0].value.op == first
    assert again.script() == module.script()
    assert from_source(module[name].script()).global_symbol == name


def test_several_functions_whose_names_become_the_same():
    builder = relax.BlockBuilder()
    for name in ("a_b", "a b", "a.b"):
        x = relax.Var("x", INFO)
        with builder.function(name, [x]):
            builder.emit_func_output(x)
    module = from_source(builder.get().script())
    assert [function.global_symbol for function in module.functions.values()] == [
        "a_b", "a b", "a.b",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["class", "R", "a b", "ﬁ", "", "n", "metadata"])
def test_variables_and_sizes(name):
    n = Size(name, "int64")
    x = relax.Var(name, relax.TensorStructInfo((n, 2), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.zeros([n + 1], "float32"), name))
    function = builder.get()["main"]
    again = from_source(function.script())
    assert_structural_equal(again, function)
    assert again.script() == function.script()
