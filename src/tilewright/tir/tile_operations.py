"""Operations on tiles, which tensor cores compute and the threads of a warp execute together.

``tvm_fill_fragment``, ``tvm_load_matrix_sync``, ``tvm_mma_sync`` and ``tvm_store_matrix_sync`` work
on fragments: buffers in registers of a warp, of which the scope says what part of a product they
are. Here each operation becomes the loops that it stands for, which are its meaning::

    T.tvm_load_matrix_sync(F.data, 16, 16, 16, 0, A.access_ptr("r"), A.strides[0], "row_major")

    for i, j in T.grid(16, 16):
        F[i, j] = A[i, j]

Devices with such units get these loops marked by the attribute `TILE_OPERATION`, so that all passes
see which elements are accessed; `transform.device.fragments` makes instructions of them. Elsewhere
the loops are what is executed, by each thread for itself: fragments are `local` memory then.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tilewright.ir.expr import StringImm
from tilewright.tir.stmt import (
    AttrStmt,
    Stmt,
)

TILE_OPERATION: Final = "tile_operation"
"""The attribute of loops that a warp executes together; its value is a `TileOperation` as text."""

FILL: Final = "tir.tvm_fill_fragment"
LOAD: Final = "tir.tvm_load_matrix_sync"
MULTIPLY: Final = "tir.tvm_mma_sync"
STORE: Final = "tir.tvm_store_matrix_sync"
TILE_OPERATIONS: Final = (FILL, LOAD, MULTIPLY, STORE)
"""The operators. They do nothing but access the memory of their pointers."""

_SCOPE: Final = re.compile(r"(wmma)\.(matrix_a|matrix_b|accumulator)|(m\d+n\d+k\d+)\.(matrix[ABC])")
_ROLES: Final = {
    "matrix_a": "a", "matrix_b": "b", "accumulator": "c",
    "matrixA": "a", "matrixB": "b", "matrixC": "c",
}  # fmt: skip
LAYOUTS: Final = {"row_major": "row", "col_major": "col"}


class TileOperation(NamedTuple):
    """What a warp does with tiles of a product of m by k and k by n elements.

    Attributes:
        name: ``"fill"``, ``"load"``, ``"multiply"`` or ``"store"``.
        family: the instructions: ``"wmma"``, or ``"mma"`` for those of documented layouts.
        m: number of rows of the result.
        n: number of its columns.
        k: number of steps of the sum.
        layouts: ``"row"`` or ``"col"``: of the memory; of both operands of a product.
        role: of the fragment: operand ``"a"`` or ``"b"``, or ``"c"``, the result.
    """

    name: str
    family: str
    m: int
    n: int
    k: int
    layouts: tuple[str, ...]
    role: str = "c"

    def as_text(self) -> str:
        """A text from which `from_text` makes the same."""
        shape = f"m{self.m}n{self.n}k{self.k}"
        return " ".join((self.name, self.family, shape, self.role, *self.layouts))

    @staticmethod
    def from_text(text: str) -> TileOperation:
        """The operation that `as_text` wrote."""
        name, family, shape, role, *layouts = text.split()
        m, n, k = map(int, re.findall(r"\d+", shape))
        return TileOperation(name, family, m, n, k, tuple(layouts), role)

    def extents(self, role: str, layout: str) -> tuple[int, int]:
        """Number of rows and columns of a tile as it lies in memory."""
        rows, columns = {"a": (self.m, self.k), "b": (self.k, self.n)}.get(role, (self.m, self.n))
        return (rows, columns) if layout == "row" else (columns, rows)


class Fragment(NamedTuple):
    """What the scope of a fragment says.

    Attributes:
        family: see `TileOperation`.
        role: see `TileOperation`.
        shape: the product's m, n and k, if the scope has them.
    """

    family: str
    role: str
    shape: tuple[int, ...]


def fragment_of(scope: str) -> Fragment | None:
    """What a storage scope says of a fragment; None if it is not one of fragments."""
    match = _SCOPE.fullmatch(scope)
    if match is None:
        return None
    if match[1]:
        return Fragment("wmma", _ROLES[match[2]], ())
    return Fragment("mma", _ROLES[match[4]], tuple(map(int, re.findall(r"\d+", match[3]))))


def tile_operation_of(stmt: Stmt) -> TileOperation | None:
    """What a marked statement does; None for another one."""
    if isinstance(stmt, AttrStmt) and stmt.attr_key == TILE_OPERATION:
        assert isinstance(stmt.value, StringImm)
        return TileOperation.from_text(stmt.value.value)
    return None
