"""Inner functions, and what depends on weights only, become functions of the module."""

import numpy as np
import pytest
from tests.relax.builders import array, bindings_in, module_of
from tests.relax.transform.parts import assert_unchanged, names_of

from tilewright import relax
from tilewright.error import ArgumentError
from tilewright.ir import IRModule
from tilewright.ir import Var as Size
from tilewright.relax import op
from tilewright.relax.analysis import check_well_formed
from tilewright.relax.interpreter import evaluate
from tilewright.relax.transform import LambdaLift, LiftTransformParams

N, K = Size("n", "int64"), Size("k", "int64")
X, Y = relax.Var("x", array(N, 2)), relax.Var("y", array(N, 2))


def data(*shape):
    return np.arange(1, 1 + np.prod(shape), dtype="float32").reshape(shape)


def function_of(params, make, ret):
    """An inner function; its body is brought into normal form with the rest."""
    return relax.Function(tuple(params), make(*params), ret)


def lifted(body, *inputs, params=(X, Y)):
    """The result of the pass, which must compute the same."""
    before = module_of(list(params), body)
    after = LambdaLift()(before)
    check_well_formed(after)
    got, wanted = evaluate(after, *inputs), evaluate(before, *inputs)
    np.testing.assert_array_equal(got, wanted)
    assert not any(
        isinstance(b.value, relax.Function)
        for f in after.functions.values()
        for b in bindings_in(f)
    )
    assert_unchanged(LambdaLift(), after)
    return after


class TestLambdaLift:
    def test_a_function_that_uses_nothing_from_around(self):
        a = relax.Var("a", array(K, 2))

        def body(builder):
            inner = builder.emit(function_of([a], op.exp, array(K, 2)), "inner")
            return builder.emit(relax.Call(inner, [builder.emit(relax.Call(inner, [X]))]))

        after = lifted(body, data(3, 2), data(3, 2))
        assert "lifted_inner" in after
        assert len(after["lifted_inner"].params) == 1

    def test_variables_and_sizes_from_around_are_passed_on(self):
        a = relax.Var("a", array(2))

        def make(a):
            return op.add(op.add(a, X), op.zeros((N, 2), "float32"))

        def body(builder):
            inner = builder.emit(function_of([a], make, array(N, 2)), "inner")
            return builder.emit(relax.Call(inner, [relax.const(np.ones(2, "float32"))]))

        after = lifted(body, data(3, 2), data(3, 2))
        assert [param.name_hint for param in after["lifted_inner"].params] == ["a", "x", "sizes"]

    def test_a_function_in_a_function(self):
        a, b = relax.Var("a", array(N, 2)), relax.Var("b", array(N, 2))

        def body(builder):
            innermost = relax.Function((b,), op.add(b, a), array(N, 2))
            name = relax.Var("innermost", innermost.struct_info)
            call = relax.Call(name, [X], struct_info=array(N, 2))
            result = relax.Var("r", array(N, 2))
            block = relax.BindingBlock(
                (relax.VarBinding(name, innermost), relax.VarBinding(result, call))
            )
            seq = relax.SeqExpr((block,), result)
            outer = builder.emit(relax.Function((a,), seq, array(N, 2)), "outer")
            return builder.emit(relax.Call(outer, [Y]))

        after = lifted(body, data(3, 2), 2 * data(3, 2))
        assert {"lifted_outer", "lifted_innermost"} <= {v.name_hint for v in after.functions}

    def test_a_value_becomes_a_closure(self):
        a = relax.Var("a", array(N, 2))

        def body(builder):
            inner = builder.emit(function_of([a], lambda a: op.add(a, X), array(N, 2)), "inner")
            both = builder.emit(relax.Tuple([inner, Y]))
            again = builder.emit(relax.TupleGetItem(both, 0))
            return builder.emit(relax.Call(again, [Y]))

        before = module_of([X, Y], body)
        after = LambdaLift()(before)
        assert "make_closure" in names_of(after["main"])
        inputs = data(3, 2), data(3, 2)
        np.testing.assert_array_equal(evaluate(after, *inputs), evaluate(before, *inputs))


def with_weights(body, params, count=1):
    mod = module_of(params, body)
    return IRModule({"main": mod["main"].with_attr("num_input", count)})


class TestLiftTransformParams:
    def program(self):
        w, b = relax.Var("w", array(K, 2)), relax.Var("b", array(K))

        def body(builder):
            with builder.dataflow():
                t = builder.emit(op.permute_dims(w))
                e = builder.emit(op.exp(t))
                y = builder.emit(op.matmul(X, e))
                z = builder.emit(op.add(y, b))
                return builder.emit_output(op.add(z, builder.emit(op.sum(e))))

        return with_weights(body, [X, w, b])

    def test_what_depends_on_weights_only(self):
        before = self.program()
        after = LiftTransformParams()(before)
        check_well_formed(after)
        assert names_of(after["main"]) == ["matmul", "add", "add"]
        assert len(after["main"].params) == 4
        inputs = data(3, 2), data(4, 2) / 8, data(4)
        weights = evaluate(IRModule({"main": after["main_transform_params"]}), inputs[1:])
        main = IRModule({"main": after["main"]})
        np.testing.assert_allclose(
            evaluate(main, inputs[0], *weights), evaluate(before, *inputs), rtol=1e-6
        )
        assert len(before["main"].params) == 3

    def test_functions_without_the_attribute_stay(self):
        mod = IRModule({"main": self.program()["main"].without_attr("num_input")})
        assert_unchanged(LiftTransformParams(), mod)

    def test_what_has_an_effect_or_depends_on_inputs_stays(self):
        w = relax.Var("w", array(2))

        def body(builder):
            builder.emit(op.print(w))
            return builder.emit(op.add(w, X))

        mod = module_of([X, w], body, pure=False)
        before = IRModule({"main": mod["main"].with_attr("num_input", 1)})
        after = LiftTransformParams()(before)
        assert names_of(after["main"]) == ["print", "add"]
        assert [param.name_hint for param in after["main"].params] == ["x", "w"]

    def test_a_number_that_cannot_be(self):
        mod = IRModule({"main": self.program()["main"].with_attr("num_input", 9)})
        with pytest.raises(ArgumentError, match="num_input is 9, of 3 parameters"):
            LiftTransformParams()(mod)
