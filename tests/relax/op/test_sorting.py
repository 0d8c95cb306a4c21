"""Sorting and sampling in graphs."""

import numpy as np
import pytest
from tests.relax.op.graphs import compute, infer, real, tensor, whole

from tilewright.error import ArgumentValueError, ShapeError, StructInfoError
from tilewright.relax import op

KNOWN = pytest.mark.parametrize("known", ["shape", "symbolic", "rank"])
equal = np.testing.assert_array_equal


@KNOWN
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("descending", [False, True])
def test_sort_and_argsort(axis, descending, known):
    x = whole(3, 5, low=0, high=4)
    result = compute(lambda v: op.sort(v, axis, descending), x, known=known)
    equal(result, np.flip(np.sort(x, axis), axis) if descending else np.sort(x, axis))
    order = compute(lambda v: op.argsort(v, axis, descending, "int64"), x, known=known)
    equal(order, np.argsort(-x if descending else x, axis, kind="stable"))


@KNOWN
@pytest.mark.parametrize("largest", [False, True])
def test_topk(largest, known):
    x = real(3, 6)
    values, places = compute(lambda v: op.topk(v, 2, largest=largest), x, known=known)
    order = np.argsort(-x if largest else x)[:, :2]
    equal(places, order)
    assert places.dtype == np.int32
    equal(values, np.take_along_axis(x, order, 1))
    for name, expected in (("values", values), ("indices", places)):
        result = compute(lambda v, n=name: op.topk(v, 2, -1, n, largest), x, known=known)
        equal(result, expected)


@KNOWN
def test_multinomial_from_uniform(known):
    prob = np.array([[0.2, 0.3, 0.5], [0.9, 0.1, 0.0]], "float32")
    sample = np.array([[0.25], [0.95]], "float32")
    equal(compute(op.multinomial_from_uniform, prob, sample, known=known), [[1], [1]])
    samples = np.array([[0.1], [0.2], [0.99], [0.999999]], "float32")
    rows = np.array([[0], [0], [0], [1]])
    result = compute(op.multinomial_from_uniform, prob, samples, rows, known=known)
    equal(result, [[0], [1], [2], [1]])


def test_a_sample_beyond_the_last_sum_is_the_last_place():
    prob, sample = np.array([[0.5, 0.25]], "float32"), np.array([[0.8]], "float32")
    equal(compute(op.multinomial_from_uniform, prob, sample), [[1]])


def test_mistakes_are_named():
    x = tensor(3, 4)
    with pytest.raises(StructInfoError, match="axis 2 is out of range"):
        infer(op.sort(x, 2))
    with pytest.raises(StructInfoError, match="5 elements are wanted"):
        infer(op.topk(x, 5))
    with pytest.raises(StructInfoError, match="must have numbers"):
        infer(op.argsort(tensor(3, dtype="bool")))
    with pytest.raises(ArgumentValueError, match="`ret_type`"):
        op.topk(x, 1, ret_type="all")
    with pytest.raises(StructInfoError, match="the rows of both"):
        infer(op.multinomial_from_uniform(x, tensor(2, 1)))
    with pytest.raises(StructInfoError, match="`sample_indices` must be integers"):
        infer(op.multinomial_from_uniform(x, tensor(2, 1), tensor(2, 1)))
    with pytest.raises(ShapeError):
        compute(lambda v: op.topk(v, 7), real(3, 6), known="symbolic")
