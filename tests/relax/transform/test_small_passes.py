"""Passes of one step each."""

import numpy as np
import pytest
from tests.relax.builders import array, bindings_in, module_of
from tests.relax.transform.parts import assert_unchanged, names_of

from tilewright import relax
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.ir import GlobalVar, IRModule
from tilewright.relax.analysis import check_well_formed
from tilewright.relax.interpreter import evaluate
from tilewright.relax.transform import (
    AttachGlobalSymbol,
    Normalize,
    RemovePurityChecking,
    ToNonDataflow,
    TopologicalSort,
    UpdateParamStructInfo,
    dataflowblock_pass,
    function_pass,
)

X = relax.Var("x", array(3))


def test_normalize_binds_what_is_inside_of_other_operations():
    inner = relax.op.exp(X)
    function = relax.Function((X,), relax.op.add(inner, relax.op.negative(inner)), array(3))
    before = IRModule({"main": function})
    after = Normalize()(before)
    check_well_formed(after)
    assert names_of(after["main"]) == ["exp", "negative", "add"]
    np.testing.assert_array_equal(evaluate(after, np.ones(3, "float32")), np.zeros(3))
    assert_unchanged(Normalize(), after)


def test_symbols_follow_the_names_of_the_module():
    function = module_of([X], lambda builder: X)["main"]
    before = IRModule({"renamed": function, "private": function.without_attr("global_symbol")})
    after = AttachGlobalSymbol()(before)
    assert after["renamed"].global_symbol == "renamed"
    assert after["private"].global_symbol is None
    assert_unchanged(AttachGlobalSymbol(), after)


def test_what_was_said_to_be_pure_is_called_directly():
    def body(builder):
        call = relax.op.call_pure_packed("outside", X, sinfo_args=array(3))
        return builder.emit(relax.op.exp(builder.emit(call)))

    after = RemovePurityChecking()(ToNonDataflow()(module_of([X], body)))
    call, _ = bindings_in(after["main"])
    assert isinstance(call.value.op, relax.ExternFunc)
    assert call.value.args == (X,)
    assert after["main"].is_pure
    check_well_formed(after)
    assert_unchanged(RemovePurityChecking(), after)


def test_in_a_dataflow_block_what_was_said_to_be_pure_stays():
    def body(builder):
        with builder.dataflow():
            call = relax.op.call_pure_packed("outside", X, sinfo_args=array(3))
            return builder.emit_output(relax.op.exp(builder.emit(call)))

    after = RemovePurityChecking()(module_of([X], body))
    assert names_of(after["main"]) == ["call_pure_packed", "exp"]
    check_well_formed(after)


class TestTopologicalSort:
    def program(self):
        """Two chains whose steps take turns."""
        names = {}

        def body(builder):
            with builder.dataflow():
                for name in "ab":
                    names[name + "1"] = builder.emit(relax.op.exp(X), name + "1")
                for name in "ab":
                    names[name + "2"] = builder.emit(relax.op.exp(names[name + "1"]), name + "2")
                return builder.emit_output(relax.op.add(names["a2"], names["b2"]), "sum")

        return module_of([X], body)

    def order(self, *args):
        after = TopologicalSort(*args)(self.program())
        check_well_formed(after)
        return [binding.var.name_hint for binding in bindings_in(after["main"])]

    def test_orders(self):
        chains, layers = ["a1", "a2", "b1", "b2", "sum"], ["a1", "b1", "a2", "b2", "sum"]
        assert self.order() == chains
        assert self.order("breadth-first") == layers
        assert self.order("depth-first", "from-outputs") == chains
        assert self.order("breadth-first", "from-outputs") == layers
        assert_unchanged(TopologicalSort("breadth-first"), self.program())

    def test_late_is_right_before_the_use(self):
        def body(builder):
            with builder.dataflow():
                early = builder.emit(relax.op.exp(X), "early")
                a = builder.emit(relax.op.negative(X), "a")
                b = builder.emit(relax.op.negative(a), "b")
                return builder.emit_output(relax.op.add(early, b), "sum")

        after = TopologicalSort("depth-first", "from-outputs")(module_of([X], body))
        assert [b.var.name_hint for b in bindings_in(after["main"])][-1] == "sum"
        check_well_formed(after)

    def test_choices(self):
        with pytest.raises(ArgumentValueError, match="got 'sideways'"):
            TopologicalSort("sideways")


def test_other_struct_info_of_parameters_is_inferred_through():
    before = module_of([X], lambda builder: builder.emit(relax.op.exp(X)))
    after = UpdateParamStructInfo(lambda param: array(3, dtype="float64"))(before)
    check_well_formed(after)
    (exp,) = bindings_in(after["main"])
    assert str(exp.var.struct_info.dtype) == "float64"
    assert str(after["main"].ret_struct_info.dtype) == "float64"
    assert_unchanged(UpdateParamStructInfo(lambda param: None), before)
    with pytest.raises(ArgumentError, match="struct info of 'x' cannot be"):
        UpdateParamStructInfo(lambda param: "float64")(before)


def test_passes_of_users():
    seen = []

    @function_pass(opt_level=0)
    def mark(func, mod, ctx):
        return func.with_attr("marked", 1)

    @dataflowblock_pass(opt_level=0)
    def look(block, mod, ctx):
        seen.append(len(block.bindings))
        return block

    @dataflowblock_pass(opt_level=0)
    class KeepFirst:
        def transform_dataflowblock(self, block, mod, ctx):
            return block.replace(bindings=block.bindings[:1])

    def body(builder):
        with builder.dataflow():
            first = builder.emit_output(relax.op.exp(X))
            builder.emit(relax.op.exp(X))
        return first

    before = module_of([X], body)
    before["kernel"] = function_of_nothing()
    assert "marked" in mark(before)["main"].attrs
    assert "marked" not in mark(before)["kernel"].attrs
    assert_unchanged(look, before)
    assert seen[0] == 2
    assert len(bindings_in(KeepFirst()(before)["main"])) == 1
    with pytest.raises(ArgumentError, match=r"Nothing: .* gave a NoneType"):
        dataflowblock_pass(lambda block, mod, ctx: None, name="Nothing")(before)
    assert before.get_global_var("kernel") == GlobalVar("kernel")


def function_of_nothing():
    from tilewright.ir import const
    from tilewright.tir import Evaluate, PrimFunc

    return PrimFunc((), Evaluate(const(0)))
