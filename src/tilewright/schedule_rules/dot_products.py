"""Sums of products whose steps are taken in groups, as instructions for dot products do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from tilewright.ir.dtype import DType
from tilewright.ir.expr import Add, Cast, Expr, Mul, Var
from tilewright.schedule_rules.accesses import StridedAccess
from tilewright.schedule_rules.operands import Contraction
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.transform.analysis.affine import affine, stride_along
from tilewright.tir.transform.machine import Machine

LANES: Final = (4, 8, 16)
"""Numbers of sums for which there are intrinsics."""


class Kind(NamedTuple):
    """A kind of dot-product instruction.

    Attributes:
        size: number of products that it adds to each sum.
        dtype: in which operands are stored; None for that which they have.
        sums: the dtype of the sums.
        registers: number of registers that a step takes beside the sums and the operand with
            columns: for an element of a row, for products that another instruction adds to the
            sums, and for constants.
        rows: number of rows that it multiplies at once, with as many columns if these are several.
    """

    size: int
    dtype: str | None
    sums: str
    registers: int = 1
    rows: int = 1


BYTES: Final = Kind(4, None, "int32")
NARROW: Final = Kind(4, None, "int32", registers=3)
WORDS: Final = Kind(2, "int16", "int32", registers=2)
BFLOATS: Final = Kind(2, None, "float32")
BYTE_MATRICES: Final = Kind(8, None, "int32", rows=2)
BFLOAT_MATRICES: Final = Kind(4, None, "float32", rows=2)

SHORT: Final = {"int8": "i8", "uint8": "u8", "int16": "i16", "bfloat16": "bf16"}
"""What the names of intrinsics call dtypes."""


@dataclass(frozen=True, eq=False)
class DotProduct:
    """How a contraction is computed by dot products.

    Attributes:
        kind: the instruction.
        step: the iterator of the sum whose steps are taken in groups.
        dtypes: those of the operands with rows and with columns, as they are stored.
    """

    kind: Kind
    step: Var
    dtypes: tuple[str, str]

    @property
    def size(self) -> int:
        """Number of steps of a group."""
        return self.kind.size

    def intrinsic(self, lanes: int) -> str:
        """The name of the tensor intrinsic for `lanes` sums."""
        a, b = (SHORT[dtype] for dtype in self.dtypes)
        if self.kind is NARROW:
            a, b = ("i7" if name == "i8" else name for name in (a, b))
        sums = "f32" if self.kind.sums == "float32" else "i32"
        form = f"dot_{lanes}" if self.kind.rows == 1 else f"mmla_{self.kind.rows}x{lanes}"
        return f"{form}x{self.size}_{a}{b}{sums}"


def find_dot_products(found: Contraction, machine: Machine) -> list[DotProduct]:
    """The ways to compute a contraction by dot products for whose dtypes the machine has
    instructions, the fastest first."""
    if len(found.moving) != 1 or len(found.fixed) != 1:
        return []
    if machine.lanes(found.accesses.stores[0].buffer.dtype) not in LANES:
        return []
    if not _is_sum_of_products(found):
        return []
    (a,), (b,) = found.fixed, found.moving
    dtypes = str(a.buffer.dtype), str(b.buffer.dtype)
    sums = str(found.accesses.stores[0].buffer.dtype)
    is_narrow = any(load.buffer.data in found.narrow for load in (a, b))
    steps = [v for v in found.accesses.reduction if grouped_axis(a, v) is not None]
    steps = [v for v in steps if grouped_axis(b, v) is not None and found.accesses.extents[v] != 1]
    if not steps:
        return []
    ways = []
    for kind in kinds(dtypes, machine, is_narrow):
        if kind.sums == sums:
            whole = [v for v in steps if found.accesses.extent(v) % kind.size == 0]
            stored = dtypes if kind.dtype is None else (kind.dtype, kind.dtype)
            ways.append(DotProduct(kind, (whole or steps)[0], stored))
    return ways


def kinds(dtypes: tuple[str, str], machine: Machine, is_narrow: bool = False) -> list[Kind]:
    """The instructions for operands of two dtypes, the fastest first.

    Args:
        is_narrow: whether the elements of one of them, in int8, are from -64 to 64.
    """
    found = []
    if set(dtypes) <= {"int8", "uint8"}:
        signs = "int8" if dtypes[0] == dtypes[1] else "mixed int8"
        has_matrices = f"{signs} matrix" in machine.dot_products
        found += [BYTE_MATRICES] if has_matrices and dtypes != ("int8", "uint8") else []
        found += [BYTES] if signs in machine.dot_products else []
        if signs == "mixed int8" and is_narrow and "narrow int8" in machine.dot_products:
            found.append(NARROW)
    if set(dtypes) <= {"int8", "uint8", "int16"} and "int16" in machine.dot_products:
        found.append(WORDS)
    if set(dtypes) == {"bfloat16"} and "bfloat16" in machine.dot_products:
        has_matrices = "bfloat16 matrix" in machine.dot_products
        found += [BFLOAT_MATRICES, BFLOATS] if has_matrices else [BFLOATS]
    return found


def is_narrow(elements: np.ndarray) -> bool:
    """Whether integers are from -64 to 64, in int8."""
    if elements.dtype != "int8":
        return False
    return elements.min(initial=0) >= -64 and elements.max(initial=0) <= 64


def _is_sum_of_products(found: Contraction) -> bool:
    """Whether products of two elements are added, each converted to the dtype of the sums."""
    reduces = found.accesses.reduces
    if reduces is None or reduces.condition is not None or len(reduces.values) != 1:
        return False
    (value,), (target,) = reduces.values, reduces.targets
    return (
        isinstance(reduces.combiner.result[0], Add)
        and isinstance(value, Mul)
        and all(_is_converted(factor, target.dtype) for factor in (value.a, value.b))
    )


def _is_converted(factor: Expr, dtype: DType) -> bool:
    return (
        isinstance(factor, Cast) and factor.dtype is dtype and isinstance(factor.value, BufferLoad)
    )


def grouped_axis(access: StridedAccess, step: Var) -> int | None:
    """The only dimension along which each step of an iterator goes to the next element."""
    strides = [stride_along(affine(index), step) for index in access.indices]
    axes = [axis for axis, stride in enumerate(strides) if stride != 0]
    return axes[0] if len(axes) == 1 and strides[axes[0]] == 1 else None
