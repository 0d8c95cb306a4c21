"""Private functions are inlined, and their parameters and results change."""

import numpy as np
import pytest
from tests.relax.builders import array, bindings_in
from tests.relax.transform.parts import assert_unchanged, names_of

from tilewright import relax
from tilewright.error import ShapeError
from tilewright.ir import Var as Size
from tilewright.relax.analysis import check_well_formed
from tilewright.relax.interpreter import evaluate
from tilewright.relax.transform import (
    ExpandTupleArguments,
    InlinePrivateFunctions,
    RemoveUnusedOutputs,
    RemoveUnusedParameters,
)

N, K = Size("n", "int64"), Size("k", "int64")


def program(params, helper, caller, private=True, inputs=None):
    """A function `helper`, and `main`, which gets it and an array of extents (n, 2)."""
    builder = relax.BlockBuilder()
    with builder.function("helper", params, private=private):
        name = builder.emit_func_output(helper(builder, *params))
    x = relax.Var("x", array(N, 2))
    with builder.function("main", inputs or [x]):
        result = caller(builder, name, *(inputs or [x]))
        builder.emit_func_output(builder.normalize_argument(result))
    return builder.get()


def same_numbers(before, after, *inputs):
    check_well_formed(after)
    for one, other in zip(
        np.atleast_1d(evaluate(after, *inputs)), np.atleast_1d(evaluate(before, *inputs)),
        strict=True,
    ):  # fmt: skip
        np.testing.assert_array_equal(one, other)


def data(*shape):
    return np.arange(np.prod(shape), dtype="float32").reshape(shape)


class TestInlining:
    def simple(self, **options):
        a = relax.Var("a", array(K, 2))

        def helper(builder, a):
            with builder.dataflow():
                b = builder.emit(relax.op.exp(a))
                return builder.emit_output(relax.op.add(b, relax.op.zeros((K, 2), "float32")))

        def caller(builder, name, x):
            with builder.dataflow():
                y = builder.emit(relax.Call(name, [x]))
                z = builder.emit(relax.Call(name, [y]))
                return builder.emit_output(relax.op.negative(z))

        return program([a], helper, caller, **options)

    def test_each_call_gets_its_own_variables_and_sizes(self):
        before = self.simple()
        after = InlinePrivateFunctions()(before)
        assert [var.name_hint for var in after.functions] == ["main"]
        assert names_of(after["main"]).count("exp") == 2
        same_numbers(before, after, data(3, 2))
        same_numbers(before, after, data(0, 2))
        assert_unchanged(InlinePrivateFunctions(), after)

    def test_exported_functions_stay(self):
        assert_unchanged(InlinePrivateFunctions(), self.simple(private=False))

    def test_what_the_function_asks_for_is_checked(self):
        a, x = relax.Var("a", array(K, K)), relax.Var("x", array(N, 2))
        unknown = relax.Var("x", relax.TensorStructInfo(None, "float32", ndim=2))

        def call(builder, name, x):
            return builder.emit(relax.Call(name, [x]))

        before = program([a], lambda b, a: b.emit(relax.op.exp(a)), call, inputs=[unknown])
        after = InlinePrivateFunctions()(before)
        same_numbers(before, after, data(2, 2))
        with pytest.raises(ShapeError):
            evaluate(after, data(3, 2))
        again = program([a], lambda b, a: b.emit(relax.op.exp(a)), call, inputs=[x])
        same_numbers(again, InlinePrivateFunctions()(again), data(2, 2))

    @pytest.mark.parametrize("is_forced", [False, True])
    def test_what_is_pure_by_its_attribute_stays_if_the_caller_is_not(self, is_forced):
        a = relax.Var("a", array(K, 2))
        out = relax.TensorStructInfo((K, 2), "float32")
        builder = relax.BlockBuilder()
        forced = {"relax.force_pure": True}
        with builder.function("helper", [a], attrs=forced, private=True):
            call = relax.Call(relax.ExternFunc("outside"), [a], None, [out])
            name = builder.emit_func_output(builder.emit(call))
        x = relax.Var("x", array(N, 2))
        with builder.function("main", [x], attrs=forced if is_forced else None):
            builder.emit_func_output(builder.emit(relax.Call(name, [x])))
        after = InlinePrivateFunctions()(builder.get())
        check_well_formed(after)
        assert ("helper" in after) is not is_forced

    def test_functions_that_call_themselves_stay(self):
        builder = relax.BlockBuilder()
        x = relax.Var("x", array(2))
        name = builder.declare_func("loop", relax.FuncStructInfo([array(2)], array(2)))
        with builder.function("loop", [a := relax.Var("a", array(2))], private=True):
            builder.emit_func_output(builder.emit(relax.Call(name, [a])))
        with builder.function("main", [x]):
            builder.emit_func_output(builder.emit(relax.Call(name, [x])))
        assert_unchanged(InlinePrivateFunctions(), builder.get())

    def test_functions_that_call_each_other_stay_and_those_that_they_call_do_not(self):
        builder = relax.BlockBuilder()
        info = relax.FuncStructInfo([array(2)], array(2))
        names = {name: builder.declare_func(name, info) for name in ("ping", "pong", "leaf")}
        calls = {"ping": ["pong", "leaf"], "pong": ["leaf", "ping"], "leaf": [], "main": ["ping"]}
        for caller, callees in calls.items():
            with builder.function(caller, [a := relax.Var("a", array(2))], private=caller in names):
                value = builder.emit(relax.op.exp(a))
                for callee in callees:
                    value = builder.emit(relax.Call(names[callee], [value]))
                builder.emit_func_output(value)
        after = InlinePrivateFunctions()(builder.get())
        check_well_formed(after)
        assert {name.name_hint for name in after.functions} == {"ping", "pong", "main"}
        for name, count in {"ping": 2, "pong": 2, "main": 1}.items():
            assert names_of(after[name]).count("exp") == count


def test_fields_become_arguments():
    t = relax.Var("t", relax.TupleStructInfo([array(K, 2), relax.TupleStructInfo([array(K)])]))
    u = relax.Var("u", array(K, 2))

    def helper(builder, t, u):
        return builder.emit(relax.op.add(builder.emit(relax.TupleGetItem(t, 0)), u))

    def caller(builder, name, x, y):
        pair = builder.emit(relax.Tuple([x, relax.Tuple([y])]))
        return builder.emit(relax.Call(name, [pair, x]))

    inputs = [relax.Var("x", array(N, 2)), relax.Var("y", array(N))]
    before = program([t, u], helper, caller, inputs=inputs)
    after = ExpandTupleArguments()(before)
    assert [p.name_hint for p in after["helper"].params] == ["t_0", "t_1_0", "u"]
    same_numbers(before, after, data(3, 2), data(3))
    assert_unchanged(ExpandTupleArguments(), after)


class TestUnusedParameters:
    def check(self, params, helper, kept):
        def caller(builder, name, x):
            return builder.emit(relax.Call(name, [x] * len(params)))

        before = program(params, helper, caller)
        after = RemoveUnusedParameters()(before)
        assert [param.name_hint for param in after["helper"].params] == kept
        same_numbers(before, after, data(3, 2))
        assert_unchanged(RemoveUnusedParameters(), after)

    def test_those_that_nothing_uses_go(self):
        params = [relax.Var(name, array(K, 2)) for name in "abc"]
        self.check(params, lambda builder, a, b, c: builder.emit(relax.op.exp(b)), ["b"])

    def test_one_that_is_only_passed_on_to_where_nothing_uses_it(self):
        builder = relax.BlockBuilder()
        a, b, c, d = (relax.Var(name, array(2)) for name in "abcd")
        with builder.function("inner", [a, b], private=True):
            inner = builder.emit_func_output(a)
        with builder.function("outer", [c, d], private=True):
            outer = builder.emit_func_output(builder.emit(relax.Call(inner, [c, d])))
        with builder.function("main", [x := relax.Var("x", array(2))]):
            builder.emit_func_output(builder.emit(relax.Call(outer, [x, x])))
        after = RemoveUnusedParameters()(builder.get())
        assert [len(after[name].params) for name in ("inner", "outer")] == [1, 1]
        same_numbers(builder.get(), after, data(2))

    def test_one_that_says_a_size_stays(self):
        params = [relax.Var(name, array(K, 2)) for name in "ab"]

        def zeros(builder, *_):
            return builder.emit(relax.op.zeros((K,), "float32"))

        self.check(params, zeros, ["a"])


class TestUnusedOutputs:
    def check(self, helper, caller):
        a = relax.Var("a", array(K, 2))
        before = program([a], helper, caller)
        after = RemoveUnusedOutputs()(before)
        same_numbers(before, after, data(3, 2))
        assert_unchanged(RemoveUnusedOutputs(), after)
        return before, after

    def three(self, builder, a):
        return relax.Tuple([builder.emit(relax.op.exp(a)), a, builder.emit(relax.op.negative(a))])

    def test_fields_that_nobody_takes_go(self):
        def caller(builder, name, x):
            results = [builder.emit(relax.Call(name, [x])) for _ in "ab"]
            fields = [
                builder.emit(relax.TupleGetItem(r, i)) for r, i in zip(results, (2, 1), strict=True)
            ]
            return relax.op.add(*fields)

        _, after = self.check(self.three, caller)
        assert len(after["helper"].ret_struct_info.fields) == 2
        taken = [b.value.index for b in bindings_in(after["main"]) if hasattr(b.value, "index")]
        assert taken == [1, 0]

    def test_a_tuple_that_is_used_as_a_whole_stays(self):
        def caller(builder, name, x):
            result = builder.emit(relax.Call(name, [x]))
            builder.emit(relax.TupleGetItem(result, 0))
            return relax.Tuple([result])

        a = relax.Var("a", array(K, 2))
        assert_unchanged(RemoveUnusedOutputs(), program([a], self.three, caller))

    def test_a_result_that_is_a_variable(self):
        def helper(builder, a):
            return builder.emit(self.three(builder, a))

        def caller(builder, name, x):
            return builder.emit(relax.TupleGetItem(builder.emit(relax.Call(name, [x])), 1))

        _, after = self.check(helper, caller)
        assert len(after["helper"].ret_struct_info.fields) == 1
