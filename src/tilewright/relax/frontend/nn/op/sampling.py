"""Random choices of tokens, from random numbers that are given."""

from __future__ import annotations

from typing import Any

from tilewright.relax import op
from tilewright.relax.expr import PrimValue
from tilewright.relax.frontend.nn.op.operator import renamed, tensor_operator

multinomial_from_uniform = renamed(op.multinomial_from_uniform, "multinomial_from_uniform")


@tensor_operator
def sample_top_p_top_k_from_sorted_prob(
    sorted_prob: Any, sorted_index: Any, top_p: Any, top_k: Any, uniform_sample: Any,
    sample_indices: Any = None,
) -> Any:  # fmt: skip
    """Choose among the likeliest tokens.

    In each row the tokens are kept before which the probabilities add up to less than `top_p`, at
    most `top_k` of them and at least the first.

    Args:
        sorted_prob: ``(rows, tokens)``, the probabilities in descending order.
        sorted_index: ``(rows, tokens)``, the token of each of them.
        top_p: ``(rows, 1)``.
        top_k: ``(rows, 1)``, integers.
        uniform_sample: ``(samples, 1)``, numbers from 0 to 1.
        sample_indices: ``(samples, 1)``, the row of each sample; by default sample i has row i.

    Returns:
        ``(samples, 1)``, the token of each sample, of the dtype of `sorted_index`.
    """
    kept = _kept(sorted_prob, top_p, top_k)
    sums = op.cumsum(sorted_prob, 1)
    total = op.max(op.where(kept, sums, op.zeros_like(sums)), 1, True)
    last = op.subtract(op.sum(op.astype(kept, "int64"), 1, True), 1)
    tokens = sorted_index
    if sample_indices is not None:
        rows = op.reshape(sample_indices, [-1])
        sums, total, last, tokens = (op.take(x, rows, 0) for x in (sums, total, last, tokens))
    passed = op.less_equal(sums, op.multiply(uniform_sample, total))
    place = op.minimum(op.sum(op.astype(passed, "int64"), 1, True), last)
    return op.gather_elements(tokens, place, 1)


@tensor_operator
def renormalize_top_p_top_k_prob(prob: Any, sorted_prob: Any, top_p: Any, top_k: Any) -> Any:
    """The probabilities of the likeliest tokens, so that they add up to 1; 0 for the others.

    Args:
        prob: ``(rows, tokens)``.
        sorted_prob: the same in descending order.
        top_p: ``(rows, 1)``; see `sample_top_p_top_k_from_sorted_prob`.
        top_k: ``(rows, 1)``, integers.
    """
    kept = _kept(sorted_prob, top_p, top_k)
    least = op.min(op.where(kept, sorted_prob, op.ones_like(sorted_prob)), 1, True)
    likely = op.where(op.greater_equal(prob, least), prob, op.zeros_like(prob))
    return op.divide(likely, op.sum(likely, 1, True))


def _kept(sorted_prob: Any, top_p: Any, top_k: Any) -> Any:
    """Which tokens are among the likeliest of their row."""
    tokens = sorted_prob.struct_info.extents[1]
    places = op.arange(PrimValue(0), PrimValue(tokens), PrimValue(1), "int64")
    before = op.cumsum(sorted_prob, 1, exclusive=True)
    likely = op.logical_and(op.less(before, top_p), op.less(places, op.astype(top_k, "int64")))
    return op.logical_or(likely, op.equal(places, 0))
