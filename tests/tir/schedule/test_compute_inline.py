"""compute_inline: a buffer computed where it is read."""

import pytest
from tests.tir.schedule.checking import assert_refused, assert_same_meaning

import tilewright as tvm
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


def inlined(func, *blocks, sizes=None):
    sch = Schedule(func, debug_mask="all")
    for block in blocks:
        sch.compute_inline(block)
    assert_same_meaning(func, sch, sizes=sizes)
    return sch.mod["main"]


def refused(func, block, message, differs=False):
    assert_refused(func, lambda sch: lambda: sch.compute_inline(block), message, differs=differs)


@T.prim_func
def elementwise(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")):
    B = T.alloc_buffer((8, 12))
    for i, j in T.grid(8, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


@T.prim_func
def elementwise_inlined(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")):
    T.func_attr({"global_symbol": "elementwise"})
    for i, j in T.grid(8, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2) + T.float32(1)


def test_the_value_takes_the_place_of_the_read():
    tvm.ir.assert_structural_equal(inlined(elementwise, "B"), elementwise_inlined)


def test_a_split_producer_with_a_predicate_is_inlined():
    sch = Schedule(elementwise, debug_mask="all")
    sch.split(sch.get_loops("B")[1], [None, 5])
    sch.split(sch.get_loops("C")[0], [3, None])
    sch.compute_inline("B")
    assert_same_meaning(elementwise, sch)
    assert "B" not in [block.name_hint for block in blocks_of(sch)]


def blocks_of(sch):
    return [sch.get(block) for block in sch.get_child_blocks(sch.get_block("root"))]


@T.prim_func
def permuted(A: T.Buffer((6, 4), "float32"), C: T.Buffer((6, 4), "float32")):
    B = T.alloc_buffer((4, 1, 7))
    for i, j in T.grid(6, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vj, 0, vi + 1] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(6, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vj, 0, vi + 1] * B[3 - vj, 0, 6 - vi]


def test_indices_may_be_permuted_and_shifted():
    text = inlined(permuted, "B").script()
    assert "A[vi, vj] * T.float32(2.0) * (A[5 - vi, 3 - vj] * T.float32(2.0))" in text


@T.prim_func
def fused_index(A: T.Buffer((6, 4), "float32"), C: T.Buffer((24,), "float32")):
    B = T.alloc_buffer((24,))
    for i, j in T.grid(6, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi * 4 + vj] = A[vi, vj] * T.float32(2)
    for i in range(24):
        with T.block("C"):
            vi = T.axis.spatial(24, i)
            C[vi] = B[23 - vi]


def test_an_affine_bijection_is_inverted():
    assert "A[(23 - vi) // 4, (3 - vi) % 4]" in inlined(fused_index, "B").script()


@T.prim_func
def pad_conv(
    X: T.Buffer((2, 5, 5), "float32"),
    W: T.Buffer((3, 2, 3, 3), "float32"),
    Y: T.Buffer((3, 5, 5), "float32"),
):
    P = T.alloc_buffer((2, 7, 7))
    for c, h, w in T.grid(2, 7, 7):
        with T.block("pad"):
            vc, vh, vw = T.axis.remap("SSS", [c, h, w])
            P[vc, vh, vw] = T.if_then_else(
                vh >= 1 and vh < 6 and vw >= 1 and vw < 6, X[vc, vh - 1, vw - 1], T.float32(0)
            )
    for o, h, w, c, r, s in T.grid(3, 5, 5, 2, 3, 3):
        with T.block("conv"):
            vo, vh, vw, vc, vr, vs = T.axis.remap("SSSRRR", [o, h, w, c, r, s])
            with T.init():
                Y[vo, vh, vw] = T.float32(0)
            Y[vo, vh, vw] = Y[vo, vh, vw] + P[vc, vh + vr, vw + vs] * W[vo, vc, vr, vs]


def test_padding_is_inlined_into_a_convolution():
    text = inlined(pad_conv, "pad").script()
    assert "T.reads(X[vc, vh + vr - 1, vw + vs - 1], W[vo, vc, vr, vs])" in text
    assert "alloc_buffer" not in text


@T.prim_func
def chain(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 4))
    C = T.match_buffer(c, (n,))
    B = T.alloc_buffer((n, 4))
    D = T.alloc_buffer((n, 4))
    S = T.alloc_buffer((n,))
    for i, j in T.grid(n, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(n, 4):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] - T.float32(1)
    for i, j in T.grid(n, 4):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + D[vi, vj] * B[vi, 3 - vj]
    for i in range(n):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            C[vi] = S[vi]


def test_several_consumers_and_symbolic_sizes():
    text = inlined(chain, "B", "D", sizes={"n": 5}).script()
    assert text.count("alloc_buffer") == 1


@T.prim_func
def data_dependent(
    A: T.Buffer((8,), "float32"), X: T.Buffer((5,), "int32"), C: T.Buffer((5,), "float32")
):
    B = T.alloc_buffer((8,))
    P = T.alloc_buffer((5,), "int32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(3)
    for i in range(5):
        with T.block("P"):
            vi = T.axis.spatial(5, i)
            P[vi] = T.bitwise_and(X[vi], 7)
    for i in range(5):
        with T.block("C"):
            vi = T.axis.spatial(5, i)
            C[vi] = B[P[vi]]


def test_reads_inside_of_indices_are_replaced():
    assert "A[T.bitwise_and(X[vi], 7)]" in inlined(data_dependent, "B", "P").script()


@T.prim_func
def used_by_predicate(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    M = T.alloc_buffer((8,), "bool")
    for i in range(8):
        with T.block("M"):
            vi = T.axis.spatial(8, i)
            M[vi] = A[vi] > T.float32(0)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            T.where(M[i])
            C[vi] = A[vi]


def test_a_predicate_reads_the_buffer():
    assert "T.where(A[i] > T.float32(0.0))" in inlined(used_by_predicate, "M").script()


@T.prim_func
def nested(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32")):
    B = T.alloc_buffer((8, 4))
    for i in range(8):
        with T.block("outer"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi, 0:4], B[vi, 0:4])
            T.writes(B[vi, 0:4], C[vi, 0:4])
            for j in range(4):
                with T.block("B"):
                    vj = T.axis.spatial(4, j)
                    B[vi, vj] = A[vi, vj] * T.float32(2)
            for j in range(4):
                with T.block("C"):
                    vj = T.axis.spatial(4, j)
                    C[vi, vj] = B[vi, 3 - vj] + T.float32(1)


def test_blocks_inside_of_a_block():
    text = inlined(nested, "B").script()
    assert "T.writes(C[vi, 0:4])" in text


@T.prim_func
def input_overwritten(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("over"):
            vi = T.axis.spatial(8, i)
            A[vi] = T.float32(100)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]


def test_an_input_that_is_overwritten_in_between():
    refused(
        input_overwritten,
        "B",
        "block `over` may overwrite `A`, which block `B` reads",
        differs=True,
    )


@T.prim_func
def input_overwritten_in_loop(A: T.Buffer((1,), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8,))
    for t in range(8):
        with T.block("over"):
            vt = T.axis.opaque(8, t)
            A[0] = T.Cast("float32", vt)
        with T.block("B"):
            vt = T.axis.opaque(8, t)
            T.reads(A[0])
            T.writes(B[vt])
            B[vt] = A[0]
        for s in range(t + 1):
            with T.block("C"):
                vt = T.axis.spatial(8, t)
                vs = T.axis.spatial(8, s)
                C[vt, vs] = B[vs]


def test_an_input_that_is_overwritten_by_a_later_iteration():
    refused(input_overwritten_in_loop, "B", "block `over` may overwrite `A`", differs=True)


@T.prim_func
def input_overwritten_by_reader(A: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[7 - vi] * T.float32(2)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            A[vi] = B[vi]


def test_an_input_that_the_reader_overwrites():
    refused(input_overwritten_by_reader, "B", "block `C` may overwrite `A`", differs=True)


@T.prim_func
def partly_written(A: T.Buffer((4,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            T.where(i < 4)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = T.Select(vi < 4, B[vi], T.float32(0))


def test_elements_that_the_block_does_not_write():
    refused(partly_written, "B", "may read elements of `B` that block `B` does not write")


@T.prim_func
def read_before(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for t in range(2):
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                vt = T.axis.opaque(2, t)
                C[vi] = T.if_then_else(vt > 0, B[vi], T.float32(0))
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi]


def test_a_read_before_the_block():
    refused(read_before, "B", "block `C` reads `B` before block `B` writes it")


@T.prim_func
def two_writers(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(4):
        with T.block("half"):
            vi = T.axis.spatial(4, i)
            B[vi] = T.float32(100)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]


def test_two_writers():
    refused(two_writers, "B", "block `B` and block `half` both write `B`")


def test_an_output():
    refused(elementwise, "C", "block `C` writes `C`, which is an output of the function")


@T.prim_func
def reduction(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vj]
    for i, j in T.grid(8, 4):
        with T.block("last"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi] = B[vi] + A[vi, vj]


def test_a_reduction():
    refused(reduction, "B", "block `B` is a reduction")


@T.prim_func
def last_one_wins(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    D = T.alloc_buffer((8,))
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi] = A[vi, vj]
    for i, j in T.grid(8, 4):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi] = T.if_then_else(vj > 0, D[vi], T.float32(0)) + A[vi, vj]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + D[vi]


def test_indices_that_do_not_tell_the_instance():
    refused(last_one_wins, "B", "do not tell which instance wrote an element")


def test_a_block_that_reads_what_it_writes():
    refused(last_one_wins, "D", "block `D` reads `D` itself")


@T.prim_func
def two_stores(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    D = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
            D[vi] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + D[vi]


def test_a_body_of_two_stores():
    refused(two_stores, "B", "the body of block `B` must be a single store")


def test_the_root_block():
    refused(elementwise, "root", "the body of block `root` must be a single store")


@T.prim_func
def outside_of_blocks(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(8):
        A[i] = T.float32(100)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]


def test_statements_outside_of_blocks():
    refused(outside_of_blocks, "B", "`root` accesses memory outside of the blocks inside of it")


@T.prim_func
def viewed(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(2):
        with T.block("C"):
            vi = T.axis.spatial(2, i)
            T.reads(B[vi * 4 : vi * 4 + 4])
            T.writes(C[vi * 4 : vi * 4 + 4])
            D = T.match_buffer(B[vi * 4 : vi * 4 + 4], (4,), offset_factor=1)
            for j in range(4):
                C[vi * 4 + j] = D[j]


def test_a_view_of_the_buffer():
    refused(viewed, "B", "block `C` has the view `D` of `B`")


@T.prim_func
def vector_load(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(2):
        with T.block("C"):
            vi = T.axis.spatial(2, i)
            C[vi * 4 : vi * 4 + 4] = B[vi * 4 : vi * 4 + 4]


def test_vectors_of_the_buffer():
    refused(vector_load, "B", "block `C` accesses `B` in another way than element by element")


@T.prim_func
def vector_store(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(2):
        with T.block("B"):
            vi = T.axis.spatial(2, i)
            B[vi * 4 : vi * 4 + 4] = A[vi * 4 : vi * 4 + 4]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]


def test_a_store_of_a_vector():
    refused(vector_store, "B", "the store of block `B` must be to one element")


@T.prim_func
def with_effects(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    D = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = T.call_extern("float32", "next_number")
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            T.reads(A[0:8])
            T.writes(D[vi])
            D[vi] = T.call_pure_extern("float32", "sum", A.data)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + D[vi]


def test_calls_with_effects_and_pointers():
    refused(with_effects, "B", "block `B` calls `tir.call_extern`, which has effects")
    refused(with_effects, "D", "block `D` uses the pointer `A`")


@T.prim_func
def pointer_used(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    D = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = A[vi]
    for i in range(1):
        with T.block("C"):
            vi = T.axis.spatial(1, i)
            T.reads(B[0:8], D[0:8], A[0:8])
            T.writes(C[0:8])
            C[vi] = T.call_pure_extern("float32", "sum", B.data) + D[vi]


def test_a_consumer_that_uses_the_pointer():
    refused(pointer_used, "B", "block `C` uses the pointer of `B`")


def test_a_consumer_of_which_the_regions_are_not_known():
    refused(pointer_used, "D", "cannot be inferred, because it uses the pointer `B`")


@T.prim_func
def bound_by_memory(A: T.Buffer((8,), "int32"), C: T.Buffer((8, 2), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("outer"):
            vi = T.axis.spatial(8, i)
            T.where(B[i] > 0)
            T.reads(A[vi])
            T.writes(C[vi, 0:2])
            for j in range(2):
                with T.block("C"):
                    vj = T.axis.spatial(2, j)
                    C[vi, vj] = A[vi]


def test_the_predicate_of_a_block_of_blocks_reads_the_buffer():
    refused(bound_by_memory, "B", "a binding of block `outer` reads `B`")


def test_a_reader_outside_of_the_scope():
    @T.prim_func
    def rows(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
        B = T.alloc_buffer((4, 8))
        for i, j in T.grid(4, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(4, 8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)

    sch = Schedule(rows)
    sch.blockize(sch.get_loops("B")[1])
    with pytest.raises(ScheduleError, match="block `C` is outside of block `B_o`"):
        sch.compute_inline("B")


@T.prim_func
def padded_rows(a: T.handle, b: T.handle):
    """The rows are counted in int32, the columns in int64."""
    n = T.int64()
    A = T.match_buffer(a, (8, n), "int32")
    B = T.match_buffer(b, (10, n), "int32")
    P = T.alloc_buffer((10, n), "int32")
    for i, j in T.grid(10, n):
        with T.block("P"):
            vi = T.axis.spatial(10, i)
            vj = T.axis.spatial(n, j)
            P[vi, vj] = T.if_then_else(vi >= 1 and vi < 9, A[vi - 1, vj], 0)
    for i, j in T.grid(10, n):
        with T.block("B"):
            vi = T.axis.spatial(10, i)
            vj = T.axis.spatial(n, j)
            B[vi, vj] = P[vi, vj] * 2


def test_an_iterator_keeps_its_dtype_where_indices_have_another():
    sch = Schedule(padded_rows, debug_mask="all")
    sch.transform_layout("P", ("write", 0), lambda i, j: (j, i))
    sch.compute_inline("P")
    assert 'T.Cast("int64"' not in sch.mod.script()
