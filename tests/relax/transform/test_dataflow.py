"""Dataflow blocks are made and opened."""

from tests.relax.builders import array, bindings_in, module_of
from tests.relax.transform.parts import assert_unchanged

from tilewright import relax
from tilewright.relax.transform import ConvertToDataflow, ToNonDataflow

X = relax.Var("x", array(3))


def kinds(mod):
    return [(type(b).__name__, len(b.bindings)) for b in mod["main"].body.blocks]


def local(mod):
    return [isinstance(b.var, relax.DataflowVar) for b in bindings_in(mod["main"])]


def with_effect(builder):
    a = builder.emit(relax.op.exp(X))
    b = builder.emit(relax.op.negative(a))
    builder.emit(relax.op.print(b))
    c = builder.emit(relax.op.exp(b))
    return builder.emit(relax.op.add(c, b))


def test_bindings_around_an_effect():
    before = module_of([X], with_effect, pure=False)
    after = ConvertToDataflow()(before)
    assert kinds(after) == [("DataflowBlock", 2), ("BindingBlock", 1), ("DataflowBlock", 2)]
    assert local(after) == [True, False, False, True, False]
    assert_unchanged(ConvertToDataflow(), after)
    assert_unchanged(ConvertToDataflow(min_size=3), before)


def test_branches_stay_outside_and_are_taken_apart_inside():
    c = relax.Var("c", array(dtype="bool"))

    def body(builder):
        a = builder.emit(relax.op.exp(X))
        branch = relax.SeqExpr((), relax.op.negative(relax.op.exp(a)))
        return builder.emit(relax.If(c, branch, relax.SeqExpr((), X)))

    after = ConvertToDataflow()(module_of([c, X], body))
    assert kinds(after) == [("BindingBlock", 2)]
    branch = bindings_in(after["main"])[1].value.true_branch
    (block,) = branch.blocks
    assert isinstance(block, relax.DataflowBlock)
    first, last = block.bindings
    assert isinstance(first.var, relax.DataflowVar)
    assert branch.body is last.var


def test_opening():
    before = ConvertToDataflow()(module_of([X], with_effect, pure=False))
    after = ToNonDataflow()(before)
    assert kinds(after) == [("BindingBlock", 5)]
    assert not any(local(after))
    exp, negative, *_ = bindings_in(after["main"])
    assert negative.value.args == (exp.var,)
    assert kinds(ConvertToDataflow()(after)) == kinds(before)


def test_neighbouring_blocks_become_one():
    def body(builder):
        with builder.dataflow():
            a = builder.emit_output(relax.op.exp(X))
        with builder.dataflow():
            return builder.emit_output(relax.op.negative(a))

    after = ConvertToDataflow()(module_of([X], body))
    assert kinds(after) == [("DataflowBlock", 2)]
    assert local(after) == [True, False]
