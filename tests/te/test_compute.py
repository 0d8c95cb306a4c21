"""Tensors, compute operations, and the messages for wrong ones."""

import numpy as np
import pytest

import tilewright.te as te
from tilewright.error import ArgumentError, DTypeError, ShapeError
from tilewright.ir import Add, Cast, IntImm, Mul, SymbolicTruthError
from tilewright.tir import ProducerLoad, Reduce


def matrices():
    return te.placeholder((4, 6), name="A"), te.placeholder((6, 5), name="B")


def test_a_placeholder_is_float32_by_default():
    a = te.placeholder((4, te.var("n")), name="A")
    assert (a.dtype, a.ndim, a.name, a.value_index) == ("float32", 2, "A", 0)
    assert a.shape[0].value == 4
    assert a.op.output(0) is a


def test_axes_take_the_names_of_the_parameters():
    a, b = matrices()
    k = te.reduce_axis((0, 6), "k")
    c = te.compute((4, 5), lambda row, col: te.sum(a[row, k] * b[k, col], axis=k), name="C")
    assert [iv.name for iv in c.op.axis] == ["row", "col"]
    assert c.op.reduce_axis == (k,)
    assert c.op.input_tensors == (a, b)
    assert isinstance(c.op.body[0], Reduce)


def test_axes_of_varargs_are_numbered():
    a, _ = matrices()
    c = te.compute((4, 6), lambda *i: a(*i) + 1)
    d = te.compute((4, 6), lambda r, *i: a(r, *i) + 1, varargs_names=["col"])
    assert [iv.name for iv in c.op.axis] == ["i0", "i1"]
    assert [iv.name for iv in d.op.axis] == ["r", "col"]


def test_a_row_can_be_indexed_on():
    a, _ = matrices()
    load = a[1][2]
    assert isinstance(load, ProducerLoad)
    assert [i.value for i in load.indices] == [1, 2]
    with pytest.raises(ShapeError, match="1 more"):
        te.compute((4,), lambda i: a[i] + 1.0)


def test_several_outputs():
    a, _ = matrices()
    low, high = te.compute((4, 6), lambda i, j: (a[i, j] - 1, a[i, j] + 1), name="P")
    assert low.op is high.op
    assert (low.name, high.name, high.value_index) == ("P_v0", "P_v1", 1)


def test_tensors_compare_by_identity():
    a, b = matrices()
    assert a == a
    assert a != b
    assert {a: 1}[a] == 1


def test_operators_broadcast():
    a = te.placeholder((4, 1, 6), name="A")
    bias = te.placeholder((5, 1), name="bias")
    c = a + bias
    assert [e.value for e in c.shape] == [4, 5, 6]
    left, right = c.op.body[0].a, c.op.body[0].b
    i, _, k = (iv.var for iv in c.op.axis)
    assert left.indices[0] is i
    assert left.indices[2] is k
    assert left.indices[1].value == 0
    assert right.indices[0] is c.op.axis[1].var
    assert right.indices[1].value == 0


@pytest.mark.parametrize("scalar", [2, 2.0, np.float32(2), te.const(2.0), te.var("s", "float32")])
def test_a_scalar_combines_with_a_tensor_on_both_sides(scalar):
    a, _ = matrices()
    for c in (a * scalar, scalar * a):
        assert isinstance(c, te.Tensor)
        assert isinstance(c.op.body[0], Mul)
        assert c.dtype == "float32"
        assert c.op.tag == "elemwise"


def test_operators_keep_the_order_of_operands():
    a, _ = matrices()
    body = (1.0 - a).op.body[0]
    assert body.a.value == 1.0
    assert isinstance(body.b, ProducerLoad)


def test_a_tensor_without_dimensions_is_its_element_in_expressions():
    a, _ = matrices()
    s = te.placeholder((), name="S")
    c = te.compute((4, 6), lambda i, j: a[i, j] + s)
    d = te.compute((4, 6), lambda i, j: te.exp(s) * a[i, j])
    assert c.op.input_tensors == (a, s)
    assert d.op.input_tensors == (s, a)
    assert isinstance(s + s, te.Tensor)


def test_different_dtypes_are_promoted():
    a, _ = matrices()
    b = te.placeholder((4, 6), "int32", "B")
    c = te.compute((4, 6), lambda i, j: a[i, j] + b[i, j])
    assert isinstance(c.op.body[0], Add)
    assert isinstance(c.op.body[0].b, Cast)
    with pytest.raises(DTypeError, match="float16"):
        te.placeholder((4,), "float16") + te.placeholder((4,), "bfloat16")


def test_tuple_reduction():
    a, _ = matrices()
    k = te.reduce_axis((0, 6), "k")
    argmax = te.comm_reducer(
        lambda x, y: (te.select(x[1] >= y[1], x[0], y[0]), te.max(x[1], y[1])),
        lambda index, value: (te.const(-1, index), te.const(float("-inf"), value)),
    )
    where, value = te.compute((4,), lambda i: argmax((k.var, a[i, k]), axis=k), name="M")
    assert (where.dtype, value.dtype) == ("int32", "float32")


def test_reducers_combine_expressions_directly():
    a, b = te.var("a"), te.var("b")
    assert te.max(a, b, 3).dtype == "int32"
    assert te.all(a > 0, b > 0).dtype == "bool"
    assert te.sum(te.const(1), te.const(2)).value == 3


def test_tags():
    a, _ = matrices()
    with te.tag_scope("outer"):
        c = te.compute((4, 6), lambda i, j: a[i, j])
        with pytest.raises(ValueError, match="one tag"):
            te.compute((4, 6), lambda i, j: a[i, j], tag="inner")
    assert c.op.tag == "outer"
    assert te.compute((4, 6), lambda i, j: a[i, j], tag="x").op.tag == "x"
    assert te.tag_scope("d")(lambda: te.compute((1,), lambda i: 1.0))().op.tag == "d"


def test_reduction_axes_are_ranges_from_begin_to_end():
    k = te.reduce_axis((2, 10), "k")
    assert (k.dom.min.value, k.dom.extent.value) == (2, 8)


def reduce_over_spatial_axis():
    a, _ = matrices()
    c = te.compute((4, 6), lambda i, j: a[i, j])
    te.compute((4,), lambda i: te.sum(a[i, 0], axis=c.op.axis[1]))


def reduction_inside_an_expression():
    a, _ = matrices()
    k = te.reduce_axis((0, 6), "k")
    te.compute((4,), lambda i: te.sum(a[i, k], axis=k) + 1.0, name="C")


def same_axis_twice():
    a, _ = matrices()
    k = te.reduce_axis((0, 6), "k")
    te.compute((4,), lambda i: te.sum(a[i, k], axis=[k, k]))


def domain_of_data():
    a, _ = matrices()
    sizes = te.placeholder((4,), "int32", "sizes")
    te.compute((4,), lambda i: te.sum(a[i, 0], axis=te.reduce_axis((0, sizes[i]), "k")))


def domain_of_an_axis():
    a, _ = matrices()
    te.compute((4,), lambda i: te.sum(a[i, 0], axis=te.reduce_axis((0, i + 1), "k")))


A = te.placeholder((4, 6), name="A")
MISTAKES = [
    (lambda: te.placeholder((4, -1)), ShapeError, "extent 1 is -1, which is negative"),
    (lambda: te.placeholder((4, 1.5)), DTypeError, "extents are integers"),
    (lambda: te.placeholder((4,), "float33"), DTypeError, "float33"),
    (lambda: te.compute((4, 6), lambda i: A[i, 0]), ArgumentError, "takes 1 indices .* 2 dim"),
    (lambda: te.compute((4,), lambda i, j: A[i, j]), ArgumentError, "takes 2 indices .* 1 dim"),
    (lambda: te.compute((4,), lambda a, b, *i: 1), ArgumentError, "at least 2"),
    (lambda: te.compute((4,), lambda *i: 1, varargs_names=["a", "b"]), ShapeError, "varargs_names"),
    (lambda: te.compute((4,), lambda i: None), ArgumentError, "return"),
    (lambda: te.compute((4,), lambda i: "text"), ArgumentError, "not a number"),
    (lambda: te.compute((4,), lambda i: object()), DTypeError, "expected a number"),
    (lambda: te.compute((4,), 3), ArgumentError, "fcompute must be a function"),
    (lambda: te.compute((4,), lambda i: A[i, 0, 0]), ShapeError, "2 dimensions, got 3"),
    (lambda: A(1), ShapeError, "2 dimensions, got 1"),
    (lambda: A[0, 6], ShapeError, "index 1 .* is 6"),
    (lambda: A[-1, 0], ShapeError, "index 0 .* is -1"),
    (lambda: A[0, 1.5], DTypeError, "indices are integers"),
    (lambda: A[0:2, 0], ArgumentError, "one element at a time"),
    (lambda: A + te.placeholder((4, 5), name="B"), ShapeError, r"\(6, 5\) are neither equal nor 1"),
    (lambda: A + te.placeholder((4, te.var("n"))), ShapeError, "neither equal nor 1"),
    (lambda: te.exp(A), ArgumentError, "not a scalar"),
    (lambda: A.op.output(1), ValueError, "has 1 outputs"),
    (lambda: te.reduce_axis(5), ArgumentError, "pair"),
    (lambda: te.reduce_axis((5, 2)), ArgumentError, "ends 3 before"),
    (lambda: te.reduce_axis((0, 2.5)), DTypeError, "not an integer"),
    (lambda: te.thread_axis((0, 4)), ArgumentError, "tag"),
    (lambda: te.sum(A[0, 0], axis=te.thread_axis("threadIdx.x")), ArgumentError, "reduce_axis"),
    (lambda: te.sum(A[0, 0], te.reduce_axis((0, 1)), where=A[0, 1]), DTypeError, "where"),
    (lambda: te.any(), ArgumentError, "expected conditions"),
    (reduce_over_spatial_axis, ArgumentError, "j is not a reduction axis"),
    (reduction_inside_an_expression, ArgumentError, "whole expression"),
    (same_axis_twice, ArgumentError, "twice"),
    (domain_of_data, ArgumentError, r"axis k depends on `sizes.*where=k < n"),
    (domain_of_an_axis, ArgumentError, "axis k depends on `i`, which differs between elements"),
]


@pytest.mark.parametrize(("mistake", "error", "message"), MISTAKES)
def test_mistakes(mistake, error, message):
    with pytest.raises(error, match=message):
        mistake()


def test_a_tensor_has_no_truth_value_and_is_not_iterable():
    with pytest.raises(TypeError):
        bool(A)
    with pytest.raises(TypeError):
        iter(A)


def test_constants_of_a_compute_are_folded():
    c = te.compute((4,), lambda i: te.const(2) * 3)
    assert isinstance(c.op.body[0], IntImm)
    assert c.op.body[0].value == 6


def test_parameters_with_a_default_are_no_indices():
    a = te.placeholder((8,), name="A")
    tensors = [te.compute((4,), lambda i, step=step: a[i + step], name="B") for step in (0, 2)]
    assert [len(tensor.op.axis) for tensor in tensors] == [1, 1]


def test_the_truth_of_a_comparison_of_an_index_is_refused():
    a, n = te.placeholder((4,), name="A"), te.var("n")
    assert te.placeholder((n, n)).shape[0] == n
    with pytest.raises(SymbolicTruthError, match="`i == 0` is not known"):
        te.compute((4,), lambda i: a[i] if i == 0 else a[i] * 2)
    te.compute((4,), lambda i: a[i] if n == 0 else a[i] * 2)


def test_a_list_of_one_shape_makes_one_tensor():
    assert te.extern([(4,)], [], lambda _, outs: outs[0].vstore(0, 1.0), dtype="float32").ndim == 1


def test_whole_extents_may_be_floats():
    shape = te.compute((64 / 8, 4, 2.0), lambda i, j, k: i + j + k).shape
    assert [int(extent) for extent in shape] == [8, 4, 2]
    assert all(extent.dtype == "int32" for extent in shape)
    with pytest.raises(DTypeError, match="extents are integers"):
        te.compute((10 / 4,), lambda i: i)
