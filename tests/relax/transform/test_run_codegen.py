"""Functions for another compiler are replaced by what it makes of them."""

import numpy as np
import pytest
from tests.relax.builders import array, bindings_in

import tilewright as tvm
from tilewright import relax, te
from tilewright.error import ArgumentError, UnknownNameError
from tilewright.ir import Var as Size
from tilewright.relax import op, transform
from tilewright.relax.dpl import is_op, wildcard
from tilewright.relax.interpreter import evaluate

DENSE = is_op("relax.nn.relu")(is_op("relax.matmul")(wildcard(), wildcard()))


@pytest.fixture
def registered():
    """Registers functions for the time of a test."""

    def register(name, function):
        tvm.register_func(name, function, override=True)

    before = set(tvm.runtime.registry.list_global_func_names())
    yield register
    for name in set(tvm.runtime.registry.list_global_func_names()) - before:
        tvm.runtime.registry.remove_global_func(name)


def layers(count=2, rows=2):
    """Layers of a network, for another compiler, and an operator that is not."""
    builder = relax.BlockBuilder()
    x, w = relax.Var("x", array(rows, 4)), relax.Var("w", array(4, 4))
    with builder.function("main", [x, w]):
        with builder.dataflow():
            value = x
            for _ in range(count):
                value = builder.emit(op.nn.relu(builder.emit(op.matmul(value, w))))
            result = builder.emit_output(op.negative(value))
        builder.emit_func_output(result)
    mod = transform.FuseOpsByPattern([("mine.dense", DENSE)])(builder.get())
    return transform.MergeCompositeFunctions()(mod)


def arrays(rows=2):
    rng = np.random.default_rng(0)
    return [rng.integers(-3, 4, shape).astype("float32") for shape in ((rows, 4), (4, 4))]


def expected(x, w, count=2):
    for _ in range(count):
        x = np.maximum(x @ w, 0)
    return -x


def built(mod):
    return relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())["main"]


def interpreted(function, options=None):
    """A kernel that runs a graph function."""

    def run(*args):
        *inputs, output = args
        output.copyfrom(np.asarray(evaluate(function, *(item.numpy() for item in inputs))))

    return run


@pytest.mark.parametrize("rows", [2, Size("n", "int64")])
def test_python_functions_are_kernels(registered, rows):
    seen = []

    def compile_mine(functions, options, constant_names):
        seen.append((functions, options, constant_names))
        return [interpreted(function) for function in functions]

    registered("relax.ext.mine", compile_mine)
    mod = layers(rows=rows)
    after = transform.RunCodegen({"mine": {"level": 3}, "other": {}})(mod)
    ((functions, options, constant_names),) = seen
    assert options == {"level": 3}
    assert constant_names == {}
    (function,) = functions
    assert function.global_symbol in {var.name_hint for var in mod.functions}
    local = [b.value for b in bindings_in(function) if isinstance(b.value, relax.Function)]
    assert [str(f.attrs["Composite"]) for f in local] == ["mine.dense", "mine.dense"]
    assert [var.name_hint for var in after.functions] == ["main"]
    inputs = arrays()
    np.testing.assert_array_equal(evaluate(after, *inputs), expected(*inputs))
    result = built(after)(*map(tvm.nd.array, inputs))
    np.testing.assert_array_equal(result.numpy(), expected(*inputs))


def test_tensor_programs_are_kernels(registered):
    def dense(x, w):
        k = te.reduce_axis((0, 4), "k")
        y = te.compute((2, 4), lambda i, j: te.sum(x[i, k] * w[k, j], axis=k))
        return te.compute((2, 4), lambda i, j: te.max(y[i, j], te.const(0.0)))

    def compile_mine(functions, options, constant_names):
        x, w = te.placeholder((2, 4)), te.placeholder((4, 4))
        return [te.create_prim_func([x, w, dense(x, w)])]

    registered("relax.ext.mine", compile_mine)
    after = transform.RunCodegen()(layers(count=1))
    inputs = arrays()
    np.testing.assert_array_equal(evaluate(after, *inputs), expected(*inputs, count=1))
    result = built(after)(*map(tvm.nd.array, inputs))
    np.testing.assert_array_equal(result.numpy(), expected(*inputs, count=1))


@pytest.mark.parametrize("kind", ["name", "module"])
def test_registered_functions_and_modules_are_kernels(registered, kind):
    def dense(x, w, y):
        y.copyfrom(np.maximum(x.numpy() @ w.numpy(), 0))

    def compile_mine(functions, *_):
        if kind == "name":
            return ["mine.dense"]
        x, w = te.placeholder((2, 4)), te.placeholder((4, 4))
        k = te.reduce_axis((0, 4), "k")
        total = te.compute((2, 4), lambda i, j: te.sum(x[i, k] * w[k, j], axis=k))
        relu = te.compute((2, 4), lambda i, j: te.max(total[i, j], te.const(0.0)))
        func = te.create_prim_func([x, w, relu])
        return [tvm.build(func.with_attr("global_symbol", functions[0].global_symbol))]

    registered("mine.dense", dense)
    registered("relax.ext.mine", compile_mine)
    inputs = arrays()
    after = transform.RunCodegen()(layers(count=1))
    np.testing.assert_array_equal(evaluate(after, *inputs), expected(*inputs, count=1))


def test_two_models_have_kernels_of_their_own(registered):
    factors = iter((2.0, 3.0))

    def compile_mine(functions, options, constant_names):
        factor = next(factors)
        return [lambda x, w, y: y.copyfrom(x.numpy() * factor) for _ in functions]

    registered("relax.ext.mine", compile_mine)
    x, w = arrays()
    models = [transform.RunCodegen()(layers(count=1)) for _ in "ab"]
    for model, factor in zip(models, (2.0, 3.0), strict=True):
        np.testing.assert_array_equal(evaluate(model, x, w), -x * factor)


def test_sizes_and_tuples_are_passed_one_by_one(registered):
    n = Size("n", "int64")
    seen = []

    def compile_mine(functions, options, constant_names):
        def run(x, y, size, result):
            seen.append(size)
            result.copyfrom(np.concatenate([x.numpy(), y.numpy()]))

        return [run for _ in functions]

    registered("relax.ext.mine", compile_mine)
    builder = relax.BlockBuilder()
    x, s = relax.Var("x", array(4)), relax.Var("s", relax.ShapeStructInfo([n]))
    pair = relax.Var("pair", relax.TupleStructInfo([array(2), array(n)]))
    attrs = {"Codegen": "mine", "global_symbol": "joined"}
    with builder.function("joined", [pair, s], attrs=attrs):
        joined = builder.emit_func_output(op.concat([pair[0], pair[1]]))
    with builder.function("main", [x]):
        halves = builder.emit(op.split(x, 2))
        result = builder.emit(relax.Call(joined, [halves, relax.ShapeExpr([2])]))
        builder.emit_func_output(result)
    after = transform.RunCodegen()(builder.get())
    assert [var.name_hint for var in after.functions] == ["main"]
    values = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(built(after)(tvm.nd.array(values)).numpy(), values)
    assert seen == [2]


def test_constants_have_names(registered):
    seen = []

    def compile_mine(functions, options, constant_names):
        seen.extend(constant_names.values())
        return [interpreted(function) for function in functions]

    registered("relax.ext.mine", compile_mine)
    x, w = arrays()
    mod = transform.BindParams("main", {"w": w})(layers(count=1).clone())
    mod = transform.RunCodegen()(mod)
    assert seen == []  # the constants of main are arguments
    np.testing.assert_array_equal(evaluate(mod, x), expected(x, w, count=1))


def test_what_is_not_called_stays(registered):
    registered("relax.ext.mine", lambda *_: pytest.fail("nothing is to be compiled"))
    mod = layers(count=1)
    del mod["main"]
    assert transform.RunCodegen()(mod) is mod


@pytest.mark.parametrize(
    ("made", "error", "message"),
    [
        (None, UnknownNameError, r"Codegen 'mine'.*register_func\('relax\.ext\.mine'\)"),
        ([], ArgumentError, "got 1 functions and must return a list of as many"),
        (3, ArgumentError, "must return a list of as many, it returned 3"),
        ([3], ArgumentError, "returned 3 for fused_mine_dense_mine, not a PrimFunc"),
        (["no.such"], UnknownNameError, "no function is registered under 'no.such'"),
    ],
)
def test_mistakes(registered, made, error, message):
    if made is not None:
        registered("relax.ext.mine", lambda *_: made)
    with pytest.raises(error, match=message):
        transform.RunCodegen()(layers(count=1))
