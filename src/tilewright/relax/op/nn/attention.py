"""Attention of queries to keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tilewright.error import ArgumentValueError
from tilewright.ir.convert import const
from tilewright.ir.dtype import BFLOAT16, FLOAT32, INT64
from tilewright.ir.expr import Expr, is_const_int
from tilewright.relax.expr import Call
from tilewright.relax.op.broadcasting import fitting, with_extents
from tilewright.relax.op.nn.attention_kernel import (
    Multiples,
    Operand,
    attention_kernel,
    causal,
    of_sequences,
)
from tilewright.relax.op.rules import agreeing, at_least, integers, require_agreement, sized
from tilewright.relax.op.table import Inference, call, register
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.target import Target
from tilewright.target.kinds import KERNEL_KINDS
from tilewright.te import Tensor
from tilewright.te.tensor import extent_text

MASKS: Final = ("TopLeft", "BottomRight")


def _infer(inference: Inference) -> TensorStructInfo:
    return _infer_product(inference, len(inference.call.args))


def _infer_product(inference: Inference, count: int) -> TensorStructInfo:
    """The struct info of the result of attention, whose first `count` arguments are arrays with
    four dimensions."""
    query, key, value = (inference.tensor(position) for position in range(3))
    dtype = inference.same_dtype(*range(count))
    if dtype is not None and not dtype.is_float:
        inference.error(f"the arguments must have a float dtype, they have {dtype!s}")
    for position in range(count):
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
    if count > 3:
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
    return attend(builder, expr, (query, key, value), (extents, keys))


def attend(
    builder: Any,
    expr: Call,
    operands: Sequence[Any],
    shapes: tuple[tuple[Expr, ...], tuple[Expr, ...]],
    heads_first: Sequence[bool] = (False, False, False),
) -> Any:
    """The call of the kernel of an attention.

    Args:
        builder: where it is emitted.
        expr: the call of the operator.
        operands: query, key and value, whose extents agree.
        shapes: those of query and key, as the operator has them.
        heads_first: which operands have the heads before the sequence.
    """
    shape = _scores(*shapes)
    bias = [fitting(builder, with_extents(builder, item), shape) for item in expr.args[3:]]
    attrs = expr.attrs
    mask, window = attrs.get("causal_mask"), attrs.get("window_size")

    def kernel(*tensors: Tensor) -> Tensor:
        q, k, v = map(Operand, tensors[:3], heads_first)
        keys_of = None if mask is None else causal(q.shape[1], k.shape[1], mask, window)
        added = tensors[3] if bias else None
        return attention_kernel(q, k, v, added, attrs.get("scale"), keys_of, _multiples(q, k, v))

    return builder.call_te(kernel, *operands, *bias, primfunc_name_hint="attention")


def _multiples(*operands: Operand) -> Multiples | None:
    """What instructions of the processor for products of bfloat16 need; None for other dtypes, and
    without such instructions."""
    target = Target.given_or_current()
    if {operand.dtype for operand in operands} != {BFLOAT16} or target.kind.name in KERNEL_KINDS:
        return None
    found = target.machine.dot_products
    if "bfloat16 tile" in found:
        return Multiples(16, 32)
    if "bfloat16" not in found:
        return None
    return Multiples(2 if "bfloat16 matrix" in found else 1, target.machine.lanes(FLOAT32))


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
        window_size: with a mask, the maximum number of keys that a query attends to.

    Returns:
        ``(batch, queries, heads, result size)``.
    """
    arguments = [query, key, value] + ([] if bias is None else [bias])
    attrs = _attrs("R.nn.attention", scale, causal_mask, window_size)
    return call(_ATTENTION, *arguments, attrs=attrs)


def _attrs(
    owner: str, scale: Any, causal_mask: str | None, window_size: int | None
) -> dict[str, Any]:
    if causal_mask not in (None, *MASKS):
        raise ArgumentValueError(
            f"{owner}: `causal_mask` is None, {' or '.join(MASKS)}, got {causal_mask!r}"
        )
    if window_size is not None and (causal_mask is None or window_size < 1):
        raise ArgumentValueError(
            f"{owner}: `window_size` is at least 1, and needs a `causal_mask`, got "
            f"{window_size!r} and {causal_mask!r}"
        )
    attrs: dict[str, Any] = {}
    if scale is not None:
        attrs["scale"] = float(getattr(scale, "value", scale))
    if causal_mask is not None:
        attrs["causal_mask"] = causal_mask
    if window_size is not None:
        attrs["window_size"] = int(window_size)
    return attrs


# --- sequences of different lengths ---------------------------------------------------------


def _infer_var_len(inference: Inference) -> TensorStructInfo:
    query, key, value = (inference.tensor(position) for position in range(3))
    for position in (3, 4):
        starts = integers(inference, position)
        if starts.ndim not in (-1, 1):
            inference.error(
                f"{inference.name_of(position)} has one dimension, it has {starts.ndim}"
            )
    a, b = (inference.tensor(position).extents for position in (3, 4))
    if a is not None and b is not None:
        require_agreement(inference, "the numbers of sequences + 1", a[0], b[0])
    for position, extents in ((0, query.extents), (1, key.extents), (2, value.extents)):
        if extents is not None and inference.differ(extents[0], const(1, INT64)):
            inference.error(
                f"{inference.name_of(position)} is a batch of 1, in which sequences follow each "
                f"other; it is one of {extent_text(extents[0])}"
            )
    return _infer_product(inference, 3)


def _legalize_var_len(builder: Any, expr: Call) -> Any:
    query, extents = sized(builder, agreeing(builder, expr.args[0], {0: const(1, INT64)}))
    batch, _, heads, size = extents
    key, keys = sized(builder, agreeing(builder, expr.args[1], {0: batch, 2: heads, 3: size}))
    value = agreeing(builder, expr.args[2], {0: batch, 1: keys[1], 2: heads})
    query_starts, (count,) = sized(builder, at_least(builder, expr.args[3], {0: 1}))
    key_starts = agreeing(builder, expr.args[4], {0: count})
    attrs = expr.attrs
    mask, window = attrs.get("causal_mask"), attrs.get("window_size")

    def kernel(q: Tensor, k: Tensor, v: Tensor, starts: Tensor, of_keys: Tensor) -> Tensor:
        keys_of = of_sequences(q.shape[1], starts, of_keys, mask, window)
        operands = Operand(q), Operand(k), Operand(v)
        return attention_kernel(*operands, None, attrs.get("scale"), keys_of, _multiples(*operands))

    return builder.call_te(
        kernel, query, key, value, query_starts, key_starts, primfunc_name_hint="attention_var_len"
    )


_ATTENTION_VAR_LEN = register(
    "nn.attention_var_len", ("queries", "keys", "values", "seqstart_q", "seqstart_k"),
    _infer_var_len, _legalize_var_len,
)  # fmt: skip


def attention_var_len(
    queries: Any, keys: Any, values: Any, seqstart_q: Any, seqstart_k: Any,
    max_seqlen_q: Any = None, max_seqlen_k: Any = None, scale: float | None = None,
    causal_mask: str | None = None, window_size: int | None = None,
) -> Call:  # fmt: skip
    """`attention` in each of several sequences, which follow each other in one batch.

    The result of a query behind the last sequence is 0.

    Args:
        queries: ``(1, all queries, heads, size)``.
        keys: ``(1, all keys, heads, size)``.
        values: ``(1, all keys, heads, result size)``.
        seqstart_q: ``(sequences + 1,)``, integers: where each sequence begins among the queries,
            and where the last one ends.
        seqstart_k: the same among the keys.
        max_seqlen_q: not used: the lengths follow from `seqstart_q`.
        max_seqlen_k: likewise.
        scale: the factor of the products, by default one by the square root of the size.
        causal_mask: see `attention`, in each sequence.
        window_size: likewise.

    Returns:
        ``(1, all queries, heads, result size)``.
    """
    del max_seqlen_q, max_seqlen_k
    attrs = _attrs("R.nn.attention_var_len", scale, causal_mask, window_size)
    return call(_ATTENTION_VAR_LEN, queries, keys, values, seqstart_q, seqstart_k, attrs=attrs)
