"""Arrays as matrices with a row for each element of a batch."""

from __future__ import annotations

from typing import Any

from tilewright import te
from tilewright.error import ShapeError
from tilewright.ir.convert import as_expr
from tilewright.te import Tensor
from tilewright.topi.nn.window import simplified


def flatten(data: Tensor) -> Tensor:
    """All dimensions but the first as one."""
    if data.ndim < 1:
        raise ShapeError("flatten: an array without dimensions has no batch")
    extents = data.shape[1:]
    total: Any = as_expr(1, data.shape[0].dtype)
    for extent in extents:
        total = total * extent

    def element(i: Any, j: Any) -> Any:
        index: list[Any] = []
        for position, extent in reversed(list(enumerate(extents))):
            index.append(j if position == 0 else j % extent)
            j = j // extent
        return data(i, *reversed(index))

    return te.compute((data.shape[0], simplified(total)), element, "T_flatten", "injective")
