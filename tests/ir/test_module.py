"""Modules, functions' attributes, operators."""

import pytest

from tilewright.error import ArgumentError, UnknownNameError
from tilewright.ir import DType, GlobalVar, IRModule, Op, Var, const, structural_equal
from tilewright.ir.convert import as_attribute, attributes
from tilewright.ir.op import CallEffectKind, register_op
from tilewright.tir import Evaluate, PrimFunc


def function(value=0, **attrs):
    return PrimFunc((), Evaluate(const(value)), attrs=attributes(attrs))


class TestModule:
    def test_lookup_by_name_and_by_variable(self):
        f = function()
        module = IRModule({"f": f})
        assert module["f"] is f
        assert module[module.get_global_var("f")] is f
        assert module[GlobalVar("f")] is f
        assert "f" in module
        assert "g" not in module
        assert len(module) == 1
        assert [v.name_hint for v in module] == ["f"]

    def test_a_wrong_name_is_corrected(self):
        module = IRModule({"matmul": function()})
        with pytest.raises(UnknownNameError, match="did you mean 'matmul'"):
            module["matmull"]
        with pytest.raises(KeyError):
            module.get_global_var("relu")

    def test_from_expr_takes_the_global_symbol(self):
        assert "conv" in IRModule.from_expr(function(global_symbol="conv"))
        assert "main" in IRModule.from_expr(function())
        with pytest.raises(ArgumentError):
            IRModule.from_expr(const(1))

    def test_update_in_place_and_clone(self):
        module = IRModule({"f": function(0)})
        copy = module.clone()
        module.update_func(module.get_global_var("f"), function(1))
        module["g"] = function(2)
        module.update({"h": function(3)})
        assert [v.name_hint for v in module.get_global_vars()] == ["f", "g", "h"]
        module["e"] = module["f"]
        assert [v.name_hint for v, _ in module.functions_items()] == ["e", "f", "g", "h"]
        assert len(copy) == 1
        assert not structural_equal(copy["f"], module["f"])
        del module["g"]
        assert "g" not in module

    def test_attributes_are_copied_on_change(self):
        module = IRModule({"f": function()})
        changed = module.with_attr("runtime", "x").with_attrs({"level": 2})
        assert changed.get_attr("runtime") == "x"
        assert changed.get_attr("level").value == 2
        assert module.get_attr("runtime") is None
        assert changed.without_attr("runtime").get_attr("runtime") is None

    def test_only_functions_are_stored(self):
        with pytest.raises(ArgumentError, match="expected a function"):
            IRModule({"f": 3})
        with pytest.raises(ArgumentError, match="strings or GlobalVars"):
            IRModule({3: function()})


class TestAttributes:
    def test_with_and_without(self):
        f = function().with_attr("global_symbol", "f").with_attr({"a": 1, "b": True})
        assert f.global_symbol == "f"
        assert f.attrs["a"].dtype == "int32"
        assert f.attrs["b"].dtype == "bool"
        assert f.without_attr("a").attrs.keys() == {"global_symbol", "b"}
        assert f.without_attr("missing").attrs.keys() == f.attrs.keys()

    def test_conversion(self):
        x = Var("x", DType("int32"))
        assert as_attribute([1, "a", (x,)])[2] == (x,)
        assert as_attribute({"k": None}) == {"k": None}
        assert as_attribute(x) is x
        with pytest.raises(ArgumentError, match="cannot keep"):
            as_attribute(object())
        with pytest.raises(ArgumentError, match="names are strings"):
            attributes({1: 2})


class TestOp:
    def test_one_object_per_name(self):
        assert Op.get("tir.exp") is Op.get("tir.exp")
        assert "tir.exp" in Op.list_op_names()

    def test_unknown_and_repeated_names(self):
        with pytest.raises(UnknownNameError, match=r"did you mean 'tir\.sqrt'"):
            Op.get("tir.sqrtt")
        with pytest.raises(ValueError, match="registered twice"):
            register_op("tir.exp")

    def test_effects_are_ordered(self):
        assert CallEffectKind.PURE < CallEffectKind.READ_STATE < CallEffectKind.OPAQUE
        assert Op.get("tir.exp").effect == CallEffectKind.PURE


def test_global_vars_are_equal_by_name():
    assert GlobalVar("f") == GlobalVar("f")
    assert GlobalVar("f") != GlobalVar("g")
    assert len({GlobalVar("f"), GlobalVar("f")}) == 1
