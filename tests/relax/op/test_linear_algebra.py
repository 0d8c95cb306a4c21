"""Products of matrices and of arrays in graphs."""

import numpy as np
import pytest
from tests.relax.op.graphs import compute, infer, tensor, whole

from tilewright.error import ArgumentError, ShapeError, StructInfoError
from tilewright.relax import op

KNOWN = pytest.mark.parametrize("known", ["shape", "symbolic", "rank"])
equal = np.testing.assert_array_equal


@KNOWN
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 4), (4, 5)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4,)),
        ((2, 3, 4), (4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (6, 4, 5)),
        ((4,), (2, 4, 5)),
        ((2, 3, 4), (4,)),
        ((1, 3, 4), (2, 4, 5)),
        ((0, 4), (4, 5)),
        ((3, 0), (0, 5)),
    ],
)
def test_matmul(left, right, known):
    a, b = whole(*left), whole(*right, seed=1)
    equal(compute(op.matmul, a, b, known=known), a @ b)


def test_symbolic_batches_broadcast_when_the_program_runs():
    for left, right in (((1, 2, 3), (4, 3, 2)), ((4, 2, 3), (1, 3, 2)), ((4, 2, 3), (4, 3, 2))):
        a, b = whole(*left), whole(*right, seed=1)
        equal(compute(op.matmul, a, b, known="symbolic"), a @ b)
    with pytest.raises(ShapeError):
        compute(op.matmul, whole(2, 2, 3), whole(4, 3, 2), known="symbolic")
    with pytest.raises(ShapeError):
        compute(op.matmul, whole(2, 3), whole(4, 2), known="symbolic")


def test_half_precision_is_added_in_single_precision():
    a, b = whole(2, 3000, dtype="float16"), whole(3000, 2, dtype="float16", seed=1)
    exact = a.astype("float32") @ b.astype("float32")
    result = compute(op.matmul, a, b)
    assert result.dtype == np.float16
    equal(result, exact.astype("float16"))
    equal(compute(lambda x, y: op.matmul(x, y, "float32"), a, b), exact)
    equal(compute(lambda x, y: op.linear(x, y), a, b.T.copy()), exact.astype("float16"))


def test_integers():
    a, b = whole(3, 4, dtype="int8", low=-128, high=128), whole(4, 2, dtype="int8", seed=1)
    result = compute(lambda x, y: op.matmul(x, y, "int32"), a, b)
    equal(result, a.astype("int32") @ b.astype("int32"))


@KNOWN
@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)])
def test_linear(shape, known):
    x, w, bias = whole(*shape), whole(5, 4, seed=1), whole(5, seed=2)
    equal(compute(op.linear, x, w, known=known), x @ w.T)
    known = "symbolic" if known == "rank" else known
    equal(compute(op.linear, x, w, bias, known=known), x @ w.T + bias)


@KNOWN
def test_outer(known):
    a, b = whole(3), whole(4, seed=1)
    equal(compute(op.outer, a, b, known=known), np.outer(a, b))


@KNOWN
@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk->ik", [(3, 4), (4, 5)]),
        ("bhid,bhjd->bhij", [(2, 2, 3, 4), (2, 2, 5, 4)]),
        ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]),
        ("ii->i", [(3, 3)]),
        ("ij,j,i->", [(3, 4), (4,), (3,)]),
        ("ij,kj", [(3, 4), (5, 4)]),
    ],
)
def test_einsum(subscripts, shapes, known):
    arrays = [whole(*shape, seed=n) for n, shape in enumerate(shapes)]
    result = compute(lambda *args: op.einsum(args, subscripts), *arrays, known=known)
    equal(result, np.einsum(subscripts, *arrays))


def test_mistakes_are_named():
    x = tensor(3, 4)
    with pytest.raises(StructInfoError, match=r"R\.matmul: the extents of the sum"):
        infer(op.matmul(x, tensor(3, 4)))
    with pytest.raises(StructInfoError, match="do not broadcast"):
        infer(op.matmul(tensor(2, 3, 4), tensor(3, 4, 5)))
    with pytest.raises(StructInfoError, match="use multiply"):
        infer(op.matmul(x, tensor()))
    with pytest.raises(StructInfoError, match="dtypes differ"):
        infer(op.matmul(x, tensor(4, 5, dtype="float16")))
    with pytest.raises(StructInfoError, match="last extents of `data` and `weight`"):
        infer(op.linear(x, tensor(5, 3)))
    with pytest.raises(StructInfoError, match="2 dimensions, \\(out, in\\), not 3"):
        infer(op.linear(x, tensor(1, 5, 4)))
    with pytest.raises(StructInfoError, match="is a vector"):
        infer(op.outer(x, x))
    with pytest.raises(StructInfoError, match="names 1 operands, there are 2"):
        infer(op.einsum((x, x), "ij->i"))
    with pytest.raises(StructInfoError, match="dimension 'j'"):
        infer(op.einsum((x, x), "ij,jk->ik"))
    with pytest.raises(ArgumentError, match="`subscripts` is a text"):
        op.einsum((x, x), 3)
