"""Losses."""

from __future__ import annotations

from typing import Any, Final

from tilewright import te, topi
from tilewright.error import require_one_of
from tilewright.ir.convert import as_expr, cast
from tilewright.relax.expr import Call
from tilewright.relax.op.rules import agreeing, require_agreement, sized
from tilewright.relax.op.table import Inference, call, register
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.te import Tensor
from tilewright.topi.operands import accumulator

REDUCTIONS: Final = ("mean", "sum", "none")


def _infer_cross_entropy(inference: Inference) -> TensorStructInfo:
    predictions, labels = inference.tensor(0), inference.tensor(1)
    dtype = inference.same_dtype(0, 1)
    if dtype is not None and not dtype.is_float:
        inference.error(f"the arguments must have a float dtype, they have {dtype!s}")
    if -1 not in (predictions.ndim, labels.ndim) and predictions.ndim != labels.ndim:
        inference.error(
            f"both arguments have one shape; they have {predictions.ndim} and {labels.ndim} "
            "dimensions"
        )
    if predictions.extents is not None and labels.extents is not None:
        for n, (a, b) in enumerate(zip(predictions.extents, labels.extents, strict=True)):
            require_agreement(inference, f"dimension {n} of both", a, b)
    return TensorStructInfo((), dtype, predictions.vdevice)


def _legalize_cross_entropy(builder: Any, expr: Call) -> Any:
    def kernel(predictions: Tensor, labels: Tensor) -> Tensor:
        dtype = predictions.dtype
        wide = accumulator(dtype)
        summed = topi.sum(topi.multiply(topi.cast(predictions, wide), topi.cast(labels, wide)))
        batch = cast(wide, predictions.shape[0] if predictions.ndim > 1 else as_expr(1))
        return te.compute((), lambda: cast(dtype, -summed() / batch), "T_loss")

    predictions, extents = sized(builder, expr.args[0])
    labels = agreeing(builder, expr.args[1], dict(enumerate(extents)))
    return builder.call_te(
        kernel, predictions, labels, primfunc_name_hint="cross_entropy_with_logits"
    )


_CROSS_ENTROPY = register(
    "nn.cross_entropy_with_logits", ("predictions", "labels"),
    _infer_cross_entropy, _legalize_cross_entropy,
)  # fmt: skip


def cross_entropy_with_logits(predictions: Any, labels: Any) -> Call:
    """The sum of ``-prediction * label``, by the number of samples.

    Args:
        predictions: logarithms of probabilities, with samples along the first of two or more
            dimensions.
        labels: the probabilities that they should be, of the same shape.
    """
    return call(_CROSS_ENTROPY, predictions, labels)


def _infer_nll_loss(inference: Inference) -> TensorStructInfo:
    predictions, targets = inference.tensor(0), inference.tensor(1)
    dtype = predictions.dtype
    if dtype is not None and not dtype.is_float:
        inference.error(f"argument `predictions` must have a float dtype, it has {dtype!s}")
    if targets.dtype is not None and not (targets.dtype.is_int or targets.dtype.is_uint):
        inference.error(f"argument `targets` must be integers, it has dtype {targets.dtype!s}")
    if -1 not in (predictions.ndim, targets.ndim) and predictions.ndim != targets.ndim + 1:
        inference.error(
            f"argument `targets` has a dimension less than `predictions`; they have {targets.ndim} "
            f"and {predictions.ndim}"
        )
    if len(inference.call.args) > 2:
        _check_weights(inference, predictions)
    if predictions.extents is not None and targets.extents is not None:
        samples = [e for n, e in enumerate(predictions.extents) if n != _channel(predictions)]
        for n, (a, b) in enumerate(zip(samples, targets.extents, strict=True)):
            require_agreement(inference, f"dimension {n} of `targets`", b, a)
    if inference.attr("reduction") != "none":
        return TensorStructInfo((), dtype, predictions.vdevice)
    return TensorStructInfo(targets.shape, dtype, predictions.vdevice, targets.ndim)


def _channel(predictions: TensorStructInfo) -> int:
    return 0 if predictions.ndim == 1 else 1


def _check_weights(inference: Inference, predictions: TensorStructInfo) -> None:
    weights = inference.tensor(2)
    inference.same_dtype(0, 2)
    if weights.ndim not in (-1, 1):
        inference.error(f"argument `weights` has one dimension, it has {weights.ndim}")
    if predictions.extents is not None and weights.extents is not None:
        classes = predictions.extents[_channel(predictions)]
        require_agreement(inference, "the classes", classes, weights.extents[0])


def _legalize_nll_loss(builder: Any, expr: Call) -> Any:
    predictions, extents = sized(builder, expr.args[0])
    channel = min(1, len(extents) - 1)
    samples = [e for n, e in enumerate(extents) if n != channel]
    targets = agreeing(builder, expr.args[1], dict(enumerate(samples)))
    weights = [agreeing(builder, w, {0: extents[channel]}) for w in expr.args[2:]]
    reduction, ignored = expr.attrs["reduction"], expr.attrs["ignore_index"]

    def kernel(predicted: Tensor, right: Tensor, *given: Tensor) -> Tensor:
        weight = given[0] if given else _ones(predicted, channel)
        return topi.nn.nll_loss(predicted, right, weight, reduction, ignored)

    return builder.call_te(kernel, predictions, targets, *weights, primfunc_name_hint="nll_loss")


def _ones(predictions: Tensor, channel: int) -> Tensor:
    shape = (predictions.shape[channel],)
    return te.compute(shape, lambda _: as_expr(1, predictions.dtype), "T_ones")


_NLL_LOSS = register(
    "nn.nll_loss", ("predictions", "targets", "weights*"), _infer_nll_loss, _legalize_nll_loss
)


def nll_loss(
    predictions: Any, targets: Any, weights: Any = None, reduction: str = "mean",
    ignore_index: int = -100,
) -> Call:  # fmt: skip
    """The negative log likelihood of the right classes.

    Args:
        predictions: logarithms of probabilities, ``(N, C, d1, d2, ...)`` or ``(C,)``.
        targets: the right classes, ``(N, d1, d2, ...)`` or without dimensions. The loss of what is
            not a class is NaN.
        weights: ``(C,)``, ones by default.
        reduction: ``"mean"``, weighted, ``"sum"``, or ``"none"``.
        ignore_index: the class that does not count.
    """
    require_one_of("R.nn.nll_loss: `reduction`", reduction, REDUCTIONS)
    arguments = [predictions, targets] + ([] if weights is None else [weights])
    attrs = {"reduction": reduction, "ignore_index": int(ignore_index)}
    return call(_NLL_LOSS, *arguments, attrs=attrs)
