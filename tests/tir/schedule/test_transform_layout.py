"""Other layouts of buffers."""

import pytest
from tests.tir.schedule.checking import assert_equal_results, assert_same_meaning, results_of

import tilewright as tvm
from tilewright.script import tir as T
from tilewright.tir import IndexMap, Schedule, ScheduleError
from tilewright.tir.interpreter import Interpreter


@T.prim_func
def two_steps(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")):
    B = T.alloc_buffer((8, 12))
    for i, j in T.grid(8, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi, 11 - vj]


@T.prim_func
def tiled(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")):
    B = T.alloc_buffer((2, 3, 4, 4))
    for i, j in T.grid(8, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi // 4, vj // 4, vi % 4, vj % 4] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi // 4, 0:3, vi % 4, 0:4])
            T.writes(C[vi, vj])
            C[vi, vj] = (
                B[vi // 4, vj // 4, vi % 4, vj % 4]
                + B[vi // 4, (11 - vj) // 4, vi % 4, (3 - vj) % 4]
            )


@T.prim_func
def padded(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")):
    B = T.alloc_buffer((8, 3, 5))
    for axis0, axis1, axis2 in T.grid(8, 3, 5):
        with T.block("buffer_B_padding"):
            v0, v1, v2 = T.axis.remap("SSS", [axis0, axis1, axis2])
            T.where(axis1 * 5 + axis2 >= 12)
            B[v0, v1, v2] = T.float32(3)
    for i, j in T.grid(8, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj // 5, vj % 5] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, 0:3, 0:5])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, vj // 5, vj % 5] + B[vi, (11 - vj) // 5, (1 - vj) % 5]


def tiles(i, j):
    return i // 4, j // 4, i % 4, j % 4


def fives(i, j):
    return i, j // 5, j % 5


def schedule(func=two_steps):
    return Schedule(func, debug_mask="all")


def assert_becomes(sch, expected):
    tvm.ir.assert_structural_equal_ignore_global_symbol(sch.mod["main"], expected)


@pytest.mark.parametrize(("block", "buffer"), [("B", ("write", 0)), ("C", ("read", 0)), ("C", "B")])
def test_an_intermediate_buffer_in_tiles(block, buffer):
    sch = schedule()
    sch.transform_layout(block, buffer, tiles)
    assert_becomes(sch, tiled)
    assert_same_meaning(two_steps, sch)


def test_a_buffer_and_an_index_map_as_objects():
    sch = schedule()
    buffer = sch.get(sch.get_block("B")).writes[0].buffer
    sch.transform_layout("B", buffer, IndexMap.from_func(tiles))
    assert_becomes(sch, tiled)
    assert 'buffer=["write", 0]' in str(sch.trace)
    assert_same_meaning(two_steps, sch)


def test_padding_that_nobody_reads():
    sch = schedule()
    sch.transform_layout("B", ("write", 0), fives)
    assert "B = T.alloc_buffer((8, 3, 5))" in sch.mod.script()
    assert "padding" not in sch.mod.script()
    assert_same_meaning(two_steps, sch)


def test_padding_that_is_set():
    sch = schedule()
    sch.transform_layout("B", ("write", 0), fives, pad_value=3)
    assert_becomes(sch, padded)
    assert_same_meaning(two_steps, sch)


def test_padding_that_depends_on_the_place():
    sch = schedule()
    sch.transform_layout("B", ("write", 0), fives, pad_value=lambda i, j, k: i + k)
    assert 'T.Cast("float32", v_axis0 + v_axis2)' in sch.mod.script()
    assert_same_meaning(two_steps, sch)


@pytest.mark.parametrize("pad_value", [2**24 + 1, tvm.tir.decl_buffer((1,))[0]])
def test_a_value_is_checked_where_there_is_no_padding(pad_value):
    with pytest.raises(ScheduleError, match="pad_value"):
        schedule().transform_layout("B", ("write", 0), tiles, pad_value)


def test_no_padding_needs_no_value():
    sch = schedule()
    sch.transform_layout("B", ("write", 0), tiles, pad_value=0)
    assert_becomes(sch, tiled)


def parameters_in_layout(sch, index_map, name, before, padding=None):
    """Run the program before and after, the parameter of that name in its new layout."""
    after = sch.mod["main"]
    import numpy as np

    random = np.random.default_rng(0)
    olds, news = [], []
    for param in before.params:
        buffer = before.buffer_map[param]
        array = random.integers(-8, 9, [e.value for e in buffer.shape]).astype("float32")
        olds.append(array)
        news.append(index_map.map_ndarray(array) if buffer.name == name else array.copy())
    Interpreter(before).run("main", *olds)
    Interpreter(after).run("main", *news)
    for param, old, new in zip(before.params, olds, news, strict=True):
        if before.buffer_map[param].name != name:
            np.testing.assert_array_equal(old, new)
            continue
        expected = index_map.map_ndarray(old)
        if padding is not None:
            is_element = index_map.map_ndarray(np.ones_like(old))
            expected = np.where(is_element == 1, expected, padding)
        np.testing.assert_array_equal(expected, new)


def test_a_parameter_in_another_layout():
    sch = schedule()
    index_map = IndexMap.from_func(tiles)
    sch.transform_layout("B", "A", index_map)
    assert "A: T.Buffer((2, 3, 4, 4)" in sch.mod.script()
    parameters_in_layout(sch, index_map, "A", two_steps)
    sch = schedule()
    sch.transform_layout("C", "C", index_map)
    parameters_in_layout(sch, index_map, "C", two_steps)


def test_padding_of_parameters():
    index_map = IndexMap.from_func(fives)
    sch = schedule()
    sch.transform_layout("C", "C", index_map, pad_value=7)
    parameters_in_layout(sch, index_map, "C", two_steps, padding=7)
    sch = schedule()
    sch.transform_layout("B", "A", index_map, pad_value=0)
    assert "padding" not in sch.mod.script()
    parameters_in_layout(sch, index_map, "A", two_steps)


@T.prim_func
def nested(A: T.Buffer((6, 10), "float32"), C: T.Buffer((6, 10), "float32")):
    for i in range(6):
        with T.block("row"):
            vi = T.axis.spatial(6, i)
            B = T.alloc_buffer((10,))
            for j in range(10):
                with T.block("B"):
                    vj = T.axis.spatial(10, j)
                    B[vj] = A[vi, vj] + T.float32(1)
            for j_0, j_1 in T.grid(3, 4):
                with T.block("C"):
                    vj = T.axis.spatial(10, j_0 * 4 + j_1)
                    T.where(j_0 * 4 + j_1 < 10)
                    C[vi, vj] = T.if_then_else(vj > 0, B[vj - 1], T.float32(0)) * B[vj]


def test_a_buffer_of_a_nested_block():
    sch = schedule(nested)
    sch.transform_layout("C", "B", lambda j: (j // 4, j % 4), pad_value=1)
    script = sch.mod.script()
    assert script.index('T.block("row")') < script.index('T.block("buffer_B_padding")')
    assert_same_meaning(nested, sch)


@T.prim_func
def symbolic(c: T.handle, a: T.handle, b: T.handle):
    n = T.int64()
    C = T.match_buffer(c, (n,))
    A = T.match_buffer(a, (n, 6))
    D = T.match_buffer(b, (n, 6))
    B = T.alloc_buffer((n, 6))
    for i, j in T.grid(n, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * C[vi]
    for i, j in T.grid(n, 6):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[n - 1 - vi, vj]


@pytest.mark.parametrize("pad_value", [None, 2])
def test_symbolic_shapes(pad_value):
    sch = schedule(symbolic)
    sch.transform_layout("B", ("write", 0), lambda i, j: (i // 4, j, i % 4), pad_value)
    assert_same_meaning(symbolic, sch, sizes={"n": 7})


def test_packing_by_caches():
    sch = schedule()
    sch.cache_read("B", 0, "global")
    sch.transform_layout("B", ("read", 0), lambda i, j: (j // 4, i, j % 4))
    assert_same_meaning(two_steps, sch)


# --- refusals -----------------------------------------------------------------------------------


def test_a_map_that_puts_two_elements_in_one_place_is_refused():
    sch = schedule()
    with pytest.raises(ScheduleError, match="is not known to give each element a place of its own"):
        sch.transform_layout("B", ("write", 0), lambda i, j: (i, j // 2))
    with pytest.raises(ScheduleError, match="whatever assume_injective_transform says"):
        sch.transform_layout(
            "B", ("write", 0), lambda i, j: (i, j // 2), assume_injective_transform=True
        )
    unchecked = Schedule(two_steps, enable_check=False)
    unchecked.transform_layout(
        "B", ("write", 0), lambda i, j: (i, j // 2), assume_injective_transform=True
    )
    with pytest.raises(AssertionError):
        assert_equal_results(results_of(two_steps), results_of(unchecked.mod["main"]))


def test_an_inverse_that_is_given():
    sch = schedule()
    inverse = IndexMap.from_func(
        lambda i, j: (i, 11 - j), inverse_index_map=lambda i, j: (i, 11 - j)
    )
    sch.transform_layout("B", ("write", 0), inverse)
    assert_same_meaning(two_steps, sch)
    wrong = IndexMap.from_func(lambda i, j: (i, j // 2), inverse_index_map=lambda i, j: (i, j * 2))
    with pytest.raises(ScheduleError, match="is not known to be its inverse"):
        schedule().transform_layout("B", ("write", 0), wrong)


def test_assuming_that_a_map_is_injective():
    def skewed(i, j):
        return i * 13 + j * (i // 8 + 1), 0

    sch = schedule()
    with pytest.raises(ScheduleError, match="give assume_injective_transform=True"):
        sch.transform_layout("B", ("write", 0), skewed)
    with pytest.raises(ScheduleError, match="is not known to give each element a place of its own"):
        sch.transform_layout("B", ("write", 0), skewed, 0, assume_injective_transform=True)
    sch.transform_layout("B", ("write", 0), skewed, assume_injective_transform=True)
    assert_same_meaning(two_steps, sch)


def test_padding_of_a_parameter_without_a_value_is_refused():
    sch = schedule()
    for block, name in (("C", "C"), ("B", "A")):
        with pytest.raises(ScheduleError, match=f"layout of the parameter `{name}` has padding wh"):
            sch.transform_layout(block, name, fives)


def test_a_size_that_no_array_would_define_is_refused():
    sch = schedule(symbolic_alone)
    with pytest.raises(ScheduleError, match="no array would tell any more what `n` is"):
        sch.transform_layout("A", "A", lambda i: (i // 4, i % 4), pad_value=0)


@T.prim_func
def symbolic_alone(a: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,))
    for i in range(n):
        with T.block("A"):
            vi = T.axis.spatial(n, i)
            A[vi] = T.float32(1)


@pytest.mark.parametrize(
    ("index_map", "message"),
    [
        (lambda i: i, "2"),
        (3, "expected an index map or a function"),
        (lambda i, j: (i - 1, j), "the new layout has no shape"),
        (lambda i, j: (i, IndexMap.AXIS_SEPARATOR, j), "AXIS_SEPARATOR"),
    ],
)
def test_what_is_no_map_of_the_buffer_is_refused(index_map, message):
    with pytest.raises(ScheduleError, match=message):
        schedule().transform_layout("B", ("write", 0), index_map)


@pytest.mark.parametrize(
    ("pad_value", "message"),
    [
        (lambda i, j, k: (i, k), "pad_value gives one value, got 2 of them"),
        (tvm.tir.Var("x", "float32"), "depends on more than the indices of the new layout"),
        (tvm.tir.decl_buffer((1,))[0], "depends on more than the indices of the new layout"),
    ],
)
def test_padding_that_is_no_value_is_refused(pad_value, message):
    with pytest.raises(ScheduleError, match=message):
        schedule().transform_layout("B", ("write", 0), fives, pad_value)


@T.prim_func
def integers(A: T.Buffer((7,), "int32"), B: T.Buffer((7,), "int32")):
    C = T.alloc_buffer((7,), "int32")
    for i in range(7):
        with T.block("C"):
            vi = T.axis.spatial(7, i)
            C[vi] = A[vi]
    for i in range(7):
        with T.block("B"):
            vi = T.axis.spatial(7, i)
            B[vi] = C[vi]


@pytest.mark.parametrize("pad_value", [0.5, 2**31])
def test_padding_of_another_type_is_refused(pad_value):
    sch = schedule(integers)
    with pytest.raises(ScheduleError, match=r"pad_value is .*, but `C` is int32"):
        sch.transform_layout("C", ("write", 0), lambda i: (i // 4, i % 4), pad_value)


def test_padding_is_not_rounded():
    with pytest.raises(ScheduleError, match=r"pad_value is .*16777217.*, but `B` is float32"):
        schedule().transform_layout("B", ("write", 0), fives, 2**24 + 1)


@T.prim_func
def with_view(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4,), "float32")):
    C = T.alloc_buffer((4, 4))
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            T.reads(A[vi, 0:4])
            T.writes(C[vi, 0:4])
            D = T.match_buffer(C[vi, 0:4], (4,))
            for j in range(4):
                D[j] = A[vi, j]
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            B[vi] = C[vi, 0]


@T.prim_func
def with_pointer(B: T.Buffer((4,), "float32")):
    with T.block("root"):
        C = T.alloc_buffer((4,))
        with T.block("B"):
            T.reads()
            T.writes(C[0:4])
            T.evaluate(T.call_extern("int32", "fill", C.data))
        for i in range(4):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                B[vi] = C[vi]


@T.prim_func
def with_vectors(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    C = T.alloc_buffer((8,))
    for i in range(2):
        with T.block("B"):
            vi = T.axis.spatial(2, i)
            C[vi * 4 : vi * 4 + 4] = A[vi * 4 : vi * 4 + 4]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            B[vi] = C[vi]


@T.prim_func
def with_strides(a: T.handle, B: T.Buffer((4,), "float32")):
    s = T.int32()
    A = T.match_buffer(a, (4,), strides=[s])
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi]


@pytest.mark.parametrize(
    ("func", "block", "buffer", "message"),
    [
        (with_view, "C", "C", "it has views made by match_buffer, or is one"),
        (with_pointer, "C", "C", "its pointer is used"),
        (with_vectors, "C", "C", "it is accessed as vectors"),
        (with_strides, "B", "A", "`A` has strides, which tell its layout already"),
    ],
)
def test_accesses_that_cannot_be_rewritten_are_refused(func, block, buffer, message):
    sch = Schedule(func)
    rank = 2 if func is with_view else 1
    with pytest.raises(ScheduleError, match=message):
        sch.transform_layout(block, buffer, IndexMap.from_func(lambda *i: i[::-1], rank))


def test_alignment_of_dimensions_is_refused():
    sch = schedule()
    sch.storage_align("B", 0, 0, 16, 1)
    with pytest.raises(ScheduleError, match="block `B` aligns dimensions of `B`, which would be"):
        sch.transform_layout("B", ("write", 0), tiles)


@T.prim_func
def three_dimensions(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (4, 8, n))
    B = T.match_buffer(b, (4, 8, n))
    C = T.alloc_buffer((4, 8, n))
    for i, j, k in T.grid(4, 8, n):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            C[vi, vj, vk] = A[vi, vj, vk]
    for i, j, k in T.grid(4, 8, n):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = C[vi, vj, vk]


@pytest.mark.parametrize("size", [0, 1, 3])
def test_symbolic_strides(size):
    n = three_dimensions.buffer_map[three_dimensions.params[0]].shape[2]
    sch = schedule(three_dimensions)
    sch.transform_layout("C", ("write", 0), lambda x, y, w: (x * 8 * n + y * n + w,))
    assert_same_meaning(three_dimensions, sch, sizes={"n": size})
    with pytest.raises(ScheduleError, match="not known to give each element a place of its own"):
        schedule(three_dimensions).transform_layout(
            "C", ("write", 0), lambda x, y, w: (x * 7 * n + y * n + w,)
        )


@pytest.mark.parametrize("size", [0, 3])
def test_room_for_padding_in_an_empty_array(size):
    sch = schedule(three_dimensions)
    sch.transform_layout(
        "C", ("write", 0), lambda x, y, w: (x, w * 9 + y), assume_injective_transform=True
    )
    assert_same_meaning(three_dimensions, sch, sizes={"n": size})
