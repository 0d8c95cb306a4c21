"""What graphs mean."""

import sys
import threading

import numpy as np
import pytest
from tests.relax.builders import array, module_of, negative, twice

import tilewright
from tilewright import relax, te
from tilewright.error import (
    ArgumentError,
    DTypeError,
    InterpreterError,
    ProgramAssertionError,
    ShapeError,
)
from tilewright.ir import Var as Size
from tilewright.relax import op
from tilewright.relax.interpreter import CompiledKernels, Evaluator, evaluate


@pytest.fixture
def registered():
    """Registers functions for one test."""
    names = []

    def register(name, function):
        names.append(name)
        tilewright.register_func(name, function, override=True)

    yield register
    for name in names:
        tilewright.remove_global_func(name)


def numbers(*shape, dtype="float32"):
    return np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape) + 1


def test_operators_are_run_by_their_own_tensor_programs():
    n = Size("n", "int64")
    x = relax.Var("x", array(n, 2))
    module = module_of([x], lambda builder: relax.Tuple([twice(negative(x)), x]))
    for rows in (3, 1, 0):
        data = numbers(rows, 2)
        result, same = evaluate(module, data)
        np.testing.assert_array_equal(result, data * -2)
        assert same is data


@pytest.mark.parametrize("kernels", [None, CompiledKernels])
def test_arrays_may_have_gaps_be_empty_or_only_be_read(kernels):
    n = Size("n", "int64")
    x = relax.Var("x", array(n, 2))
    module = relax.transform.LegalizeOps()(module_of([x], lambda builder: twice(x)))
    evaluator = Evaluator(module, kernels and kernels(module))
    only_read = numbers(3, 2)
    only_read.flags.writeable = False
    for data in (numbers(2, 3).T, numbers(6, 2)[::2], numbers(0, 2), only_read):
        np.testing.assert_array_equal(evaluator.run("main", data), data * 2)


@pytest.mark.parametrize("kernels", [None, CompiledKernels])
def test_tensor_programs_of_the_module_are_called(kernels):
    n = Size("n", "int64")
    x = relax.Var("x", array(n + 1))

    def plus_size(data, size):
        return te.compute(data.shape, lambda i: data(i) + size)

    module = module_of([x], lambda builder: builder.emit_te(plus_size, x, n))
    evaluator = Evaluator(module, kernels and kernels(module))
    np.testing.assert_array_equal(evaluator.run("main", numbers(4)), numbers(4) + 3)


def test_parameters_are_checked():
    n = Size("n", "int64")
    x, y = relax.Var("x", array(n, 2)), relax.Var("y", array(n))
    module = module_of([x, y], lambda builder: x)
    with pytest.raises(ArgumentError, match=r"main\(x, y\) takes 2 arguments, got 1"):
        evaluate(module, numbers(2, 2))
    with pytest.raises(ArgumentError, match="parameter x must be an array, it is int 3"):
        evaluate(module, 3, numbers(2))
    with pytest.raises(DTypeError, match="parameter x must have dtype float32, it has int8"):
        evaluate(module, numbers(2, 2, dtype="int8"), numbers(2))
    with pytest.raises(ShapeError, match="parameter x must have ndim 2, it has ndim 1"):
        evaluate(module, numbers(2), numbers(2))
    with pytest.raises(ShapeError, match="dimension 1 of main: parameter x must be 2, it is 3"):
        evaluate(module, numbers(2, 3), numbers(2))
    with pytest.raises(ShapeError, match="dimension 0 of main: parameter y must be 2 = n, it is 3"):
        evaluate(module, numbers(2, 2), numbers(3))


@pytest.mark.parametrize(
    ("shape", "scalar", "error", "message"),
    [
        ((5.5,), 1, ArgumentError, "s must be a shape, it is a tuple"),
        ((-5,), 1, ShapeError, "extent 0 of main: parameter s is -5, which is negative"),
        ((5,), 1 << 70, DTypeError, "p must have dtype int64, .* is outside of it"),
        ((5,), 1.5, DTypeError, r"p must have dtype int64, it is 1\.5"),
    ],
)
def test_shapes_and_scalars_are_checked(shape, scalar, error, message):
    s = relax.Var("s", relax.ShapeStructInfo([Size("k", "int64")]))
    p = relax.Var("p", relax.PrimStructInfo("int64"))
    module = module_of([s, p], lambda builder: relax.Tuple([s, p]))
    assert evaluate(module, (5,), 1) == ((5,), 1)
    with pytest.raises(error, match=message):
        evaluate(module, shape, scalar)


def test_match_cast_defines_sizes_and_checks():
    n = Size("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo(ndim=1, dtype="float32"))

    def make(builder):
        cast = builder.match_cast(x, array(n * 2))
        builder.emit(twice(cast))
        return relax.Tuple([relax.ShapeExpr([n, n * 4]), relax.PrimValue(n + 1)])

    module = module_of([x], make)
    assert evaluate(module, numbers(6)) == ((3, 12), 4)
    with pytest.raises(ShapeError, match=r"match_cast: gv is 5, which .* never is"):
        evaluate(module, numbers(5))


@pytest.mark.parametrize("choice", [True, False])
def test_one_branch_is_run(choice):
    c = relax.Var("c", array(dtype="bool"))
    x = relax.Var("x", array(2))
    module = module_of([c, x], lambda builder: relax.If(c, twice(x), negative(x)))
    result = evaluate(module, np.array(choice), numbers(2))
    np.testing.assert_array_equal(result, numbers(2) * (2 if choice else -1))


def test_functions_call_each_other_and_themselves():
    n = Size("n", "int64")
    x, c = relax.Var("x", array(n)), relax.Var("c", array(2, dtype="bool"))
    builder = relax.BlockBuilder()
    info = relax.FuncStructInfo([c.struct_info, x.struct_info], array(n))
    again = builder.declare_func("again", info)

    def first(flags):
        return te.compute((), lambda: flags(0), "first")

    def shifted(flags):
        return te.compute((2,), lambda i: te.all(i == 0, flags(1)), "shifted")

    with builder.function("again", [c, x]):
        condition = builder.emit_te(first, c)
        flags = builder.emit_te(shifted, c)
        done = relax.Call(again, [builder.emit_te(shifted, flags), twice(x)])
        builder.emit_func_output(relax.If(condition, relax.If(condition, done, x), x))
    y = relax.Var("y", array(3))
    with builder.function("main", [y]):
        stop = relax.const(np.array([False, False]))
        builder.emit_func_output(relax.Call(again, [stop, y]))
    np.testing.assert_array_equal(evaluate(builder.get(), numbers(3)), numbers(3))


def test_closures_keep_their_surroundings():
    x, y = relax.Var("x", array(2)), relax.Var("y", array(2))
    body = relax.SeqExpr((), relax.Tuple([y, x]))
    inner = relax.Function((y,), body, relax.TupleStructInfo([array(2), array(2)]))

    def make(builder):
        return relax.Call(builder.emit(inner), [twice(x)])

    doubled, same = evaluate(module_of([x], make), numbers(2))
    np.testing.assert_array_equal(doubled, numbers(2) * 2)
    np.testing.assert_array_equal(same, numbers(2))


def test_made_closures_append_what_they_captured():
    x = relax.Var("x", array(2))
    a, b = relax.Var("a", array(2)), relax.Var("b", array(2))
    builder = relax.BlockBuilder()
    with builder.function("pair", [a, b], private=True):
        builder.emit_func_output((a, b))
    pair = builder.get().get_global_var("pair")
    with builder.function("main", [x]):
        closure = builder.emit(op.make_closure(pair, (x,)))
        builder.emit_func_output(op.invoke_pure_closure(closure, (negative(x),)))
    first, second = evaluate(builder.get(), numbers(2))
    np.testing.assert_array_equal(first, -numbers(2))
    np.testing.assert_array_equal(second, numbers(2))


def test_registered_functions_share_memory(registered):
    def scale(source, factor, target):
        np.from_dlpack(target)[:] = source.numpy() * factor

    registered("test.scale", scale)
    registered("test.sum", lambda data: tilewright.nd.array(data.numpy().sum(keepdims=True)))
    x = relax.Var("x", array(3))

    def make(builder):
        scaled = op.call_dps_packed("test.scale", (x, 3), array(3))
        return op.call_pure_packed("test.sum", scaled, sinfo_args=array(1))

    np.testing.assert_array_equal(evaluate(module_of([x], make), numbers(3)), [18.0])


def test_a_name_means_the_function_of_the_module_first(registered):
    registered("same", lambda source, target: None)
    x = relax.Var("x", array(3))
    builder = relax.BlockBuilder()
    data = te.placeholder((3,), "float32")
    kernel = te.create_prim_func([data, te.compute((3,), lambda i: data(i) + 1.0)])
    builder.add_func(kernel, "same")
    with builder.function("main", [x]):
        builder.emit_func_output(op.call_dps_packed("same", (x,), array(3)))
    np.testing.assert_array_equal(evaluate(builder.get(), numbers(3)), numbers(3) + 1)


def test_a_function_that_is_nowhere_is_named():
    x = relax.Var("x", array(3))
    module = module_of([x], lambda builder: op.call_dps_packed("no.such", (x,), array(3)))
    with pytest.raises(InterpreterError, match=r"'no\.such' is neither a function of the module"):
        evaluate(module, numbers(3))


def test_results_that_contradict_their_struct_info_are_found(registered):
    registered("test.wrong", lambda: tilewright.nd.array(np.zeros(3, "float32")))
    module = module_of(
        [], lambda builder: op.call_packed("test.wrong", sinfo_args=array(4)), pure=False
    )
    with pytest.raises(ShapeError, match="dimension 0 of gv must be 4, it is 3"):
        evaluate(module)


def test_effects(capsys):
    x = relax.Var("x", array(2))
    c = relax.Var("c", array(dtype="bool"))

    def make(builder):
        builder.emit(op.print(x, relax.PrimValue(3), format="x={} n={}"))
        builder.emit(op.assert_op(c, x, format="x was {}"))
        return x

    module = module_of([x, c], make, pure=False)
    evaluate(module, numbers(2), np.array(True))
    assert capsys.readouterr().out == "x=[1. 2.] n=3\n"
    with pytest.raises(ProgramAssertionError, match=r"x was \[1\. 2\.\]"):
        evaluate(module, numbers(2), np.array(False))


def test_shapes_are_values():
    x = relax.Var("x", relax.TensorStructInfo(ndim=2, dtype="float32"))

    def make(builder):
        shape = builder.emit(op.shape_of(x))
        elements = builder.emit(op.shape_to_tensor(shape))
        return relax.Tuple([shape, elements, op.tensor_to_shape(elements)])

    shape, elements, again = evaluate(module_of([x], make), numbers(2, 3))
    assert shape == again == (2, 3)
    np.testing.assert_array_equal(elements, np.array([2, 3]))


def test_kernels_may_write_over_their_arguments():
    x = relax.Var("x", array(3))
    builder = relax.BlockBuilder()
    from tilewright.script import tir as T

    @T.prim_func(private=True)
    def shift(a: T.Buffer((3,), "float32"), b: T.Buffer((3,), "float32")):
        for i in range(3):
            with T.block("shift"):
                j = T.axis.spatial(3, i)
                b[j] = a[j] + 1.0
                a[j] = a[j] * 2.0

    name = builder.add_func(shift, "shift")
    with builder.function("main", [x]):
        both = [array(3), array(3)]
        builder.emit_func_output(op.call_tir_inplace(name, (x,), [0, -1], both))
    data = numbers(3)
    doubled, shifted = evaluate(builder.get(), data)
    assert doubled is data
    np.testing.assert_array_equal(doubled, numbers(3) * 2)
    np.testing.assert_array_equal(shifted, numbers(3) + 1)


def test_recursion_may_be_a_loop(registered):
    def is_less(data, limit, out):
        np.from_dlpack(out)[...] = data.numpy()[0] < limit.numpy()

    registered("test.is_less", is_less)
    x, limit = relax.Var("x", array(1)), relax.Var("limit", array())
    builder = relax.BlockBuilder()
    again = builder.declare_func(
        "loop", relax.FuncStructInfo([x.struct_info, limit.struct_info], array(1))
    )

    def plus_one(data):
        return te.compute((1,), lambda i: data(i) + 1.0)

    with builder.function("loop", [x, limit]):
        goes_on = builder.emit(op.call_dps_packed("test.is_less", (x, limit), array(dtype="bool")))
        y = builder.emit_te(plus_one, x)
        builder.emit_func_output(relax.If(goes_on, relax.Call(again, [y, limit]), x))
    run = Evaluator(builder.get()).run
    start = np.zeros(1, "float32")
    assert run("loop", start, np.array(300, "float32")) == 300
    with pytest.raises(InterpreterError, match="the calls that loop makes nest too deeply"):
        run("loop", start, np.array(1e30, "float32"))


def test_runs_in_threads_leave_the_limit_of_recursion_as_it_was():
    before = sys.getrecursionlimit()
    inside = []
    x = relax.Var("x", array(2))
    module = module_of(
        [x], lambda builder: builder.emit(op.call_packed("test.wait", x)), pure=False
    )
    together = threading.Barrier(2, timeout=10)

    def wait(data):
        inside.append(sys.getrecursionlimit())
        together.wait()
        return data

    tilewright.register_func("test.wait", wait, override=True)
    try:
        threads = [threading.Thread(target=evaluate, args=(module, numbers(2))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        tilewright.remove_global_func("test.wait")
    assert min(inside) > before
    assert len(inside) == 2
    assert sys.getrecursionlimit() == before
