"""Products that tensor cores compute, scheduled by hand."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import tilewright as tvm
from tilewright import te, tir


class Unit(NamedTuple):
    """The intrinsics of one kind of unit.

    Attributes:
        m, n, k: the size of its products.
        operand: the code of the type of the operands, such as ``"f16"``.
        result: that of the results.
        trans: whether the second operand lies in memory with its columns as rows.
        family: ``"wmma"`` or ``"mma"``.
    """

    m: int = 16
    n: int = 16
    k: int = 16
    operand: str = "f16"
    result: str = "f32"
    trans: bool = False
    family: str = "wmma"

    def names(self, source: str, destination: str) -> dict[str, str]:
        """The names of the intrinsics, for operands and results in some memory."""
        shape = f"{self.m}x{self.n}x{self.k}"
        fill, a, b = f"wmma_fill_{shape}", "a", "b"
        if self.family == "mma":
            shape = f"m{self.m}n{self.n}k{self.k}"
            fill, a, b = f"mma_init_{shape}", "A", "B"
        trans = "_trans" if self.trans else ""
        family, operand, result = self.family, self.operand, self.result
        return {
            "fill": f"{fill}_{result}",
            "a": f"{family}_load_{shape}_{operand}_{a}_{source}",
            "b": f"{family}_load_{shape}_{operand}_{b}{trans}_{source}",
            "multiply": f"{family}_sync_{shape}_{operand}{operand}{result}{trans}",
            "store": f"{family}_store_{shape}_{result}_{destination}",
        }

    def scope(self, role: str) -> str:
        """The storage scope of fragments."""
        if self.family == "wmma":
            return "wmma." + {"a": "matrix_a", "b": "matrix_b", "c": "accumulator"}[role]
        return f"m{self.m}n{self.n}k{self.k}.matrix{role.upper()}"


DTYPES = {
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "tf32": "float32", "s8": "int8",
    "u8": "uint8", "s32": "int32",
}  # fmt: skip


def product(m: int, n: int, k: int, unit: Unit) -> tir.PrimFunc:
    """``C = A @ B``, or ``A @ B.T``."""
    operand, result = DTYPES[unit.operand], DTYPES[unit.result]
    a = te.placeholder((m, k), operand, name="A")
    b = te.placeholder((n, k) if unit.trans else (k, n), operand, name="B")
    r = te.reduce_axis((0, k), name="k")

    def element(i: Any, j: Any) -> Any:
        right = b[j, r] if unit.trans else b[r, j]
        return te.sum(a[i, r].astype(result) * right.astype(result), axis=r)

    return te.create_prim_func([a, b, te.compute((m, n), element, name="C")])


def scheduled(
    m: int, n: int, k: int, unit: Unit, *, warps: int = 2, shared: bool = True, pad: bool = True
) -> tir.Schedule:
    """A product in tiles of a unit: of 2 by 2 tiles for each warp, and `warps` by 1 warps a block.

    Args:
        shared: whether operands go through shared memory, and results too.
        pad: whether there are 16 bytes after each row of the operands in shared memory.
    """
    sch = tir.Schedule(product(m, n, k, unit))
    block = sch.get_block("C")
    i, j, p = sch.get_loops(block)
    i, i_tile = sch.split(i, [None, unit.m])
    j, j_tile = sch.split(j, [None, unit.n])
    p, p_tile = sch.split(p, [None, unit.k])
    sch.reorder(i, j, p, i_tile, j_tile, p_tile)
    tile = sch.blockize(i_tile)
    rows = min(2, m // unit.m // warps)
    columns = min(2, n // unit.n)
    by, ty, i = sch.split(i, [None, warps, rows])
    bx, j = sch.split(j, [None, columns])
    p, p_inner = sch.split(p, [None, min(2, k // unit.k)])
    sch.reorder(by, bx, ty, p, p_inner, i, j)
    for loop, axis in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (ty, "threadIdx.y")):
        sch.bind(loop, axis)
    names = unit.names("shared" if shared else "global", "shared" if shared else "global")
    result = sch.cache_write(tile, 0, unit.scope("c"))
    out = sch.cache_write(result, 0, "shared") if shared else None
    sch.reverse_compute_at(result, ty)
    if out is not None:
        sch.reverse_compute_at(out, bx)
        cooperate(sch, out, warps)
    tensorize_copy(sch, result, unit.m, unit.n, names["store"])
    for number, role, extents in (
        (0, "a", (unit.m, unit.k)),
        (1, "b", (unit.n, unit.k) if unit.trans else (unit.k, unit.n)),
    ):
        fragment = sch.cache_read(tile, number, unit.scope(role))
        copy = sch.cache_read(fragment, 0, "shared") if shared else None
        sch.compute_at(fragment, p_inner)
        if copy is not None:
            sch.compute_at(copy, p)
            cooperate(sch, copy, warps)
            if pad:
                sch.storage_align(copy, 0, 0, 32, 16 if unit.operand.endswith("8") else 8)
        tensorize_copy(sch, fragment, *extents, names[role])
    start = sch.decompose_reduction(tile, p)
    sch.tensorize(sch.get_loops(sch.get_child_blocks(start)[0])[-2], names["fill"])
    sch.tensorize(tile, names["multiply"])
    return sch


def cooperate(sch: tir.Schedule, block: Any, warps: int) -> None:
    """Let all threads copy."""
    part = sch.fuse(*sch.get_loops(block)[-2:])
    _, y, x = sch.split(part, [None, warps, 32])
    sch.bind(y, "threadIdx.y")
    sch.bind(x, "threadIdx.x")


def tensorize_copy(sch: tir.Schedule, block: Any, rows: int, columns: int, name: str) -> None:
    """Let an intrinsic copy each tile."""
    i, j = sch.get_loops(block)[-2:]
    i, i_tile = sch.split(i, [None, rows])
    j, j_tile = sch.split(j, [None, columns])
    sch.reorder(i, j, i_tile, j_tile)
    sch.tensorize(i_tile, name)


def inputs_of(sizes: tuple[int, int, int], unit: Unit) -> list[np.ndarray[Any, Any]]:
    """Operands of small integers, and memory for the result."""
    (m, n, k), rng = sizes, np.random.default_rng(0)
    low = 0 if unit.operand == "u8" else -3
    shapes = (m, k), (n, k) if unit.trans else (k, n)
    operand, result = (tvm.nd.empty((0,), DTYPES[t]).numpy().dtype for t in unit[3:5])
    operands = [rng.integers(low, 4, shape).astype(operand) for shape in shapes]
    return [*operands, np.zeros((m, n), result)]
