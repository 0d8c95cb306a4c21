"""Reductions whose loops are bound to threads: parts of threads, and a tree that combines them."""

import re

import pytest

from tilewright import te, tir
from tilewright.error import LoweringError
from tilewright.ir import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.script import tir as T
from tilewright.tir.transform.device.barriers import insert_barriers
from tilewright.tir.transform.device.combine_parts import steps_of_tree
from tilewright.tir.transform.device.cross_thread_reduction import lower_cross_thread_reduction
from tilewright.tir.transform.device.passes import LowerCrossThreadReduction
from tilewright.tir.transform.device.thread_axes import unify_thread_axes
from tilewright.tir.transform.lower_blocks import lower_blocks


def row_sums(columns=32):
    a = te.placeholder((8, columns), name="A")
    k = te.reduce_axis((0, columns), name="k")
    b = te.compute((8,), lambda i: te.sum(a[i, k], axis=k), name="B")
    return tir.Schedule(te.create_prim_func([a, b]))


def lines(func):
    """The statements of the kernel without barriers, declarations and attributes."""
    script = unify_thread_axes(lower_blocks(lower_cross_thread_reduction(func))).script()
    declaring = ("#", "@", "def ", "T.func_attr", "with ", "from ")
    script = re.sub(r"(parts?|local)_1\[", r"\1[", script)  # memory and buffer have one name
    found = [line.strip() for line in script.splitlines()]
    return [
        line
        for line in found
        if line
        and not line.startswith(declaring)
        and not any(word in line for word in ("alloc", "launch_thread", "T.Buffer"))
    ]


def test_a_part_of_each_thread_and_a_tree():
    sch = row_sums()
    i, k = sch.get_loops("B")
    sch.bind(i, "blockIdx.x")
    k, t = sch.split(k, [None, 4])
    sch.bind(t, "threadIdx.x")
    assert lines(sch.mod["main"]) == [
        "B_part[0] = T.float32(0.0)",
        "for k_0 in range(8):",
        "B_part[0] = B_part[0] + A[i, k_0 * 4 + k_1]",
        "B_parts[k_1] = B_part[0]",
        "if k_1 < 2:", "B_parts[k_1] = B_parts[k_1] + B_parts[k_1 + 2]",
        "if k_1 < 1:", "B_parts[k_1] = B_parts[k_1] + B_parts[k_1 + 1]",
        "if k_1 == 0:", "B[i] = B_parts[0]",
    ]  # fmt: skip


def test_threads_without_an_element_take_part():
    sch = row_sums(30)
    i, k = sch.get_loops("B")
    sch.bind(i, "blockIdx.x")
    k, t = sch.split(k, [None, 4])
    sch.bind(t, "threadIdx.x")
    found = lines(sch.mod["main"])
    assert found[2:4] == ["if k_0 * 4 + k_1 < 30:", "B_part[0] = B_part[0] + A[i, k_0 * 4 + k_1]"]
    assert found[4] == "B_parts[k_1] = B_part[0]"


@pytest.mark.parametrize(
    ("count", "steps"),
    [(2, [(1, 1)]), (3, [(1, 2), (1, 1)]), (6, [(2, 4), (2, 2), (1, 1)])],
)
def test_the_tree_takes_each_part_once(count, steps):
    assert list(steps_of_tree(count)) == steps
    for threads in range(1, 70):
        parts = [{thread} for thread in range(threads)]
        for active, distance in steps_of_tree(threads):
            for thread in range(active):
                assert not parts[thread] & parts[thread + distance]
                parts[thread] |= parts[thread + distance]
        assert parts[0] == set(range(threads))


def test_rows_of_a_block_have_parts_of_their_own():
    sch = row_sums()
    i, k = sch.get_loops("B")
    i, row = sch.split(i, [None, 2])
    sch.bind(i, "blockIdx.x")
    sch.bind(row, "threadIdx.y")
    sch.bind(k, "threadIdx.x")
    found = lines(sch.mod["main"])
    assert "B_parts[i_1, k] = B_part[0]" in found
    assert found[-2:] == ["if k == 0:", "B[i_0 * 2 + i_1] = B_parts[i_1, 0]"]


def test_a_result_in_local_memory_is_that_of_all_threads():
    sch = row_sums()
    local = sch.cache_write("B", 0, "local")
    i, k = sch.get_loops("B")
    sch.reverse_compute_at(local, i)
    sch.bind(i, "blockIdx.x")
    sch.bind(k, "threadIdx.x")
    found = lines(sch.mod["main"])
    assert found[-3:] == ["B_local[i] = B_local_parts[0]", "if k == 0:", "B[i] = B_local[i]"]


def test_an_axis_with_more_threads():
    @T.prim_func
    def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((16,))):
        for _block in T.thread_binding(1, thread="blockIdx.x"):
            for k in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("B"):
                    v_k = T.axis.reduce(8, k)
                    with T.init():
                        B[0] = T.float32(0)
                    B[0] = B[0] + A[v_k]
            for j in T.thread_binding(16, thread="threadIdx.x"):
                with T.block("C"):
                    v_j = T.axis.spatial(16, j)
                    C[v_j] = B[0]

    found = lines(kernel)
    assert found[1:4] == ["if k < 8:", "B_part[0] = B_part[0] + A[k]", "if k < 8:"]
    assert "if k < 8 and k < 4:" in found
    func = unify_thread_axes(lower_blocks(lower_cross_thread_reduction(kernel)))
    assert insert_barriers(func).script().count("storage_sync") == 4


@pytest.mark.parametrize("warp_size", [0, 32])
def test_an_axis_with_more_rows(warp_size):
    @T.prim_func
    def kernel(
        A: T.Buffer((64, 2), "float32"), B: T.Buffer((2,), "float32"), C: T.Buffer((8,), "float32")
    ):
        for _block in T.thread_binding(1, thread="blockIdx.x"):
            for k in T.thread_binding(64, thread="threadIdx.x"):
                for row in T.thread_binding(2, thread="threadIdx.y"):
                    with T.block("B"):
                        v_k = T.axis.reduce(64, k)
                        v_row = T.axis.spatial(2, row)
                        with T.init():
                            B[v_row] = T.float32(0)
                        B[v_row] = B[v_row] + A[v_k, v_row]
            for j in T.thread_binding(8, thread="threadIdx.y"):
                with T.block("C"):
                    v_j = T.axis.spatial(8, j)
                    C[v_j] = T.float32(1)

    found = lines(lower_cross_thread_reduction(kernel, warp_size))
    uses = [n for n, line in enumerate(found) if "B_parts[" in line or "B[" in line]
    assert uses
    assert all("if row < 2" in found[n - 1] for n in uses)


def test_a_value_that_is_not_neutral_is_combined_once():
    @T.prim_func
    def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
        for k in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                v_k = T.axis.reduce(8, k)
                with T.init():
                    B[0] = T.float32(5)
                B[0] = B[0] + A[v_k]

    found = lines(kernel)
    assert found[0] == "B_part[0] = T.float32(0.0)"
    assert found[-2:] == ["B[0] = T.float32(5.0)", "B[0] = B[0] + B_parts[0]"]


def test_a_function_without_such_loops_stays_as_it_is():
    sch = row_sums()
    assert lower_cross_thread_reduction(sch.mod["main"]) is sch.mod["main"]
    sch.bind(sch.get_loops("B")[0], "threadIdx.x")
    module = IRModule({"main": sch.mod["main"]})
    with PassContext():
        assert "parts" not in LowerCrossThreadReduction()(module).script()


# --- refusals -----------------------------------------------------------------------------------


def test_blocks_of_threads_cannot_share_a_reduction():
    @T.prim_func
    def kernel(A: T.Buffer((8, 4), "float32"), B: T.Buffer((4,), "float32")):
        for k in T.thread_binding(8, thread="blockIdx.x"):
            for i in T.thread_binding(4, thread="threadIdx.x"):
                with T.block("B"):
                    v_k, v_i = T.axis.remap("RS", [k, i])
                    with T.init():
                        B[v_i] = T.float32(0)
                    B[v_i] = B[v_i] + A[v_k, v_i]

    # Both loops are bound, and only that of the reduction is refused.
    with pytest.raises(LoweringError, match=r"B reduces along loop k, which is bound to blockIdx"):
        lower_cross_thread_reduction(kernel)


def test_what_is_no_reduction():
    @T.prim_func
    def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
        for k in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                v_k = T.axis.reduce(8, k)
                with T.init():
                    B[0] = T.float32(0)
                B[0] = A[v_k] - B[0] * B[0]

    with pytest.raises(LoweringError, match=r"block B: loop k is bound to threadIdx.x, and"):
        lower_cross_thread_reduction(kernel)


def test_a_number_of_threads_that_is_not_known():
    @T.prim_func
    def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32"), n: T.int32):
        for k in T.thread_binding(n, thread="threadIdx.x"):
            with T.block("B"):
                v_k = T.axis.reduce(n, k)
                with T.init():
                    B[0] = T.float32(0)
                B[0] = B[0] + A[v_k]

    with pytest.raises(LoweringError, match=r"loop k has n iterations .* is a constant; split"):
        lower_cross_thread_reduction(kernel)


def test_what_is_used_before_it_is_complete():
    @T.prim_func
    def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((8,))):
        for k in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                v_k = T.axis.reduce(8, k)
                with T.init():
                    B[0] = T.float32(0)
                B[0] = B[0] + A[v_k]
            with T.block("C"):
                v_k = T.axis.spatial(8, k)
                C[v_k] = B[0]

    with pytest.raises(LoweringError, match="B is used inside of the loops in which threads"):
        lower_cross_thread_reduction(kernel)


def test_loops_around_the_threads_that_have_other_statements():
    @T.prim_func
    def kernel(A: T.Buffer((4, 8), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((4,))):
        for j in range(4):
            with T.block("C"):
                v_j = T.axis.spatial(4, j)
                C[v_j] = A[v_j, 0]
            for k in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("B"):
                    v_j, v_k = T.axis.remap("RR", [j, k])
                    with T.init():
                        B[0] = T.float32(0)
                    B[0] = B[0] + A[v_j, v_k]

    with pytest.raises(LoweringError, match="make the loop over threads the outermost"):
        lower_cross_thread_reduction(kernel)


def test_updates_that_are_lost():
    @T.prim_func
    def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
        for k in T.thread_binding(8, thread="threadIdx.x"):
            B[0] = B[0] + A[k]

    @T.prim_func
    def prefix(A: T.Buffer((8, 4), "float32")):
        for i in T.thread_binding(8, thread="threadIdx.x"):
            for j in range(3):
                A[i, j + 1] = A[i, j + 1] + A[i, j]

    with pytest.raises(LoweringError, match="B: threads update the same element at once"):
        insert_barriers(unify_thread_axes(kernel))
    insert_barriers(unify_thread_axes(prefix))


def test_loops_of_no_iterator_mean_nothing_after_the_reduction():
    @T.prim_func
    def first_only(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8,), "float32")):
        for i in T.thread_binding(8, "blockIdx.x"):
            for t in T.thread_binding(4, "threadIdx.x"):
                for again in range(3):
                    with T.block("B"):
                        v = T.axis.spatial(8, i)
                        k = T.axis.reduce(4, t)
                        T.where(again < 1)
                        with T.init():
                            B[v] = T.float32(0)
                        B[v] = B[v] + A[v, k]

    assert lines(first_only)[:3] == [
        "B_part[0] = T.float32(0.0)",
        "for again in range(3):",
        "if again < 1:",
    ]
    assert lines(first_only)[-2:] == ["if t == 0:", "B[i] = B_parts[0]"]
