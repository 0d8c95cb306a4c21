"""Programs for the tests of loop transformations."""

from tilewright.script import tir as T
from tilewright.tir import Schedule
from tilewright.tir.substitute import substitute


@T.prim_func
def elementwise(A: T.Buffer((10, 12), "float32"), B: T.Buffer((10, 12), "float32")):
    for i, j in T.grid(10, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


@T.prim_func
def matmul(
    A: T.Buffer((6, 8), "float32"), B: T.Buffer((8, 10), "float32"), C: T.Buffer((6, 10), "float32")
):
    for i, j, k in T.grid(6, 10, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def two_products(
    A: T.Buffer((4, 6), "float32"),
    B: T.Buffer((6, 8), "float32"),
    E: T.Buffer((8, 5), "float32"),
    F: T.Buffer((4, 5), "float32"),
):
    C = T.alloc_buffer((4, 8))
    D = T.alloc_buffer((4, 8))
    for m, l, k in T.grid(4, 8, 6):
        with T.block("C"):
            vm, vl, vk = T.axis.remap("SSR", [m, l, k])
            with T.init():
                C[vm, vl] = T.float32(0)
            C[vm, vl] = C[vm, vl] + A[vm, vk] * B[vk, vl]
    for m, l in T.grid(4, 8):
        with T.block("D"):
            vm, vl = T.axis.remap("SS", [m, l])
            D[vm, vl] = C[vm, vl] + T.float32(1)
    for m, n, l in T.grid(4, 5, 8):
        with T.block("F"):
            vm, vn, vl = T.axis.remap("SSR", [m, n, l])
            with T.init():
                F[vm, vn] = T.float32(0)
            F[vm, vn] = F[vm, vn] + D[vm, vl] * E[vl, vn]


@T.prim_func
def wavefront(A: T.Buffer((6, 6), "float32")):
    """Each element depends on its upper right neighbour: rows run in order."""
    for i, j in T.grid(5, 5):
        with T.block("A"):
            vi = T.axis.opaque(5, i)
            vj = T.axis.opaque(5, j)
            A[vi + 1, vj] = A[vi, vj + 1] + T.float32(1)


@T.prim_func
def prefix_sum(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.opaque(8, i)
            B[vi] = T.if_then_else(vi > 0, B[T.max(vi - 1, 0)], T.float32(0)) + A[vi]


@T.prim_func
def symbolic(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 4))
    B = T.match_buffer(b, (n, 4))
    for i, j in T.grid(n, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)


@T.prim_func
def triangle(A: T.Buffer((6, 6), "float32"), B: T.Buffer((6, 6), "float32")):
    for i in range(6):
        for j in range(i + 1):
            with T.block("B"):
                vi = T.axis.spatial(6, i)
                vj = T.axis.spatial(6, j)
                B[vi, vj] = A[vi, vj] * T.float32(3)


@T.prim_func
def rows(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32")):
    """A block with a loop around a block in it."""
    for i in range(4):
        with T.block("row"):
            vi = T.axis.spatial(4, i)
            for j, k in T.grid(2, 3):
                with T.block("B"):
                    vj = T.axis.spatial(6, j * 3 + k)
                    B[vi, vj] = A[vi, vj] * T.float32(2)


def plain_loops():
    """A schedule of `rows` whose loops `j` and `k` have lost their block, and the two."""
    sch = Schedule(rows)
    j, k = sch.get_loops("B")
    place = sch.get_sref(k)
    realize = place.stmt.body
    bindings = {v.var: e for v, e in zip(realize.block.iter_vars, realize.iter_values, strict=True)}
    store = substitute(realize.block.body, bindings)
    sch.state.replace(place, place.stmt.replace(body=store))
    return sch, j, k
