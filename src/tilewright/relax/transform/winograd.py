"""Convolutions with fewer multiplications."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final, NamedTuple

from tilewright import topi
from tilewright.ir.dtype import DType
from tilewright.ir.expr import const_int_value
from tilewright.ir.module import IRModule
from tilewright.relax.expr import Call, Constant, const
from tilewright.relax.struct_info import StructInfo, TensorStructInfo
from tilewright.relax.transform.function_pass import ModuleMutator, constant_of, is_call_of
from tilewright.relax.transform.legalize_ops import RepeatedCalls
from tilewright.relax.transform.processor_pass import ProcessorPass
from tilewright.schedule_rules.contraction_cycles import NEAR_BYTES
from tilewright.target import Target
from tilewright.tir.transform.machine import Machine
from tilewright.topi.nn.winograd import POINTS, Matrix, winograd_transforms, winograd_weights

FLOATS: Final = frozenset(map(DType, ("float32", "float64")))
"""Dtypes of which sums of products have the dtype of the operands, and little error."""

ENOUGH_GAIN: Final = 1.15
"""How many times as fast a convolution must be by an estimate: the weights take more memory."""

MOVED_BYTES: Final = 16.0
"""Bytes of transformed tiles that are written or read in a cycle."""


class ConvolutionShape(NamedTuple):
    """The extents of a convolution: of the result, and of the square kernel."""

    batch: int
    rows: int
    columns: int
    channels: int
    filters: int
    kernel: int
    dtype: DType


class WinogradConv2D(ProcessorPass):
    """Compute convolutions as products of transformed tiles, where that is faster.

    A tile of 4 x 4 results of a kernel of 3 x 3 then takes 36 multiplications for each pair of
    channels instead of 144. The weights are transformed now::

        before:  lv = R.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="HWIO")
        after:   lv = R.call_tir(cls.winograd_conv2d_nhwc, (x, w1), ...)

    That is about convolutions with stride 1 of images with their channels last, as `ChannelsLast`
    makes them, and with weights that are constants. Results differ by rounding: see
    `topi.nn.winograd.POINTS`.

    Args:
        target: what the program is compiled for; see `ProcessorPass`.
    """

    def transform_for(self, mod: IRModule, target: Target) -> IRModule:
        return _Conversion(mod, target.machine).module() if target.machine.vector_bits else mod


class _Conversion(ModuleMutator):
    def __init__(self, mod: IRModule, machine: Machine) -> None:
        super().__init__(mod)
        self._machine = machine
        self._transformed: dict[tuple[int, int], Constant] = {}
        # Transformed weights have the extents of tiles, which say neither part of the sum.
        self._repeated: defaultdict[tuple[int, int], RepeatedCalls] = defaultdict(RepeatedCalls)

    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        if not is_call_of(call, "nn.conv2d") or not _is_plain(call):
            return call
        weights, shape = constant_of(self.builder_, call.args[1]), self._shape(call)
        if weights is None or shape is None:
            return call
        results = best_tile(shape, self._machine)
        if results is None:
            return call
        key = (id(weights), results)
        if key not in self._transformed:
            self._transformed[key] = const(winograd_weights(weights.data.numpy(), results))
        operands = self.builder_.normalize(call.args[0]), self._transformed[key]
        bound = self.builder_.function_scope.bound
        return self._repeated[results, shape.kernel].legalized(
            call.replace(args=operands),
            lambda: self.builder_.call_te(
                topi.nn.winograd_conv2d_nhwc,
                *operands,
                results,
                call.attrs["padding"],
                primfunc_name_hint="winograd_conv2d",
            ),
            lambda: len(bound),
        )

    def _shape(self, call: Call) -> ConvolutionShape | None:
        """The extents, if those of images are constant."""
        result: Any = self.builder_.normalize(call).struct_info
        weights: Any = call.args[1].struct_info
        if not is_of_floats(call, result) or None in (result.extents, weights.extents):
            return None
        batch, rows, columns, filters = map(const_int_value, result.extents)
        height, width, channels, _ = map(const_int_value, weights.extents)
        if not (rows and columns and filters and channels and height) or height != width:
            return None
        return ConvolutionShape(batch or 1, rows, columns, channels, filters, height, result.dtype)


def is_of_floats(call: Call, result: StructInfo | None) -> bool:
    """Whether all operands of a call, and its result, have the same one of `FLOATS`."""
    infos = [result, *(operand.struct_info for operand in call.args)]
    dtypes = {info.dtype if isinstance(info, TensorStructInfo) else None for info in infos}
    return len(dtypes) == 1 and dtypes <= FLOATS


def _is_plain(call: Call) -> bool:
    """Whether a convolution has the layout, and no strides, dilation or groups."""
    attrs = call.attrs
    steps = (*attrs["strides"], *attrs["dilation"], attrs["groups"])
    layouts = (attrs["data_layout"], attrs["kernel_layout"])
    return all(int(n) == 1 for n in steps) and layouts == ("NHWC", "HWIO")


def best_tile(shape: ConvolutionShape, machine: Machine) -> int | None:
    """How many results a tile should have in each dimension; None if multiplying all is better."""
    sizes = [n for extent in POINTS if (n := extent - shape.kernel + 1) > 1]
    if shape.kernel < 2 or not sizes:
        return None
    cycles = {size: _transformed_cycles(shape, size, machine) for size in sizes}
    best = min(sizes, key=lambda size: cycles[size])
    return best if cycles[best] * ENOUGH_GAIN <= _direct_cycles(shape, machine) else None


def _direct_cycles(shape: ConvolutionShape, machine: Machine) -> float:
    """An estimate of the time of a convolution as it is."""
    places, weights = shape.batch * shape.rows * shape.columns, shape.kernel**2
    return _product_cycles(places, weights, shape, machine)


def _transformed_cycles(shape: ConvolutionShape, size: int, machine: Machine) -> float:
    """An estimate of the time with tiles of `size` x `size` results."""
    tiles = shape.batch * -(-shape.rows // size) * -(-shape.columns // size)
    transforms = winograd_transforms(size, shape.kernel)
    places = len(transforms.image) ** 2
    additions = (
        _terms(transforms.image) * 2 * len(transforms.image) * shape.channels
        + _terms(transforms.result) * (size + len(transforms.image)) * shape.filters
    )
    moved = 2 * places * (shape.channels + shape.filters) * shape.dtype.itemsize
    each = additions / machine.lanes(shape.dtype) + moved / MOVED_BYTES
    return tiles * each + _product_cycles(tiles, places, shape, machine)


def _product_cycles(rows: int, weights: int, shape: ConvolutionShape, machine: Machine) -> float:
    """An estimate of the time of `rows` times so many weights for each pair of channels."""
    multiplications = weights * shape.channels * shape.filters
    size = multiplications * shape.dtype.itemsize
    arriving = size / NEAR_BYTES if size > machine.own_cache // 2 else 0.0
    return rows * multiplications / (2 * machine.lanes(shape.dtype)) + arriving


def _terms(matrix: Matrix) -> int:
    """How many elements are not zero."""
    return sum(element != 0 for row in matrix for element in row)
