"""Tensor programs are replaced by others, whose arrays have another layout."""

import numpy as np
import pytest
from tests.relax.builders import array, bindings_in

from tilewright import relax, te, tir
from tilewright.error import ArgumentError
from tilewright.relax import transform
from tilewright.relax.interpreter import evaluate
from tilewright.tir import IndexMap


def program(shape, function):
    """A tensor program of two arrays."""
    x, y = te.placeholder(shape, name="X"), te.placeholder(shape, name="Y")
    return te.create_prim_func([x, y, te.compute(shape, lambda *i: function(x(*i), y(*i)))])


def built(count=1, size=16):
    """`count` sums after each other, as tensor programs."""
    builder = relax.BlockBuilder()
    x, y = (relax.Var(name, array(size)) for name in "xy")
    with builder.function("main", [x, y]):
        with builder.dataflow():
            value = x
            for _ in range(count):
                value = builder.emit_te(
                    lambda a, b: te.compute(a.shape, lambda i: a[i] + b[i]),
                    value,
                    y,
                    primfunc_name_hint="add",
                    primfunc_attrs={"operator_name": "relax.add"},
                )
            result = builder.emit_output(value)
        builder.emit_func_output(result)
    return builder.get()


def operators(mod):
    values = [b.value for b in bindings_in(mod["main"]) if isinstance(b.value, relax.Call)]
    return [
        v.args[0].name_hint if v.op.name == "relax.call_tir" else v.op.name.removeprefix("relax.")
        for v in values
    ]


def inputs(size=16):
    return np.arange(size, dtype="float32"), np.full(size, 3, "float32")


def blocked(i):
    return i // 4, i % 4


def altered(mod, shape, layouts=(blocked,) * 3, function=lambda a, b: a + b):
    pass_ = transform.AlterOpImpl(
        {"relax.add": program(shape, function)}, {"relax.add": list(layouts)}
    )
    return pass_(mod)


def test_arrays_are_laid_out_and_brought_back():
    mod = built()
    after = altered(mod, (4, 4))
    assert operators(after) == [
        "layout_transform", "layout_transform", "add_altered", "layout_transform",
    ]  # fmt: skip
    np.testing.assert_array_equal(evaluate(after, *inputs()), evaluate(mod, *inputs()))
    lowered = relax.get_pipeline("zero")(after)
    np.testing.assert_array_equal(evaluate(lowered, *inputs()), evaluate(mod, *inputs()))
    assert operators(mod) == ["add"]


def test_the_program_is_another_one():
    after = altered(built(), (4, 4), function=lambda a, b: a * b)
    x, y = inputs()
    np.testing.assert_array_equal(evaluate(after, x, y), x * y)


def test_what_is_in_the_layout_already_is_used_as_it_is():
    mod = built(count=3)
    after = altered(mod, (4, 4))
    assert operators(after).count("layout_transform") == 5  # x, three times y, and the result
    np.testing.assert_array_equal(evaluate(after, *inputs()), evaluate(mod, *inputs()))


def test_padding_is_left_out():
    mod = built(count=2, size=14)
    after = altered(mod, (4, 4))
    assert operators(after).count("without_padding") == 2
    np.testing.assert_array_equal(evaluate(after, *inputs(14)), evaluate(mod, *inputs(14)))


def test_some_arrays_stay_as_they_are():
    x, y = te.placeholder((4, 4), name="X"), te.placeholder((16,), name="Y")
    total = te.compute((16,), lambda i: x[i // 4, i % 4] + y[i])
    func = te.create_prim_func([x, y, total])
    layouts = {"relax.add": [IndexMap.from_func(blocked), None, None]}
    after = transform.AlterOpImpl({"relax.add": func}, layouts)(built())
    assert operators(after) == ["layout_transform", "add_altered"]
    np.testing.assert_array_equal(evaluate(after, *inputs()), evaluate(built(), *inputs()))


def test_several_results():
    def both(builder, shape, x):
        def make(a):
            low = te.compute(a.shape, lambda *i: a(*i) - 1.0)
            return [low, te.compute(a.shape, lambda *i: a(*i) + 1.0)]

        attrs = {"operator_name": "mine.both"}
        return builder.emit_te(make, x, primfunc_name_hint="both", primfunc_attrs=attrs)

    builder = relax.BlockBuilder()
    x = relax.Var("x", array(16))
    with builder.function("main", [x]):
        with builder.dataflow():
            pair = builder.emit_output(both(builder, (16,), x))
        builder.emit_func_output(pair)
    mod = builder.get()
    a = te.placeholder((4, 4), name="A")
    results = [te.compute((4, 4), lambda *i, d=d: a(*i) + tir.const(d)) for d in (-1.0, 1.0)]
    func = te.create_prim_func([a, *results])
    after = transform.AlterOpImpl({"mine.both": func}, {"mine.both": [blocked] * 3})(mod)
    values = inputs()[0]
    for one, other in zip(evaluate(after, values), evaluate(mod, values), strict=True):
        np.testing.assert_array_equal(one, other)


def test_other_programs_stay():
    mod = built()
    func = program((16,), lambda a, b: a + b)
    assert transform.AlterOpImpl({"relax.multiply": func}, {})(mod) is mod


def test_mistakes():
    func = program((16,), lambda a, b: a + b)
    with pytest.raises(ArgumentError, match=r"2 layouts are given for 'relax\.add'.* 2 inputs"):
        transform.AlterOpImpl({"relax.add": func}, {"relax.add": [None, None]})(built())
    with pytest.raises(ArgumentError, match="layouts but no PrimFunc for"):
        transform.AlterOpImpl({}, {"relax.add": []})
    with pytest.raises(ArgumentError, match="stands for no PrimFunc but 3"):
        transform.AlterOpImpl({"relax.add": 3}, {})
    with pytest.raises(ArgumentError, match="no axis separators"):
        transform.AlterOpImpl({"relax.add": func}, {}, {"relax.add": [[1]]})
