"""Malformed graphs are refused before anything is compiled."""

import pytest
from tests.relax.builders import array, twice

from tilewright import relax
from tilewright.error import VerifyError
from tilewright.ir import GlobalVar, IRModule


def test_a_malformed_graph_is_refused():
    x, unbound = relax.Var("x", array(2)), relax.Var("y", array(2))
    module = IRModule({"main": relax.Function((x,), twice(unbound), array(2))})
    with pytest.raises(VerifyError, match="variable y is used, but not bound before"):
        relax.build(module, "llvm")


def test_a_call_of_a_missing_function_is_refused():
    x = relax.Var("x", array(2))
    call = relax.Call(GlobalVar("mian"), [x], None, (), array(2))
    function = relax.Function((x,), relax.SeqExpr((), call), array(2))
    with pytest.raises(ValueError, match="the module has no function 'mian'"):
        relax.build(IRModule({"main": function}), "llvm")


def test_a_function_need_not_be_in_normal_form():
    x = relax.Var("x", array(2))
    function = relax.Function((x,), twice(twice(x)))
    assert "main" in relax.build(function, "llvm").stats()
