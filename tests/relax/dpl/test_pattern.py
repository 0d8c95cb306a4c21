"""What looks like a pattern."""

import pytest
from tests.relax.builders import array, bindings_in

from tilewright import relax, tir
from tilewright.error import ArgumentError, UnknownNameError
from tilewright.relax import op
from tilewright.relax.analysis import get_var2val
from tilewright.relax.dpl import (
    PatternContext,
    has_attr,
    has_dtype,
    has_shape,
    is_call_dps_packed,
    is_call_packed,
    is_call_tir,
    is_const,
    is_dfv,
    is_expr,
    is_gv,
    is_op,
    is_shape,
    is_tuple,
    is_tuple_get_item,
    is_var,
    wildcard,
)

X = relax.Var("x", array(4, 8))
Y = relax.Var("y", array(4, 8))
ADD, MULTIPLY, SUBTRACT = (is_op(f"relax.{name}") for name in ("add", "multiply", "subtract"))


def bound(make, *params):
    """A function of a dataflow block, and its bindings by variable."""
    builder = relax.BlockBuilder()
    with builder.function("main", list(params or (X, Y))):
        with builder.dataflow():
            result = builder.emit_output(make(builder))
        builder.emit_func_output(result)
    func = builder.get()["main"]
    return func, get_var2val(func)


def last(func):
    return bindings_in(func)[-1].var


def test_operators_are_found_through_variables():
    func, values = bound(lambda bb: bb.emit(op.add(bb.emit(op.multiply(X, Y)), X)))
    x, y = wildcard(), wildcard()
    product = MULTIPLY(x, y)
    total = ADD(product, x)
    found = total.extract_matched_expr(last(func), values)
    assert found is not None
    assert found[x] is X
    assert found[y] is Y
    assert found[product].op.name == "relax.multiply"
    assert found[total].op.name == "relax.add"
    assert not total.match(last(func))
    assert not SUBTRACT(product, x).match(last(func), values)


def test_a_pattern_in_two_places_is_one_value():
    func, values = bound(lambda bb: bb.emit(op.subtract(X, Y)))
    same, one, other = wildcard(), wildcard(), wildcard()
    assert SUBTRACT(one, other).match(last(func), values)
    assert not SUBTRACT(same, same).match(last(func), values)


@pytest.mark.parametrize(("operator", "fits"), [("add", True), ("subtract", False)])
def test_operands_of_sums_come_in_any_order(operator, fits):
    func, values = bound(lambda bb: bb.emit(getattr(op, operator)(X, bb.emit(op.multiply(X, Y)))))
    product, rest = MULTIPLY(wildcard(), wildcard()), is_var("x")
    found = is_op(f"relax.{operator}")(product, rest).match(last(func), values)
    assert found is fits


def test_leaves():
    constant = relax.const([1.0, 2.0])
    gvar = relax.DataflowVar("g", array(2))
    assert is_var().match(X)
    assert is_var("x").match(X)
    assert not is_var("y").match(X)
    assert is_dfv().match(gvar)
    assert not is_dfv().match(X)
    assert is_const().match(constant)
    assert not is_const().match(X)
    assert is_const().match(X, {X: constant})
    assert wildcard().match(X)
    assert is_shape([2, 3]).match(relax.ShapeExpr([2, 3]))
    assert not is_shape([2, 3]).match(relax.ShapeExpr([3, 2]))
    assert is_expr(X).match(X)
    assert not is_expr(X).match(Y)


def test_struct_info():
    n = tir.Var("n", "int64")
    x = relax.Var("x", array(n, 8))
    assert wildcard().has_dtype("float32").match(x)
    assert not has_dtype("int32").match(x)
    assert wildcard().has_shape([n, 8]).match(x)
    assert has_shape([n, 4 + 4]).match(x)
    assert not has_shape([n, 4]).match(x)
    assert not has_shape([n]).match(x)
    assert wildcard().has_struct_info(array(n, 8)).match(x)
    assert wildcard().has_struct_info(relax.TensorStructInfo(dtype="float32", ndim=2)).match(x)
    assert not wildcard().has_struct_info(relax.TensorStructInfo(ndim=3)).match(x)
    assert not has_shape([2]).match(relax.Tuple([X]))


def test_attributes():
    call = op.permute_dims(X, [1, 0])
    assert is_op("relax.permute_dims")(wildcard()).has_attr({"axes": (1, 0)}).match(call)
    assert not has_attr({"axes": (0, 1)}).match(call)
    assert not has_attr({"axis": 0}).match(call)


def test_one_or_the_other_or_neither():
    func, values = bound(lambda bb: bb.emit(op.add(X, Y)))
    total, product = ADD(wildcard(), wildcard()), MULTIPLY(wildcard(), wildcard())
    assert (total | product).match(last(func), values)
    assert (product | total).match(last(func), values)
    assert not (total & product).match(last(func), values)
    assert (total & has_dtype("float32")).match(last(func), values)
    assert (~product).match(last(func), values)
    assert not (~total).match(last(func), values)
    found = (product | total).extract_matched_expr(last(func), values)
    assert product not in found
    assert found[total].op.name == "relax.add"


def test_what_may_follow():
    func, values = bound(lambda bb: bb.emit(op.add(X, Y)))
    then, values_then = bound(lambda bb: bb.emit(op.nn.relu(bb.emit(op.add(X, Y)))))
    total = ADD(wildcard(), wildcard()).optional(is_op("relax.nn.relu"))
    assert total.match(last(func), values)
    assert total.extract_matched_expr(last(then), values_then)[total].op.name == "relax.nn.relu"


def test_tuples():
    pair = relax.Tuple([X, Y])
    assert is_tuple([is_var("x"), is_var("y")]).match(pair)
    assert not is_tuple([is_var("y"), is_var("x")]).match(pair)
    assert is_tuple([is_var("y"), is_var("x")], unordered=True).match(pair)
    assert not is_tuple([wildcard()]).match(pair)
    t = relax.Var("t", pair.struct_info)
    assert is_tuple_get_item(is_var("t"), 1).match(relax.TupleGetItem(t, 1))
    assert is_var("t")[1].match(relax.TupleGetItem(t, 1))
    assert not is_var("t")[0].match(relax.TupleGetItem(t, 1))
    assert is_tuple_get_item(wildcard()).match(relax.TupleGetItem(t, 0))


def test_calls_of_functions():
    gvar = relax.op.base.GlobalVar("kernel")
    kernel = op.call_tir(gvar, [X, Y], array(4, 8))
    packed = op.call_dps_packed("outside", [X], array(4, 8))
    extern = op.call_packed("outside", X, sinfo_args=array(4, 8))
    assert is_call_tir("kernel").match(kernel)
    assert is_call_tir("kernel", [is_var("x"), wildcard()]).match(kernel)
    assert not is_call_tir("kernel", [wildcard()]).match(kernel)
    assert is_call_tir("kernel", is_tuple([is_var("x"), is_var("y")])).match(kernel)
    assert not is_call_tir("kernel", tir_vars=wildcard()).match(kernel)
    sized = op.call_tir(gvar, [X, Y], array(4, 8), tir_vars=[3])
    assert is_call_tir("kernel").match(sized)
    assert is_call_tir("kernel", tir_vars=is_shape([3])).match(sized)
    assert not is_call_tir("other").match(kernel)
    assert is_call_dps_packed("outside", [is_var("x")]).match(packed)
    assert not is_call_dps_packed("kernel").match(packed)
    assert is_call_packed("outside").match(extern)
    assert is_call_packed("outside", [wildcard()]).match(extern)
    assert is_gv("kernel").match(gvar)


def test_arguments_of_calls():
    call = op.add(X, Y)
    assert ADD(wildcard(), varg_default_wildcard=True).match(call)
    assert not ADD(wildcard()).match(call)
    assert not ADD(wildcard(), wildcard(), wildcard()).match(call)
    with pytest.raises(ArgumentError, match="expected a pattern"):
        ADD(3)
    with pytest.raises(ArgumentError, match="is_tuple: expected a list"):
        is_tuple(wildcard())
    with pytest.raises(TypeError, match="not iterable"):
        list(wildcard())
    with pytest.raises(UnknownNameError, match=r"did you mean 'relax\.add'"):
        is_op("relax.addd")


# --- contexts --------------------------------------------------------------------------------


def block_of(func):
    return func.body.blocks[0]


def test_values_that_use_each_other():
    func, _ = bound(lambda bb: bb.emit(op.add(bb.emit(op.nn.relu(bb.emit(op.multiply(X, Y)))), X)))
    with PatternContext() as ctx:
        product = MULTIPLY(wildcard(), wildcard())
        relu = is_op("relax.nn.relu")(wildcard())
        total = ADD(wildcard(), wildcard())
        product >> relu >> total
        found = ctx.match_dfb(block_of(func))
    assert found is not None
    assert [found[p].name_hint for p in (product, relu, total)] == ["lv", "lv1", "lv2"]
    assert PatternContext.current() is None


def test_only_used_by():
    def make(bb):
        product = bb.emit(op.multiply(X, Y))
        return bb.emit(op.add(bb.emit(op.nn.relu(product)), product))

    func, _ = bound(make)

    def found(relate):
        with PatternContext() as ctx:
            product, relu = MULTIPLY(wildcard(), wildcard()), is_op("relax.nn.relu")(wildcard())
            relate(product, relu)
            return ctx.match_dfb(block_of(func)) is not None

    assert found(lambda a, b: a.used_by(b))
    assert not found(lambda a, b: a ^ b)


@pytest.mark.parametrize(("index", "fits"), [(0, True), (1, False), (-1, True)])
def test_used_as_argument(index, fits):
    func, _ = bound(lambda bb: bb.emit(op.subtract(bb.emit(op.multiply(X, Y)), X)))
    with PatternContext() as ctx:
        product, rest = MULTIPLY(wildcard(), wildcard()), SUBTRACT(wildcard(), wildcard())
        product.used_by(rest, index)
        assert (ctx.match_dfb(block_of(func)) is not None) is fits


def test_inputs_of_the_block_are_values_too():
    func, _ = bound(lambda bb: bb.emit(op.add(bb.emit(op.multiply(X, Y)), bb.emit(op.exp(X)))))
    with PatternContext() as ctx:
        source = is_var()
        product, exp = MULTIPLY(wildcard(), wildcard()), is_op("relax.exp")(wildcard())
        source.used_by(product)
        source.used_by(exp)
        found = ctx.match_dfb(block_of(func))
    assert found[source] is X


def test_patterns_need_a_context():
    with pytest.raises(ArgumentError, match="with PatternContext"):
        wildcard().used_by(wildcard())
    with PatternContext() as ctx, pytest.raises(ArgumentError, match="no patterns"):
        ctx.match_dfb(relax.DataflowBlock(()))
