"""Programs and records for tests of databases."""

from tilewright import te, tir
from tilewright.tune.candidate import ArgInfo
from tilewright.tune.database import TuningRecord


def matmul(n=16):
    """C = A @ B."""
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_prim_func([A, B, C])


def relu(n=16):
    """B = max(A, 0)."""
    A = te.placeholder((n,), name="A")
    return te.create_prim_func([A, te.compute((n,), lambda i: te.max(A[i], 0.0), name="C")])


def tiled(mod, tile):
    """A schedule of either, with a sampled tile."""
    sch = tir.Schedule(mod, seed=1)
    loop = sch.get_loops(sch.get_block("C"))[0]
    sch.split(loop, sch.sample_perfect_tile(loop, 2, decision=[16 // tile, tile]))
    return sch


def record_of(
    workload, run_secs=(1e-3,), tile=2, target="llvm -num-cores=1", trace=None, **details
):
    """A record of a tiled schedule."""
    args = ArgInfo.from_entry_func(workload.mod)
    return TuningRecord(
        trace or tiled(workload.mod, tile).trace, workload, run_secs, target, args, **details
    )
