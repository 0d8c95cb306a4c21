"""What is known of the tile registers of Intel's AMX, and loops that its instructions stand for.

There are eight of them, of up to 16 rows of 64 bytes. A block of results has up to four, two by
two; two more have rows of the first operand, and two have columns of the second one::

    attr amx_operation = "multiply 32 32 64"
        for i, j, g, p in T.grid(32, 32, 16, 4):
            C[i, j] = C[i, j] + T.cast(A[i, g * 4 + p], "int32") * T.cast(B[g, j, p], "int32")
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import VOID
from tilewright.ir.expr import Call, StringImm
from tilewright.ir.op import CallEffectKind, Op, register_op
from tilewright.tir.stmt import AttrStmt, Evaluate, Stmt

TILE_SCOPE: Final = "amx.tmm"
"""The storage scope of blocks of results."""

AMX_OPERATION: Final = "amx_operation"
"""The attribute of loops that are instructions on tile registers."""

OPERATIONS: Final = ("zero", "multiply", "store")
"""What can be done with a block of results."""

TILES: Final = 8
"""Number of tile registers."""

FIRST_ROWS, FIRST_COLUMNS = 4, 6
"""The registers from which on operands are, after those of the results."""

MOST_ROWS: Final = 16
"""Maximum number of rows of a tile."""

ROW_BYTES: Final = 64
"""Bytes of a row."""

COLUMNS: Final = 16
"""Number of sums in a row."""

INSTRUCTIONS: Final = {
    "permit": 0,  # asks the system whether this process may use the registers
    "configure": 2,  # rows of tiles of results and of the first operand, and bytes of its rows
    "release": 0,
    "zero": 1,  # a tile
    "load": 3,  # a tile, an address, and the bytes between rows
    "stream": 3,  # as for "load", of what is not to stay in the first cache
    "multiply": 4,  # the kind of operands, and the tiles of the results and of both operands
    "store": 3,  # as for "load"
}
"""The number of arguments of each operator; its name is ``tir.amx_`` and this one."""

for _name, _count in INSTRUCTIONS.items():
    _effect = CallEffectKind.UPDATE_STATE
    register_op(f"tir.amx_{_name}", _effect, arity=_count, vectorizable=False)


def instruction(name: str, *arguments: object) -> Stmt:
    """A statement that calls an operator."""
    return Evaluate(Call(VOID, Op.get(f"tir.amx_{name}"), tuple(map(as_expr, arguments))))


class Block(NamedTuple):
    """A block of results, of one or two by one or two tiles.

    Attributes:
        rows: number of its rows.
        columns: number of its columns.
        steps: bytes of a row of the first operand.
    """

    rows: int
    columns: int
    steps: int = 0

    @property
    def down(self) -> int:
        """How many tiles are below each other."""
        return -(-self.rows // MOST_ROWS)

    @property
    def across(self) -> int:
        """How many tiles are side by side."""
        return self.columns // COLUMNS

    @property
    def tile_rows(self) -> int:
        """Number of rows of a tile."""
        return self.rows // self.down


def configuration(rows: int, steps: int) -> bytes:
    """What is loaded to configure the registers: palette 1, bytes per row and rows of each.

    Args:
        rows: of the tiles of results and of the first operand.
        steps: bytes of a row of the first operand.
    """
    results, first, second = FIRST_ROWS, FIRST_COLUMNS - FIRST_ROWS, TILES - FIRST_COLUMNS
    unused = [0] * TILES
    widths = [ROW_BYTES] * results + [steps] * first + [ROW_BYTES] * second + unused
    heights = [rows] * (results + first) + [steps // 4] * second + unused
    return struct.pack("<BB14x16H16B", 1, 0, *widths, *heights)


def mark(operation: str, *block: int) -> tuple[int, str, str]:
    """What `T.attr` says of the loops of an operation on a block."""
    return 0, AMX_OPERATION, " ".join([operation, *map(str, block)])


def amx_operation_of(stmt: Stmt) -> tuple[str, Block] | None:
    """The operation of a marked statement and the block that it is on; None for another one."""
    if not isinstance(stmt, AttrStmt) or stmt.attr_key != AMX_OPERATION:
        return None
    assert isinstance(stmt.value, StringImm)
    operation, *block = stmt.value.value.split()
    return operation, Block(*map(int, block))
