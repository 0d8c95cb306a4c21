"""Every mistake in a graph function is shown at its place."""

import pytest

from tilewright.error import ScriptError
from tilewright.script import from_source

SIGNATURE = (
    'x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")'
)


def refused(text):
    """The message about a text, and the part of it that is underlined."""
    with pytest.raises(ScriptError) as caught:
        from_source(text)
    error = caught.value
    line = text.splitlines()[error.lineno - 1]
    end = error.end_offset if error.end_lineno == error.lineno else len(line) + 1
    return error.msg, line[error.offset - 1 : end - 1]


def function(*body, signature=SIGNATURE, decorator="@R.function", returns=""):
    lines = [decorator, f"def main({signature}){returns}:", *(f"    {line}" for line in body)]
    return "\n".join(lines)


def module(*functions):
    lines = [line for item in functions for line in item.splitlines()]
    return "\n".join(["@I.ir_module", "class Module:", *(f"    {line}" for line in lines)])


STATEMENTS = [
    (["z = R.add(x, w)", "return z"], "w", "undefined name `w`"),
    (["z = R.ad(x, y)", "return z"], "R.ad", "R has no 'ad'; did you mean R.add?"),
    (["z = R.relu(x)", "return z"], "R.relu", "did you mean R.nn.relu?"),
    (["z = R.nn.rel(x)", "return z"], "R.nn.rel", "R has no 'nn.rel'; did you mean R.nn.relu?"),
    (["z = R.add(x)", "return z"], "R.add(x)", "missing a required argument"),
    (["z = R.exp(x, axis=3)", "return z"], "R.exp(x, axis=3)", "unexpected keyword argument"),
    (["z = R.exp(R.add(x, c))", "return z"], "R.add(x, c)", "the dtypes differ"),
    (["z = x[0]", "return z"], "x[0]", "only tuples have fields"),
    (["z = x.y", "return z"], "x.y", "a Var has no attribute `y`"),
    (["z = x.shape", "return z"], "x.shape", "write R.shape_of(x)"),
    (["z = R.tuple(x)[1]", "return z"], "R.tuple(x)[1]", "tuple index out of range"),
    (["z = R.emit((x, y))[2]", "return z"], None, "a tuple of 2 fields has no field"),
    (["z = R.emit((x, y))['a']", "return z"], None, "named by its number, got 'a'"),
    (["z = x is y", "return z"], "x is y", "compare arrays with `==`"),
    (["z = x not in [y]", "return z"], "x not in [y]", "compare arrays with `==`"),
    (["z = max(x, y)", "return z"], "max(x, y)", "write R.maximum"),
    (["z = R.reshape(x, (x, 4))", "return z"], "R.reshape(x, (x, 4))", "R.tensor_to_shape"),
    (["z = R.const('a')", "return z"], "R.const('a')", "expected numbers, or nested lists"),
    (["z = R.const([[1], [2, 3]])", "return z"], "R.const([[1], [2, 3]])", "expected numbers"),
    (["z = R.const(x)", "return z"], "R.const(x)", "expected numbers"),
    (["z = R.prim_value('a')", "return z"], "R.prim_value('a')", "a scalar is a number"),
    (["z = R.ExternFunc(3)", "return z"], "R.ExternFunc(3)", "the name is a text, got 3"),
    (["z = R.assert_op(c, x, format=3)", "return z"], None, "format is a text"),
    (["return R.exp"], "R.exp", "got the function exp"),
    (["n = T.int32()", "return x"], "n = T.int32()", "the symbolic size `n` has dtype int64"),
    (
        ["m = T.int64()", "z = R.zeros([m], 'int8')", "return z"],
        "z = R.zeros([m], 'int8')",
        "the symbolic size m is not defined here",
    ),
    (["z = R.const(300, 'int8')", "return z"], None, "300 is not a value of int8"),
    (["z = R.const([1, -1], 'uint8')", "return z"], None, "-1 is not a value of uint8"),
    (["z = R.const(1.5, 'int32')", "return z"], None, "1.5 is not a value of int32"),
    (["z = R.const(float('nan'), 'int32')", "return z"], None, "nan is not a value of int32"),
    (["z = R.make_closure(x, (y,))", "return z"], None, "`func` must be a function"),
    (["z = R.invoke_pure_closure(x, (y,))", "return z"], None, "`closure` must be a function"),
    (["z = R.call_inplace_packed('f', x, inplace_indices='a')", "return z"], None, "got 'a'"),
    (["z = R.emit_var_binding(x)", "return z"], "R.emit_var_binding(x)", "expects a binding"),
    (["z = R.Call('relax.add', x)", "return z"], None, "expects a tuple of arguments"),
    (["return lambda: x"], "lambda: x", "got a lambda"),
    (["z: R.Prim = x", "return z"], "R.Prim", "give the dtype of the scalar"),
    (["z: R.Tensor[(4,), 'int8'] = x", "return z"], None, "write R.Tensor(...)"),
    (["R.func_attr({'a': x})", "return x"], None, "R.func_attr: 'a' needs a constant, got x"),
    (["R.func_name(3)", "return x"], "R.func_name(3)", "R.func_name expects a text, got 3"),
    (["a, *b = R.tuple(x, y)", "return a"], "*b", "one name for each field"),
    (["x[0] += y", "return x"], "x[0]", "values of a graph do not change"),
    (["try:", "    z = x", "except: pass", "return z"], "try:", "write R.assert_op"),
    (["z: R.Tensor((3,), vdevice='cuda') = x", "return z"], None, "I.module_global_infos"),
    (["z = x and y", "return z"], "x", "write R.logical_and(a, b)"),
    (["z = x or y", "return z"], "x", "write R.logical_or(a, b)"),
    (["z = not x", "return z"], "x", "write R.logical_not(a)"),
    (["z = x if c else y", "return z"], "c", "write an `if` statement"),
    (["z = x < y < x", "return z"], "x < y < x", "only two values are compared at a time"),
    (["x[0] = y", "return x"], "x[0]", "values of a graph do not change"),
    (["a, b = x", "return a"], "a, b", "a value that is not a tuple"),
    (["a, b = (x, y, x)", "return a"], "a, b", "2 names for 3 values"),
    (["a, b = 3", "return a"], "a, b", "2 names for a single value"),
    (["z: R.Object", "return x"], "z: R.Object", "no `if` gives it a value"),
    (["x.y: R.Object = x", "return x"], "x.y", "only names can be annotated"),
    (["z: 3 = x", "return z"], "3", "expected struct info such as"),
    (["z: R.Tensor((n,)) = x", "return z"], "n", "needs a declaration: n = T.int64()"),
    (['z: R.Tensor(("k",)) = x', "return z"], 'R.Tensor(("k",))', "no symbolic size 'k'"),
    (["for i in range(3):", "    z = x", "return z"], "for i in range(3):", "a graph has no loops"),
    (["while c:", "    z = x", "return z"], "while c:", "a function may call itself"),
    (["assert c", "return x"], "assert c", "R.assert_op"),
    (["3", "return x"], "3", "this has no effect: it is an int"),
    (["x", "return x"], "x", "this has no effect"),
    (["R.dataflow()", "return x"], "R.dataflow()", "opened by `with R.dataflow():`"),
    (["R.output(x)", "return x"], "R.output(x)", "belongs at the end of `with R.dataflow():`"),
    (["z = R.exp(x)"], None, "the function `main` ends without `return`"),
    (["return"], "return", "`return R.tuple()` for none"),
    (["return None"], "None", "returns a value of the graph"),
    (["return x", "z = x"], "z = x", "nothing can follow `return`"),
    (["R.print(x)", "return x"], "R.print(x)", "promises to have none"),
    (["z = T.func_attr({})", "return x"], "T.func_attr({})", "belongs inside of a function"),
    (["with T.block():", "    z = x", "return x"], "T.block()", "expected `with R.dataflow():`"),
    (["R.func_attr(3)", "return x"], "R.func_attr(3)", "R.func_attr expects a dictionary"),
    (['z = R.str(3)', "return z"], "R.str(3)", "R.str expects a text, got 3"),
    (["z = cls.f(x)", "return z"], "cls", "undefined name `cls`"),
    (["z = R.emit_te(max, x)", "return z"], "R.emit_te(max, x)", "@I.ir_module"),
    (["def f(z):", "    return z", "return x"], "def f(z):", "one with @R.function or @R.macro"),
    (["return metadata['relax.expr.Constant'][0]"], None, "script(show_meta=True)"),
    (["with R.Then():", "    z = x", "return x"], "R.Then()", "in `with R.If(condition):`"),
    (["with R.If(c):", "    with R.Then():", "        z = x", "return x"], "R.If(c)", "no more"),
    (["with R.If(c):", "    z = x", "return x"], "z = x", "`with R.Then():` and `with R.Else():`"),
    (["with R.dataflow() as d:", "    R.output()", "return x"], "d", "nothing to be named"),
    (["with R.If(c), R.Then():", "    z = x", "return x"], "R.Then()", "opens one construct"),
    (["R.If(c)", "return x"], "R.If(c)", "this is opened by `with R.If(c):`"),
    (["z = R.If(c)", "return x"], "z = R.If(c)", "`R.If(c)` is not a value of a graph"),
    (["z = R.func_ret_value(x)", "return x"], None, "is not a value of a graph"),
    (["R.func_ret_value(x)", "return x"], "return x", "nothing can follow"),
    (["z = R.memory.alloc_storage(3)", "return x"], "R.memory.alloc_storage", "plans memory"),
    (["z = R.vm.kill_object(x)", "return x"], "R.vm.kill_object", "plans memory by itself"),
    (["z = R.ccl.allreduce(x)", "return x"], "R.ccl.allreduce", "runs on one device"),
    (["z = R.arg('z', R.Object)", "return x"], "R.arg", "parameters stand in the signature"),
    (["z: R.DTensor((3,)) = x", "return x"], "R.DTensor", "R.Tensor"),
    (["z = R.metadata('{}')", "return x"], "R.metadata('{}')", "not data of constants"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "place", "message"), STATEMENTS)
def test_statements(body, place, message):
    said, underlined = refused(function(*body))
    assert message in said
    assert place in (None, underlined)


ANNOTATIONS = [
    ("R.Tensor((3,), 'float32')", "R.exp(x)", "but its value is"),
    ("R.Tensor((n, 4), 'int8')", "R.exp(x)", "but its value is"),
    ("R.Tensor(ndim=3)", "R.exp(x)", "but its value is"),
    ("R.Tuple(R.Object)", "R.exp(x)", "but its value is"),
    ("R.Tensor((2,))", "R.call_pure_packed('f')", "write R.match_cast(value, R.Tensor((2,)))"),
    ("R.Tensor(ndim=2)", "R.call_pure_packed('f')", "of its value only R.Object is known"),
]


@pytest.mark.parametrize(("annotation", "value", "message"), ANNOTATIONS)
def test_an_annotation_that_does_not_follow(annotation, value, message):
    statement = f"z: {annotation} = {value}"
    said, underlined = refused(function("n = T.int64()", statement, "return z"))
    assert message in said
    assert underlined == statement


DATAFLOW = [
    (["z = R.exp(x)"], "z = R.exp(x)", "a dataflow block ends with R.output(...)"),
    (["z = x", "R.output(z)", "w = z"], "w = z", "a dataflow block ends with R.output(...)"),
    (["z = x", "R.output(z)", "R.output(z)"], "R.output(z)", "nothing can follow R.output"),
    (["z = x", "R.output(x)"], "x", "`x` is not bound in this dataflow block"),
    (["z = x", "R.output(z, z)"], "z", "`z` is an output already"),
    (["z = x", "R.output(R.exp(z))"], "R.exp(z)", "R.output takes names of variables"),
    (["z = R.print(x)", "R.output(z)"], "R.print(x)", "may have an effect"),
    (["return x", "R.output()"], "return x", "`return` stands after the dataflow block"),
    (["if c:", "    z = x", "else:", "    z = y", "R.output(z)"], "c", "has no branches"),
    (["with R.dataflow():", "    R.output()", "R.output()"], "R.dataflow()", "another one inside"),
]


@pytest.mark.parametrize(("body", "place", "message"), DATAFLOW)
def test_dataflow_blocks(body, place, message):
    lines = [f"    {line}" for line in body]
    said, underlined = refused(function("with R.dataflow():", *lines, "return x"))
    assert message in said
    assert underlined == place


def test_a_variable_of_a_dataflow_block_is_not_known_after_it():
    body = ["with R.dataflow():", "    z = x", "    w = z", "    R.output(w)", "return z"]
    said, underlined = refused(function(*body))
    assert "known only in the block that ended at line 6" in said
    assert "R.output" in said
    assert underlined == "z"


BRANCHES = [
    (["if c:", "    z = x"], "c", "write an `else`"),
    (
        ["if x:", "    z = x", "else:", "    z = y"],
        "x",
        "the condition of an `if` must be one bool",
    ),
    (["if c:", "    z = x", "else:", "    w = y"], "w = y", "a value of `w`"),
    (["if c:", "    z = x", "else:", "    return y"], "return y", "ends with an assignment"),
    (["if c:", "    z = x", "else:", "    pass"], "pass", "ends with an assignment"),
    (["if c:", "    return x", "    z = x", "else:", "    z = y"], "return x", "at the end"),
]


@pytest.mark.parametrize(("body", "place", "message"), BRANCHES)
def test_branches(body, place, message):
    said, underlined = refused(function(*body, "return x"))
    assert message in said
    assert underlined == place


SIGNATURES = [
    ("x: R.Tensor((n,), 'float32')", "n", 'a symbolic size is a string: "n"'),
    ("x", "x", "the parameter `x` needs struct info"),
    ("x: 3", "3", "expected struct info such as"),
    ("x: T.Buffer((3,))", "T.Buffer((3,))", "got a Buffer"),
    ("x: R.Tensor(('n +',))", "R.Tensor(('n +',))", "the extent 'n +': this is not Python"),
    ("x: R.Tensor(('n + 1',))", None, "the symbolic size n is not defined"),
    ("x: R.Tensor('floaty')", "R.Tensor('floaty')", "unknown dtype 'floaty'"),
    ("x: R.Tensor((-1,))", "R.Tensor((-1,))", "which is negative"),
    ("x: R.Tensor((1,), ndim=2)", "R.Tensor((1,), ndim=2)", "but ndim is 2"),
    ("x: R.Tensor(ndim='n')", "R.Tensor(ndim='n')", "ndim is a number of dimensions, got 'n'"),
    ("x: R.Shape(ndim=-3)", "R.Shape(ndim=-3)", "ndim is a number of dimensions, got -3"),
    ("x: R.Tensor(3)", "R.Tensor(3)", "a shape is a sequence of extents"),
    ("x: R.Object, x: R.Object", "x: R.Object", "the parameter `x` occurs twice"),
    ("x: R.Object = 3", "3", "parameters have no default values"),
    ("*x", "x", "plain parameters only"),
    ("x: R.Tensor((1,), vdevice='cuda:0')", None, "I.module_global_infos"),
]


@pytest.mark.parametrize(("signature", "place", "message"), SIGNATURES)
def test_signatures(signature, place, message):
    said, underlined = refused(function("return x", signature=signature))
    assert message in said
    assert place in (None, underlined)


def test_a_result_that_is_not_what_the_signature_says():
    text = function("return x", returns=" -> R.Tensor((3,))")
    said, underlined = refused(text)
    assert (
        'is said to return R.Tensor((3,)), but it returns R.Tensor((n, 4), dtype="float32")' in said
    )
    assert underlined == "R.Tensor((3,))"


KERNEL = """\
@T.prim_func(private=True)
def k(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[i]
"""
CALLS = [
    ("R.call_tir(cls.k, (x, x), R.Tensor((4,), 'float32'))", None, "k takes 2 arguments"),
    ("R.call_tir(cls.k, (x,), R.Tensor((5,), 'float32'))", None, "extent 4 in dimension 0"),
    ("R.call_tir(cls.kk, (x,), R.Tensor((4,), 'float32'))", "cls.kk", "did you mean `k`?"),
    ("cls.k(x)", "cls.k(x)", "is a tensor program"),
    ("cls.f(x, x)", "cls.f(x, x)", "takes 1 argument, got 2"),
    ("cls.f(x)", "cls.f(x)", "argument 0 must be R.Tensor((5,)"),
    ("f(x)", "f(x)", "argument 0 must be R.Tensor((5,)"),
    ("cls.f(x=x)", "cls.f(x=x)", "positional arguments only"),
    ("cls.main(x)", "cls.main", "give it a return annotation"),
]


@pytest.mark.parametrize(("call", "place", "message"), CALLS)
def test_calls_of_functions_of_the_module(call, place, message):
    signature = 'x: R.Tensor((4,), "float32")'
    other = '@R.function\ndef f(x: R.Tensor((5,), "float32")):\n    return x'
    main = function(f"y = {call}", "return y", signature=signature)
    said, underlined = refused(module(KERNEL, main, other))
    assert message in said
    assert place in (None, underlined)
