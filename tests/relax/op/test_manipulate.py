"""Operators that move elements, against numpy."""

import numpy as np
import pytest
from tests.relax.builders import module_of
from tests.relax.op.evaluate import KINDS, array, evaluate, infer, same, tensor

from tilewright.error import ArgumentError, ArgumentValueError, ShapeError, StructInfoError
from tilewright.ir import Var
from tilewright.relax import ShapeExpr, TensorStructInfo, op
from tilewright.relax.interpreter import evaluate as run
from tilewright.relax.transform import LegalizeOps

# --- views ---------------------------------------------------------------------------------------


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


def test_shapes_may_leave_one_extent_to_reshape():
    x = array(2, 3, 4)
    same(evaluate(lambda a: op.reshape(a, ShapeExpr([-1, 4])), x), x.reshape(-1, 4))
    info = infer(op.reshape(tensor(Var("n", "int64"), 2), ShapeExpr([np.int64(-1)])))
    assert [str(extent) for extent in info.extents] == ["n * T.int64(2)"]
    assert ShapeExpr([2, -1]).struct_info.values is None
    with pytest.raises(ShapeError, match="extent 0 of a shape is -2"):
        ShapeExpr([-2])
    with pytest.raises(ShapeError, match="extent 1 of a shape is -1"):
        TensorStructInfo(ShapeExpr([2, -1]), "float32")
    with pytest.raises(ShapeError, match="extent 0 of a shape is -1"):
        infer(op.zeros(ShapeExpr([-1]), "float32"))


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


# --- order and repetition ------------------------------------------------------------------------


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
    same(evaluate(lambda a: op.collapse_sum_to(a, target), x, known=known), expected)
    same(evaluate(op.collapse_sum_like, x, like, known=known), expected)


@pytest.mark.parametrize(("shape", "target"), [((0, 2), (1, 2)), ((1, 3), (1, 3)), ((2, 0), (0,))])
def test_collapse_sum_of_nothing_and_of_one(shape, target):
    x = array(*shape, dtype="float16")
    expected = x.sum(0).reshape(target)
    same(evaluate(op.collapse_sum_like, x, x[:1].reshape(target) if x.size else
                  np.zeros(target, "float16"), known="symbolic"), expected)  # fmt: skip


def test_what_does_not_collapse_is_refused():
    n, m = Var("n", "int64"), Var("m", "int64")
    with pytest.raises(StructInfoError, match="do not broadcast"):
        infer(op.collapse_sum_to(tensor(2, 3), (2,)))
    x, like = tensor(n, 3), tensor(m, 3)
    lowered = LegalizeOps()(
        module_of([x, like], lambda builder: builder.emit(op.collapse_sum_like(x, like)))
    )
    same(run(lowered, array(4, 3), array(1, 3)), array(4, 3).sum(0, keepdims=True))
    with pytest.raises(ShapeError, match="is 4"):
        run(lowered, array(4, 3), array(2, 3))


# --- joining and splitting -----------------------------------------------------------------------


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
@pytest.mark.parametrize("sections", [2, 3, (1, 3), (0, 2, 2), (7,), (4, 1, 3), (9, 2)], ids=str)
def test_split(sections, known):
    x = array(2, 6)
    parts = evaluate(lambda a: op.split(a, sections, -1), x, known=known)
    wanted = list(sections) if isinstance(sections, tuple) else sections
    for part, expected in zip(parts, np.split(x, wanted, -1), strict=True):
        same(part, expected)
    with pytest.raises(ArgumentValueError, match="a positive number or a list, got 0"):
        op.split(tensor(2), 0)
