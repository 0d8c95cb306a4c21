"""What each construct of a script stands for."""

# ruff: noqa: F821, RET504, SIM108, SIM117

import numpy as np
import pytest

import tilewright as tvm
from tilewright import relax, topi
from tilewright.ir import GlobalVar, assert_structural_equal
from tilewright.script import from_source
from tilewright.script import ir as I
from tilewright.script import relax as R
from tilewright.script import tir as T


def bindings(function):
    return [binding for block in function.body.blocks for binding in block.bindings]


def round_trips(obj):
    again = from_source(obj.script(show_meta=True))
    assert_structural_equal(again, obj)
    assert again.script(show_meta=True) == obj.script(show_meta=True)


# --- functions -------------------------------------------------------------------------------


def test_options_of_a_function():
    @R.function
    def plain(x: R.Object):
        return x

    @R.function(private=True, pure=False)
    def hidden(x: R.Object):
        R.func_attr({"answer": 42})
        return x

    assert plain.global_symbol == "plain"
    assert plain.is_pure
    assert hidden.global_symbol is None
    assert not hidden.is_pure
    assert hidden.attrs["answer"].value == 42
    round_trips(plain)
    round_trips(hidden)


def test_values_of_the_code_around_it():
    def layer(width, activation):
        @R.function
        def dense(x: R.Tensor(("n", width), "float32"), w: R.Tensor((width, width), "float32")):
            scaled = R.multiply(x, R.const(width / 2, "float32"))
            return activation(scaled)

        return dense

    dense = layer(3, R.tanh)
    assert dense.params[1].struct_info.extents[0].value == 3
    assert bindings(dense)[-1].value.op.name == "relax.tanh"
    assert bindings(dense)[0].value.args[1].data.numpy() == 1.5


def test_functions_of_a_module_call_each_other_whatever_comes_first():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32")):
            a = cls.twice(x)
            b = twice(a)
            return b

        @R.function(private=True)
        def twice(x: R.Tensor(("m", 4), "float32")):
            return R.add(x, x)

    first, second = bindings(Module["main"])
    assert first.value.op == second.value.op == GlobalVar("twice")
    assert_structural_equal(second.var.struct_info, Module["main"].params[0].struct_info)
    assert [name.name_hint for name in Module.functions] == ["main", "twice"]
    round_trips(Module)


def test_a_function_that_calls_itself():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(
            (4,), "float32"
        ):
            if c:
                y = cls.main(x, c)
            else:
                y = x
            return y

    assert isinstance(bindings(Module["main"])[0].value, relax.If)
    round_trips(Module)


def test_functions_inside_of_functions():
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor((2, 4), "float32")):
        n = T.int64()

        @R.function
        def scaled(z: R.Tensor(("k", 4), "float32")) -> R.Tensor(("k", 4), "float32"):
            return R.multiply(z, z)

        @R.function
        def captured(z: R.Tensor(("n", 4), "float32")) -> R.Tensor((n, 4), "float32"):
            return R.add(z, x)

        a, b = scaled(y), captured(x)
        return (a, b)

    scaled, captured, a, b = bindings(main)
    assert scaled.value.global_symbol is None
    own = scaled.value.params[0].struct_info.extents[0]
    outer = main.params[0].struct_info.extents[0]
    assert own is not outer
    assert captured.value.params[0].struct_info.extents[0] is outer
    assert_structural_equal(a.var.struct_info, relax.TensorStructInfo((2, 4), "float32"))
    assert_structural_equal(b.var.struct_info, main.params[0].struct_info)
    round_trips(main)


def test_a_local_function_that_calls_itself():
    @R.function
    def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
        @R.function
        def loop(z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            if c:
                y = loop(z)
            else:
                y = z
            return y

        return loop(x)

    local = bindings(main)[0]
    call = local.value.body.blocks[0].bindings[0].value.true_branch.blocks[0].bindings[0].value
    assert call.op is local.var
    round_trips(main)


def test_annotations_need_not_be_evaluated():
    source = """
    from __future__ import annotations

    @R.function
    def main(x: Tensor((1, "n"), "float32"), y: relax.Tensor):
        return x
    """
    main = from_source(source)
    assert str(main.params[0].struct_info) == 'R.Tensor((1, n), dtype="float32")'
    assert main.params[1].struct_info.ndim == -1


def test_a_class_that_is_no_module_has_its_functions():
    class Layers:
        @R.function
        def identity(x: R.Tensor(("n",), "float32")):
            return x

    assert isinstance(Layers.identity, relax.Function)


def test_the_struct_info_of_the_result_may_be_said():
    @R.function
    def annotated(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(ndim=2):
        return x

    @R.function
    def stated(x: R.Tensor(("n", 4), "float32")):
        R.func_ret_struct_info(R.Tensor(ndim=2))
        return x

    assert str(annotated.ret_struct_info) == "R.Tensor(ndim=2)"
    assert_structural_equal(stated.ret_struct_info, annotated.ret_struct_info)


# --- struct info -----------------------------------------------------------------------------

INFOS = [
    ("R.Tensor", relax.TensorStructInfo()),
    ("R.Tensor()", relax.TensorStructInfo()),
    ("R.Tensor((), 'bool')", relax.TensorStructInfo((), "bool")),
    ("R.Tensor([2, 3])", relax.TensorStructInfo((2, 3))),
    ("R.Tensor('int8', ndim=2)", relax.TensorStructInfo(None, "int8", ndim=2)),
    ("R.Shape", relax.ShapeStructInfo()),
    ("R.Shape((1, 2))", relax.ShapeStructInfo([1, 2])),
    ("R.Shape(ndim=3)", relax.ShapeStructInfo(ndim=3)),
    ("R.Prim('float16')", relax.PrimStructInfo("float16")),
    ("R.Prim(value=3)", relax.PrimStructInfo("int32", 3)),
    ("R.Prim(T.int64(3))", relax.PrimStructInfo("int64", 3)),
    ("R.Object", relax.ObjectStructInfo()),
    ("R.Tuple", relax.TupleStructInfo([])),
    ("R.Tuple(R.Object, R.Tensor)", relax.TupleStructInfo(
        [relax.ObjectStructInfo(), relax.TensorStructInfo()])),
    ("R.Tuple([R.Object])", relax.TupleStructInfo([relax.ObjectStructInfo()])),
    ("R.Callable", relax.FuncStructInfo.opaque_func()),
    ("R.Callable((R.Object,), R.Tensor, False)", relax.FuncStructInfo(
        [relax.ObjectStructInfo()], relax.TensorStructInfo(), purity=False)),
    ("R.Callable(R.Object)", relax.FuncStructInfo([relax.ObjectStructInfo()])),
    ("R.Callable(ret=R.Tensor, purity=True)", relax.FuncStructInfo.opaque_func(
        ret=relax.TensorStructInfo(), purity=True)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), INFOS)
def test_struct_info(text, expected):
    function = from_source(f"@R.function\ndef main(x: {text}):\n    return x")
    assert_structural_equal(function.params[0].struct_info, expected)
    round_trips(function)


def test_struct_info_outside_of_a_script():
    assert_structural_equal(R.Tensor((2,), "int8"), relax.TensorStructInfo((2,), "int8"))
    assert "outside of a script" in repr(R.Tuple(R.Tensor(("n",)), R.Object))
    assert repr(R.Tensor) == "R.Tensor"


def test_expressions_of_symbolic_sizes():
    @R.function
    def main(
        x: R.Tensor(("n + 1", "T.min(n, m)"), "float32"),
        y: R.Tensor(("n", "m"), "float32"),
        f: R.Callable((R.Tensor(("n",)),), R.Tensor(("n * 2",))),
        s: R.Shape(["m", 3]),
        p: R.Prim(value="n"),
    ):
        n, m = T.int64(), T.int64()
        half = n // 2
        return R.shape([half, m * 3])

    n, m = main.params[1].struct_info.extents
    assert str(main.params[0].struct_info.extents[0]) == "n + T.int64(1)"
    assert main.params[3].struct_info.values[0] is m
    assert main.params[4].struct_info.value is n
    text = main.script()
    assert 'x: R.Tensor(("n + 1", "T.min(n, m)"), dtype="float32")' in text
    assert "return R.shape([n // 2, m * 3])" in text
    round_trips(main)


def test_a_size_that_is_more_than_a_plain_variable():
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64(is_size_var=True)
        return R.shape([n])

    assert type(main.params[0].struct_info.extents[0]).__name__ == "SizeVar"
    round_trips(main)


def test_devices_of_the_module():
    @I.ir_module
    class Module:
        I.module_global_infos(
            {"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0), I.vdevice("llvm", 1)]}
        )

        @R.function
        def main(x: R.Tensor((4,), "float32", "llvm:1"), y: R.Tensor((4,), vdevice="cuda")):
            return x

    first, second = (param.struct_info.vdevice for param in Module["main"].params)
    assert (first.target.kind.name, first.vdevice_id) == ("llvm", 1)
    assert second.target.kind.name == "cuda"
    assert 'vdevice="llvm:1"' in Module.script()
    round_trips(Module)
    assert "I.vdevice(" in Module["main"].script()


# --- bindings --------------------------------------------------------------------------------


def test_operators_of_python():
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        a = -x + y * 2.0
        b = a == y
        a += x
        c = a > 1.0
        d = 2.0**a @ y**x
        return (b, c, d)

    names = [binding.value.op.name for binding in bindings(main)]
    assert names == [
        "relax.negative", "relax.multiply", "relax.add", "relax.equal", "relax.add",
        "relax.greater", "relax.power", "relax.power", "relax.matmul",
    ]  # fmt: skip


def test_names_are_given_again_and_values_of_python_stay():
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        axis = 1
        shape = (3, 2)
        y = x
        y = R.exp(y)
        z = y
        a, (b, c) = y, (z, x)
        return (y, z, a, b, c, axis, R.shape(shape))

    values = [type(binding.value).__name__ for binding in bindings(main)]
    assert values == ["Var", "Call", "Var", "Var", "Var", "Var"]
    assert [field.value.value for field in main.body.body.fields[5:6]] == [1]


def test_fields_of_a_tuple():
    @R.function
    def main(p: R.Tuple(R.Tensor((2,)), R.Tuple(R.Object))):
        a, b = p
        c = p[1][0]
        t = (a, (b, c))
        d, _ = t
        return (d, R.TupleGetItem(t, 1))

    values = [type(binding.value).__name__ for binding in bindings(main)]
    assert values == ["TupleGetItem"] * 4 + ["Tuple"] + ["TupleGetItem"] * 3
    round_trips(main)


def test_branches_give_a_value():
    @R.function
    def main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool"), d: R.Tensor((), "bool")):
        y: R.Object
        if c:
            t = R.exp(x)
            if d:
                y = t
            else:
                y = R.negative(t)
        else:
            y: R.Tensor(ndim=1) = x
        return y

    (binding,) = bindings(main)
    outer = binding.value
    assert isinstance(binding.var.struct_info, relax.ObjectStructInfo)
    assert isinstance(outer.true_branch.blocks[0].bindings[1].value, relax.If)
    assert str(outer.struct_info) == "R.Tensor(ndim=1)"
    round_trips(main)


def test_a_condition_of_python_chooses_what_is_read():
    def build(flag):
        @R.function
        def main(x: R.Tensor((2,), "float32")):
            if flag:
                y = R.exp(x)
            else:
                return x
            return y

        return main

    assert len(bindings(build(True))) == 1
    assert not bindings(build(False))


def test_match_cast_defines_sizes():
    @R.function
    def main(x: R.Tensor(ndim=2), s: R.Shape(ndim=1)):
        m, n = T.int64(), T.int64()
        y = R.match_cast(x, R.Tensor((m, n), "float32"))
        R.match_cast(s, R.Shape([m]))
        z = R.exp(R.match_cast(y, R.Tensor((m, 4), "float32")))
        return z

    first, second, third, _ = bindings(main)
    assert isinstance(first, relax.MatchCast)
    assert first.struct_info.extents[0] is second.struct_info.values[0]
    assert third.struct_info.extents[1].value == 4
    round_trips(main)


def test_an_annotation_is_what_is_known_of_the_variable():
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        y: R.Tensor(ndim=2) = R.exp(x)
        return y

    assert str(bindings(main)[0].var.struct_info) == "R.Tensor(ndim=2)"
    round_trips(main)


def test_emit_names_what_it_binds():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32")):
            m = T.int64()
            with R.dataflow():
                y = R.emit_te(topi.add, x, x)
                z = R.emit(R.exp(R.emit(R.negative(y))), R.Tensor(ndim=2))
                w = R.emit_match_cast(z, R.Tensor((m, 4), "float32"))
                R.output(w)
            return w

    names = [binding.var.name_hint for binding in bindings(Module["main"])]
    assert names == ["y", "lv", "z", "w"]
    assert [name.name_hint for name in Module.functions] == ["main", "add"]
    round_trips(Module)


def test_statements_without_a_name():
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
        """A docstring."""
        R.print(x, format="{}")
        R.assert_op(c, [x, x], format="x: {} {}")
        R.call_packed("f", x, level=3)
        return x

    assert [binding.var.name_hint for binding in bindings(main)] == ["_", "_", "_"]
    text = main.script()
    assert '_: R.Tuple = R.print(x, format="{}")' in text
    assert 'R.assert_op(c, (x, x), format="x: {} {}")' in text
    assert 'R.call_packed("f", x, level=3)' in text
    round_trips(main)


def test_leaves():
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        n = T.int64()
        y = R.match_cast(x, R.Tensor((n,), "float32"))
        f = R.ExternFunc("g", R.Callable((R.Object,), R.Object, True))
        r = f(y)
        return (
            r, R.const(1), R.const(0.1), R.const([1, 2], "int8"), R.prim_value(n + 1),
            R.prim_value(2.5), R.str('"a"'), R.dtype("float16"), R.shape([n, 2]), R.tuple(x, ()),
            R.tuple(),
        )  # fmt: skip

    fields = main.body.body.fields
    assert str(fields[1].data.dtype) == "int32"
    assert fields[3].data.numpy().tolist() == [1, 2]
    assert len(fields[9].fields) == 2
    round_trips(main)


def test_macros():
    @R.macro
    def scaled(x, factor):
        y = R.multiply(x, factor)
        return R.exp(y)

    @R.macro(hygienic=False)
    def add_residual(y):
        return R.add(y, x)

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            a = scaled(x, x)
            b = add_residual(a)
            R.output(b)
        return b

    names = [binding.value.op.name for binding in bindings(main)]
    assert names == ["relax.multiply", "relax.exp", "relax.add"]
    with pytest.raises(tvm.TVMError, match="called inside of a script only"):
        scaled(1, 2)


# --- constants -------------------------------------------------------------------------------

SCALARS = [
    ("float32", 0.1), ("float32", float("-inf")), ("float64", 0.1), ("float16", 1e-3),
    ("bfloat16", 3.0), ("bool", True), ("int8", -1), ("uint64", 2**64 - 1), ("float32", -0.0),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "value"), SCALARS)
def test_numbers_are_written_out(dtype, value):
    constant = relax.const(value, dtype)
    text = f"@R.function\ndef main():\n    return {constant!r}"
    again = from_source(text).body.body
    assert repr(constant).startswith("R.const(")
    assert again.data.numpy().tobytes() == constant.data.numpy().tobytes()
    assert again.data.dtype == dtype


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "int64", "float16"])
def test_arrays_are_kept_apart(dtype):
    numbers = np.arange(6).reshape(2, 3)
    constant = relax.const(numbers, dtype)
    function = relax.Function(
        (), relax.SeqExpr((), relax.Tuple([constant, constant])), relax.ObjectStructInfo()
    )
    text = function.script()
    assert text.count('metadata["relax.expr.Constant"][0]') == 2
    assert text.endswith("# Metadata omitted. Use show_meta=True in script() method to show it.")
    again = from_source(function.script(show_meta=True), check_well_formed=False)
    np.testing.assert_array_equal(again.body.body.fields[0].data.numpy(), constant.data.numpy())


BAD = ["", "{}", "[]", '{"relax.expr.Constant": 3}', '{"relax.expr.Constant": [{"dtype": "int8"}]}',
       '{"relax.expr.Constant": [{"dtype": "int8", "shape": [3], "data": "AA=="}]}',
       '{"relax.expr.Constant": [{"dtype": "int8", "shape": [1], "data": "?"}]}']  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_data_that_is_damaged(text):
    with pytest.raises(tvm.TVMError, match=r"R\.metadata: this is not data of constants"):
        R.metadata(text)


def test_more_than_is_known_may_be_said_where_nothing_is_verified():
    text = """
    @R.function
    def main(x: R.Tensor(ndim=2)) -> R.Tensor((2, 3)):
        y: R.Tensor((2, 3)) = x
        return y
    """
    with pytest.raises(tvm.TVMError, match=r"write R\.match_cast"):
        from_source(text)
    main = from_source(text, check_well_formed=False)
    assert str(bindings(main)[0].var.struct_info) == "R.Tensor((2, 3))"


# --- frames ----------------------------------------------------------------------------------


def test_branches_and_results_as_frames():
    @R.function
    def frames(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")):
        R.func_ret_struct_info(R.Tensor((2,), "float32"))
        with R.If(c):
            with R.Then():
                y = R.exp(x)
                z = R.add(y, y)
            with R.Else():
                with R.If(R.logical_not(c)):
                    with R.Then():
                        z = x
                    with R.Else():
                        z = R.tanh(x)
        R.func_ret_value(z)

    @R.function
    def statements(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")):
        if c:
            y = R.exp(x)
            z = R.add(y, y)
        else:
            if R.logical_not(c):
                z = x
            else:
                z = R.tanh(x)
        return z

    assert_structural_equal(
        frames.without_attr("global_symbol"), statements.without_attr("global_symbol")
    )
    round_trips(frames)
