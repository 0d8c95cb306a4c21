"""Loops on GPU threads, and the memory that these share."""

import pytest
from tests.te.schedule.checking import check, lowered_text, random_array

import tilewright as tvm
from tilewright import te
from tilewright.error import TEScheduleError


def product(n=16):
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    r = te.reduce_axis((0, n), "k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    return a, b, c


def tiled_product():
    """Blocks of 8 x 8 elements, 2 x 4 threads each, that fetch tiles together."""
    a, b, c = product()
    s = te.create_schedule(c.op)
    shared = [s.cache_read(tensor, "shared", [c]) for tensor in (a, b)]
    near = [s.cache_read(tensor, "local", [c]) for tensor in shared]
    local = s.cache_write(c, "local")
    block_x, block_y = te.thread_axis("blockIdx.x"), te.thread_axis("blockIdx.y")
    thread_x = te.thread_axis((0, 4), "threadIdx.x")
    thread_y = te.thread_axis((0, 2), "threadIdx.y")
    i, j = s[c].op.axis
    i_block, i = s[c].split(i, 8)
    j_block, j = s[c].split(j, 8)
    i_thread, i = s[c].split(i, nparts=2)
    j_thread, j = s[c].split(j, nparts=4)
    s[c].reorder(i_block, j_block, i_thread, j_thread, i, j)
    for loop, thread in (
        (i_block, block_y),
        (j_block, block_x),
        (i_thread, thread_y),
        (j_thread, thread_x),
    ):
        s[c].bind(loop, thread)
    s[local].compute_at(s[c], j_thread)
    k_outer, k_inner = s[local].split(s[local].op.reduce_axis[0], 4)
    s[local].reorder(k_outer, k_inner, *s[local].op.axis)
    for tensor in shared:
        s[tensor].compute_at(s[local], k_outer)
        fused = s[tensor].fuse(*s[tensor].op.axis)
        y, rest = s[tensor].split(fused, nparts=2)
        x, _ = s[tensor].split(rest, nparts=4)
        s[tensor].bind(y, thread_y)
        s[tensor].bind(x, thread_x)
    for tensor in near:
        s[tensor].compute_at(s[local], k_inner)
    s[shared[0]].double_buffer()
    return s, [a, b, c]


def test_a_tiled_product():
    s, args = tiled_product()
    text = lowered_text(s, args)
    for line in (
        'for i_outer in T.thread_binding(2, thread="blockIdx.y"):',
        'for j_inner_outer in T.thread_binding(4, thread="threadIdx.x"):',
        'C_local = T.allocate([8], "float32", "local")',
        'T.allocate([64], "float32", "shared") as A_shared',  # two buffers
        'B_shared = T.allocate([32], "float32", "shared")',
        'A_shared_local = T.allocate([4], "float32", "local")',
        'B_shared_local = T.allocate([2], "float32", "local")',
        'for ax0_ax1_fused_outer in T.thread_binding(2, thread="threadIdx.y"):',
    ):
        assert line in text
    a, b = random_array((16, 16), 1), random_array((16, 16), 2)
    check(s, args, [a, b], [a @ b], native=False)


def test_memory_is_chosen_by_the_threads_around():
    x = te.placeholder((4, 8), name="X")
    y = te.compute((4, 8), lambda i, j: x[i, j] + 1.0, name="Y")
    z = te.compute((4, 8), lambda i, j: y[i, j] * 2.0, name="Z")
    value = random_array((4, 8))
    for place, scope, size in ((0, "shared", 8), (1, "local", 1)):
        s = te.create_schedule(z.op)
        i, j = z.op.axis
        s[z].bind(i, te.thread_axis("blockIdx.x"))
        s[z].bind(j, te.thread_axis("threadIdx.x"))
        s[y].compute_at(s[z], z.op.axis[place])
        text = lowered_text(s, [x, z])
        assert f'Y = T.allocate([{size}], "float32", "{scope}")' in text
        check(s, [x, z], [value], [(value + 1) * 2], native=False)
        s[y].set_scope("shared")
        text = lowered_text(s, [x, z])
        assert 'Y = T.allocate([8], "float32", "shared")' in text
        check(s, [x, z], [value], [(value + 1) * 2], native=False)
        s[y].set_scope("global")
        assert 'Y = T.allocate([32], "float32", "global")' in lowered_text(s, [x, z])
        check(s, [x, z], [value], [(value + 1) * 2], native=False)


def test_warp_memory_is_of_the_threads_in_x():
    x = te.placeholder((4, 8), name="X")
    y = te.compute((4, 8), lambda i, j: x[i, j] + 1.0, name="Y")
    z = te.compute((4, 8), lambda i, j: y[i, j] * 2.0, name="Z")
    s = te.create_schedule(z.op)
    i, j = z.op.axis
    s[z].bind(i, te.thread_axis("threadIdx.y"))
    s[z].bind(j, te.thread_axis("threadIdx.x"))
    s[y].compute_at(s[z], j)
    s[y].set_scope("warp")
    assert 'Y = T.allocate([8], "float32", "warp")' in lowered_text(s, [x, z])


def test_a_reduction_across_threads():
    x = te.placeholder((4, 12), name="X")
    k = te.reduce_axis((0, 12), "k")
    y = te.compute((4,), lambda i: te.sum(x[i, k], axis=k), name="Y")
    s = te.create_schedule(y.op)
    _, inner = s[y].split(k, 4)
    partial = s.rfactor(y, inner)
    s[y].bind(s[y].op.axis[0], te.thread_axis("blockIdx.x"))
    s[y].bind(s[y].op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    s[partial].compute_at(s[y], s[y].op.reduce_axis[0])
    text = lowered_text(s, [x, y])
    assert 'for k_inner_v in T.thread_binding(4, thread="threadIdx.x"):' in text
    assert 'Y_rf = T.allocate([1], "float32", "local")' in text
    value = random_array((4, 12))
    check(s, [x, y], [value], [value.sum(1)], native=False)


def test_loops_that_differ_from_their_threads():
    a, b, c = product()
    s = te.create_schedule(c.op)
    s[c].bind(c.op.axis[0], te.thread_axis((0, 8), "threadIdx.x"))
    with pytest.raises(
        TEScheduleError,
        match=r"on stage C: loop i has extent 16, but threadIdx.x, to which it is bound, has 8",
    ):
        tvm.lower(s, [a, b, c])


def test_two_loops_of_different_extents_on_one_thread_axis():
    x = te.placeholder((8,), name="X")
    y = te.compute((8,), lambda i: x[i] + 1.0, name="Y")
    z = te.compute((4,), lambda i: y[i * 2], name="Z")
    s = te.create_schedule(z.op)
    thread = te.thread_axis("threadIdx.x")
    s[y].bind(y.op.axis[0], thread)
    s[z].bind(z.op.axis[0], thread)
    with pytest.raises(TEScheduleError, match="bind on stage Y: loop i has extent 7, but"):
        tvm.lower(s, [x, z])


def test_a_thread_computes_the_whole_of_its_own_memory():
    x = te.placeholder((4, 8), name="X")
    y = te.compute((4, 8), lambda i, j: x[i, j] + 1.0, name="Y")
    z = te.compute((4, 8), lambda i, j: y[i, j] * 2.0, name="Z")
    s = te.create_schedule(z.op)
    thread = te.thread_axis("threadIdx.x")
    s[z].bind(z.op.axis[0], thread)
    s[y].compute_at(s[z], z.op.axis[0])
    s[y].bind(y.op.axis[1], te.thread_axis("threadIdx.x"))
    with pytest.raises(TEScheduleError, match="each thread would compute a part only of its local"):
        tvm.lower(s, [x, z])


def twice(s, c):
    s[c].bind(c.op.axis[0], te.thread_axis("threadIdx.x"))
    s[c].bind(c.op.axis[1], te.thread_axis("threadIdx.x"))


MISTAKES = [
    (lambda s, c: s[c].bind(c.op.axis[0], "threadIdx.x"), "i must be bound to a te.thread_axis"),
    (lambda s, c: s[c].bind(c.op.axis[0], c.op.axis[1]), "i must be bound to a te.thread_axis"),
    (
        lambda s, c: s[c].bind(c.op.reduce_axis[0], te.thread_axis("blockIdx.x")),
        "cannot bind k to blockIdx.x: it is a reduction axis",
    ),
    (lambda s, c: s[c].bind("i", te.thread_axis("threadIdx.x")), "expected a loop"),
    (twice, "threadIdx.x is bound to i already"),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES)
def test_refusals(mistake, message):
    _, _, c = product()
    with pytest.raises(TEScheduleError, match="bind on stage C: " + message):
        mistake(te.create_schedule(c.op), c)


def test_a_loop_can_be_bound_anew():
    a, b, c = product()
    s = te.create_schedule(c.op)
    s[c].bind(c.op.axis[0], te.thread_axis("threadIdx.x"))
    s[c].bind(c.op.axis[0], te.thread_axis("threadIdx.y"))
    assert "threadIdx.x" not in lowered_text(s, [a, b, c])
    s[c].parallel(c.op.axis[0])
    assert "threadIdx" not in lowered_text(s, [a, b, c])
