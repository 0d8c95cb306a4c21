"""Visitors and mutators of graph functions."""

import numpy as np
import pytest
from tests.relax.builders import array, bindings_in, module_of, negative, twice
from tests.relax.transform.parts import name_of

from tilewright import relax
from tilewright.error import ArgumentError
from tilewright.ir import Op, assert_structural_equal
from tilewright.relax import op
from tilewright.relax.analysis import check_well_formed, post_order_visit
from tilewright.relax.expr_functor import PyExprMutator, PyExprVisitor, mutator, visitor
from tilewright.relax.interpreter import evaluate


def chain(length=2, dtype="float32"):
    x = relax.Var("x", array(2, 3, dtype=dtype))
    c = relax.Var("c", array(dtype="bool"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, c]):
        with builder.dataflow():
            value = x
            for _ in range(length):
                value = builder.emit(twice(value))
            out = builder.emit_output(value)
        chosen = builder.emit(relax.If(c, negative(out), twice(out)))
        builder.emit_func_output((chosen, x))
    return builder.get()


def test_a_visitor_sees_everything_in_order():
    seen = []

    @visitor
    class Names(PyExprVisitor):
        def visit_call_(self, call):
            super().visit_call_(call)
            seen.append(call.op.name)

        def visit_var_def_(self, var):
            seen.append(var.name_hint)

        def visit_dataflow_var_def_(self, var):
            seen.append(f"local {var.name_hint}")

    Names().visit_expr(chain()["main"])
    twice_, negative_ = "relax.test.twice", "relax.test.negative"
    assert seen == [
        "x", "c", twice_, "local lv", twice_, "local lv1", "gv", negative_, "gv1", twice_, "gv2",
        "gv3",
    ]  # fmt: skip


def test_post_order_visits_operands_first_and_each_once():
    x = relax.Var("x", array(2))
    shared = twice(x)
    both = relax.Tuple([shared, negative(shared)])
    seen = []
    post_order_visit(both, seen.append)
    graph = [expr for expr in seen if isinstance(expr, relax.Expr)]
    assert [id(expr) for expr in graph] == [id(e) for e in (x, shared, both.fields[1], both)]


def test_a_mutator_that_changes_nothing_gives_the_same_object():
    module = chain()
    assert PyExprMutator(module).visit_expr(module["main"]) is module["main"]


@mutator
class TwiceToSum(PyExprMutator):
    def visit_call_(self, call):
        call = self.visit_expr_post_order(call)
        if call.op is not twice.op:
            return call
        return op.call_dps_packed("sum", (call.args[0], negative(call.args[0])), array(2, 3))


def test_a_mutator_gives_normal_form():
    module = chain(1)
    changed = TwiceToSum(module).visit_expr(module["main"])
    names = [binding.var.name_hint for binding in bindings_in(changed)]
    assert names[0] not in ("lv", "gv")  # the operand has a name of its own
    assert names[1] == "lv"
    (branches,) = [b.value for b in bindings_in(changed) if isinstance(b.value, relax.If)]
    assert len(branches.true_branch.blocks[0].bindings) == 1
    assert branches.true_branch is not module["main"]
    assert len(branches.false_branch.blocks[0].bindings) == 2


def test_a_variable_may_stand_for_another():
    module = chain(2)

    class Skip(PyExprMutator):
        def visit_var_binding_(self, binding):
            call = binding.value
            if isinstance(call, relax.Call) and isinstance(binding.var, relax.DataflowVar):
                self.set_var_remap(binding.var.vid, self.visit_expr(call.args[0]))
            else:
                super().visit_var_binding_(binding)

    changed = Skip(module).visit_expr(module["main"])
    block, _ = changed.body.blocks
    (output,) = block.bindings
    assert output.value is changed.params[0]


def test_struct_info_follows_what_changed():
    module = chain(3)

    @mutator
    class ToHalf(PyExprMutator):
        def visit_var_def_(self, var):
            info = var.struct_info
            if isinstance(info, relax.TensorStructInfo) and info.dtype == "float32":
                return self.with_struct_info(var, info.replace(dtype="float16"))
            return var

    changed = ToHalf(module).visit_expr(module["main"])
    for binding in bindings_in(changed):
        assert binding.var.struct_info.dtype == "float16"
    assert_structural_equal(changed, chain(3, "float16")["main"])


def test_a_value_may_become_several_blocks():
    module = chain(1)
    inner = module["main"].replace(attrs={})

    class Inline(PyExprMutator):
        def visit_call_(self, call):
            if call.op is not negative.op:
                return call
            y = relax.Var("y", array(2, 3))
            block = relax.BindingBlock((relax.VarBinding(y, twice(call.args[0])),))
            return relax.SeqExpr((block,), twice(y))

    changed = Inline(module).visit_expr(inner)
    (branches,) = [b.value for b in bindings_in(changed) if isinstance(b.value, relax.If)]
    assert sum(len(block.bindings) for block in branches.true_branch.blocks) == 3
    assert branches.false_branch is not None


def test_mistakes_in_mutators_are_named():
    module = chain(1)

    class Forgets(PyExprMutator):
        def visit_call_(self, call):
            self.visit_expr_post_order(call)

    class DoesNotBegin(PyExprMutator):
        def __init__(self, mod):
            self.mod = mod

    with pytest.raises(ArgumentError, match=r"Forgets\.visit_call_ gave None; return what"):
        Forgets(module).visit_expr(module["main"])
    with pytest.raises(ArgumentError, match=r"DoesNotBegin\.__init__ must begin with super"):
        DoesNotBegin(module).visit_expr(module["main"])
    with pytest.raises(AttributeError, match="no attribute 'visit_calls'"):
        Forgets(module).visit_calls
    with pytest.raises(ArgumentError, match="expected an IRModule to begin with, got 3"):
        PyExprMutator(3)


def test_operators_that_a_pass_of_a_user_replaces_by_a_function():
    x, w, b = (relax.Var(n, array(*s)) for n, s in (("x", (2, 3)), ("w", (3, 4)), ("b", (4,))))

    def fused(name, params):
        builder = relax.BlockBuilder()
        with builder.function(name, params, attrs={"Primitive": 1}, private=True):
            with builder.dataflow():
                product = builder.emit(op.matmul(*params[:2]))
                result = builder.emit_output(op.add(product, params[2]))
            builder.emit_func_output(result)
        return builder.get()[name]

    @mutator
    class FuseMatmulAdd(PyExprMutator):
        def transform(self, mod):
            for name, function in mod.functions_items():
                changed = relax.analysis.remove_all_unused(self.visit_expr(function))
                self.builder_.update_func(name, changed)
            return self.builder_.get()

        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            if call.op != Op.get("relax.add"):
                return call
            product = self.lookup_binding(call.args[0])
            if not isinstance(product, relax.Call) or product.op != Op.get("relax.matmul"):
                return call
            args = [*product.args, call.args[1]]
            params = [relax.Var(name, a.struct_info) for name, a in zip("xwb", args, strict=True)]
            name = self.builder_.add_func(fused("fused", params), "fused")
            return relax.Call(name, args, None, None)

    def body(builder):
        with builder.dataflow():
            total = builder.emit(op.add(builder.emit(op.matmul(x, w)), b))
            return builder.emit_output(op.exp(total))

    before = module_of([x, w, b], body)
    after = FuseMatmulAdd(before).transform(before)
    check_well_formed(after)
    assert [name_of(b.value) for b in bindings_in(after["main"])] == ["Call", "exp"]
    data = [np.random.default_rng(0).random(shape, np.float32) for shape in ((2, 3), (3, 4), (4,))]
    np.testing.assert_allclose(evaluate(after, *data), evaluate(before, *data), rtol=1e-6)
