"""Tensor programs made of functions on tensors, and the calls of them."""

import numpy as np
import pytest
from tests.relax.builders import array, bindings_in, module_of

from tilewright import relax, te, tir
from tilewright.error import ArgumentError, StructInfoError
from tilewright.ir import Var as Size
from tilewright.ir import structural_equal
from tilewright.relax.analysis import check_well_formed
from tilewright.relax.interpreter import evaluate

N = Size("n", "int64")


def numbers(*shape):
    return np.arange(int(np.prod(shape)), dtype="float32").reshape(shape)


def total(tensors, factor=1):
    def element(*i):
        value = tensors[0](*i)
        for tensor in tensors[1:]:
            value = value + tensor(*i)
        return value * factor

    return te.compute(tensors[0].shape, element, "total")


def run(params, make, *args):
    module = module_of(params, make)
    check_well_formed(module)
    return module, evaluate(module, *args)


def test_a_list_of_arrays():
    x, y = relax.Var("x", array(N)), relax.Var("y", array(N))
    module, result = run(
        [x, y], lambda builder: builder.emit_te(total, [x, y, x], factor=2), numbers(3), numbers(3)
    )
    np.testing.assert_array_equal(result, numbers(3) * 6)
    # An array that is given twice is one parameter.
    assert len(module["total"].params) == 3


def test_a_tuple_is_taken_apart():
    pair = relax.Var("pair", relax.TupleStructInfo([array(N), array(N)]))
    data = numbers(3), numbers(3) + 1
    _, result = run([pair], lambda builder: builder.emit_te(total, pair), data)
    np.testing.assert_array_equal(result, data[0] + data[1])


def test_shapes_and_scalars_become_parameters():
    x, shape = relax.Var("x", array(N)), relax.Var("s", relax.ShapeStructInfo(ndim=1))
    count = relax.Var("count", relax.PrimStructInfo("int64"))

    def repeated(data, shape, count):
        return te.compute(shape, lambda i: data(i % count), "repeated")

    module, result = run(
        [x, shape, count],
        lambda builder: builder.emit_te(repeated, x, shape, count),
        numbers(4),
        (6,),
        2,
    )
    np.testing.assert_array_equal(result, [0, 1, 0, 1, 0, 1])
    assert len(module["repeated"].params) == 3  # both arrays and the count


def test_several_results():
    x = relax.Var("x", array(N, 2))

    def halves(data):
        shape = (data.shape[0],)
        return [te.compute(shape, lambda i, j=j: data(i, j), f"half{j}") for j in range(2)]

    _, (first, second) = run([x], lambda builder: builder.emit_te(halves, x), numbers(3, 2))
    np.testing.assert_array_equal(first, numbers(3, 2)[:, 0])
    np.testing.assert_array_equal(second, numbers(3, 2)[:, 1])


def test_a_function_that_does_nothing_calls_nothing():
    x = relax.Var("x", array(N))
    module, result = run([x], lambda builder: builder.call_te(lambda data: data, x), numbers(3))
    assert len(module) == 1
    np.testing.assert_array_equal(result, numbers(3))


def test_inputs_and_repeated_results_are_copied():
    x = relax.Var("x", array(N))

    def both(data):
        doubled = te.compute(data.shape, lambda i: data(i) * 2.0, "doubled")
        return [doubled, data, doubled]

    _, results = run([x], lambda builder: builder.emit_te(both, x), numbers(3))
    for result, factor in zip(results, (2, 1, 2), strict=True):
        np.testing.assert_array_equal(result, numbers(3) * factor)


def test_different_programs_of_one_name_get_numbers():
    x = relax.Var("x", array(N))

    def make(builder):
        first = builder.emit_te(total, [x], factor=2)
        return builder.emit_te(total, [first], factor=3)

    module, result = run([x], make, numbers(3))
    np.testing.assert_array_equal(result, numbers(3) * 6)
    assert sorted(name.name_hint for name in module) == ["main", "total", "total1"]


def test_attributes_of_the_program():
    x = relax.Var("x", array(N))

    def make(builder):
        return builder.emit_te(
            total, [x], primfunc_name_hint="sum", primfunc_attrs={"op_pattern": 0}
        )

    module, _ = run([x], make, numbers(3))
    assert module["sum"].attrs["op_pattern"].value == 0


def test_extents_of_results_are_those_of_the_graph():
    x = relax.Var("x", array(N * 2, 3))

    def flat(data):
        rows, columns = data.shape
        return te.compute((rows * columns,), lambda i: data(i // columns, i % columns), "flat")

    shape = relax.Var("s", relax.ShapeStructInfo([N]))
    module, result = run([x, shape], lambda builder: builder.emit_te(flat, x), numbers(4, 3), (2,))
    np.testing.assert_array_equal(result, np.arange(12))
    (binding,) = bindings_in(module["main"])
    assert structural_equal(binding.var.struct_info, array(N * 6))


def test_what_cannot_be_converted_is_refused():
    x = relax.Var("x", array(N))
    unknown = relax.Var("u", relax.TensorStructInfo(dtype="float32"))
    untyped = relax.Var("t", relax.TensorStructInfo((2,)))
    anything = relax.Var("o", relax.ObjectStructInfo())
    builder = relax.BlockBuilder()
    with builder.function("main", [x, unknown, untyped, anything]):
        with pytest.raises(ArgumentError, match="must return tensors, it returned 3"):
            builder.call_te(lambda data: 3, x)
        with pytest.raises(StructInfoError, match="the rank of u is not known"):
            builder.call_te(total, [unknown])
        with pytest.raises(ArgumentError, match="the dtype of t is not known"):
            builder.call_te(total, [untyped])
        with pytest.raises(ArgumentError, match="o is not an array, shape or scalar"):
            builder.call_te(total, [anything])
        builder.emit_func_output(x)


@pytest.mark.parametrize("is_in_shape", [True, False])
def test_functions_may_use_sizes_that_they_are_not_given(is_in_shape):
    n = tir.Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo((n,), "float32"))

    def halves(a):
        if is_in_shape:
            return te.compute((tir.floordiv(n, 2),), lambda i: a[i] + 1)
        return te.compute(a.shape, lambda i: a[i] + tir.Cast("float32", n))

    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit_te(halves, x))
    vm = relax.VirtualMachine(relax.build(builder.get(), "llvm"), "cpu")
    data = np.arange(6, dtype="float32")
    expected = data[:3] + 1 if is_in_shape else data + 6
    np.testing.assert_array_equal(vm["main"](data).numpy(), expected)


def test_a_size_that_no_argument_of_the_function_has_is_passed_to_it():
    n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
    x = relax.Var("x", relax.TensorStructInfo((n,), "float32"))
    y = relax.Var("y", relax.TensorStructInfo((m,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y]):
        added = builder.emit_te(
            lambda a: te.compute((n + m,), lambda i: te.if_then_else(i < n, a[i], m - i)), x
        )
        builder.emit_func_output(added)
    vm = relax.VirtualMachine(relax.build(builder.get(), "llvm"), "cpu")
    result = vm["main"](np.ones(2, "float32"), np.ones(3, "float32"))
    np.testing.assert_array_equal(result.numpy(), [1, 1, 1, 0, -1])


def test_sizes_of_a_function_whose_parameters_are_given_at_its_end():
    n, m = Size("n", "int64"), Size("m", "int64")
    x = relax.Var("x", relax.TensorStructInfo((n, m), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main"):
        flat = builder.emit(relax.op.reshape(x, (n * m,)))
        first = builder.emit_te(lambda a: te.compute((n,), lambda i: a[i * m] * 2.0), flat)
        builder.emit_func_output(first, [x])
    data = numbers(3, 4)
    result = evaluate(builder.get(), data)
    np.testing.assert_array_equal(result, data[:, 0] * 2)
