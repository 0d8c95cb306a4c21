"""Accesses become one-dimensional, with indices as a person would write them."""

from tests.tir.transform.programs import accesses, function, int_var, loop_nest, matmul, of_kind

from tilewright.ir.convert import const
from tilewright.ir.dtype import INT32, INT64
from tilewright.ir.rewrite import walk
from tilewright.tir import (
    Add,
    Allocate,
    BufferLoad,
    BufferStore,
    Cast,
    IntImm,
    Mul,
    Ramp,
    Var,
    decl_buffer,
    seq,
)
from tilewright.tir.transform.flatten_buffers import flatten_buffers
from tilewright.tir.transform.lower_blocks import lower_blocks


def text(expr):
    """A sum of products as text, without parentheses."""
    if isinstance(expr, Add):
        return f"{text(expr.a)} + {text(expr.b)}"
    if isinstance(expr, Mul):
        return f"{text(expr.a)} * {text(expr.b)}"
    return str(expr.value) if isinstance(expr, IntImm) else expr.name


def test_tiled_indices_are_multiplied_out_in_their_order():
    order = ["m0", "n0", "k0", "m1", "k1", "n1"]
    lowered = flatten_buffers(lower_blocks(matmul(1024, 1024, 2048, (16, 8, 8), order)))
    init, load, _ = (text(access.indices[0]) for access in accesses(lowered.body, "C"))
    assert init == "m0 * 16384 + m1_init * 1024 + n0 * 8 + n1_init"
    assert load == "m0 * 16384 + m1 * 1024 + n0 * 8 + n1"
    (b,) = accesses(lowered.body, "B")
    assert text(b.indices[0]) == "k0 * 8192 + k1 * 1024 + n0 * 8 + n1"


def test_one_flat_buffer_for_each_buffer():
    lowered = flatten_buffers(lower_blocks(matmul(4, 6, 5)))
    flat = {access.buffer for name in "ABC" for access in accesses(lowered.body, name)}
    assert sorted(int(buffer.shape[0]) for buffer in flat) == [20, 24, 30]
    for buffer in lowered.buffer_map.values():
        assert buffer.ndim == 2


def store_to(buffer, *indices):
    return flatten_buffers(function((buffer,), BufferStore(buffer, const(1.0), indices))).body


def flat_store(buffer, *indices):
    (store,) = of_kind(store_to(buffer, *indices), BufferStore)
    return store


def test_strides_and_offset_go_into_the_index():
    i, j, s = int_var("i"), int_var("j"), int_var("s")
    strided = decl_buffer((4, 8), name="A", strides=(s, 1), elem_offset=3)
    store = flat_store(strided, i, j)
    assert text(store.indices[0]) == "i * s + j + 3"
    assert text(store.buffer.shape[0]) == "s * 3 + 11"


def test_symbolic_extents():
    n, i, j = int_var("n"), int_var("i"), int_var("j")
    store = flat_store(decl_buffer((n, n), name="A"), i, j)
    assert text(store.indices[0]) == "i * n + j"
    assert store.indices[0].dtype is INT32


def test_int64_where_int32_could_overflow_and_where_the_user_has_it():
    i, j = int_var("i"), int_var("j")
    store = flat_store(decl_buffer((65536, 65536), name="A"), i, j)
    assert store.indices[0].dtype is INT64
    assert int(store.buffer.shape[0]) == 1 << 32
    apart = decl_buffer((3, 2), name="A", strides=(1 << 30, 1))
    assert flat_store(apart, i, j).indices[0].dtype is INT64
    n = Var("n", INT64)
    assert flat_store(decl_buffer((n,), name="A"), i).indices[0].dtype is INT32
    assert flat_store(decl_buffer((n, n), name="A"), i, j).indices[0].dtype is INT64
    assert flat_store(decl_buffer((2, 2), name="A"), i, j).indices[0].dtype is INT32


def test_rank_0_is_one_element():
    store = flat_store(decl_buffer((), name="A"))
    assert int(store.indices[0]) == 0
    assert int(store.buffer.shape[0]) == 1


def test_vectors_stay_vectors():
    i = int_var("i")
    row = flat_store(decl_buffer((4, 16), name="A"), i, Ramp(const(8), const(1), 4))
    assert isinstance(row.indices[0], Ramp)
    assert text(row.indices[0].base) == "i * 16 + 8"
    column = flat_store(decl_buffer((4, 16), name="A"), Ramp(const(0), const(1), 4), i)
    assert int(column.indices[0].stride) == 16


def test_bool_is_stored_as_one_byte():
    A, B = decl_buffer((2, 3), "bool", name="A"), decl_buffer((2, 3), "bool", name="B")
    i, j = int_var("i"), int_var("j")
    body = loop_nest([(i, 2), (j, 3)], seq(
        BufferStore(A, A[i, j], (i, j)), BufferStore(B, A[i, j], (i, j))
    ))  # fmt: skip
    lowered = flatten_buffers(lower_blocks(function((B,), body, allocated=[A])))
    (allocation,) = of_kind(lowered.body, Allocate)
    assert allocation.dtype == "int8"
    for access in of_kind(lowered.body, (BufferLoad, BufferStore)):
        assert access.buffer.dtype == "int8"
    stores = of_kind(lowered.body, BufferStore)
    assert all(isinstance(s.value, Cast) and s.value.dtype == "int8" for s in stores)
    pointers = {a.buffer.data for a in of_kind(lowered.body, BufferStore) if a.buffer.name == "A"}
    assert pointers == {allocation.buffer_var}
    assert A.data not in set(walk(lowered.body))
