"""What primitives refuse in the bodies of blocks: views, buffers, accesses of other kinds."""

import pytest
from tests.tir.schedule.loop_programs import rows

from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


@T.prim_func
def sum_by_a_view(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 6):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vi, vk])
            T.writes(C[vi])
            V = T.match_buffer(A[vi, vk], (1,), offset_factor=1)
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + V[0]


@T.prim_func
def padding_by_a_view(A: T.Buffer((6,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("pad"):
            vi = T.axis.spatial(8, i)
            T.reads(A[0:6])
            T.writes(B[vi])
            V = T.match_buffer(A[0:6], (6,), offset_factor=1)
            B[vi] = T.if_then_else(vi >= 1 and vi < 7, V[vi - 1], T.float32(0))


@T.prim_func
def padding_with_memory(A: T.Buffer((6,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("pad"):
            vi = T.axis.spatial(8, i)
            _D = T.alloc_buffer((1,))
            B[vi] = T.if_then_else(vi >= 1 and vi < 7, A[vi - 1], T.float32(0))


@T.prim_func
def another_call(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("pad"):
            vi = T.axis.spatial(8, i)
            B[vi] = T.fma(A[vi], T.float32(2), T.float32(0))


@T.prim_func
def masked(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("pad"):
            vi = T.axis.spatial(8, i)
            T.reads(A[0:8])
            T.writes(B[vi])
            B.vstore(
                [vi], T.if_then_else(vi >= 1 and vi < 7, A[vi - 1], T.float32(0)), predicate=vi > 2
            )
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]


@T.prim_func
def masked_read(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            T.reads(B[vi])
            T.writes(C[vi])
            C[vi] = B.vload([vi], predicate=vi > 2)


@T.prim_func
def value_by_a_view(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi])
            T.writes(B[vi])
            V = T.match_buffer(A[vi], (1,), offset_factor=1)
            B[vi] = V[0]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]


@T.prim_func
def value_with_memory(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            _D = T.alloc_buffer((1,))
            B[vi] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]


@T.prim_func
def another_name(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    B_1 = T.Buffer((4, 2), "float32", data=B.data)
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B_1[vi // 2, vi % 2]


@T.prim_func
def only_declared(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            T.reads(B[vi])
            T.writes(C[vi])
            C[vi] = T.float32(1)


@T.prim_func
def difference(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 6):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = A[vi, vk] - C[vi]


@T.prim_func
def from_n(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 6))
    C = T.match_buffer(c, (n,))
    for i in T.serial(n, n + 4):
        for k in range(6):
            with T.block("C"):
                vi = T.axis.spatial(n, i - n)
                vk = T.axis.reduce(6, k)
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]


@T.prim_func
def from_data(A: T.Buffer((4, 4), "float32"), n: T.Buffer((4,), "int32")):
    for i in range(4):
        for j in T.serial(T.min(n[i], 3), T.min(n[i], 3) + 1):
            for _k in range(2):
                with T.block("A"):
                    vi = T.axis.spatial(4, i)
                    vj = T.axis.spatial(4, j)
                    A[vi, vj] = T.float32(1)


@T.prim_func
def from_another_loop(A: T.Buffer((4,), "float32"), n: T.Buffer((4,), "int32")):
    for i in range(4):
        for j in T.serial(n[i], 4):
            for k in T.serial(j, 4):
                for _l in range(2):
                    with T.block("A"):
                        vk = T.axis.spatial(4, k)
                        A[vk] = T.float32(1)


@T.prim_func
def one_inside(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32")):
    for i in range(4):
        with T.block("first"):
            vi = T.axis.spatial(4, i)
            A[vi, 0] = T.float32(0)
    for i in range(4):
        with T.block("row"):
            vi = T.axis.spatial(4, i)
            for j in range(6):
                with T.block("B"):
                    vj = T.axis.spatial(6, j)
                    B[vi, vj] = A[vi, vj]


@T.prim_func
def diagonal(A: T.Buffer((4,), "float32"), C: T.Buffer((4, 4), "float32")):
    B = T.alloc_buffer((4, 4))
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            vj = T.axis.spatial(4, i)
            B[vi, vj] = A[vi]
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi, vi] = B[vi, vi]


PAD = "is more than one store"
SINGLE = "must be a single store"
ELEMENT = "in another way than element by element"


@pytest.mark.parametrize(
    ("func", "act", "message"),
    [
        (sum_by_a_view, lambda s, l: s.rfactor(l[1], 0), "declares buffers of its own"),
        (sum_by_a_view, lambda s, l: s.pad_einsum("C", [2, 4]), "declares buffers of its own"),
        (padding_by_a_view, lambda s, l: s.decompose_padding("pad", l[0]), PAD),
        (padding_with_memory, lambda s, l: s.decompose_padding("pad", l[0]), PAD),
        (masked, lambda s, l: s.decompose_padding("pad", l[0]), PAD),
        (another_call, lambda s, l: s.decompose_padding("pad", l[0]), "does not store T.if_then"),
        (masked, lambda s, l: s.compute_inline("pad"), "store of block `pad` must be to one"),
        (masked_read, lambda s, l: s.compute_inline("B"), ELEMENT),
        (value_by_a_view, lambda s, l: s.compute_inline("B"), SINGLE),
        (value_with_memory, lambda s, l: s.compute_inline("B"), SINGLE),
        (another_name, lambda s, l: s.compute_inline("B"), ELEMENT),
        (only_declared, lambda s, l: s.reverse_compute_inline("C"), "in what it stores, and no"),
        (difference, lambda s, l: s.pad_einsum("C", [2, 4]), "is not an einsum"),
        (from_n, lambda s, l: s.pad_einsum("C", [2, 4]), "does not start at 0"),
        (from_data, lambda s, l: s.loop_partition(l[2], [1]), "`j` depend on data"),
        (from_another_loop, lambda s, l: s.loop_partition(l[3], [1]), "`k` depend on data"),
        (one_inside, lambda s, l: s.blockize(["first", "B"]), "each have loops of their own"),
        (
            diagonal,
            lambda s, l: s.compute_at("B", s.get_loops("C")[0]),
            "which ones is not known in terms of its iterators",
        ),
        (rows, lambda s, l: s.add_guard("B", s.get_loops("row")[0]), "is not around block `B`, in"),
    ],
)
def test_refused(func, act, message):
    sch = Schedule(func, debug_mask="all")
    block = sch.get_child_blocks("root")[0] if func is not rows else "B"
    loops = sch.get_loops(block)
    with pytest.raises(ScheduleError, match=message):
        act(sch, loops)
