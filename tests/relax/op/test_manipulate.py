"""Operators that move elements, against numpy."""

import numpy as np
import pytest
from tests.relax.op.evaluate import KNOWN, evaluate, infer, tensor

from tilewright import relax
from tilewright.error import ArgumentError, ArgumentValueError, StructInfoError
from tilewright.ir import Var
from tilewright.relax import op

KINDS = pytest.mark.parametrize("known", KNOWN)


def array(*shape, dtype="float32"):
    return np.arange(np.prod(shape, dtype=int), dtype=dtype).reshape(shape)


def same(result, expected):
    assert result.shape == np.shape(expected)
    np.testing.assert_array_equal(result, expected)


# --- views ----------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize(
    ("shape", "target"), [((2, 6), (3, 4)), ((2, 3), (6,)), ((), (1, 1)), ((0, 2), (2, 0, 5))]
)
def test_reshape(shape, target, known):
    x = array(*shape)
    same(evaluate(lambda a: op.reshape(a, target), x, known=known), x.reshape(target))


def test_reshape_infers_one_extent():
    x = array(2, 3, 4)
    same(evaluate(lambda a: op.reshape(a, (-1, 4)), x), x.reshape(-1, 4))
    n = Var("n", "int64")
    info = infer(op.reshape(tensor(n, 12, 64), (n, -1)))
    assert [str(extent) for extent in info.extents] == ["n", "T.int64(768)"]
    with pytest.raises(ArgumentError, match="-1 needs an array of known shape"):
        op.reshape(op.exp(tensor(2)), (-1,))


def test_reshape_checks_the_number_of_elements():
    with pytest.raises(StructInfoError, match=r"R\.reshape: .*it has 6 elements, not 5"):
        infer(op.reshape(tensor(2, 3), (5,)))
    n = Var("n", "int64")
    with pytest.raises(StructInfoError, match=r"R\.reshape: the array has .* elements"):
        infer(op.reshape(tensor(n), (n + 1,)))
    with pytest.raises(ValueError, match="it has 5 elements, not 4"):
        evaluate(lambda a: op.reshape(a, (2, 2)), array(5), known="symbolic")


@KINDS
def test_dimensions_of_extent_one(known):
    x = array(2, 3)
    for axis in (0, -1, (0, 2), (-1, 0)):
        result = evaluate(lambda a, n=axis: op.expand_dims(a, n), x, known=known)
        same(result, np.expand_dims(x, axis))
    y = x.reshape(2, 1, 3, 1)
    same(evaluate(lambda a: op.squeeze(a, (1, -1)), y, known=known), x)
    same(evaluate(lambda a: op.squeeze(a, 1), y, known=known), y[:, 0])
    same(evaluate(op.squeeze, y), x)
    same(evaluate(op.flatten, y, known=known), x.reshape(-1))


def test_squeeze_refuses_other_extents():
    with pytest.raises(StructInfoError, match=r"R\.squeeze: dimension 0 has extent 2"):
        infer(op.squeeze(tensor(2, 1), 0))
    with pytest.raises(ValueError, match="only extents of 1"):
        evaluate(lambda a: op.squeeze(a, 0), array(2, 1), known="symbolic")
    with pytest.raises(StructInfoError, match=r"R\.expand_dims: axis 3 is out of range"):
        infer(op.expand_dims(tensor(2, 1), 3))
    with pytest.raises(StructInfoError, match="name a dimension twice"):
        infer(op.expand_dims(tensor(2, 1), (0, -4)))


# --- order and repetition -------------------------------------------------------------------


@KINDS
def test_permute_dims_and_flip(known):
    x = array(2, 3, 4)
    for axes in (None, (0, 2, 1), (-1, 0, 1)):
        result = evaluate(lambda a, order=axes: op.permute_dims(a, order), x, known=known)
        same(result, np.transpose(x, axes))
    same(evaluate(lambda a: op.flip(a, -1), x, known=known), x[..., ::-1])
    with pytest.raises(StructInfoError, match=r"R\.permute_dims: 2 axes for 3 dimensions"):
        infer(op.permute_dims(tensor(2, 3, 4), (0, 1)))
    with pytest.raises(StructInfoError, match=r"R\.flip: axis 1 is out of range"):
        infer(op.flip(tensor(2), 1))


@KINDS
def test_broadcast_to(known):
    x = array(2, 1)
    same(
        evaluate(lambda a: op.broadcast_to(a, (3, 2, 4)), x, known=known),
        np.broadcast_to(x, (3, 2, 4)),
    )
    with pytest.raises(StructInfoError, match=r"\(2, 1\) and \(3, 4\) do not broadcast"):
        infer(op.broadcast_to(tensor(2, 1), (3, 4)))
    with pytest.raises(StructInfoError, match=r"\(2, 3\) cannot be repeated to \(2, 1\)"):
        infer(op.broadcast_to(tensor(2, 3), (2, 1)))
    with pytest.raises(StructInfoError, match="2 dimensions cannot have 1"):
        infer(op.broadcast_to(tensor(2, 3), (3,)))


@KINDS
def test_repeat_and_tile(known):
    x = array(2, 3)
    same(evaluate(lambda a: op.repeat(a, 2, -1), x, known=known), np.repeat(x, 2, -1))
    same(evaluate(lambda a: op.repeat(a, 3), x, known=known), np.repeat(x, 3))
    for reps in (2, (2, 1), (1, 2, 3)):
        same(evaluate(lambda a, r=reps: op.tile(a, r), x, known=known), np.tile(x, reps))
    with pytest.raises(ArgumentValueError, match=r"R\.repeat: repeats is a number"):
        op.repeat(tensor(2), -1)


@KINDS
def test_layout_transform(known):
    x = array(2, 8)
    result = evaluate(lambda a: op.layout_transform(a, lambda i, j: (j // 4, i, j % 4)), x)
    same(result, x.reshape(2, 2, 4).transpose(1, 0, 2))
    padded = evaluate(
        lambda a: op.layout_transform(a, lambda i: (i // 4, i % 4), pad_value=-1.0), array(6)
    )
    same(padded, [[0, 1, 2, 3], [4, 5, -1, -1]])
    with pytest.raises(StructInfoError, match="for 1 dimensions, the array has 2"):
        infer(op.layout_transform(tensor(2, 2), lambda i: (i, i)))
    del known


@KINDS
@pytest.mark.parametrize("target", [(3,), (2, 1), (1, 3), (1, 1)], ids=str)
def test_collapse_sum(target, known):
    x, like = array(4, 2, 3), np.zeros(target, "float32")
    axes = (0, *(n + 3 - len(target) for n, e in enumerate(target) if e == 1))
    axes = tuple(sorted({*axes, *range(3 - len(target))}))
    expected = x.sum(axes, keepdims=True).reshape(target)
    if known == "shape":
        same(evaluate(lambda a: op.collapse_sum_to(a, target), x), expected)
        same(evaluate(op.collapse_sum_like, x, like), expected)
    else:
        with pytest.raises(StructInfoError, match="do not broadcast"):
            infer(op.collapse_sum_to(tensor(2, 3), (2,)))


# --- joining and splitting ------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("axis", [0, -1])
def test_concat_and_stack(axis, known):
    x, y = array(2, 2), array(2, 2) + 10
    result = evaluate(lambda a, b: op.concat((a, b), axis), x, y, known=known)
    same(result, np.concatenate((x, y), axis))
    result = evaluate(lambda a, b: op.stack((a, b), axis), x, y, known=known)
    same(result, np.stack((x, y), axis))
    result = evaluate(lambda t: op.concat(t, axis), (x, y), known=known)
    same(result, np.concatenate((x, y), axis))
    with pytest.raises(ValueError, match=r"must be|differ"):
        evaluate(lambda a, b: op.stack((a, b), axis), x, array(2, 3), known=known)


def test_concat_of_different_extents():
    x, y = array(2, 3), array(2, 0)
    same(evaluate(lambda a, b: op.concat((a, b, a), 1), x, y), np.concatenate((x, y, x), 1))
    n, m = Var("n", "int64"), Var("m", "int64")
    info = infer(op.concat((tensor(n, 2), tensor(m, 2))))
    assert str(info.extents[0]) in ("n + m", "m + n")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: op.concat((tensor(2, 3), tensor(2, 4))), r"R\.concat: .* differ in dimension 1"),
        (lambda: op.concat((tensor(2), tensor(2, 4))), "different numbers of dimensions"),
        (lambda: op.concat((tensor(2), tensor(2, dtype="int32"))), "the dtypes differ"),
        (lambda: op.concat((tensor(2),), 1), "axis 1 is out of range"),
        (lambda: op.concat(()), "there are no arrays"),
        (lambda: op.concat(tensor(2)), "argument `tensors` must be a tuple of arrays"),
        (lambda: op.stack((tensor(2), tensor(3))), r"R\.stack: .* differ in dimension 0"),
        (lambda: op.split(tensor(2), 2, 1), r"R\.split: axis 1 is out of range"),
        (lambda: op.split(tensor(4), [-1]), "a part begins at"),
    ],
)
def test_wrong_arguments_of_joining_operators(call, message):
    with pytest.raises(StructInfoError, match=message):
        infer(call())


@pytest.mark.parametrize("known", ["shape", "symbolic"])
@pytest.mark.parametrize("sections", [2, 3, (1, 3), (0, 2, 2), (7,)], ids=str)
def test_split(sections, known):
    x = array(2, 6)
    parts = evaluate(lambda a: op.split(a, sections, -1), x, known=known)
    wanted = list(sections) if isinstance(sections, tuple) else sections
    for part, expected in zip(parts, np.split(x, wanted, -1), strict=True):
        same(part, expected)
    with pytest.raises(ArgumentValueError, match="a positive number or a list, got 0"):
        op.split(tensor(2), 0)


# --- indexing -------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("axis", [None, 0, -1], ids=str)
def test_take(axis, known):
    x, where = array(3, 4), np.array([[0, 2], [1, 1]], "int64")
    result = evaluate(lambda a, i: op.take(a, i, axis), x, where, known=known)
    same(result, np.take(x, where, axis))
    same(evaluate(lambda a: op.take(a, relax.PrimValue(1), axis), x, known=known), x.take(1, axis))
    wrapped = evaluate(lambda a, i: op.take(a, i, axis, "wrap"), x, where - 3, known=known)
    same(wrapped, np.take(x, where - 3, axis, mode="wrap"))


SLICES = [
    ((0, 1), (1, 0), (3, 2), None), ((1,), (1,), (10,), (2,)), ((-1,), (-1,), (-10,), (-1,)),
    ((0,), (-2,), (-1,), None), ((0,), (3,), (2,), None),
]  # fmt: skip


@KINDS
@pytest.mark.parametrize(("axes", "begin", "end", "strides"), SLICES, ids=str)
def test_strided_slice(axes, begin, end, strides, known):
    x = array(4, 5)
    where = [slice(None)] * 2
    for n, axis in enumerate(axes):
        where[axis] = slice(begin[n], end[n], strides[n] if strides else None)
    result = evaluate(lambda a: op.strided_slice(a, axes, begin, end, strides), x, known=known)
    same(result, x[tuple(where)])


def test_slices_of_symbolic_bounds():
    n = Var("n", "int64")
    info = infer(op.strided_slice(tensor(n, 8), [0], [1], [n], assume_inbound=True))
    assert str(info.extents[0]) == "n - T.int64(1)"
    result = evaluate(
        lambda a: op.strided_slice(a, [0], [1], [a.struct_info.extents[0]]),
        array(4),
        known="symbolic",
    )
    same(result, [1, 2, 3])


@pytest.mark.parametrize("known", ["shape", "symbolic"])
@pytest.mark.parametrize(
    ("begin", "end", "strides"),
    [((1, 0), (3, 2), (1, 1)), ((0, -1), (9, -9), (2, -2)), ((3, 0), (1, 5), (1, 1))],
)
def test_dynamic_strided_slice(begin, end, strides, known):
    x = array(4, 5)
    bounds = [np.array(b, "int64") for b in (begin, end, strides)]
    if known == "shape":
        result = evaluate(op.dynamic_strided_slice, x, *bounds)
        same(result, x[tuple(map(slice, begin, end, strides))])
    with pytest.raises(StructInfoError, match="`end` must be a vector of int64"):
        infer(
            op.dynamic_strided_slice(
                tensor(2), *[tensor(1, dtype=d) for d in ("int64", "int32", "int64")]
            )
        )


@KINDS
def test_gather(known):
    x = array(3, 4)
    where = np.array([[0, 2, 1, 1], [2, 0, 0, 2]], "int64")
    result = evaluate(lambda a, i: op.gather_elements(a, i, 0), x, where, known=known)
    same(result, np.take_along_axis(x, where, 0))
    i, j = np.array([[0], [-1]], "int64"), np.array([1, 3, -4], "int64")
    same(evaluate(lambda a, b, c: op.index_tensor(a, (b, c)), x, i, j), x[i, j])
    places = np.array([[0, 3], [2, 1]], "int64")
    same(evaluate(op.gather_nd, x, places), x[places[:, 0], places[:, 1]])
    same(evaluate(op.gather_nd, x, places[:, :1].copy()), x[places[:, 0]])
    batches = evaluate(lambda a, p: op.gather_nd(a, p, 1), x, np.array([[3], [1], [0]], "int32"))
    same(batches, x[np.arange(3), [3, 1, 0]])


@KINDS
def test_one_hot(known):
    x = np.array([[0, 2], [1, 2]], "int32")
    on, off = relax.PrimValue(1.0), relax.PrimValue(0.0)
    same(evaluate(lambda i: op.one_hot(i, on, off, 3), x, known=known), np.eye(3)[x])
    first = evaluate(lambda i: op.one_hot(i, on, off, 3, 0), x, known=known)
    same(first, np.moveaxis(np.eye(3)[x], -1, 0))


REDUCTIONS = {
    "update": lambda old, new: new, "add": np.add, "mul": np.multiply, "min": np.minimum,
    "max": np.maximum,
}  # fmt: skip


@KINDS
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_scatter(reduction, known):
    x, new = array(3, 4), array(2, 4) * 3 - 7
    where = np.array([[0, -1, 1, 2], [0, 2, 1, 0]], "int64")
    expected = x.copy()
    for place in np.ndindex(*new.shape):
        at = (where[place], place[1])
        expected[at] = REDUCTIONS[reduction](expected[at], new[place])
    result = evaluate(
        lambda a, i, u: op.scatter_elements(a, i, u, 0, reduction), x, where, new, known=known
    )
    same(result, expected)
    rows = np.array([[2], [0]], "int64")
    expected = x.copy()
    for n in range(2):
        expected[rows[n, 0]] = REDUCTIONS[reduction](expected[rows[n, 0]], new[n])
    same(evaluate(lambda a, i, u: op.scatter_nd(a, i, u, reduction), x, rows, new), expected)


def test_the_mean_of_what_is_put_in_a_place():
    x, new, where = (
        np.array(v, d) for v, d in (([4, 8], "float32"), ([1, 4], "float32"), ([0, 0], "int64"))
    )
    same(evaluate(lambda a, i, u: op.scatter_elements(a, i, u, 0, "mean"), x, where, new), [3, 8])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda i: op.take(tensor(2), tensor(2)), r"R\.take: argument `indices` must have integ"),
        (lambda i: op.take(tensor(2), i, 0, "raise"), r"R\.take: mode is one of clip"),
        (lambda i: op.strided_slice(tensor(2), [1], [0], [1]), r"R\.strided_slice: axis 1 is out"),
        (lambda i: op.strided_slice(tensor(2), [0], [0], [1], [0]), "the stride of axis 0 is 0"),
        (lambda i: op.strided_slice(tensor(2), [0], [0, 1], [1]), "2 begins, 1 ends"),
        (lambda i: op.gather_elements(tensor(2, 2), i), "indices of 1 dimensions for data of 2"),
        (lambda i: op.gather_nd(tensor(2), i), "3 indices after 0 batch dimensions for 1"),
        (lambda i: op.index_tensor(tensor(2), (i, i)), "2 indices for 1 dimensions"),
        (lambda i: op.one_hot(i, tensor(2), 0, 3), "the values must be scalars"),
        (lambda i: op.scatter_elements(tensor(2), i, tensor(2)), r"`updates` must have .*\(3,\)"),
        (lambda i: op.scatter_nd(tensor(2), i, tensor(2)), "3 indices for 1 dimensions"),
        (
            lambda i: op.scatter_elements(tensor(2), i, tensor(3, dtype="int32")),
            "the dtypes differ",
        ),
    ],
)  # fmt: skip
def test_wrong_arguments_of_indexing_operators(call, message):
    with pytest.raises(StructInfoError, match=message):
        infer(call(tensor(3, dtype="int64")))


# --- sizes that the data say ----------------------------------------------------------------


def test_unique_and_nonzero():
    x = np.array([[3, 1, 3], [0, 1, 3]], "int32")
    same(evaluate(op.unique, x), [0, 1, 3])
    parts = evaluate(lambda a: op.unique(a, True, True, True, True), x)
    for part, expected in zip(parts, np.unique(x, True, True, True), strict=True):
        same(part, expected.reshape(-1))
    same(evaluate(lambda a: op.unique(a, axis=-1), x), np.unique(x, axis=-1))
    same(evaluate(op.nonzero, x), np.stack(np.nonzero(x)))
