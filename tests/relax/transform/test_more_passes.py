"""Passes on names, on weights as a tuple, on reshapes, and on products with sums."""

import numpy as np
import pytest
from tests.relax.builders import array, bindings_in, module_of, twice
from tests.relax.transform.parts import assert_unchanged, names_of, shape_of

from tilewright import relax
from tilewright.error import ArgumentError
from tilewright.ir import GlobalVar, IRModule
from tilewright.ir import Var as Size
from tilewright.relax import op, transform
from tilewright.relax.analysis import check_well_formed
from tilewright.relax.interpreter import evaluate
from tilewright.relax.transform import (
    AdjustMatmulOrder,
    BundleModelParams,
    CanonicalizeBindings,
    DeadCodeElimination,
    ExpandMatmulOfSum,
    LegalizeOps,
    NormalizeGlobalVar,
    RemoveRedundantReshape,
)
from tilewright.transform import Sequential

N = Size("n", "int64")


def values(*shape, seed=0):
    return np.random.default_rng(seed).random(shape, np.float32)


def check(change, before, *inputs, name="main"):
    """The result of a pass, which must compute the same."""
    after = change(before)
    check_well_formed(after)
    got, wanted = evaluate(after, *inputs, name=name), evaluate(before, *inputs)
    np.testing.assert_allclose(got, wanted, rtol=1e-5)
    return after


class TestReshape:
    simplify = Sequential(
        [RemoveRedundantReshape(), CanonicalizeBindings(), DeadCodeElimination()], name="simplify"
    )

    def program(self, *steps, shape=(N, 6)):
        x = relax.Var("x", array(*shape))

        def body(builder):
            with builder.dataflow():
                value = builder.emit(twice(x))
                for step in steps:
                    value = builder.emit(step(value))
                return builder.emit_output(twice(value))

        return module_of([x], body)

    def test_the_last_of_a_chain_is_left(self):
        before = self.program(
            op.flatten, lambda x: op.reshape(x, (N, 3, 2)), lambda x: op.expand_dims(x, 0)
        )
        main = check(self.simplify, before, values(2, 6))["main"]
        assert names_of(main) == ["test.twice", "reshape", "test.twice"]
        assert shape_of(bindings_in(main)[1].value) == (1, "n", 3, 2)
        assert_unchanged(RemoveRedundantReshape(), IRModule({"main": main}))

    def test_there_and_back(self):
        before = self.program(op.flatten, lambda x: op.reshape(x, (N, 6)))
        main = check(self.simplify, before, values(2, 6))["main"]
        assert names_of(main) == ["test.twice", "test.twice"]

    def test_to_the_shape_that_it_has(self):
        before = self.program(lambda x: op.reshape(x, (N, 6)), lambda x: op.squeeze(x, []))
        main = check(self.simplify, before, values(2, 6))["main"]
        assert names_of(main) == ["test.twice", "test.twice"]

    def test_an_array_of_unknown_extents_stays(self):
        x = relax.Var("x", relax.TensorStructInfo(ndim=2, dtype="float32"))
        shape = relax.Var("s", relax.ShapeStructInfo(ndim=2))
        before = module_of([x, shape], lambda b: b.emit(op.reshape(b.emit(op.flatten(x)), shape)))
        assert_unchanged(RemoveRedundantReshape(), before)


class TestMatmulOfSum:
    x, w = relax.Var("x", array(N, 8)), relax.Var("w", array(8, 8))
    a, b = relax.Var("a", array(8, 1)), relax.Var("b", array(1, 8))

    def program(self, **attrs):
        def body(builder):
            with builder.dataflow():
                low = builder.emit(op.matmul(self.a, self.b))
                total = builder.emit(op.add(self.w, low))
                return builder.emit_output(op.matmul(self.x, total))

        return module_of([self.x, self.w, self.a, self.b], body, attrs=attrs)

    def test_with_the_order_of_products_no_correction_is_a_whole_matrix(self):
        data = [values(2, 8), values(8, 8), values(8, 1), values(1, 8)]
        expand = Sequential(
            [
                ExpandMatmulOfSum(),
                DeadCodeElimination(),
                AdjustMatmulOrder(),
                DeadCodeElimination(),
            ],
            name="expand",
        )
        after = check(expand, self.program(), *data)
        shapes = [shape_of(b.value) for b in bindings_in(after["main"])]
        assert shapes == [("n", 8), ("n", 1), ("n", 8), ("n", 8)]

    def test_sums_that_are_computed_once_stay(self):
        assert_unchanged(ExpandMatmulOfSum(), self.program(num_input=1))
        c = relax.const(values(8, 8))
        before = module_of([self.x], lambda b: b.emit(op.matmul(self.x, b.emit(op.add(c, c)))))
        assert_unchanged(ExpandMatmulOfSum(), before)

    def test_sums_of_other_shapes_and_with_other_uses_stay(self):
        def broadcast(builder):
            return builder.emit(op.matmul(self.x, builder.emit(op.add(self.w, self.b))))

        def used_twice(builder):
            total = builder.emit(op.add(self.w, self.w))
            return relax.Tuple([builder.emit(op.matmul(self.x, total)), total])

        params = [self.x, self.w, self.b]
        assert_unchanged(ExpandMatmulOfSum(), module_of(params, broadcast))
        assert_unchanged(ExpandMatmulOfSum(), module_of(params, used_twice))


class TestNames:
    def function(self, value, **options):
        x = relax.Var("x", array(2))
        return module_of([x], lambda builder: builder.emit(value(x)), **options)["main"]

    def test_exported_functions_get_their_symbols(self):
        private = self.function(twice, private=True)
        exported = self.function(lambda x: relax.Call(GlobalVar("main"), [x], None, (), array(2)))
        legal = LegalizeOps()(IRModule({"main": private}))
        before = IRModule({"f": exported, **legal.functions})
        after = NormalizeGlobalVar()(before)
        assert sorted(name.name_hint for name in after) == ["main", "main1", "twice"]
        check_well_formed(after)
        np.testing.assert_array_equal(evaluate(after, values(2)), 2 * values(2))
        assert_unchanged(NormalizeGlobalVar(), after)

    def test_functions_that_are_called_by_name(self):
        called = self.function(lambda x: op.call_dps_packed("inner", (x,), array(2)))
        before = IRModule(
            {"f": called, "inner": self.function(twice).with_attr("global_symbol", "g")}
        )
        (binding,) = bindings_in(NormalizeGlobalVar()(before)["main"])
        assert binding.value.args[0].global_symbol == "g"

    def test_one_symbol_for_two_functions(self):
        function = self.function(twice)
        with pytest.raises(ArgumentError, match="f and g both have the symbol 'main'"):
            NormalizeGlobalVar()(IRModule({"f": function, "g": function}))


class TestBundle:
    x, w, b = (relax.Var(n, array(*s)) for n, s in (("x", (2, 3)), ("w", (3, N)), ("b", (N,))))

    def program(self, count=1):
        def body(builder):
            return builder.emit(op.add(builder.emit(op.matmul(self.x, self.w)), self.b))

        return module_of([self.x, self.w, self.b], body, attrs={"num_input": count})

    def test_weights_become_a_tuple(self):
        before = self.program()
        after = BundleModelParams("weights")(before)
        check_well_formed(after)
        assert [param.name_hint for param in after["main"].params] == ["x", "weights"]
        data = values(2, 3), values(3, 4), values(4)
        np.testing.assert_allclose(
            evaluate(after, data[0], data[1:]), evaluate(before, *data), rtol=1e-6
        )
        assert_unchanged(BundleModelParams(), after)

    def test_what_cannot_be(self):
        with pytest.raises(ArgumentError, match="num_input is 4, of 3 parameters"):
            BundleModelParams()(self.program(4))
        before = self.program()
        before["other"] = TestNames().function(
            lambda x: relax.Call(GlobalVar("main"), [x, x, x], None, (), array(2))
        )
        with pytest.raises(ArgumentError, match="because 'other' calls it"):
            BundleModelParams()(before)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DeadCodeElimination("main"), "entry_functions is a list of names, got 'main'"),
        (lambda: transform.ConvertToDataflow(0), "min_size is at least 1, got 0"),
        (lambda: LegalizeOps(["relax.exp"]), "customize_legalize_map is a dictionary"),
        (lambda: transform.UpdateParamStructInfo(3), "sinfo_func is a function of a parameter"),
        (lambda: transform.BindSymbolicVars(["n"]), "binding_map is a dictionary"),
    ],
)
def test_arguments_of_passes_are_checked_when_they_are_made(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_a_legalisation_by_the_operator_itself():
    x = relax.Var("x", array(2))
    before = module_of([x], lambda builder: twice(x))
    own = {twice.op: lambda builder, call: op.add(*call.args, *call.args)}
    assert names_of(LegalizeOps(own)(before)["main"]) == ["add"]
    with pytest.raises(ArgumentError, match=r"the function for 'relax\.test\.twice' gave None"):
        LegalizeOps({twice.op: lambda builder, call: None})(before)


def test_passes_that_there_are_not():
    with pytest.raises(AttributeError, match=r"'VMShapeLower': relax\.build does its work"):
        transform.VMShapeLower
    with pytest.raises(AttributeError, match=r"no pass 'FoldConstants'$"):
        transform.FoldConstants
