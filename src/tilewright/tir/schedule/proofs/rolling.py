"""Which elements an iteration of a loop computes again, and how they can be kept instead.

One iteration of a loop needs a window of a buffer; the next one needs the same window, moved by a
few elements. Both windows overlap, and what is in both is computed twice::

    for l in range(4):
        for a in range(6):
            B[l * 4 + a] = ...
        ... reads B[l * 4 : l * 4 + 6]

The instance ``(l, a)`` is the instance ``(l - 1, a + 4)`` again if all iterators of the block, and
its predicate, are the same in both. Then it can be left out if ``l > 0`` and ``a < 2``, provided
that what the earlier instance computed is still there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tilewright.arith import Analyzer, detect_linear_equation
from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, IntImm, Or, Var, is_const_int
from tilewright.ir.structural import structural_equal
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion, Range
from tilewright.tir.stmt import BlockRealize, BufferStore, For
from tilewright.tir.substitute import BufferRewriter, substitute


class Window(NamedTuple):
    """The elements along one dimension of a buffer that an iteration of a loop needs.

    Attributes:
        axis: the dimension.
        loop: the loop that moves the window.
        inner: the loop inside of it that runs through the window.
        step: by how much the window moves.
        extent: how long it is.
    """

    axis: int
    loop: For
    inner: For
    step: int
    extent: int

    @property
    def is_new(self) -> Expr:
        """The condition that an element was not computed by the iteration before."""
        loop_var, inner_var = self.loop.loop_var, self.inner.loop_var
        first = loop_var < self.loop.min + 1
        return Or(first, const(self.extent - self.step, inner_var.dtype) <= inner_var)


def windows(
    realize: BlockRealize,
    indices: tuple[Expr, ...],
    common: list[For],
    inner: list[For],
    analyzer: Analyzer,
) -> list[Window]:
    """The windows that overlap, those of outer loops first.

    Args:
        realize: the block that computes the elements.
        indices: of an element, in terms of the loops.
        common: the loops around the block and all that read the buffer, the outermost first.
        inner: the other loops around the block.
        analyzer: what is known about the loops.
    """
    found: list[Window] = []
    variables = [loop.loop_var for loop in (*common, *inner)]
    for axis, index in enumerate(indices):
        linear = detect_linear_equation(index, variables)
        if linear is None:
            continue
        scales = dict(zip((*common, *inner), map(analyzer.simplify, linear[:-1]), strict=True))
        outside = [loop for loop in common if not is_const_int(scales[loop], 0)]
        inside = [loop for loop in inner if not is_const_int(scales[loop], 0)]
        if not outside or len(inside) != 1 or not is_const_int(scales[inside[0]], 1):
            continue
        window = _window(axis, outside[-1], inside[0], scales[outside[-1]])
        if window is not None and _repeats(realize, window, analyzer):
            found.append(window)
    position = {loop: number for number, loop in enumerate(common)}
    return sorted(found, key=lambda window: position[window.loop])


def _window(axis: int, loop: For, inner: For, step: Expr) -> Window | None:
    extent = inner.extent
    if not isinstance(step, IntImm) or not isinstance(extent, IntImm):
        return None
    if not is_const_int(inner.min, 0) or not 0 < step.value < extent.value:
        return None
    return Window(axis, loop, inner, step.value, extent.value)


def _repeats(realize: BlockRealize, window: Window, analyzer: Analyzer) -> bool:
    """Whether an instance is the same as one of the iteration before."""
    loop_var, inner_var = window.loop.loop_var, window.inner.loop_var
    earlier: dict[Var, Expr] = {loop_var: loop_var - 1, inner_var: inner_var + window.step}
    bounds = [e for e in (window.inner.min, window.inner.extent) if isinstance(e, Expr)]
    exprs = [*realize.iter_values, *bounds]
    if not all(analyzer.can_prove_equal(substitute(e, earlier), e) for e in exprs):
        return False
    before, now = analyzer.simplify(substitute(realize.predicate, earlier)), realize.predicate
    return structural_equal(before, analyzer.simplify(now))


class Rolled(BufferRewriter):
    """Replaces a buffer by one that holds a window of it: positions count modulo its extent."""

    def __init__(self, buffer: Buffer, window: Window) -> None:
        super().__init__()
        axis, extent = window.axis, buffer.shape[window.axis]
        self._axis = axis
        self._extent = IntImm(extent.dtype, window.extent)
        shape = (*buffer.shape[:axis], self._extent, *buffer.shape[axis + 1 :])
        self._old = buffer
        self._buffers[buffer] = buffer.replace(shape=shape)

    @property
    def new(self) -> Buffer:
        """The smaller buffer."""
        return self._buffers[self._old]

    def _rolled(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        axis = self._axis
        index = indices[axis] % const(self._extent.value, indices[axis].dtype)
        return (*indices[:axis], index, *indices[axis + 1 :])

    def BufferLoad(self, load: BufferLoad) -> Any:
        changed = super().BufferLoad(load)
        if load.buffer is not self._old:
            return changed
        return changed.replace(indices=self._rolled(changed.indices))

    def BufferStore(self, store: BufferStore) -> Any:
        changed = super().BufferStore(store)
        if store.buffer is not self._old:
            return changed
        return changed.replace(indices=self._rolled(changed.indices))

    def BufferRegion(self, region: BufferRegion) -> Any:
        changed = super().BufferRegion(region)
        if region.buffer is not self._old:
            return changed
        axis, dtype = self._axis, self._extent.dtype
        item = changed.region[axis]
        whole = Range.from_min_extent(const(0, dtype), self._extent)
        if is_const_int(item.extent, 1):
            whole = Range.from_min_extent(
                item.min % const(self._extent.value, item.min.dtype), item.extent
            )
        ranges = (*changed.region[:axis], whole, *changed.region[axis + 1 :])
        return changed.replace(region=ranges)
