"""Attention."""

import ml_dtypes
import numpy as np
import pytest
from tests.relax.op.graphs import compute, infer, real, tensor

from tilewright.error import ArgumentValueError, StructInfoError
from tilewright.relax import op
from tilewright.target import Target
from tilewright.topi import testing

PROCESSORS = [
    "-mtriple=x86_64-linux-gnu -mcpu=sapphirerapids",
    "-mtriple=x86_64-linux-gnu -mcpu=cooperlake",
    "-mtriple=aarch64-linux-gnu -mcpu=neoverse-v1",
    "-mtriple=x86_64-linux-gnu -mcpu=x86-64-v3",
]
"""With tile registers, dot products, and products of matrices of bfloat16; without any."""


def reference(q, k, v, bias=0.0, scale=None, causal_mask=None, window_size=None):
    """Attention in numpy."""
    scores = np.einsum("binh,bjnh->bnij", q, k, dtype="float64")
    scores = scores * (q.shape[3] ** -0.5 if scale is None else scale) + bias
    i, j = np.arange(q.shape[1])[:, None], np.arange(k.shape[1])
    if causal_mask is not None:
        latest = i if causal_mask == "TopLeft" else i + k.shape[1] - q.shape[1]
        allowed = (j <= latest) & (j > latest - (window_size or 10**6))
        scores = np.where(allowed, scores, -np.inf)
    return np.einsum("bnij,bjnx->binx", testing.softmax_python(scores), v)


@pytest.mark.parametrize("known", ["shape", "symbolic", "rank"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scale": 0.3},
        {"causal_mask": "TopLeft"},
        {"causal_mask": "BottomRight"},
        {"causal_mask": "BottomRight", "window_size": 2},
    ],
)
def test_attention(options, known):
    q, k, v = real(2, 3, 2, 4), real(2, 5, 2, 4, seed=1), real(2, 5, 2, 6, seed=2)
    result = compute(lambda *args: op.nn.attention(*args, **options), q, k, v, known=known)
    np.testing.assert_allclose(result, reference(q, k, v, **options), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(2, 2, 3, 5), (1, 1, 3, 5), (2, 1, 1, 5)])
def test_bias(shape):
    q, k, v = real(2, 3, 2, 4), real(2, 5, 2, 4, seed=1), real(2, 5, 2, 6, seed=2)
    bias = real(*shape, seed=3)
    result = compute(op.nn.attention, q, k, v, bias)
    np.testing.assert_allclose(result, reference(q, k, v, bias), rtol=1e-5, atol=1e-5)


def test_half_precision():
    q, k, v = (real(1, 64, 1, 64, seed=seed, dtype="float16") for seed in range(3))
    result = compute(op.nn.attention, q, k, v)
    assert result.dtype == np.float16
    expected = reference(*(x.astype("float32") for x in (q, k, v)))
    np.testing.assert_allclose(result, expected, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("known", ["shape", "symbolic"])
@pytest.mark.parametrize(
    ("queries", "keys"),
    [(1, 40), (3, 5), (20, 33), (67, 32)],
    ids=["a query", "few", "odd numbers", "blocks"],
)
@pytest.mark.parametrize(
    "options",
    [{}, {"scale": -0.3}, {"causal_mask": "TopLeft"}, {"causal_mask": "BottomRight"}],
    ids=["plain", "negative scale", "top left", "bottom right"],
)
@pytest.mark.parametrize("processor", PROCESSORS)
def test_bfloat16(processor, options, queries, keys, known):
    """Where elements are multiplied as they are, only powers and results are rounded."""
    arrays = real(1, queries, 2, 4), real(1, keys, 2, 4, seed=1), real(1, keys, 2, 3, seed=2)
    q, k, v = (x.astype(ml_dtypes.bfloat16) for x in arrays)
    with Target(f"llvm {processor}"):
        result = compute(lambda *args: op.nn.attention(*args, **options), q, k, v, known=known)
    assert result.dtype == ml_dtypes.bfloat16
    with np.errstate(invalid="ignore"):  # queries without keys
        expected = np.nan_to_num(reference(*(x.astype("float64") for x in (q, k, v)), **options))
    np.testing.assert_allclose(result.astype("float64"), expected, rtol=2**-7, atol=2**-7)


def test_bfloat16_with_a_bias():
    arrays = real(2, 5, 2, 4), real(2, 7, 2, 4, seed=1), real(2, 7, 2, 3, seed=2)
    q, k, v = (x.astype(ml_dtypes.bfloat16) for x in arrays)
    bias = real(1, 2, 5, 7, seed=3).astype(ml_dtypes.bfloat16)
    with Target(f"llvm {PROCESSORS[0]}"):
        result = compute(op.nn.attention, q, k, v, bias)
    expected = reference(*(x.astype("float64") for x in (q, k, v, bias)))
    np.testing.assert_allclose(result.astype("float64"), expected, rtol=2**-7, atol=2**-7)


@pytest.mark.parametrize("known", ["shape", "symbolic"])
def test_what_is_beyond_the_last_key_changes_nothing(known):
    """Products of the last key are the largest, those of the others so small that powers of 0 are
    left; and its value is infinite."""
    q, k, v = np.ones((1, 2, 1, 4)), np.full((1, 3, 1, 4), -500.0), np.ones((1, 3, 1, 2))
    k[:, -1], v[:, -1, :, 0] = -400, np.inf
    arrays = (x.astype(ml_dtypes.bfloat16) for x in (q, k, v))
    with Target(f"llvm {PROCESSORS[0]}"):
        result = compute(op.nn.attention, *arrays, known=known)
    np.testing.assert_array_equal(result[0, :, 0].astype("float32"), [[np.inf, 1]] * 2)


def test_mistakes_are_named():
    q, k = tensor(2, 3, 2, 4), tensor(2, 5, 2, 4)
    with pytest.raises(StructInfoError, match="the sizes of `query` and `key`"):
        infer(op.nn.attention(q, tensor(2, 5, 2, 8), k))
    with pytest.raises(StructInfoError, match="the lengths of `key` and `value`"):
        infer(op.nn.attention(q, k, tensor(2, 6, 2, 4)))
    with pytest.raises(StructInfoError, match="dimension 3 of `bias`"):
        infer(op.nn.attention(q, k, k, tensor(1, 1, 3, 4)))
    with pytest.raises(StructInfoError, match="`key` has 4 dimensions, not 3"):
        infer(op.nn.attention(q, tensor(2, 5, 4), k))
    with pytest.raises(ArgumentValueError, match="`causal_mask` is None, TopLeft or BottomRight"):
        op.nn.attention(q, k, k, causal_mask="Diagonal")
    with pytest.raises(ArgumentValueError, match="`window_size`"):
        op.nn.attention(q, k, k, window_size=2)


@pytest.mark.parametrize("known", ["shape", "symbolic"])
def test_a_query_without_keys_gets_nothing(known):
    q, k, v = real(1, 4, 1, 3), real(1, 2, 1, 3, seed=1), real(1, 2, 1, 5, seed=2)
    result = compute(
        lambda *args: op.nn.attention(*args, causal_mask="BottomRight"), q, k, v, known=known
    )
    np.testing.assert_array_equal(result[:, :2], 0)
    np.testing.assert_allclose(result[:, 2], v[:, 0], rtol=1e-6)
    bias = np.zeros((1, 1, 4, 2), "float32")
    bias[..., 1, :], bias[..., 2, 0] = -np.inf, -np.inf
    result = compute(op.nn.attention, q, k, v, bias, known=known)
    np.testing.assert_array_equal(result[:, 1], 0)
    np.testing.assert_allclose(result[:, 2], v[:, 1], rtol=1e-6)
    assert np.isfinite(result).all()


@pytest.mark.parametrize("causal_mask", [None, "TopLeft", "BottomRight"])
def test_many_queries_are_taken_in_blocks(causal_mask):
    q, k, v = real(1, 67, 1, 2), real(1, 3, 1, 2, seed=1), real(1, 3, 1, 2, seed=2)
    bias = real(1, 1, 67, 3, seed=3)
    result = compute(
        lambda *args: op.nn.attention(*args, causal_mask=causal_mask), q, k, v, bias
    )  # fmt: skip
    with np.errstate(invalid="ignore"):  # queries without keys
        expected = np.nan_to_num(reference(q, k, v, bias, causal_mask=causal_mask))
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("known", ["shape", "symbolic", "rank"])
@pytest.mark.parametrize(
    "options",
    [
        {"scale": 0.3},
        {"causal_mask": "TopLeft"},
        {"causal_mask": "BottomRight"},
        {"causal_mask": "BottomRight", "window_size": 2},
    ],
)
def test_sequences_of_different_lengths(options, known):
    q, k, v = real(1, 8, 2, 4), real(1, 9, 2, 4, seed=1), real(1, 9, 2, 3, seed=2)
    queries, keys = np.array([0, 3, 3, 7], "int32"), np.array([0, 4, 5, 9], "int32")
    result = compute(
        lambda *args: op.nn.attention_var_len(*args, **options), q, k, v, queries, keys, known=known
    )
    expected = np.zeros((1, 8, 2, 3), "float32")
    for n in range(3):
        rows, columns = slice(queries[n], queries[n + 1]), slice(keys[n], keys[n + 1])
        if queries[n] < queries[n + 1]:
            part = reference(q[:, rows], k[:, columns], v[:, columns], **options)
            expected[:, rows] = part
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_mistakes_of_sequences_are_named():
    q, starts = tensor(1, 8, 2, 4), tensor(3, dtype="int32")
    with pytest.raises(StructInfoError, match="`queries` is a batch of 1"):
        infer(op.nn.attention_var_len(tensor(2, 8, 2, 4), q, q, starts, starts))
    with pytest.raises(StructInfoError, match="the numbers of sequences"):
        infer(op.nn.attention_var_len(q, q, q, starts, tensor(4, dtype="int32")))
    with pytest.raises(StructInfoError, match="`seqstart_q` must have integers"):
        infer(op.nn.attention_var_len(q, q, q, tensor(3), starts))
