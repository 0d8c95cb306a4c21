"""Schedules of exp(A @ B) @ E as a tensor program, from tiles to packed panels.

Each function transforms a `tir.Schedule` of the program with the blocks C (A @ B), D (exp) and
F (D @ E). Every step is proved to keep the meaning of the program. `matmul_ladder.py` times them;
alone, this script prints what they make of a small program.

    python examples/chain_schedules.py
"""

from __future__ import annotations

import tilewright as tvm
from tilewright import te, tir

LANES = 16


def program(m: int, k: int, l: int, n: int) -> tvm.tir.PrimFunc:
    """C = A @ B, D = exp(C), F = D @ E, as a tensor program."""
    A = te.placeholder((m, k), name="A")
    B = te.placeholder((k, l), name="B")
    E = te.placeholder((l, n), name="E")
    rk = te.reduce_axis((0, k), name="rk")
    C = te.compute((m, l), lambda i, j: te.sum(A[i, rk] * B[rk, j], axis=rk), name="C")
    D = te.compute((m, l), lambda i, j: te.exp(C[i, j]), name="D")
    rl = te.reduce_axis((0, l), name="rl")
    F = te.compute((m, n), lambda i, j: te.sum(D[i, rl] * E[rl, j], axis=rl), name="F")
    return te.create_prim_func([A, B, E, F])


def tile(sch: tir.Schedule) -> None:
    """Both products in tiles of 16 rows, 8 columns, and 8 steps of the reduction."""
    for block in ("C", "F"):
        i, j, k = sch.get_loops(block)
        i0, i1 = sch.split(i, [None, 16])
        j0, j1 = sch.split(j, [None, 8])
        k0, k1 = sch.split(k, [None, 8])
        sch.reorder(i0, j0, k0, i1, k1, j1)


def merge_exp(sch: tir.Schedule) -> None:
    """exp is taken of a tile of C as soon as that is complete."""
    tile(sch)
    i, j = sch.get_loops("D")
    i0, i1 = sch.split(i, [None, 16])
    j0, j1 = sch.split(j, [None, 8])
    sch.reorder(i0, j0, i1, j1)
    sch.merge(sch.get_loops("C")[1], j0)


def merge_products(sch: tir.Schedule) -> None:
    """Sixteen rows of D are multiplied by E as soon as they are there."""
    merge_exp(sch)
    sch.merge(sch.get_loops("C")[0], sch.get_loops("F")[0])


def vectorise(sch: tir.Schedule) -> None:
    """The same, with the eight columns of a tile as the lanes of a vector."""
    merge_products(sch)
    sch.vectorize(sch.get_loops("C")[-1])
    sch.vectorize(sch.get_loops("F")[-1])


def pack(sch: tir.Schedule, rows: int = 8, vectors: int = 2, panels: int = 4) -> None:
    """Panels of the right matrix are packed side by side; tiles of the result stay in registers.

    Args:
        sch: a schedule of `program`.
        rows: rows of a register tile.
        vectors: vectors in a row of it, which is also the width of a panel.
        panels: how many panels are packed at a time; they should fill half of the cache that is
            next to the core's own, here 1 MB.
    """
    width = vectors * LANES
    for block in ("C", "F"):
        i, j, k = sch.get_loops(block)
        j0, panel, vector, lane = sch.split(j, [None, panels, vectors, LANES])
        i0, row = sch.split(i, [None, rows])
        sch.reorder(j0, i0, panel, k, row, vector, lane)
        # The copy has the layout panel, row, column; it is made for `panels` panels at a time.
        copy = sch.reindex_cache_read(
            block, 1, "global", lambda i, j, k: (j // width, k, j % width)
        )
        sch.compute_at(copy, j0)
        column, depth = sch.get_loops(copy)[1:]
        p, c, copied_lane = sch.split(column, [None, vectors, LANES])
        sch.reorder(p, depth, c, copied_lane)
        sch.vectorize(copied_lane)
        sch.unroll(row)
        sch.unroll(vector)
        sch.vectorize(lane)


def main() -> None:
    """Show the last two schedules of a small program, and their traces."""
    for schedule in (merge_products, pack):
        sch = tir.Schedule(program(64, 64, 512, 512))
        schedule(sch)
        print(f"# {schedule.__name__}: {schedule.__doc__.splitlines()[0]}\n")
        sch.mod.show()
        print()
        sch.trace.show()
        print()


if __name__ == "__main__":
    main()
