"""Operators become calls of tensor programs."""

import pytest
from tests.relax.builders import array, bindings_in, module_of
from tests.relax.transform.parts import assert_unchanged, names_of, shape_of

from tilewright import relax, topi
from tilewright.error import ArgumentError, UnknownNameError
from tilewright.ir import Var as Size
from tilewright.ir import const
from tilewright.relax.op.base import CALL_TIR
from tilewright.relax.transform import LegalizeOps
from tilewright.tir import Evaluate, PrimFunc


def kernels(mod):
    return sorted(v.name_hint for v, f in mod.functions.items() if isinstance(f, PrimFunc))


def two_sums(x, y):
    def body(builder):
        with builder.dataflow():
            a = builder.emit(relax.op.add(x, y))
            b = builder.emit(relax.op.add(a, y))
            return builder.emit_output(relax.op.exp(b))

    return module_of([x, y], body)


def test_each_operator_calls_a_tensor_program_and_equal_ones_are_shared():
    n = Size("n", "int64")
    after = LegalizeOps()(two_sums(relax.Var("x", array(n, 4)), relax.Var("y", array(n, 4))))
    assert names_of(after["main"]) == ["call_tir"] * 3
    assert kernels(after) == ["add", "exp"]
    first, second, last = (binding.value for binding in bindings_in(after["main"]))
    assert first.args[0] is second.args[0]
    assert shape_of(last) == ("n", 4)
    assert all(after[name].global_symbol is None for name in kernels(after))
    assert_unchanged(LegalizeOps(), after)


def test_branches_and_the_other_functions_of_the_module():
    c, x = relax.Var("c", array(dtype="bool")), relax.Var("x", array(3))

    def body(builder):
        seq = [relax.SeqExpr((), op(x)) for op in (relax.op.exp, relax.op.negative)]
        return builder.emit(relax.If(c, *seq))

    before = module_of([c, x], body)
    before["kept"] = PrimFunc((), Evaluate(const(0)))
    after = LegalizeOps()(before)
    assert kernels(after) == ["exp", "kept", "negative"]
    (branch,) = [binding.value for binding in bindings_in(after["main"])]
    for side in (branch.true_branch, branch.false_branch):
        assert [b.value.op for block in side.blocks for b in block.bindings] == [CALL_TIR]


def test_another_function_for_an_operator():
    x = relax.Var("x", array(3))

    def as_maximum(builder, call):
        zero = relax.const(0.0)
        return relax.op.maximum(builder.call_te(topi.exp, call.args[0]), zero)

    before = two_sums(x, relax.Var("y", array(3)))
    after = LegalizeOps({"relax.exp": as_maximum, "relax.add": lambda builder, call: call})(before)
    assert names_of(after["main"]) == ["add", "add", "call_tir", "maximum"]
    with pytest.raises(UnknownNameError, match=r"did you mean .relax\.exp"):
        LegalizeOps({"relax.exq": as_maximum})
    with pytest.raises(ArgumentError, match="needs a function"):
        LegalizeOps({"relax.exp": 1})


def test_an_operator_on_an_array_of_unknown_rank_stays():
    x = relax.Var("x", relax.TensorStructInfo(None, "float32"))
    before = module_of([x], lambda builder: builder.emit(relax.op.exp(x)))
    assert_unchanged(LegalizeOps(), before)
    with pytest.warns(RuntimeWarning, match="relax.exp stays"):
        LegalizeOps(enable_warning=True)(before)


def test_sizes_of_an_array_of_which_only_the_rank_is_known():
    x = relax.Var("x", relax.TensorStructInfo(None, "float32", ndim=2))
    before = module_of([x], lambda builder: builder.emit(relax.op.exp(x)))
    after = LegalizeOps()(before)
    cast, call = bindings_in(after["main"])
    assert isinstance(cast, relax.MatchCast)
    assert len(shape_of(call.value)) == 2
