"""Every rule of well-formed graphs, and the place that its error names."""

import pytest
from tests.relax.builders import array, module_of, negative, twice

from tilewright import ir, relax, te
from tilewright.error import VerifyError
from tilewright.ir import IRModule, Span
from tilewright.ir import Var as Size
from tilewright.relax import op
from tilewright.relax.analysis import check_well_formed, well_formed

X = relax.Var("x", array(2))
HERE = Span("model.py", 7, 4, 7, 20)


def bound(var, value, kind=relax.BindingBlock):
    return kind((relax.VarBinding(var, value, HERE),))


def function(blocks, result, params=(X,), ret=None, **options):
    body = relax.SeqExpr(tuple(blocks), result, result.struct_info)
    return relax.Function(params, body, ret or result.struct_info, **options)


def inferred(call, info=None):
    return call.replace(struct_info=info or array(2))


def local(name="lv"):
    return relax.DataflowVar(name, array(2))


def var(name="gv", *shape):
    return relax.Var(name, array(*(shape or (2,))))


def branches(dataflow):
    c, result = relax.Var("c", array(dtype="bool")), var()
    arm = relax.SeqExpr((), X, X.struct_info)
    choice = relax.If(c, arm, arm, X.struct_info)
    kind = relax.DataflowBlock if dataflow else relax.BindingBlock
    return function([bound(result, choice, kind)], result, (X, c))


def test_a_function_of_the_builder_is_well_formed():
    n = Size("n", "int64")
    x = relax.Var("x", array(n, 2))
    c = relax.Var("c", array(dtype="bool"))

    def make(builder):
        with builder.dataflow():
            out = builder.emit_output(negative(twice(x)))
        cast = builder.match_cast(out, array(Size("m", "int64"), 2))
        return relax.Tuple([relax.If(c, twice(cast), cast), x])

    module = module_of([x, c], make)
    check_well_formed(module)
    assert well_formed(module["main"])


def undefined():
    return function([bound(var(), inferred(twice(relax.Var("y", array(2)))))], X)


def bound_twice():
    result = var()
    blocks = [bound(result, inferred(twice(X))), bound(result, inferred(twice(X)))]
    return function(blocks, result)


def escaping():
    inner, result = local(), var()
    blocks = [
        bound(inner, inferred(twice(X)), relax.DataflowBlock),
        bound(result, inferred(twice(inner))),
    ]
    return function(blocks, result)


def local_outside():
    inner = local()
    return function([bound(inner, inferred(twice(X)))], X)


def impure_in_dataflow():
    call = relax.Call(relax.ExternFunc("f"), [X], None, [array(2)], array(2))
    return function([bound(var(), call, relax.DataflowBlock)], X, is_pure=False)


def impure_in_pure():
    call = relax.Call(relax.ExternFunc("f"), [X], None, [array(2)], array(2))
    return function([bound(var(), call)], X)


def size_of_nothing():
    result = var("gv", Size("m", "int64"))
    call = op.call_dps_packed("f", (X,), result.struct_info)
    return function([bound(result, inferred(call, result.struct_info))], X)


def size_in_the_result_only():
    return function([], X, ret=array(Size("m", "int64")))


def size_that_does_not_stand_alone():
    x = relax.Var("x", array(Size("m", "int64") + 1))
    return function([], x, (x,))


def shape_of_nowhere():
    shape = relax.Var("shape", relax.ShapeStructInfo(ndim=1))
    return function([], X, ret=relax.TensorStructInfo(shape, "float32"))


def missing_function():
    call = relax.Call(ir.GlobalVar("mian"), [X], None, (), array(2))
    result = var()
    return IRModule({"main": function([bound(result, call)], result)})


def no_struct_info():
    return function([bound(var(), twice(X))], X)


def variable_without_struct_info():
    return function([bound(relax.Var("gv"), inferred(twice(X)))], X)


def nested():
    result = var()
    return function([bound(result, inferred(twice(inferred(twice(X)))))], result)


def nested_result():
    return function([], inferred(twice(X)))


def no_sequence():
    return relax.Function((X,), X, X.struct_info)


def wrong_annotation():
    result = var("gv", 3)
    return function([bound(result, inferred(twice(X)))], X)


def annotation_that_nothing_checks():
    x = relax.Var("x", relax.TensorStructInfo(None, "float32", ndim=1))
    gv = var("gv", 4)
    return function([bound(gv, x)], gv, (x,), gv.struct_info)


def wrong_inference():
    result = var("gv", 3)
    return function([bound(result, inferred(twice(X), array(3)))], X)


def wrong_result():
    return function([], X, ret=array(3))


def shared_variable():
    return IRModule({"first": function([], X), "second": function([], X)})


def kernel(inputs, output):
    a = te.placeholder(inputs, "float32", "A")
    b = te.compute(output, lambda i: a(i), "B")
    return te.create_prim_func([a, b]).without_attr("global_symbol")


def kernel_call(inputs, output, name="copy"):
    call = op.call_tir(ir.GlobalVar("copy"), inputs, array(*output))
    result = relax.Var("gv", array(*output))
    main = function([bound(result, inferred(call, array(*output)))], result)
    return IRModule({"main": main, name: kernel((2,), (2,))})


def field(index, whole=None):
    whole = relax.Var("t", relax.TupleStructInfo([array(2)])) if whole is None else whole
    result = var()
    return function([bound(result, relax.TupleGetItem(whole, index, array(2)))], result, (whole,))


def field_of_another_kind():
    whole = relax.Var("t", relax.TupleStructInfo([array(2)]))
    item = relax.TupleGetItem(whole, 0)
    object.__setattr__(item, "struct_info", array(3))
    return function([bound(relax.Var("gv", relax.ObjectStructInfo()), item)], X, (X, whole))


def condition(info):
    c, result = relax.Var("c", info), var()
    arm = relax.SeqExpr((), X, X.struct_info)
    return function([bound(result, relax.If(c, arm, arm, X.struct_info))], result, (X, c))


def choice(info, branch_info):
    c, result = relax.Var("c", array(dtype="bool")), relax.Var("gv", info)
    arms = relax.SeqExpr((), X, X.struct_info), relax.SeqExpr((), X, branch_info)
    return function([bound(result, relax.If(c, *arms, info))], result, (X, c))


def call_of_nothing_callable():
    result = var()
    return function([bound(result, relax.Call(X, [X], None, (), array(2)))], result)


def call_of_a_kernel():
    result = var()
    call = relax.Call(ir.GlobalVar("copy"), [X, X], None, (), array(2))
    return IRModule({"main": function([bound(result, call)], result), "copy": kernel((2,), (2,))})


def broken_kernel_call(args, infos):
    call, result = relax.Call(op.base.CALL_TIR, args, None, infos, array(2)), var()
    return IRModule({"main": function([bound(result, call)], result), "copy": kernel((2,), (2,))})


def operator_call(*args):
    result = var()
    return function([bound(result, relax.Call(twice.op, args, None, (), array(2)))], result)


def wrong_constant():
    constant = relax.Constant([1.0, 2.0], array(3, dtype="float64"))
    return function([], constant)


def function_as_an_array():
    result = var()
    main = function([bound(result, ir.GlobalVar("main"))], X)
    return IRModule({"main": main})


def same_symbol():
    functions = {
        name: function([], x, (x,)).with_attr("global_symbol", "same")
        for name, x in {"first": X, "second": relax.Var("x", array(2))}.items()
    }
    return IRModule(functions)


def narrow_size():
    x = relax.Var("x", array(Size("m", "int32")))
    return function([], x, (x,))


def promise_that_was_withdrawn():
    return impure_in_pure().with_attr("relax.force_pure", False)


COPY = ir.GlobalVar("copy")

CASES = [
    (lambda: field(5), "at gv: the tuple has 1 fields, there is no 5"),
    (lambda: field(-1), "at gv: the tuple has 1 fields, there is no -1"),
    (lambda: field(0, X), r"at gv: only tuples have fields, this is R\.Tensor"),
    (field_of_another_kind, "at gv: the field is said to be"),
    (lambda: condition(array(2, dtype="bool")), "at gv: the condition of an `if` must be one bool"),
    (lambda: condition(array()), "at gv: the condition of an `if` must be one bool"),
    (lambda: choice(array(3), array(2)), "at gv: the choice is said to give"),
    (lambda: choice(array(2), array(3)), "at the result: the body is said to give"),
    (call_of_nothing_callable, r"at gv: what is called is not a function, it is R\.Tensor"),
    (call_of_a_kernel, r"at gv: copy is a tensor program, .* R\.call_tir calls it"),
    (lambda: broken_kernel_call([], [array(2)]), r"R\.call_tir takes 2 or more operands, got 0"),
    (lambda: broken_kernel_call([COPY, relax.Tuple([X])], []), "by one out_sinfo"),
    (lambda: broken_kernel_call([COPY, X], [array(2)]), "are given as a tuple"),
    (operator_call, r"at gv: R\.test\.twice takes 1 operand, got 0"),
    (lambda: operator_call(X, X), r"at gv: R\.test\.twice takes 1 operand, got 2"),
    (wrong_constant, "at the result: a constant is said to be .* but it is"),
    (function_as_an_array, "at gv: it is said to be .* but its value is R.Callable"),
    (same_symbol, "second is malformed: it is exported as 'same', and so is first"),
    (narrow_size, "at parameter x: m is not a symbolic size: it is an int32, not int64"),
    (promise_that_was_withdrawn, "at gv: a call may have an effect, but the function promises"),
    (undefined, "at gv: variable y is used, but not bound before"),
    (bound_twice, "at gv: variable gv is bound twice"),
    (escaping, "at gv: variable lv is known in its dataflow block only"),
    (local_outside, "at lv: a variable of a dataflow block is bound outside"),
    (impure_in_dataflow, "at gv: a call in a dataflow block may have an effect"),
    (impure_in_pure, "at gv: a call may have an effect, but the function promises"),
    (lambda: branches(True), "at gv: a dataflow block cannot have branches"),
    (size_of_nothing, "at gv: the symbolic size m is not defined here"),
    (size_in_the_result_only, "at the struct info of its result: the symbolic size m"),
    (size_that_does_not_stand_alone, "at parameter x: the symbolic size m"),
    (shape_of_nowhere, "at the struct info of its result: variable shape is used, but not"),
    (missing_function, "at gv: the module has no function 'mian'; did you mean 'main'"),
    (no_struct_info, "at gv: the value has no struct info"),
    (variable_without_struct_info, "at gv: variable gv has no struct info"),
    (nested, "at gv: Call stands where a variable or a constant must"),
    (nested_result, "at the result: Call stands where a variable"),
    (no_sequence, "body of a function or a branch must be a SeqExpr"),
    (wrong_annotation, "at gv: it is said to be .*but its value is"),
    (
        annotation_that_nothing_checks,
        "at gv: it is said to be .*but of its value only .*match_cast",
    ),
    (wrong_inference, "at gv: the call is said to give"),
    (wrong_result, "is said to return"),
    (shared_variable, "second is malformed at parameter x: variable x is bound twice in first"),
    (lambda: kernel_call([X, X], (2,)), "copy takes 2 arguments, .*the call gives 3"),
    (lambda: kernel_call([X], (3,)), "parameter B of copy has extent 2 in dimension 0"),
    (lambda: kernel_call([X], (2, 1)), "parameter B of copy has 1 dimensions"),
    (lambda: kernel_call([X], (2,), "other"), "copy"),
]


@pytest.mark.parametrize(("make", "message"), CASES, ids=[message[:30] for _, message in CASES])
def test_a_broken_rule_is_named_with_its_place(make, message):
    with pytest.raises(VerifyError, match=message) as caught:
        check_well_formed(make())
    assert not well_formed(make())
    if " at gv" in str(caught.value):
        assert caught.value.span == HERE
        assert "model.py:7:5" in str(caught.value)


def test_branches_are_fine_outside_of_dataflow_blocks():
    check_well_formed(branches(False))


def test_functions_have_sizes_of_their_own():
    n = Size("n", "int64")
    signature = relax.FuncStructInfo([array(n)], array(n * 2))
    pair = relax.Var("pair", relax.TupleStructInfo([signature, signature]))
    check_well_formed(function([], pair, (pair,)))
    assert relax.analysis.free_symbolic_vars(function([], pair, (pair,))) == []


def test_a_shape_may_be_a_parameter():
    shape = relax.Var("shape", relax.ShapeStructInfo(ndim=1))
    x = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
    check_well_formed(function([], x, (shape, x)))


def test_a_function_inside_may_call_itself():
    y, f = relax.Var("y", array(2)), relax.Var("f", relax.FuncStructInfo([array(2)], array(2)))
    result = relax.Var("gv", array(2))
    inner_body = relax.SeqExpr((bound(result, inferred(relax.Call(f, [y]))),), result, array(2))
    inner = relax.Function((y,), inner_body, array(2))
    check_well_formed(function([bound(f, inner)], X))
