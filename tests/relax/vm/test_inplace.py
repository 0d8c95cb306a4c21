"""Tensor programs that write their results over arguments."""

import numpy as np
import pytest
from tests.relax.builders import array, negative, twice

import tilewright as tvm
from tilewright import relax
from tilewright.error import ArgumentValueError
from tilewright.ir.expr import Var as Size
from tilewright.relax.interpreter import evaluate
from tilewright.relax.op import call_tir_inplace
from tilewright.script import tir as T


@T.prim_func(private=True)
def add_one(a: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    for i in range(n):
        with T.block("A"):
            j = T.axis.spatial(n, i)
            A[j] = A[j] + T.float32(1)


@T.prim_func(private=True)
def accumulate(a: T.handle, b: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    C = T.match_buffer(c, (n,), "float32")
    for i in range(n):
        with T.block("A"):
            j = T.axis.spatial(n, i)
            C[j] = A[j] - B[j]
            A[j] = A[j] + B[j]


def inplace(x, info=None):
    return call_tir_inplace(tvm.ir.GlobalVar("add_one"), [x], 0, info or array(n))


n = Size("n", "int64")


def build(make, params=None, target="llvm", **options):
    x = relax.Var("x", array(n))
    params = [x] if params is None else params
    builder = relax.BlockBuilder(tvm.IRModule({"add_one": add_one, "accumulate": accumulate}))
    with builder.function("main", params):
        builder.emit_func_output(make(builder, *params))
    module = builder.get()
    ex = relax.build(module, target, **options)
    assert not ex.reasons
    return module, ex, relax.VirtualMachine(ex)["main"]


def check(make, *inputs, params=None, **options):
    """Native code gives what the evaluator gives, with passes and without."""
    module, _, main = build(make, params, **options)
    expected = evaluate(module, *[x.copy() for x in inputs])
    results = main(*[x.copy() for x in inputs])
    if not isinstance(expected, tuple):
        expected, results = (expected,), (results,)
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result.numpy(), wanted)


DATA = np.arange(5, dtype="float32")


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_memory_of_an_intermediate_array_is_written_over(target):
    def make(builder, x):
        y = builder.emit(twice(x))
        z = builder.emit(inplace(y))
        return builder.emit(negative(z))

    check(make, DATA, target=target)
    _, ex, _ = build(make)
    assert "copy" not in ex.as_text()


@pytest.mark.parametrize("again", [True, False])
def test_a_result_over_an_intermediate_array_is_returned(again):
    def make(builder, x):
        z = builder.emit(inplace(builder.emit(inplace(builder.emit(twice(x))))))
        return relax.Tuple([z, z]) if again else z

    check(make, DATA)


def test_an_argument_that_is_used_later_is_copied_first():
    def make(builder, x):
        y = builder.emit(twice(x))
        view = builder.emit(relax.op.reshape(y, (n,)))
        z = builder.emit(inplace(view))
        return builder.emit(relax.op.add(y, z))

    _, _, main = build(make)
    np.testing.assert_array_equal(main(DATA).numpy(), 4 * DATA + 1)


def test_calls_that_share_what_they_compute():
    def make(builder, x):
        first, second = (builder.emit(inplace(builder.emit(twice(x)))) for _ in range(2))
        return builder.emit(relax.op.add(first, builder.emit(negative(second))))

    _, _, main = build(make)
    assert not main(DATA).numpy().any()


def test_constants_are_never_written_over():
    constant = tvm.nd.array(DATA)

    def make(builder, x):
        y = builder.emit(inplace(relax.Constant(constant), array(5)))
        return builder.emit(relax.op.add(x, y))

    x = relax.Var("x", array(5))
    for _ in range(2):
        check(make, DATA, params=[x])
    module, _, main = build(make, [x])
    for _ in range(2):
        np.testing.assert_array_equal(main(DATA).numpy(), 2 * DATA + 1)
        np.testing.assert_array_equal(evaluate(module, DATA), 2 * DATA + 1)
    np.testing.assert_array_equal(constant.numpy(), DATA)


def test_a_parameter_is_written_over():
    _, ex, main = build(lambda builder, x: builder.emit(inplace(x)))
    data = DATA.copy()
    result = main(data)
    np.testing.assert_array_equal(data, DATA + 1)
    data[:] = 0
    np.testing.assert_array_equal(result.numpy(), DATA + 1)
    data.flags.writeable = False
    with pytest.raises(ArgumentValueError, match=r"main: argument 1 \(x\): the numpy array is re"):
        main(data)
    assert ex["main"].parameters[0].is_written


def test_arguments_may_be_the_same_array():
    both = [array(n), array(n)]

    def make(builder, x):
        y = builder.emit(twice(x))
        name = tvm.ir.GlobalVar("accumulate")
        return builder.emit(call_tir_inplace(name, [y, y], [0, -1], both))

    _, _, main = build(make)
    total, difference = main(DATA)
    np.testing.assert_array_equal(total.numpy(), 4 * DATA)
    np.testing.assert_array_equal(difference.numpy(), 0 * DATA)

    x, y = relax.Var("x", array(n)), relax.Var("y", array(n))

    def from_caller(builder, x, y):
        name = tvm.ir.GlobalVar("accumulate")
        return builder.emit(call_tir_inplace(name, [x, y], [0, -1], both))

    _, _, main = build(from_caller, [x, y])
    data = np.arange(70, dtype="float32")
    total, _ = main(data[1:], data[:-1])  # one element after the other
    np.testing.assert_array_equal(total.numpy(), np.cumsum(np.arange(70))[1:])


def test_branches_write_over_what_is_not_needed_any_more():
    x, flag = relax.Var("x", array(n)), relax.Var("flag", array(dtype="bool"))

    def make(builder, x, flag):
        y = builder.emit(twice(x))

        return builder.emit(relax.If(flag, inplace(y), negative(y)))

    for value in (True, False):
        _, _, main = build(make, [x, flag])
        expected = 2 * DATA + 1 if value else -2 * DATA
        np.testing.assert_array_equal(main(DATA, np.array(value)).numpy(), expected)


def test_a_function_that_writes_over_its_parameters_gets_copies_of_what_is_needed():
    builder = relax.BlockBuilder(tvm.IRModule({"add_one": add_one}))
    inner, x = relax.Var("inner", array(n)), relax.Var("x", array(n))
    with builder.function("step", [inner], private=True):
        builder.emit_func_output(builder.emit(inplace(inner)))
    step = builder.get().get_global_var("step")
    with builder.function("main", [x]):
        y = builder.emit(twice(x))
        z = builder.emit(relax.Call(step, [y]))
        builder.emit_func_output(builder.emit(relax.op.add(y, z)))
    ex = relax.build(builder.get(), pipeline="zero")
    result = relax.VirtualMachine(ex)["main"](DATA)
    np.testing.assert_array_equal(result.numpy(), 4 * DATA + 1)


def test_a_result_has_the_shape_of_the_argument():
    def make(builder, x):
        return builder.emit(inplace(builder.emit(twice(x)), array(7)))

    _, _, main = build(make)
    assert main(np.zeros(7, "float32")).shape == (7,)
    with pytest.raises(ArgumentValueError, match=r"a result over an argument.*is 5, expected 7"):
        main(DATA)


@pytest.mark.parametrize(
    "copy",
    [
        lambda x: relax.op.multiply(x, 1.0),
        lambda x: relax.op.permute_dims(x, [0]),
        lambda x: relax.op.astype(x, "float32"),
    ],
)
def test_what_an_operator_computes_is_not_the_parameter(copy):
    _, _, main = build(lambda builder, x: builder.emit(inplace(builder.emit(copy(x)))))
    x = DATA.copy()
    np.testing.assert_array_equal(main(x).numpy(), DATA + 1)
    np.testing.assert_array_equal(x, DATA)
