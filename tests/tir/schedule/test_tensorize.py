"""Replacing computations by tensor intrinsics."""

import numpy as np
import pytest
from tests.tir.schedule.checking import assert_same_meaning

import tilewright as tvm
from tilewright.error import ArgumentError, UnknownNameError
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError, TensorIntrin


@T.prim_func
def tile_desc(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (4, 4), offset_factor=1)
    B = T.match_buffer(b, (4, 4), offset_factor=1)
    C = T.match_buffer(c, (4, 4), offset_factor=1)
    with T.block("root"):
        T.reads(C[0:4, 0:4], A[0:4, 0:4], B[0:4, 0:4])
        T.writes(C[0:4, 0:4])
        for i, j, k in T.grid(4, 4, 4):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def tile_impl(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (4, 4), offset_factor=1)
    B = T.match_buffer(b, (4, 4), offset_factor=1)
    C = T.match_buffer(c, (4, 4), offset_factor=1)
    with T.block("root"):
        T.reads(C[0:4, 0:4], A[0:4, 0:4], B[0:4, 0:4])
        T.writes(C[0:4, 0:4])
        for k in range(4):
            for i in T.unroll(4):
                C[i, 0:4] = C[i, 0:4] + T.Broadcast(A[i, k], 4) * B[k, 0:4]


@T.prim_func
def dot_desc(
    A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((1,), "float32")
):
    with T.block("root"):
        for k in range(4):
            with T.block("update"):
                vk = T.axis.reduce(4, k)
                C[0] = C[0] + A[vk] * B[vk]


@T.prim_func
def dot_impl(a: T.handle, b: T.handle, c: T.handle):
    s = T.int32()
    A = T.match_buffer(a, (4,), strides=[s], offset_factor=1)
    B = T.match_buffer(b, (4,), offset_factor=1)
    C = T.match_buffer(c, (1,), offset_factor=1)
    with T.block("root"):
        T.reads(C[0:1], A[0:4], B[0:4])
        T.writes(C[0:1])
        C[0] = C[0] + T.call_llvm_pure_intrin(
            "float32", "llvm.vector.reduce.fadd", T.float32(0), A[0:4] * B[0:4]
        )


@T.prim_func
def dot_by_pointer(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (4,), offset_factor=1)
    B = T.match_buffer(b, (4,), offset_factor=1)
    C = T.match_buffer(c, (1,), offset_factor=1)
    with T.block("root"):
        T.reads(C[0:1], A[0:4], B[0:4])
        T.writes(C[0:1])
        T.evaluate(
            T.call_extern(
                "int32", "dot4", A.data, A.elem_offset, B.data, B.elem_offset, C.data, C.elem_offset
            )
        )


@T.prim_func
def aligned_by_pointer(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (4,), offset_factor=4)
    B = T.match_buffer(b, (4,), offset_factor=4)
    C = T.match_buffer(c, (1,), offset_factor=4)
    with T.block("root"):
        T.reads(C[0:1], A[0:4], B[0:4])
        T.writes(C[0:1])
        T.evaluate(T.call_extern("int32", "dot4", A.data, B.data, C.data))


@T.prim_func
def without_offset(
    A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((1,), "float32")
):
    with T.block("root"):
        T.reads(C[0:1], A[0:4], B[0:4])
        T.writes(C[0:1])
        T.evaluate(T.call_extern("int32", "dot4", A.data, B.data, C.data))


@T.prim_func
def fill_desc(c: T.handle):
    C = T.match_buffer(c, (4, 4), offset_factor=1)
    with T.block("root"):
        for i, j in T.grid(4, 4):
            with T.block("fill"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.float32(0)


@T.prim_func
def fill_impl(c: T.handle):
    C = T.match_buffer(c, (4, 4), offset_factor=1)
    with T.block("root"):
        for i in range(4):
            C[i, 0:4] = T.Broadcast(T.float32(0), 4)


@pytest.fixture(autouse=True)
def _intrinsics():
    for name, desc, impl in (
        ("tile", tile_desc, tile_impl),
        ("dot", dot_desc, dot_impl),
        ("dot.pointer", dot_desc, dot_by_pointer),
        ("dot.aligned", dot_desc, aligned_by_pointer),
        ("dot.offset", dot_desc, without_offset),
        ("fill", fill_desc, fill_impl),
    ):
        TensorIntrin.register(f"test.{name}", desc, impl, override=True)
    yield
    for name in list(TensorIntrin._registered):
        if name.startswith("test."):
            del TensorIntrin._registered[name]


@T.prim_func
def matmul(
    A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")
):
    for i, j, k in T.grid(8, 12, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def tensorized(
    A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")
):
    for i_0, j_0, k_0 in T.grid(2, 3, 2):
        with T.block("C_o"):
            vi_o, vj_o, vk_o = T.axis.remap("SSR", [i_0, j_0, k_0])
            T.reads(
                A[vi_o * 4 : vi_o * 4 + 4, vk_o * 4 : vk_o * 4 + 4],
                B[vk_o * 4 : vk_o * 4 + 4, vj_o * 4 : vj_o * 4 + 4],
            )
            T.writes(C[vi_o * 4 : vi_o * 4 + 4, vj_o * 4 : vj_o * 4 + 4])
            a0, a1, b0, b1, c0, c1 = (
                T.int32(),
                T.int32(),
                T.int32(),
                T.int32(),
                T.int32(),
                T.int32(),
            )
            A_1 = T.match_buffer(
                A[vi_o * 4 : vi_o * 4 + 4, vk_o * 4 : vk_o * 4 + 4],
                (4, 4),
                strides=(a0, a1),
                offset_factor=1,
            )
            B_1 = T.match_buffer(
                B[vk_o * 4 : vk_o * 4 + 4, vj_o * 4 : vj_o * 4 + 4],
                (4, 4),
                strides=(b0, b1),
                offset_factor=1,
            )
            C_1 = T.match_buffer(
                C[vi_o * 4 : vi_o * 4 + 4, vj_o * 4 : vj_o * 4 + 4],
                (4, 4),
                strides=(c0, c1),
                offset_factor=1,
            )
            with T.init():
                for i_1, j_1 in T.grid(4, 4):
                    with T.block("C_init"):
                        vi_init, vj_init = T.axis.remap("SS", [i_1, j_1])
                        C[vi_o * 4 + vi_init, vj_o * 4 + vj_init] = T.float32(0)
            for k in range(4):
                for i in T.unroll(4):
                    C_1[i, 0:4] = C_1[i, 0:4] + T.Broadcast(A_1[i, k], 4) * B_1[k, 0:4]


def tiled(func=matmul, factors=(4, 4, 4), **options):
    sch = Schedule(func, debug_mask="all", **options)
    pairs = [
        sch.split(loop, [None, factor])
        for loop, factor in zip(sch.get_loops("C"), factors, strict=True)
    ]
    sch.reorder(*(outer for outer, _ in pairs), *(inner for _, inner in pairs))
    return sch, [loop for pair in zip(*pairs, strict=True) for loop in pair]


def run_native(func, *shapes):
    random = np.random.default_rng(0)
    arrays = [random.integers(-4, 5, shape).astype("float32") for shape in shapes]
    result = np.zeros((shapes[0][0], shapes[1][-1]), "float32")
    on_device = [tvm.nd.array(array) for array in (*arrays, result)]
    tvm.build(func, target="llvm")(*on_device)
    return arrays, on_device[-1].numpy()


def test_a_tile_of_a_matrix_product():
    sch, loops = tiled()
    assert sch.tensorize(loops[3], "test.tile") is None
    tvm.ir.assert_structural_equal_ignore_global_symbol(sch.mod["main"], tensorized)
    assert_same_meaning(matmul, sch)
    (a, b), found = run_native(sch.mod["main"], (8, 8), (8, 12))
    np.testing.assert_array_equal(found, a @ b)


def test_a_block_that_was_made_before():
    sch, loops = tiled()
    block = sch.blockize(loops[3])
    sch.annotate(block, "kept", 1)
    sch.tensorize(block, "test.tile")
    assert sch.get(block).annotations["kept"].value == 1
    assert_same_meaning(matmul, sch)


def test_the_initialisation_is_tensorized_by_itself():
    sch, loops = tiled()
    block = sch.blockize(loops[3])
    sch.decompose_reduction(block, loops[2])
    sch.tensorize(sch.get_loops("C_init")[0], "test.fill")
    sch.tensorize("C_o_update", "test.tile")
    assert_same_meaning(matmul, sch)


@T.prim_func
def other_names(
    X: T.Buffer((2, 8, 4), "float32"),
    Y: T.Buffer((9, 8), "float32"),
    C: T.Buffer((9, 8), "float32"),
):
    for b in range(2):
        for m, n, u, x in T.grid(4, 4, 1, 4):
            with T.block("C"):
                vb, vx = T.axis.remap("SR", [b, x])
                vn, vu = T.axis.remap("SS", [n, u])
                vm = T.axis.spatial(4, m)
                C[vm + 4 * vb + 1, vn + 4] = (
                    Y[vm + 3, vx + vu] * X[vb, vx + 2, vn] + C[4 * vb + vm + 1, 4 + vn]
                )


def test_other_names_orders_of_iterators_and_operands_and_unit_loops():
    sch = Schedule(other_names, debug_mask="all")
    sch.tensorize(sch.get_loops("C")[1], "test.tile")
    script = sch.mod.script()
    assert "Y[3:7, 0:4]" in script
    assert "X[vb_o, 2:6, 0:4]" in script
    assert "C[vb_o * 4 + 1:vb_o * 4 + 1 + 4, 4:8]" in script
    assert_same_meaning(other_names, sch)


@T.prim_func
def rows(
    A: T.Buffer((5, 8), "float32"), B: T.Buffer((5, 8), "float32"), C: T.Buffer((5,), "float32")
):
    for i, k_0, k_1 in T.grid(5, 2, 4):
        with T.block("C"):
            vi = T.axis.spatial(5, i)
            vk = T.axis.reduce(8, k_0 * 4 + k_1)
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk] * B[vi, vk]


def test_a_dot_product_by_an_instruction_of_the_target():
    sch = Schedule(rows, debug_mask="all")
    sch.tensorize(sch.get_loops("C")[2], "test.dot")
    random = np.random.default_rng(0)
    a, b = random.integers(-4, 5, (2, 5, 8)).astype("float32")
    c = tvm.nd.array(np.zeros(5, "float32"))
    tvm.build(sch.mod["main"], target="llvm")(tvm.nd.array(a), tvm.nd.array(b), c)
    np.testing.assert_array_equal(c.numpy(), (a * b).sum(axis=1))


def test_a_function_that_gets_pointers_and_offsets():
    sch = Schedule(rows, debug_mask="all")
    sch.tensorize(sch.get_loops("C")[2], "test.dot.pointer")
    script = sch.mod.script()
    assert "T.match_buffer(A[vi_o, vk_o * 4:vk_o * 4 + 4], (4,), " in script
    assert 'T.call_extern("int32", "dot4", A_1.data, A_elem_offset,' in script


def test_two_uses_have_names_of_their_own():
    sch, loops = tiled()
    sch.decompose_reduction("C", loops[2])
    parts = sch.loop_partition(loops[2], [1, 1])
    for part in parts:
        sch.tensorize(sch.get_loops(sch.get_child_blocks(part)[0])[1], "test.tile")
    assert_same_meaning(matmul, sch)


# --- refusals -----------------------------------------------------------------------------------


def product(**changes):
    """A block over a 4x4x4 product with one thing changed."""
    parts = {
        "dtype": "float32",
        "grid": "4, 4, 4",
        "kinds": "SSR",
        "where": "",
        "c": "C[vi, vj]",
        "value": "C[vi, vj] + A[vi, vk] * B[vk, vj]",
        "init": "",
        "more": "",
        **changes,
    }
    text = f"""
from tilewright.script import tir as T
@T.prim_func
def func(A: T.Buffer((9, 9), "{parts["dtype"]}"), B: T.Buffer((9, 9), "{parts["dtype"]}"),
         C: T.Buffer((9, 9), "{parts["dtype"]}")):
    for i, j, k in T.grid({parts["grid"]}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("{parts["kinds"]}", [i, j, k])
{parts["where"]}{parts["init"]}            {parts["c"]} = {parts["value"]}
{parts["more"]}"""
    return tvm.script.from_source(text)


INIT = """            with T.init():
                C[vi, vj] = T.float32(0)
"""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dtype": "float64"}, "is float32 in global memory, but C is float64 in global memory"),
        ({"grid": "4, 4, 5"}, "a loop `k` over 4 is expected where there is a loop `k` over 5"),
        ({"grid": "4, 4, 1"}, "a loop `k` over 4 is expected where there is block C"),
        ({"kinds": "SSS"}, "no iterator of block C is the `vk = k` of the description"),
        (
            {"value": "C[vi, vj] + A[vi, vk] - B[vk, vj]"},
            r"`C\[vi, vj\] \+ A\[vi, vk\] \* B\[vk, vj\]` is expected where there is",
        ),
        (
            {"value": "C[vi, vj] + A[vi, vk] * T.float32(2)"},
            r"`B\[vk, vj\]` is expected where there is `T.float32\(2.0\)`",
        ),
        (
            {"value": "C[vi, vj] + A[vi, vk * 2] * B[vk, vj]"},
            "the indices of A are not those of A plus an offset",
        ),
        (
            {"value": "C[vi, vj] + A[vi, vk] * B[vj, vk]"},
            "the indices of B are not those of B plus an offset",
        ),
        (
            {"value": "C[vi, vj + 1] + A[vi, vk] * B[vk, vj]"},
            "C stands for another part of C before than here",
        ),
        (
            {"value": "A[vi, vj] + A[vi, vk] * B[vk, vj]"},
            "C stands for another part of C before than here",
        ),
        (
            {"value": "C[vi, vj] + A[vi, vk] * C[vk + 4, vj]"},
            "C is written, and stands for two buffers of the description",
        ),
        ({"more": "            A[vi, vj] = T.float32(0)"}, "a BufferStore is expected where"),
        ({"where": "            T.where(i + j < 7)\n"}, "block C runs where i [+] j < 7"),
    ],
)
def test_what_the_intrinsic_does_not_describe_is_refused(changes, message):
    sch = Schedule(product(**changes))
    with pytest.raises(ScheduleError, match=f"is not what the intrinsic 'test.tile' .*{message}"):
        sch.tensorize(sch.get_loops("C")[0], "test.tile")


def test_the_program_without_changes_is_accepted():
    func = product()
    sch = Schedule(func)
    sch.tensorize(sch.get_loops("C")[0], "test.tile")
    assert_same_meaning(func, sch)


@T.prim_func
def whole_desc(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (4, 4), offset_factor=1)
    B = T.match_buffer(b, (4, 4), offset_factor=1)
    C = T.match_buffer(c, (4, 4), offset_factor=1)
    with T.block("root"):
        for i, j, k in T.grid(4, 4, 4):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def shared_sum(
    A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32"), C: T.Buffer((2, 4), "float32")
):
    for i, j, k in T.grid(4, 4, 4):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi // 2, vj] = T.float32(0)
            C[vi // 2, vj] = C[vi // 2, vj] + A[vi, vk] * B[vk, vj]


def test_an_initialisation_on_one_side_only_is_refused():
    TensorIntrin.register("test.whole", whole_desc, whole_desc, override=True)
    sch = Schedule(product())
    with pytest.raises(ScheduleError, match="block C has no initialisation, unlike the descr"):
        sch.tensorize(sch.get_loops("C")[0], "test.whole")
    sch = Schedule(shared_sum)
    with pytest.raises(ScheduleError, match="block C has an initialisation, unlike the descr"):
        sch.tensorize(sch.get_loops("C")[0], "test.tile")


@T.prim_func
def own_buffer(
    A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")
):
    for i, j, k in T.grid(4, 4, 4):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            D = T.alloc_buffer((1,))
            D[0] = A[vi, vk] * B[vk, vj]
            C[vi, vj] = C[vi, vj] + D[0]


def test_buffers_inside_of_the_block_are_refused():
    sch = Schedule(own_buffer)
    with pytest.raises(ScheduleError, match="block C has buffers of its own"):
        sch.tensorize(sch.get_loops("C")[0], "test.tile")


def test_a_part_that_may_lie_outside_is_refused():
    sch = Schedule(symbolic)
    with pytest.raises(ScheduleError, match="which may lie outside of the buffer") as error:
        sch.tensorize(sch.get_loops("C")[2], "test.dot")
    assert "at (vi_o=0, vk_o=0), the part that starts at A[0, 0] sticks out" in str(error.value)


@T.prim_func
def symbolic(a: T.handle, b: T.handle, c: T.handle):
    m = T.int32()
    n = T.int32()
    A = T.match_buffer(a, (m, n))
    B = T.match_buffer(b, (m, n))
    C = T.match_buffer(c, (m,))
    for i, k_0, k_1 in T.grid(m, n // 4 + 1, 4):
        with T.block("C"):
            vi = T.axis.spatial(m, i)
            vk = T.axis.reduce(n, k_0 * 4 + k_1)
            C[vi] = C[vi] + A[vi, vk] * B[vi, vk]


@T.prim_func
def columns(
    A: T.Buffer((4, 3), "float32"), B: T.Buffer((6,), "float32"), C: T.Buffer((3, 2), "float32")
):
    for i in range(3):
        for k in range(4):
            with T.block("C"):
                vi = T.axis.spatial(3, i)
                vk = T.axis.reduce(4, k)
                C[vi, 1] = C[vi, 1] + A[vk, vi] * B[vk + 2]


def test_strides_and_offsets_that_do_not_fit_are_refused():
    sch = Schedule(rows)
    loop = sch.get_loops("C")[2]
    with pytest.raises(ScheduleError, match="`A` of the implementation must start at 0, but"):
        sch.tensorize(loop, "test.dot.offset")
    with pytest.raises(ScheduleError, match="`C` of the implementation must start at multiples"):
        sch.tensorize(loop, "test.dot.aligned")


@T.prim_func
def transposed_tile(
    A: T.Buffer((5, 4), "float32"), B: T.Buffer((5, 4), "float32"), C: T.Buffer((5,), "float32")
):
    for i, k in T.grid(4, 4):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            C[vi] = C[vi] + A[vk, vi] * B[vk, vi]


@T.prim_func
def column_desc(
    A: T.Buffer((4, 1), "float32"), B: T.Buffer((4, 1), "float32"), C: T.Buffer((1,), "float32")
):
    with T.block("root"):
        for k in range(4):
            with T.block("update"):
                vk = T.axis.reduce(4, k)
                C[0] = C[0] + A[vk, 0] * B[vk, 0]


@T.prim_func
def column_impl(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (4, 1), offset_factor=1)
    B = T.match_buffer(b, (4, 1), offset_factor=1)
    C = T.match_buffer(c, (1,), offset_factor=1)
    with T.block("root"):
        T.reads(C[0:1], A[0:4, 0:1], B[0:4, 0:1])
        T.writes(C[0:1])
        T.evaluate(T.call_extern("int32", "dot4", A.data, A.elem_offset, B.data, C.data))


def test_a_pointer_to_a_column_needs_strides():
    TensorIntrin.register("test.column", column_desc, column_impl, override=True)
    sch = Schedule(transposed_tile)
    with pytest.raises(ScheduleError, match="`A` of the implementation has other strides than"):
        sch.tensorize(sch.get_loops("C")[1], "test.column")


def test_names_of_intrinsics():
    sch, loops = tiled()
    with pytest.raises(UnknownNameError, match=r"no tensor intrinsic 'test.none'; those that are"):
        sch.tensorize(loops[3], "test.none")
    with pytest.raises(ArgumentError, match="`tensor_intrin` is a name"):
        sch.tensorize(loops[3], TensorIntrin.get("test.tile"))


@T.prim_func
def doubled_desc(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (4,), offset_factor=1)
    B = T.match_buffer(b, (4,), offset_factor=1)
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float32(2)


@T.prim_func
def doubled_impl(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (4,), strides=[2], offset_factor=1)
    B = T.match_buffer(b, (4,), offset_factor=1)
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        for i in T.vectorized(4):
            B[i] = A[i] * T.float32(2)


def test_an_implementation_for_other_strides():
    @T.prim_func
    def double(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * T.float32(2)

    TensorIntrin.register("test.doubled", doubled_desc, doubled_impl, override=True)
    sch = Schedule(double)
    _, inner = sch.split(sch.get_loops("B")[0], [None, 4])
    with pytest.raises(ScheduleError, match="`A` of the implementation has other strides"):
        sch.tensorize(inner, "test.doubled")
