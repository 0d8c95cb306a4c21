"""Indices that would read or write outside of arrays: refused, or checked when the program runs."""

import numpy as np
import pytest
from tests.relax.builders import module_of
from tests.relax.op.evaluate import array, infer, tensor

from tilewright import relax
from tilewright.error import ShapeError, StructInfoError
from tilewright.ir import Var
from tilewright.relax import op
from tilewright.relax.interpreter import evaluate as run
from tilewright.relax.transform import LegalizeOps


def places(*shape):
    return np.zeros(shape, "int64")


def take(x, indices):
    return op.take(x, indices, axis=0)


def index(x, indices):
    return op.index_tensor(x, [indices])


WRONG = [
    (op.gather_elements, (array(3, 4), places(2, 9)), "at most 4 elements along dimension 1"),
    (op.scatter_elements, (array(3, 4), places(2, 9), array(2, 9)), "at most 4 elements"),
    (lambda x, i: op.gather_nd(x, i, 1), (array(3, 4), places(2, 1)), "3 and 2 differ"),
    (take, (array(0, 4), places(2)), "no elements to take along dimension 0"),
    (lambda x: op.take(x, 1, axis=0), (array(0, 4),), "no elements to take along dimension 0"),
    (op.take, (array(2, 0), places(2)), "no elements to take along dimension 1"),
    (op.gather_elements, (array(0, 4), places(2, 4)), "no elements to take along dimension 0"),
    (op.gather_nd, (array(4, 0), places(2, 2)), "no elements to take along dimension 1"),
    (index, (array(0, 4), places(2)), "no elements to take along dimension 0"),
]


@pytest.mark.parametrize(("function", "arrays", "message"), WRONG)
def test_known_shapes(function, arrays, message):
    params = [tensor(*a.shape, dtype=str(a.dtype)) for a in arrays]
    with pytest.raises(StructInfoError, match=message):
        infer(function(*params))


@pytest.mark.parametrize(("function", "arrays", "message"), WRONG)
def test_symbolic_shapes(function, arrays, message):
    def symbolic(n, value):
        known = function is not take and value.dtype == np.int64
        extents = [
            extent if known and d == value.ndim - 1 else Var(f"n{n}_{d}", "int64")
            for d, extent in enumerate(value.shape)
        ]
        return relax.Var(f"x{n}", relax.TensorStructInfo(extents, str(value.dtype)))

    params = [symbolic(n, value) for n, value in enumerate(arrays)]
    module = module_of(params, lambda builder: builder.emit(function(*params)))
    with pytest.raises(ShapeError, match="match_cast"):
        run(LegalizeOps()(module), *arrays)


@pytest.mark.parametrize("function", [take, index])
def test_nothing_is_taken_of_nothing(function):
    params = [
        relax.Var(name, relax.TensorStructInfo([Var(f"n_{name}", "int64")], dtype))
        for name, dtype in (("x", "float32"), ("i", "int64"))
    ]
    module = module_of(params, lambda builder: builder.emit(function(*params)))
    assert run(LegalizeOps()(module), array(0), places(0)).shape == (0,)


@pytest.mark.parametrize("batch", [-1, "a", None])
def test_batch_dimensions_are_a_number(batch):
    with pytest.raises(StructInfoError, match="batch"):
        infer(op.gather_nd(tensor(3, 4), tensor(2, 1, dtype="int64"), batch))
