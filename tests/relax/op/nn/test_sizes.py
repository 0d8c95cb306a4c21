"""Sizes that do not fit, some of which are known only when the program runs; and nothing."""

import numpy as np
import pytest
from tests.relax.op.graphs import compute, infer, real, tensor, whole

from tilewright import relax
from tilewright.error import ShapeError, StructInfoError
from tilewright.relax import op

equal = np.testing.assert_array_equal

UNFIT = {
    "filters in groups": (
        lambda x, w: op.nn.conv1d(x, w, groups=2), [(1, 4, 5), (3, 2, 3)],
        "2 groups do not divide the 3 output channels",
    ),
    "channels of groups": (
        lambda x, w: op.nn.conv1d(x, w, groups=2), [(1, 4, 5), (4, 4, 3)], "2 and 4 differ",
    ),
    "channels that are spread": (
        lambda x, w: op.nn.conv1d_transpose(x, w, groups=2), [(1, 4, 5), (6, 2, 3)],
        "4 and 6 differ",
    ),
    "groups that are spread": (
        lambda x, w: op.nn.conv1d_transpose(x, w, groups=2), [(1, 3, 5), (3, 2, 3)],
        "2 groups do not divide the 3 input channels",
    ),
    "groups of a norm": (
        lambda x, g, b: op.nn.group_norm(x, g, b, 2, 1, 2), [(2, 3, 4), (3,), (3,)],
        "2 groups do not divide 3 channels",
    ),
    "a mirror image": (
        lambda x: op.nn.pad(x, (0, 0, 3, 0), "reflect"), [(2, 3)],
        "at least 4 elements along dimension 1, not 3",
    ),
    "a mirror image with its border": (
        lambda x: op.nn.pad(x, (0, 0, 0, 4), "symmetric"), [(2, 3)], "at least 4 elements",
    ),
    "the border of nothing": (
        lambda x: op.nn.pad(x, (1, 0), "replicate"), [(0,)], "at least 1 element along",
    ),
    "the other end of nothing": (
        lambda x: op.nn.pad(x, (1, 0), "circular"), [(0,)], "at least 1 element along",
    ),
    "a place in nothing": (
        lambda x: op.argmax(x, 1), [(2, 0)], "at least 1 element along dimension 1, not 0",
    ),
    "a place among no elements": (op.argmin, [(0,)], "at least 1 element along dimension 0"),
    "an image of nothing": (
        lambda x: op.image.resize2d(x, (2, 2)), [(1, 1, 0, 3)], "at least 1 element along",
    ),
    "averages of nothing": (
        lambda x: op.nn.adaptive_avg_pool1d(x, 2), [(1, 1, 0)], "at least 1 element along",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(UNFIT))
def test_what_does_not_fit_is_refused(name):
    function, shapes, message = UNFIT[name]
    arrays = [np.ones(shape, "float32") for shape in shapes]
    with pytest.raises(StructInfoError, match=message):
        compute(function, *arrays)
    with pytest.raises(ShapeError, match="match_cast"):
        compute(function, *arrays, known="symbolic")


@pytest.mark.parametrize("known", ["shape", "symbolic"])
def test_what_just_fits(known):
    x = whole(2, 4, 3)
    result = compute(lambda a: op.nn.pad(a, (0, 0, 0, 0, 2, 2), "reflect"), x, known=known)
    equal(result, np.pad(x, [(0, 0), (0, 0), (2, 2)], "reflect"))
    result = compute(lambda a: op.nn.pad(a, (0, 0, 0, 0, 3, 3), "symmetric"), x, known=known)
    equal(result, np.pad(x, [(0, 0), (0, 0), (3, 3)], "symmetric"))


@pytest.mark.parametrize("known", ["shape", "symbolic"])
def test_sums_of_nothing_are_zero(known):
    x, w = real(2, 0, 5), real(3, 0, 2)
    equal(compute(op.nn.conv1d, x, w, known=known), np.zeros((2, 3, 4)))
    a, b = real(2, 0), real(0, 3)
    product = lambda *args: op.einsum(relax.Tuple(list(args)), "ij,jk->ik")  # noqa: E731
    equal(compute(product, a, b, known=known), np.zeros((2, 3)))
    q, k = real(1, 2, 1, 4), real(1, 0, 1, 4)
    equal(compute(op.nn.attention, q, k, k, known=known), np.zeros((1, 2, 1, 4)))


@pytest.mark.parametrize("known", ["shape", "symbolic"])
def test_losses_of_no_samples(known):
    x, targets = real(0, 3), np.zeros(0, "int64")
    total = compute(lambda p, t: op.nn.nll_loss(p, t, reduction="sum"), x, targets, known=known)
    assert total == 0
    assert np.isnan(compute(op.nn.nll_loss, x, targets, known=known))
    assert np.isnan(compute(op.nn.cross_entropy_with_logits, x, x, known=known))


@pytest.mark.parametrize("known", ["shape", "symbolic"])
def test_indices_that_do_not_exist(known):
    x, targets = real(3, 4), np.array([1, 4, -1])
    losses = compute(lambda p, t: op.nn.nll_loss(p, t, reduction="none"), x, targets, known=known)
    equal(losses, [-x[0, 1], np.nan, np.nan])
    prob = np.array([[1, 0], [0, 1]], "float32")
    half, rows = np.full((3, 1), 0.5, "float32"), np.array([[-1], [1], [7]])
    equal(compute(op.multinomial_from_uniform, prob, half, rows, known=known), [[0], [1], [1]])


def test_more_is_cut_off_than_there_is():
    with pytest.raises(StructInfoError, match="`padding` cuts off more than"):
        infer(op.nn.conv1d_transpose(tensor(1, 2, 1), tensor(2, 2, 3), padding=3))
