"""Whether loops compute what an intrinsic computes, and on which boxes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from tilewright.arith.interval import interval_of, union
from tilewright.error import TEScheduleError
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr, IntImm, Var, is_const_int
from tilewright.ir.structural import structural_equal
from tilewright.te.operation import ComputeOp
from tilewright.te.schedule.graph import LoadRewriter
from tilewright.te.schedule.infer_bound import Bounds, read_boxes
from tilewright.te.schedule.nest import in_domain
from tilewright.te.schedule.relation import domain, guards_of, values_above
from tilewright.te.schedule.stage import Stage
from tilewright.te.tensor import Tensor, extent_text, shape_text
from tilewright.te.tensor_intrin import TensorIntrin
from tilewright.tir.buffer import Range
from tilewright.tir.expr import IterVar, ProducerLoad, Reduce
from tilewright.tir.substitute import substitute


class Tile(NamedTuple):
    """What an intrinsic computes at once.

    Attributes:
        intrin: the intrinsic.
        outer: the loops around it.
        regions: for each of its buffers, a tensor and the box that the buffer stands for.
    """

    intrin: TensorIntrin
    outer: list[IterVar]
    regions: list[tuple[Tensor, tuple[Range, ...]]]


def match_intrinsic(stage: Stage, bounds: Bounds) -> Tile | None:
    """The tile of the intrinsic of `stage`; None if it has none.

    Raises:
        TEScheduleError: if the loops do not compute what the intrinsic does.
    """
    wanted = [leaf for leaf in stage.leaf_iter_vars if leaf in stage.tensor_intrins]
    if not wanted:
        return None
    return _Matcher(stage, bounds, wanted[0]).tile()


class _Matcher:
    def __init__(self, stage: Stage, bounds: Bounds, loop: IterVar) -> None:
        assert isinstance(stage.op, ComputeOp)
        self._stage, self._op = stage, stage.op
        self._intrin = stage.tensor_intrins[loop]
        position = stage.position("tensorize", loop)
        self._outer = stage.leaf_iter_vars[:position]
        self._ranges, loops, leaves = bounds.stages[stage]
        self._values = values_above(stage.relations, self._ranges, leaves)
        self._analyzer = bounds.analyzer(stage)
        for var, dom in loops.values():
            self._analyzer.bind_range(var, dom.min, dom.extent)
        self._inner = dict(loops[leaf] for leaf in stage.leaf_iter_vars[position:])

    def tile(self) -> Tile:
        """The boxes, after checking everything."""
        self._check_whole()
        op, other = self._op, self._intrin.op
        if (op.reduction is None) != (other.reduction is None):
            raise self._mismatch("one of them is a reduction and the other is not")
        boxes = {axis: self._box(axis) for axis in (*op.axis, *op.reduce_axis)}
        self._check_exact(boxes)
        axes: dict[Var, Expr] = {}
        for mine, theirs in ((op.axis, other.axis), (op.reduce_axis, other.reduce_axis)):
            self._align(mine, theirs, boxes, axes)
        if len(op.input_tensors) != len(other.input_tensors):
            raise self._mismatch(
                f"it reads {len(op.input_tensors)} tensors, the intrinsic "
                f"{len(other.input_tensors)}"
            )
        inputs = [(tensor, self._input_region(tensor)) for tensor in op.input_tensors]
        self._check_body(inputs, axes)
        written = tuple(boxes[axis] for axis in op.axis)
        return Tile(self._intrin, self._outer, [*inputs, *((t, written) for t in op.outputs)])

    def _mismatch(self, reason: str) -> TEScheduleError:
        return self._stage.error(
            "tensorize", f"it does not compute what {self._intrin.name} does: {reason}"
        )

    def _check_whole(self) -> None:
        conditions = guards_of(self._stage.relations, self._ranges, self._values)
        for axis in self._op.axis:
            if self._ranges[axis] is not domain(axis):
                conditions += in_domain(self._values[axis], axis, self._analyzer)
        for condition in conditions:
            if not self._analyzer.can_prove(condition):
                raise self._stage.error(
                    "tensorize",
                    f"some tiles are not whole: it is not known that {condition!r}",
                )

    def _box(self, axis: IterVar) -> Range:
        """Over what an axis ranges while the loops of the intrinsic run."""
        low, high = interval_of(self._values[axis], self._inner, self._analyzer)
        if low is None or high is None:
            raise self._mismatch(f"the range of axis {axis.name} is not known")
        return Range.from_min_extent(low, self._analyzer.simplify(high - low + 1))

    def _check_exact(self, boxes: Mapping[IterVar, Range]) -> None:
        """Require that the loops reach each element of the box once.

        Loops that follow from axes without guards are injective, so it is enough to count.
        """
        extents = [dom.extent for dom in (*self._inner.values(), *boxes.values())]
        known = [extent.value for extent in extents if isinstance(extent, IntImm)]
        if len(known) < len(extents):
            raise self._mismatch("the extents of its loops are not constant")
        count = len(self._inner)
        if math.prod(known[:count]) != math.prod(known[count:]):
            raise self._mismatch("the loops inside do not run over a box of elements")

    def _align(
        self,
        mine: tuple[IterVar, ...],
        theirs: tuple[IterVar, ...],
        boxes: Mapping[IterVar, Range],
        axes: dict[Var, Expr],
    ) -> None:
        """Let the last axes stand for those of the intrinsic; the others have one value."""
        lead = len(mine) - len(theirs)
        for axis in mine[: max(lead, 0)]:
            if not is_const_int(boxes[axis].extent, 1):
                extent = extent_text(boxes[axis].extent)
                raise self._mismatch(
                    f"axis {axis.name} has extent {extent} and is not an axis of it"
                )
            axes[axis.var] = boxes[axis].min
        if lead < 0:
            raise self._mismatch(f"it has {len(mine)} axes, the intrinsic {len(theirs)}")
        for axis, other in zip(mine[lead:], theirs, strict=True):
            extent = domain(other).extent
            if not structural_equal(boxes[axis].extent, extent):
                raise self._mismatch(
                    f"axis {axis.name} has extent {extent_text(boxes[axis].extent)}, axis "
                    f"{other.name} of the intrinsic {extent_text(extent)}"
                )
            self._analyzer.bind(other.var, domain(other))
            axes[axis.var] = as_expr(boxes[axis].min + other.var - domain(other).min)

    def _input_region(self, tensor: Tensor) -> tuple[Range, ...]:
        op = self._op
        variables = {axis.var: self._values[axis] for axis in (*op.axis, *op.reduce_axis)}
        boxes = read_boxes(op, tensor.op, variables, self._inner, self._analyzer)
        region: list[Range] = []
        for sides in zip(*boxes, strict=True):
            low, high = union(sides, self._analyzer)
            if low is None or high is None:
                raise self._mismatch(f"what it reads of {tensor.name} is not a box")
            region.append(Range.from_min_extent(low, self._analyzer.simplify(high - low + 1)))
        return tuple(region)

    def _check_body(
        self, inputs: list[tuple[Tensor, tuple[Range, ...]]], axes: Mapping[Var, Expr]
    ) -> None:
        op, other, simplify = self._op, self._intrin.op, self._analyzer.simplify
        starts: dict[Tensor, tuple[Tensor, tuple[Range, ...]]] = {}
        for (tensor, region), placed in zip(inputs, other.input_tensors, strict=True):
            lead = len(region) - placed.ndim
            extents = tuple(dom.extent for dom in region)
            if (
                lead < 0
                or tensor.dtype is not placed.dtype
                or not all(is_const_int(extent, 1) for extent in extents[:lead])
                or not all(map(structural_equal, extents[lead:], placed.shape))
            ):
                raise self._mismatch(
                    f"it reads a box {shape_text(extents)} of {tensor.name} {tensor.dtype!s}, the "
                    f"intrinsic {shape_text(placed.shape)} {placed.dtype!s}"
                )
            starts[tensor] = placed, region[lead:]

        def moved(load: ProducerLoad) -> Expr:
            placed, region = starts[load.producer]
            indices = load.indices[len(load.indices) - len(region) :]
            return ProducerLoad(
                placed,
                tuple(simplify(i - dom.min) for i, dom in zip(indices, region, strict=True)),
            )

        def same(load: ProducerLoad) -> Expr:
            return ProducerLoad(load.producer, tuple(map(simplify, load.indices)))

        mine, theirs = _parts(op), _parts(other)
        if len(mine) != len(theirs) or not all(
            structural_equal(LoadRewriter(moved)(substitute(a, axes)), LoadRewriter(same)(b))
            for a, b in zip(mine, theirs, strict=True)
        ):
            raise self._mismatch(f"{_shown(op)} is not {_shown(other)}")
        if op.reduction is not None and other.reduction is not None:
            combiners = op.reduction.combiner, other.reduction.combiner
            if op.reduction.init or other.reduction.init or not structural_equal(*combiners):
                raise self._mismatch("the reductions differ")


def _parts(op: ComputeOp) -> tuple[Expr, ...]:
    """The expressions that say what `op` computes."""
    reduction = op.reduction
    return op.body if reduction is None else (*reduction.source, reduction.condition)


def _shown(op: ComputeOp) -> str:
    parts = op.body if not isinstance(op.body[0], Reduce) else _parts(op)[:-1]
    return ", ".join(f"`{part!r}`" for part in parts)
