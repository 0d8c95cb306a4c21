"""Sums of products whose steps are taken in groups, as instructions for dot products do."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from tilewright.ir.dtype import DType
from tilewright.ir.expr import Add, Cast, Expr, Mul, Var
from tilewright.schedule_rules.accesses import BlockAccesses, StridedAccess
from tilewright.schedule_rules.operands import Contraction
from tilewright.schedule_rules.tiles import STREAM
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.tile_registers import COLUMNS, MOST_ROWS, Block
from tilewright.tir.transform.analysis.affine import affine, stride_along
from tilewright.tir.transform.machine import Machine

MOST_TILES: Final = 2
"""Maximum number of tiles of a block in either direction."""

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
        rows: number of rows that it multiplies at once.
        columns: number of columns, if the rows are several.
        neighbors: how many steps are side by side in panels, if fewer than `size`.
        shifts: whether the zero point of the operand with columns is moved, so that it has the
            other sign; see `Schedule.shift_zero_point`.
        in_tiles: whether operands and sums are in tile registers. Then `size` is the maximum, and
            `fitted` chooses the size of a block.
    """

    size: int
    dtype: str | None
    sums: str
    registers: int = 1
    rows: int = 1
    columns: int = 1
    neighbors: int = 0
    shifts: bool = False
    in_tiles: bool = False

    def fitted(
        self,
        rows: int,
        columns: int,
        steps: int,
        *,
        is_far: bool,
        most_down: int = MOST_TILES,
        divides: bool = False,
    ) -> Kind | None:
        """The kind with the size of a block that takes the least time.

        Tiles are as high and as wide as leaves the fewest rows and steps over, or as whole lines.

        Args:
            rows: how many there are altogether.
            columns: likewise.
            steps: likewise.
            is_far: see `block_step_cycles`.
            most_down: maximum number of tiles of a block, one below the other.
            divides: whether no rows may be over.

        Returns:
            The kind; None if no block divides the rows.
        """
        blocks = {}
        for down, across in itertools.product((MOST_TILES, 1), repeat=2):
            if down > most_down:
                continue
            least = -(-rows // (MOST_ROWS * down)) * down
            counts = range(least, rows + 1, down) if divides else [least]
            tiles = next((n for n in counts if rows % n == 0 or not divides), None)
            if tiles is None:
                continue
            block = Block(-(-rows // tiles) * down, across * COLUMNS)
            count = tiles // down * -(-columns // block.columns)
            blocks[block] = count * block_step_cycles(block, is_far)
        if not blocks:
            return None
        best = min(blocks, key=lambda block: blocks[block])
        size = -(-steps // -(-steps // self.size))
        size = -(-size // self.neighbors) * self.neighbors
        if steps > self.size and steps % size:  # rows that are filled up are best whole lines
            size = self.size
        return self._replace(size=size, rows=best.rows, columns=best.columns)


def block_step_cycles(block: Block, is_far: bool) -> float:
    """Cycles in which the tiles of a block are loaded and multiplied.

    Those with columns come from the second cache: panels are too large for the first one.

    Args:
        block: the block.
        is_far: whether those with rows come from there, too.
    """
    products = float(block.rows * block.across)
    loads = TILE_LOAD * (block.down + block.across)
    lines = MOST_ROWS * block.across + (block.rows if is_far else 0)
    return max(products, loads, STREAM * lines)


def far_rows(accesses: BlockAccesses, machine: Machine) -> bool:
    """Whether the rows of a block do not stay in the first cache for one panel after another."""
    itemsize = min(load.buffer.dtype.itemsize for load in accesses.loads)
    depth = accesses.count(accesses.reduction) * itemsize
    return 2 * MOST_ROWS * depth > machine.first_cache // 2


BYTES: Final = Kind(4, None, "int32")
SHIFTED_BYTES: Final = BYTES._replace(shifts=True)
NARROW: Final = Kind(4, None, "int32", registers=3)
WORDS: Final = Kind(2, "int16", "int32", registers=2)
BFLOATS: Final = Kind(2, None, "float32")
BYTE_MATRICES: Final = Kind(8, None, "int32", rows=2, columns=2)
BFLOAT_MATRICES: Final = Kind(4, None, "float32", rows=2, columns=2)
BYTE_TILES: Final = Kind(64, None, "int32", neighbors=4, in_tiles=True)
BFLOAT_TILES: Final = Kind(32, None, "float32", neighbors=2, in_tiles=True)

TILE_LOAD: Final = 8.0
"""Cycles in which a tile is loaded from the first cache; a product of tiles takes one for each row
of the first."""

UNITS: Final = 2
"""Number of vectors that are multiplied and added in a cycle."""

SLOW_BFLOATS: Final = 2.0
"""Cycles of a dot product of vectors of bfloat16 on processors that have tile registers for that,
as measured on a Xeon."""

OTHER_SIGN: Final = {"int8": "uint8", "uint8": "int8"}

SHORT: Final = {
    "int8": "i8", "uint8": "u8", "int16": "i16", "bfloat16": "bf16",
    "int32": "i32", "float32": "f32",
}  # fmt: skip
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

    @property
    def neighbors(self) -> int:
        """How many of them are side by side in panels."""
        return self.kind.neighbors or self.kind.size

    @property
    def is_multiply_add(self) -> bool:
        """Whether it multiplies and adds single elements, for which there is no intrinsic."""
        return self.kind.size == 1

    def intrinsic(self, lanes: int) -> str:
        """The name of the tensor intrinsic for `lanes` sums."""
        dtypes = self._short_dtypes()
        if self.kind.in_tiles:
            return f"amx_multiply_{self.kind.rows}x{lanes}x{self.size}_{dtypes}"
        form = f"dot_{lanes}" if self.kind.rows == 1 else f"mmla_{self.kind.rows}x{lanes}"
        return f"{form}x{self.size}_{dtypes}"

    def cycles(self, machine: Machine) -> float:
        """Cycles between two of the instructions, neither of which waits for the other."""
        is_slow = self.kind is BFLOATS and "bfloat16 tile" in machine.dot_products
        return SLOW_BFLOATS if is_slow else 1 / UNITS

    def lane_intrinsic(self, lanes: int) -> str:
        """The name of the tensor intrinsic for `lanes` parts of one sum."""
        return f"dots_{lanes}x{self.size}_{self._short_dtypes()}"

    def _short_dtypes(self) -> str:
        a, b = (SHORT[dtype] for dtype in self.dtypes)
        if self.kind is NARROW:
            a, b = ("i7" if name == "i8" else name for name in (a, b))
        return f"{a}{b}{SHORT[self.kind.sums]}"

    def tile_intrinsic(self, operation: str) -> str:
        """The name of the tensor intrinsic for an operation on a block of sums in tile registers,
        ``"zero"`` or ``"store"``."""
        kind = self.kind
        return f"amx_{operation}_{kind.rows}x{kind.columns}_{SHORT[kind.sums]}"


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
            if kind.shifts:
                if not _is_read_once(a, found):
                    continue
                stored = (dtypes[0], OTHER_SIGN[dtypes[1]])
            step = (whole or steps)[0]
            if kind.in_tiles:
                step = max(steps, key=found.accesses.extent)
                fitted = _fitted_tiles(kind, found, step, machine)
                if fitted is None:
                    continue
                kind = fitted
            ways.append(DotProduct(kind, step, stored))
    return ways


def _fitted_tiles(kind: Kind, found: Contraction, step: Var, machine: Machine) -> Kind | None:
    """A kind in tile registers with the size of its blocks; None if numbers of steps or columns are
    symbolic, and not known to be whole tiles."""
    accesses, column, row = found.accesses, found.column, found.row
    if accesses.extents[step] is None and not accesses.is_multiple(step, kind.size):
        return None
    width = COLUMNS * MOST_TILES
    is_whole = accesses.extents[column] is not None or accesses.is_multiple(column, width)
    if not is_whole and found.few_rows is None:
        return None
    sizes = found.row_count(), found.count(column), found.count(step)
    # Of a symbolic number of whole tiles, there may be an odd one.
    are_single = accesses.extents[row] is None and accesses.is_multiple(row, MOST_ROWS)
    most_down = 1 if are_single else MOST_TILES
    # Nothing can be put behind the end of rows whose elements windows share.
    divides = accesses.extents[row] is not None and any(map(found.is_windowed, found.fixed))
    is_far = far_rows(accesses, machine)
    return kind.fitted(*sizes, is_far=is_far, most_down=most_down, divides=divides)


def find_multiply_adds(found: Contraction) -> list[DotProduct]:
    """The contraction as products of single elements in the dtype of the sums, if it is that."""
    if len(found.moving) != 1 or len(found.fixed) != 1 or not _is_sum_of_products(found):
        return []
    dtype = str(found.accesses.stores[0].buffer.dtype)
    if any(str(load.buffer.dtype) != dtype for load in found.accesses.loads):
        return []
    kind = Kind(1, None, dtype)
    steps = [var for var in found.accesses.reduction if found.accesses.extents[var] != 1]
    return [DotProduct(kind, step, (dtype, dtype)) for step in steps]


def kinds(dtypes: tuple[str, str], machine: Machine, is_narrow: bool = False) -> list[Kind]:
    """The instructions for operands of two dtypes, the fastest first.

    Args:
        is_narrow: whether the elements of one of them, in int8, are from -64 to 64.
    """
    found = []
    if set(dtypes) <= {"int8", "uint8"}:
        signs = "int8" if dtypes[0] == dtypes[1] else "mixed int8"
        has_matrices = f"{signs} matrix" in machine.dot_products
        found += [BYTE_TILES] if f"{signs} tile" in machine.dot_products else []
        found += [BYTE_MATRICES] if has_matrices and dtypes != ("int8", "uint8") else []
        if signs in machine.dot_products:
            found.append(BYTES)
        elif "mixed int8" in machine.dot_products:
            found.append(SHIFTED_BYTES)
        if signs == "mixed int8" and is_narrow and "narrow int8" in machine.dot_products:
            found.append(NARROW)
    if set(dtypes) <= {"int8", "uint8", "int16"} and "int16" in machine.dot_products:
        found.append(WORDS)
    if set(dtypes) == {"bfloat16"} and "bfloat16" in machine.dot_products:
        has_matrices = "bfloat16 matrix" in machine.dot_products
        found += [BFLOAT_TILES] if "bfloat16 tile" in machine.dot_products else []
        found += [BFLOAT_MATRICES, BFLOATS] if has_matrices else [BFLOATS]
    return found


def _is_read_once(load: StridedAccess, found: Contraction) -> bool:
    """Whether the steps and rows read each element of an operand once, as no windows do."""
    accesses = found.accesses
    mentioned = [v for v in (*accesses.spatial, *accesses.reduction) if load.mentions(v)]
    return math.prod(accesses.extent(var, 1) for var in mentioned) <= load.elements(1)


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
    element = factor.value if isinstance(factor, Cast) else factor
    return factor.dtype is dtype and isinstance(element, BufferLoad)


def grouped_axis(access: StridedAccess, step: Var) -> int | None:
    """The only dimension along which each step of an iterator goes to the next element."""
    axis = only_axis(access, step)
    if axis is None or stride_along(affine(access.indices[axis]), step) != 1:
        return None
    return axis


def is_last_axis(access: StridedAccess, step: Var) -> bool:
    """Whether the steps of an iterator are side by side where an instruction reads them: along the
    last dimension."""
    return grouped_axis(access, step) == len(access.indices) - 1


def only_axis(access: StridedAccess, step: Var) -> int | None:
    """The only dimension along which an iterator goes, by a constant distance."""
    strides = [stride_along(affine(index), step) for index in access.indices]
    axes = [axis for axis, stride in enumerate(strides) if stride != 0]
    return axes[0] if len(axes) == 1 and strides[axes[0]] is not None else None
