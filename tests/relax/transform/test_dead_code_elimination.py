"""What nothing uses is removed, and nothing else."""

import pytest
from tests.relax.builders import array, bindings_in, module_of
from tests.relax.transform.parts import assert_unchanged, call_extern, names_of

from tilewright import relax
from tilewright.error import UnknownNameError
from tilewright.ir import GlobalVar, const
from tilewright.ir import Var as Size
from tilewright.relax.transform import DeadCodeElimination
from tilewright.tir import Evaluate, PrimFunc


def kernel(symbol=None):
    attrs = {} if symbol is None else {"global_symbol": symbol}
    return PrimFunc((), Evaluate(const(0)), attrs=attrs)


def test_unused_bindings_and_what_only_they_use():
    x = relax.Var("x", array(3))

    def body(builder):
        with builder.dataflow():
            a = builder.emit(relax.op.exp(x))
            builder.emit(relax.op.add(a, a))
            return builder.emit_output(relax.op.negative(x))

    before = module_of([x], body)
    after = DeadCodeElimination()(before)
    assert names_of(after["main"]) == ["negative"]
    assert_unchanged(DeadCodeElimination(), after)


def test_effects_and_checks_stay():
    x = relax.Var("x", relax.TensorStructInfo(None, "float32", ndim=1))
    n = Size("n", "int64")

    def body(builder):
        builder.emit(relax.op.print(x))
        builder.emit(relax.op.call_packed("outside", x, sinfo_args=array(2)))
        builder.match_cast(x, array(n))
        builder.emit(call_extern(x, out=array(2)))
        return x

    after = DeadCodeElimination()(module_of([x], body, pure=False))
    kinds = [type(binding).__name__ for binding in bindings_in(after["main"])]
    assert kinds == ["VarBinding", "VarBinding", "MatchCast"]


def test_a_cast_in_a_dataflow_block_stays_if_a_size_that_it_defines_is_used():
    x = relax.Var("x", relax.TensorStructInfo(None, "float32", ndim=1))
    n, m = Size("n", "int64"), Size("m", "int64")

    def body(builder):
        with builder.dataflow():
            builder.match_cast(x, array(n))
            builder.match_cast(x, array(m))
            return builder.emit_output(call_extern(x, out=array(n)))

    after = DeadCodeElimination()(module_of([x], body))
    kept = [b for b in bindings_in(after["main"]) if isinstance(b, relax.MatchCast)]
    assert [binding.struct_info.extents[0] for binding in kept] == [n]


def test_branches_use_variables_from_around():
    c, x = relax.Var("c", array(dtype="bool")), relax.Var("x", array(3))

    def body(builder):
        a = builder.emit(relax.op.exp(x))
        builder.emit(relax.op.negative(x))
        inner = relax.Var("unused", array(3))
        unused = relax.BindingBlock((relax.VarBinding(inner, relax.op.exp(a)),))
        branches = relax.SeqExpr((unused,), relax.op.add(a, x)), relax.SeqExpr((), x)
        return builder.emit(relax.If(c, *branches))

    after = DeadCodeElimination()(module_of([c, x], body))
    assert names_of(after["main"]) == ["exp", "If"]
    branch = bindings_in(after["main"])[1].value
    names = [b.value.op.name for block in branch.true_branch.blocks for b in block.bindings]
    assert names == ["relax.add"]


def test_a_branch_with_an_effect_stays():
    c, x = relax.Var("c", array(dtype="bool")), relax.Var("x", array(3))

    def body(builder):
        shows = relax.BindingBlock(
            (relax.VarBinding(relax.Var("p", relax.TupleStructInfo(())), relax.op.print(x)),)
        )
        builder.emit(relax.If(c, relax.SeqExpr((shows,), x), relax.SeqExpr((), x)))
        builder.emit(relax.If(c, relax.SeqExpr((), x), relax.SeqExpr((), x)))
        return x

    after = DeadCodeElimination()(module_of([c, x], body, pure=False))
    assert names_of(after["main"]) == ["If"]


class TestFunctions:
    def module(self):
        x = relax.Var("x", array(3))
        builder = relax.BlockBuilder()
        for name in ("used", "unused", "by_name", "private_by_name"):
            builder.update_func(GlobalVar(name), kernel("by_name" if name == "by_name" else None))

        def call(name):
            return relax.op.call_tir(GlobalVar(name), x, array(3))

        with builder.function("main", [x]):
            builder.emit(call("unused"))
            a = builder.emit(call("used"))
            text = relax.op.call_dps_packed("private_by_name", a, array(3))
            builder.emit_func_output(builder.emit(text))
        return builder.get()

    def names(self, mod):
        return {var.name_hint for var in mod.functions}

    def test_those_that_nothing_calls_go(self):
        after = DeadCodeElimination()(self.module())
        assert self.names(after) == {"main", "used", "by_name", "private_by_name"}

    def test_entries(self):
        after = DeadCodeElimination(["main"])(self.module())
        assert self.names(after) == {"main", "used", "private_by_name"}
        with pytest.raises(UnknownNameError, match="did you mean 'main'"):
            DeadCodeElimination(["mian"])(self.module())

    def test_a_module_that_exports_nothing_keeps_everything(self):
        before = module_of([], lambda builder: relax.Tuple(()), private=True)
        assert_unchanged(DeadCodeElimination(), before)
