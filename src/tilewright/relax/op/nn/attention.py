"""Attention of queries to keys."""

from __future__ import annotations

import math
from typing import Any, Final

from tilewright import te, tir
from tilewright.error import ArgumentValueError
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.expr import Expr, is_const_int
from tilewright.relax.expr import Call
from tilewright.relax.op.agreement import agreeing, require_agreement, sized
from tilewright.relax.op.broadcasting import fitting, with_extents
from tilewright.relax.op.inference import Inference
from tilewright.relax.op.table import call, register
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.te import Tensor
from tilewright.topi.empty import or_neutral
from tilewright.topi.nn import masked_softmax, softmax
from tilewright.topi.precision import accumulator

MASKS: Final = ("TopLeft", "BottomRight")
NAMES: Final = ("query", "key", "value")


def _infer(inference: Inference) -> TensorStructInfo:
    query, key, value = (inference.tensor(position) for position in range(3))
    dtype = inference.same_dtype(*range(len(inference.call.args)))
    if dtype is not None and not dtype.is_float:
        inference.error(f"the arguments must have a float dtype, they have {dtype!s}")
    for position in range(len(inference.call.args)):
        if inference.tensor(position).ndim not in (-1, 4):
            inference.error(
                f"{inference.name_of(position)} has 4 dimensions, not "
                f"{inference.tensor(position).ndim}"
            )
    if query.extents is None or key.extents is None or value.extents is None:
        return TensorStructInfo(None, dtype, query.vdevice, 4)
    for name, other in (("key", key.extents), ("value", value.extents)):
        for axis, what in ((0, "batches"), (2, "heads")):
            require_agreement(
                inference, f"the {what} of `query` and `{name}`", query.extents[axis], other[axis]
            )
    require_agreement(
        inference, "the lengths of `key` and `value`", key.extents[1], value.extents[1]
    )
    require_agreement(inference, "the sizes of `query` and `key`", query.extents[3], key.extents[3])
    if len(inference.call.args) > 3:
        _check_bias(inference, query.extents, key.extents)
    return TensorStructInfo((*query.extents[:3], value.extents[3]), dtype, query.vdevice)


def _check_bias(inference: Inference, query: tuple[Expr, ...], key: tuple[Expr, ...]) -> None:
    bias = inference.tensor(3).extents
    if bias is None:
        return
    for axis, (extent, wanted) in enumerate(zip(bias, _scores(query, key), strict=True)):
        if not is_const_int(extent, 1):
            require_agreement(inference, f"dimension {axis} of `bias`", extent, wanted)


def _scores(query: tuple[Expr, ...], key: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The shape of the products: batch, heads, queries, keys."""
    return query[0], query[2], query[1], key[1]


def _legalize(builder: Any, expr: Call) -> Any:
    query, extents = sized(builder, expr.args[0])
    batch, _, heads, size = extents
    key, keys = sized(builder, agreeing(builder, expr.args[1], {0: batch, 2: heads, 3: size}))
    value = agreeing(builder, expr.args[2], {0: batch, 1: keys[1], 2: heads})
    shape = _scores(extents, keys)
    bias = [fitting(builder, with_extents(builder, item), shape) for item in expr.args[3:]]
    attrs = expr.attrs

    def kernel(q: Tensor, k: Tensor, v: Tensor, *b: Tensor) -> Tensor:
        return attention_kernel(
            q, k, v, b[0] if b else None, attrs.get("scale"), attrs.get("causal_mask"),
            attrs.get("window_size"),
        )  # fmt: skip

    return builder.call_te(kernel, query, key, value, *bias, primfunc_name_hint="attention")


def attention_kernel(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    scale: float | None,
    causal_mask: str | None,
    window_size: int | None,
) -> Tensor:
    """``softmax(query @ key.T * scale + bias) @ value`` for each head of each batch.

    See `attention` for the arguments.
    """
    wide = accumulator(query.dtype)
    batch, queries, heads, size = query.shape
    keys = key.shape[1]
    h, j = te.reduce_axis((0, size), "h"), te.reduce_axis((0, keys), "j")
    if scale is None:
        factor = te.rsqrt(cast(wide, size)) if not _known(size) else 1 / math.sqrt(_known(size))
    else:
        factor = scale
    factor = as_expr(factor, wide) if isinstance(factor, float) else factor

    def product(b: Any, n: Any, i: Any, k: Any) -> Any:
        return te.sum(cast(wide, query(b, i, n, h)) * cast(wide, key(b, k, n, h)), axis=h)

    shape = (batch, heads, queries, keys)
    products = or_neutral(te.compute(shape, product, "T_scores", "batch_matmul"), [size])

    def score(b: Any, n: Any, i: Any, k: Any) -> Any:
        result = products(b, n, i, k) * factor
        if bias is not None:
            place = (b, n, i, k)
            at = [0 if is_const_int(e, 1) else p for e, p in zip(bias.shape, place, strict=True)]
            result = result + cast(wide, bias(*at))
        allowed = _allowed(i, k, queries, keys, causal_mask, window_size)
        return result if allowed is None else tir.Select(allowed, result, -te.infinity(wide))

    is_masked = bias is not None or causal_mask is not None
    scores = te.compute(shape, score, "T_masked")
    weights = masked_softmax(scores) if is_masked else softmax(scores)

    def mixed(b: Any, i: Any, n: Any, x: Any) -> Any:
        return te.sum(weights(b, n, i, j) * cast(wide, value(b, j, n, x)), axis=j)

    result_shape = (batch, queries, heads, value.shape[3])
    result = or_neutral(te.compute(result_shape, mixed, "T_attention", "batch_matmul"), [keys])
    if wide is query.dtype:
        return result
    return te.compute(result_shape, lambda *p: cast(query.dtype, result(*p)), "T_cast", "elemwise")


def _known(extent: Expr) -> int:
    return int(extent.value) if is_const_int(extent) else 0  # type: ignore[attr-defined]


def _allowed(
    i: Any, k: Any, queries: Expr, keys: Expr, causal_mask: str | None, window_size: int | None
) -> Any:
    """Whether query `i` may attend to key `k`; None if it always may."""
    if causal_mask is None:
        return None
    latest = i if causal_mask == "TopLeft" else i + (keys - queries)
    allowed = k <= latest
    return allowed if window_size is None else te.all(allowed, k > latest - window_size)


_ATTENTION = register("nn.attention", ("query", "key", "value", "bias*"), _infer, _legalize)


def attention(
    query: Any, key: Any, value: Any, bias: Any = None, scale: float | None = None,
    causal_mask: str | None = None, window_size: int | None = None,
) -> Call:  # fmt: skip
    """``softmax(query @ key.T * scale + bias) @ value`` for each head.

    The result of a query that may attend to no key, by a mask or by a bias of minus infinity, is 0.

    Args:
        query: ``(batch, queries, heads, size)``.
        key: ``(batch, keys, heads, size)``.
        value: ``(batch, keys, heads, result size)``.
        bias: what is added to the products, ``(batch, heads, queries, keys)``; dimensions of
            extent 1 repeat.
        scale: the factor of the products, by default one by the square root of the size.
        causal_mask: ``"TopLeft"`` if query i attends to keys up to i; ``"BottomRight"`` if the
            last query attends to all keys, and each one before to one less.
        window_size: with a mask, to how many keys a query attends at the most.

    Returns:
        ``(batch, queries, heads, result size)``.
    """
    if causal_mask not in (None, *MASKS):
        raise ArgumentValueError(
            f"R.nn.attention: `causal_mask` is None, {' or '.join(MASKS)}, got {causal_mask!r}"
        )
    if window_size is not None and (causal_mask is None or window_size < 1):
        raise ArgumentValueError(
            "R.nn.attention: `window_size` is at least 1, and needs a `causal_mask`, got "
            f"{window_size!r} and {causal_mask!r}"
        )
    attrs: dict[str, Any] = {}
    if scale is not None:
        attrs["scale"] = float(getattr(scale, "value", scale))
    if causal_mask is not None:
        attrs["causal_mask"] = causal_mask
    if window_size is not None:
        attrs["window_size"] = int(window_size)
    arguments = [query, key, value] + ([] if bias is None else [bias])
    return call(_ATTENTION, *arguments, attrs=attrs)
