"""Choosing the boxes that overlap none of those with a higher score by more than a part."""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

from typing import Any, NamedTuple

from tilewright import te, tir
from tilewright.error import ArgumentValueError, DTypeError
from tilewright.ir.convert import cast
from tilewright.script import tir as T  # noqa: N812
from tilewright.te import Tensor
from tilewright.tir.function import PrimFunc
from tilewright.topi.nn.convolution import require_rank
from tilewright.topi.nn.window import constant, require_equal
from tilewright.topi.sort import argsort


class _Options(NamedTuple):
    """See `non_max_suppression`; a limit of 0 is none."""

    limit: int
    overlap: float
    of_all_classes: bool
    best: int
    coordinates: int
    class_index: int


def non_max_suppression(
    data: Tensor,
    valid_count: Tensor,
    indices: Tensor,
    max_output_size: int = -1,
    iou_threshold: float = 0.5,
    force_suppress: bool = False,
    top_k: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = 0,
    return_indices: bool = True,
    invalid_to_bottom: bool = False,
) -> Any:
    """The boxes in the order of their scores, without those that overlap a better one too much.

    Args:
        data: ``(batch, boxes, numbers)``: for each box its class, its score, left, top, right and
            bottom.
        valid_count: ``(batch,)``, integers: number of valid boxes per image.
        indices: ``(batch, boxes)``, integers: what boxes are called in the result.
        max_output_size: maximum number of chosen boxes; 0 or less for any number.
        iou_threshold: two boxes overlap too much if the area of both is more than this part of the
            area of either.
        force_suppress: whether boxes of different classes compete.
        top_k: how many of the best boxes are considered; 0 or less for all.
        coord_start: where among the numbers of a box left, top, right and bottom are.
        score_index: where its score is.
        id_index: position of the class; negative without classes.
        return_indices: whether the result says which boxes are chosen, or is the boxes.
        invalid_to_bottom: whether chosen boxes come first, with nothing between them.

    Returns:
        What the chosen boxes are called, then -1, ``(batch, boxes)``; and how many they are,
        ``(batch, 1)``. Without `return_indices`, the boxes in the order of their scores, with -1 in
        place of those that are not chosen.
    """
    owner = "non_max_suppression"
    for name, tensor, layout in (
        ("data", data, "BXN"), ("valid_count", valid_count, "B"), ("indices", indices, "BX"),
    ):  # fmt: skip
        require_rank(owner, name, tensor, layout)
        require_equal(owner, f"the batches of `data` and `{name}`", data.shape[0], tensor.shape[0])
    require_equal(owner, "the boxes of `data` and `indices`", data.shape[1], indices.shape[1])
    numbers = constant(data.shape[2])
    positions = [coord_start, coord_start + 3, score_index, max(id_index, 0)]
    if numbers is not None and not all(0 <= n < numbers for n in positions):
        raise ArgumentValueError(f"{owner}: a box has {numbers} numbers, got positions {positions}")
    for name, tensor in (("valid_count", valid_count), ("indices", indices)):
        if str(tensor.dtype) not in ("int32", "int64"):
            raise DTypeError(f"{owner}: `{name}` has int32 or int64, not {tensor.dtype!s}")
    order = _order(data, valid_count, score_index)
    options = _Options(
        max(0, int(max_output_size)), float(iou_threshold), bool(force_suppress) or id_index < 0,
        max(0, int(top_k)), coord_start, max(id_index, 0),
    )  # fmt: skip
    counts = te.compute(valid_count.shape, lambda b: cast("int64", valid_count(b)), "T_counts")
    operands = [_with_long_extents(tensor) for tensor in (data, order, counts)]
    chosen, number = te.extern_primfunc(operands, _program(str(data.dtype), options), owner)
    if return_indices:
        names = te.compute(
            indices.shape,
            lambda b, t: te.if_then_else(
                t < number(b, 0),
                cast("int32", indices(b, order(b, tir.max(chosen(b, t), 0)))),
                te.const(-1, "int32"),
            ),
            "T_names",
        )
        total = te.compute(number.shape, lambda b, i: cast("int32", number(b, i)), "T_number")
        return [names, total]
    return _boxes(data, order, chosen, number, invalid_to_bottom)


def _with_long_extents(tensor: Tensor) -> Tensor:
    """`tensor` with extents of int64, as those of the program below are."""
    shape = [cast("int64", extent) for extent in tensor.shape]
    return te.compute(shape, lambda *place: tensor(*place), "T_operand", "injective")


def _order(data: Tensor, valid_count: Tensor, score_index: int) -> Tensor:
    """The boxes of each image by their scores; those that do not count are the last ones."""
    lowest = -te.infinity(data.dtype)
    scores = te.compute(
        data.shape[:2],
        lambda b, x: tir.Select(
            x < cast(x.dtype, valid_count(b)), data(b, x, score_index), lowest
        ),
        "T_scores",
    )  # fmt: skip
    return argsort(scores, None, 1, False, "int64")


def _boxes(
    data: Tensor, order: Tensor, chosen: Tensor, number: Tensor, invalid_to_bottom: bool
) -> Tensor:
    """The boxes that are chosen, at their places in order, or one after the other."""
    nothing = te.const(-1.0, data.dtype)
    if invalid_to_bottom:
        return te.compute(
            data.shape,
            lambda b, t, n: te.if_then_else(
                t < number(b, 0), data(b, order(b, tir.max(chosen(b, t), 0)), n), nothing
            ),
            "T_boxes",
        )
    step = te.reduce_axis((0, data.shape[1]), "k")
    is_chosen = te.compute(
        data.shape[:2],
        lambda b, t: te.max(
            tir.Select(
                te.all(step.var < number(b, 0), chosen(b, step.var).equal(t)),
                te.const(1, "int32"), te.const(0, "int32"),
            ),
            axis=step,
        ),
        "T_chosen",
    )  # fmt: skip
    return te.compute(
        data.shape,
        lambda b, t, n: te.if_then_else(is_chosen(b, t) > 0, data(b, order(b, t), n), nothing),
        "T_boxes",
    )


def _program(dtype: str, options: _Options) -> PrimFunc:
    """The program that chooses: places among the boxes in order, and how many they are."""
    limit, best, first, kind = (
        options.limit, options.best, options.coordinates, options.class_index,
    )  # fmt: skip
    overlap, of_all = te.const(options.overlap, dtype), options.of_all_classes
    zero = te.const(0.0, dtype)

    def length(low: Any, high: Any) -> Any:
        return tir.max(high - low, zero)

    def corners(boxes: Any, image: Any, box: Any) -> list[Any]:
        return [boxes[image, box, first + n] for n in range(4)]

    def too_much(box: list[Any], other: list[Any]) -> Any:
        """Whether the common area of two boxes is too large a part of both together."""
        (left, top, right, bottom), (u, v, w, z) = box, other
        common = length(tir.max(left, u), tir.min(right, w)) * length(
            tir.max(top, v), tir.min(bottom, z)
        )
        area = length(left, right) * length(top, bottom) + length(u, w) * length(v, z)
        return common > overlap * (area - common)

    @T.prim_func(private=True)
    def choose(d: T.handle, o: T.handle, c: T.handle, result: T.handle, number: T.handle):
        batch = T.int64()
        boxes = T.int64()
        numbers = T.int64()
        D = T.match_buffer(d, (batch, boxes, numbers), dtype)  # noqa: N806
        O = T.match_buffer(o, (batch, boxes), "int64")  # noqa: E741, N806
        C = T.match_buffer(c, (batch,), "int64")  # noqa: N806
        R = T.match_buffer(result, (batch, boxes), "int64")  # noqa: N806
        N = T.match_buffer(number, (batch, 1), "int64")  # noqa: N806
        keeps = T.alloc_buffer((1,), "bool")
        for b in range(batch):
            N[b, 0] = T.int64(0)
            for t in range(boxes):
                R[b, t] = T.int64(-1)
            for t in range(boxes):
                x = O[b, t]
                keeps[0] = t < C[b] and (best == 0 or t < best) and (limit == 0 or N[b, 0] < limit)
                for k in range(N[b, 0]):
                    y = O[b, R[b, k]]
                    competes = of_all or D[b, x, kind] == D[b, y, kind]
                    if keeps[0] and competes and too_much(corners(D, b, x), corners(D, b, y)):
                        keeps[0] = T.bool(False)
                if keeps[0]:
                    R[b, N[b, 0]] = t
                    N[b, 0] = N[b, 0] + 1

    return choose
