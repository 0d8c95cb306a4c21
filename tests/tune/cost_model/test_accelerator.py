"""The estimate of time on GPUs: what is counted, and what follows from it."""

import itertools
import random

import pytest
from tests.tune.feature.enumeration import value

from tilewright import te, tir
from tilewright.ir.rewrite import walk
from tilewright.target import Target
from tilewright.target.gpu import figures_of
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.stmt import ForKind
from tilewright.tune.context import TuneContext
from tilewright.tune.cost_model import accelerator
from tilewright.tune.cost_model.accelerator import Kernel
from tilewright.tune.cost_model.occupancy import resident_blocks
from tilewright.tune.cost_model.warps import Threads, Traffic
from tilewright.tune.feature.read_program import read_program
from tilewright.tune.postproc.rejections import allocated_bytes, without_blocks

H100 = Target("nvidia/nvidia-h100")
A100 = figures_of(Target("nvidia/nvidia-a100"))


def kernels(sch, target=H100):
    return [Kernel(part, figures_of(target)) for part in read_program(sch.mod["main"]).body]


def cycles(sch, target=H100):
    return accelerator.estimate(read_program(sch.mod["main"]), figures_of(target))


def matmul(m=512, n=512, k=512):
    A, B = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), name="k")
    return te.create_prim_func(
        [A, B, te.compute((m, n), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")]
    )


def naive(func, tile=16):
    """A thread for each element of the result."""
    sch = tir.Schedule(func)
    i, j, _ = sch.get_loops("C")
    (by, ty), (bx, tx) = sch.split(i, [None, tile]), sch.split(j, [None, tile])
    sch.reorder(by, bx, ty, tx)
    for loop, axis in zip((by, bx, ty, tx), AXES, strict=True):
        sch.bind(loop, axis)
    return sch


AXES = ("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x")


# --- counting -----------------------------------------------------------------------------------


def traffic_of(load, lanes=32, width=1):
    """What a warp moves that loads ``data[load(thread)]``."""
    A = te.placeholder((1 << 16,), name="A")
    B = te.compute((lanes, width), lambda t, v: A[load(t) + v], name="B")
    sch = tir.Schedule(te.create_prim_func([A, B]))
    thread, vector = sch.get_loops("B")
    sch.bind(thread, "threadIdx.x")
    if width > 1:
        sch.vectorize(vector)
    (statement,) = read_program(sch.mod["main"]).statements()
    access = statement.accesses[1]
    return Threads(statement).traffic(statement, access, access.strides, (), 32)


@pytest.mark.parametrize(
    ("load", "width", "expected"),
    [
        (lambda t: t, 1, Traffic(4, 1, 1)),
        (lambda t: 0, 1, Traffic(1, 1, 1)),
        (lambda t: t * 2, 1, Traffic(8, 2, 1)),
        (lambda t: t * 32, 1, Traffic(32, 32, 1)),
        (lambda t: t * 33, 1, Traffic(32, 1, 1)),
        (lambda t: t // 8 * 64, 1, Traffic(4, 4, 1)),
        (lambda t: t % 8 * 64 + t // 8, 1, Traffic(8, 8, 1)),
        (lambda t: t * 4, 4, Traffic(16, 4, 4)),
    ],
)  # fmt: skip
def test_what_a_warp_moves(load, width, expected):
    assert traffic_of(load, width=width) == expected


@pytest.mark.parametrize(
    ("threads", "shared", "registers", "expected"),
    # By the occupancy calculator of the CUDA toolkit, for compute capability 8.0.
    [(256, 0, 32, 8), (1024, 0, 32, 2), (256, 0, 128, 2), (32, 0, 32, 32), (256, 48 << 10, 32, 3),
     (96, 0, 40, 16), (1024, 0, 128, 0), (256, 200 << 10, 32, 0)],
)  # fmt: skip
def test_blocks_of_a_multiprocessor(threads, shared, registers, expected):
    assert resident_blocks(A100, threads, shared, registers) == expected


def transactions(func):
    """Sectors of memory of the device that all warps of all blocks move, found one by one."""
    count = 0
    tree = tir.Schedule(func).state.tree("main")
    for leaf in tree.leaf_blocks_below(tree.root):
        loops = tree.all_loops_above(leaf)
        tags = [loop.thread_binding.thread_tag if loop.thread_binding else "" for loop in loops]
        axes = {tag: n for n, tag in enumerate(tags) if tag.startswith("threadIdx")}
        together = [*axes.values()]
        together += [n for n, loop in enumerate(loops) if loop.kind is ForKind.VECTORIZED]
        idle = [n for n, tag in enumerate(tags) if tag in axes and axes[tag] != n]
        extents = [1 if n in idle else int(loop.extent) for n, loop in enumerate(loops)]
        touched: dict[tuple, set[int]] = {}
        for places in itertools.product(*map(range, extents)):
            env = {loop.loop_var: x for loop, x in zip(loops, places, strict=True)}
            if not value(leaf.predicate, env):
                continue
            thread = 0
            for axis in ("threadIdx.z", "threadIdx.y", "threadIdx.x"):
                if axis in axes:
                    thread = thread * extents[axes[axis]] + places[axes[axis]]
            when = tuple(x for n, x in enumerate(places) if n not in together)
            env |= {
                v.var: value(x, env)
                for v, x in zip(leaf.block.iter_vars, leaf.iter_values, strict=True)
            }
            store = leaf.block.body
            for access in (store, *(n for n in walk(store.value) if isinstance(n, BufferLoad))):
                if access.buffer.scope() == "global":
                    flat = 0
                    for index, extent in zip(access.indices, access.buffer.shape, strict=True):
                        flat = flat * int(extent) + value(index, env)
                    touched.setdefault((access.buffer, when, thread // 32), set()).add(flat // 8)
        count += sum(map(len, touched.values()))
    return count


def candidates(func, count, seed=0):
    """Random candidates of the space of the tuner, for an H100."""
    context = TuneContext(func, target=H100, space_generator="post-order-apply")
    sketch = context.generate_design_space()[-1]
    generator, rng = context.space_generator, random.Random(seed)
    while count:
        sch = tir.Schedule(context.mod, seed=rng.randrange(1, 1 << 30), enable_check=False)
        sketch.trace.apply_to_schedule(sch, True, lambda *_: None)
        sch.enter_postproc()
        if all(postproc.apply(sch) for postproc in generator.postprocs):
            count -= 1
            yield sch


def test_transactions_are_those_that_warps_make():
    counted, estimated = [], []
    for sch in candidates(matmul(32, 32, 16), 8):
        (kernel,) = kernels(sch)
        if kernel.virtual == 1:  # virtual threads load nothing twice, one by one they do
            counted.append(transactions(sch.mod["main"]))
            estimated.append(kernel.blocks * sum(kernel.work.sectors.values()))
    assert len(counted) > 2
    assert estimated == pytest.approx(counted)


def test_shared_memory_is_as_large_as_lowering_makes_it():
    """Also where some threads copy nothing."""
    for sch in candidates(matmul(512, 512, 512), 8, seed=1):
        lowered = without_blocks(sch.mod["main"])
        (kernel,) = kernels(sch)
        assert kernel.shared_bytes == allocated_bytes(lowered.body, "shared")


# --- ranking ------------------------------------------------------------------------------------


def test_the_best_of_a_space_moves_little_and_is_faster_than_no_tiles():
    func = matmul(1024, 1024, 1024)
    found = sorted(candidates(func, 12, seed=1), key=cycles)
    moved = [sum(sum(kernel.traffic()) for kernel in kernels(sch)) for sch in found]
    without = naive(func)
    assert moved[0] <= 3 * min(moved)
    assert moved[0] < 0.1 * max(moved)
    assert cycles(found[0]) < 0.5 * cycles(without) < cycles(found[-1])


def transposition(pad):
    """A transposition through shared memory, whose rows have `pad` more elements."""
    n = 1024
    A = te.placeholder((n, n), name="A")
    B = te.compute((n, n), lambda i, j: A[j, i], name="B")
    sch = tir.Schedule(te.create_prim_func([A, B]))
    tile = sch.cache_read("B", 0, "shared")
    i, j = sch.get_loops("B")
    (by, ty), (bx, tx) = sch.split(i, [None, 32]), sch.split(j, [None, 32])
    sch.reorder(by, bx, ty, tx)
    sch.bind(by, "blockIdx.y")
    sch.bind(bx, "blockIdx.x")
    sch.compute_at(tile, bx)
    for loops in ((ty, tx), sch.get_loops(tile)[-2:]):
        for loop, axis in zip(loops, AXES[2:], strict=True):
            sch.bind(loop, axis)
    if pad:
        sch.storage_align(tile, 0, 0, 32, pad)
    return sch


def test_conflicts_of_banks_take_time():
    conflicts, none = (kernels(transposition(pad))[0].work.shared for pad in (0, 1))
    assert conflicts == 16.5 * none  # a load takes 32 rounds in place of one, a store one
    assert cycles(transposition(1)) <= cycles(transposition(0))


def test_more_blocks_than_a_device_has_multiprocessors_take_turns():
    func = matmul(2048, 2048, 64)
    small = Target("cuda -arch=sm_90 -multi_processor_count=11")
    assert 10 < cycles(naive(func), small) / cycles(naive(func), H100) < 12


def test_registers_that_a_compiler_has_told_count():
    program = read_program(naive(matmul()).mod["main"])
    few, many, spilled = (accelerator.estimate(program, A100, [count]) for count in (32, 200, 300))
    assert few <= many < spilled


def test_what_does_not_fit_takes_forever():
    sch = tir.Schedule(matmul(4096, 64, 64))
    i, j, _ = sch.get_loops("C")
    sch.bind(j, "blockIdx.x")
    sch.bind(i, "threadIdx.x")
    assert cycles(sch) == accelerator.IMPOSSIBLE


def test_threads_that_share_a_long_sum_are_faster_than_one():
    A = te.placeholder((64, 1 << 14), name="A")
    r = te.reduce_axis((0, 1 << 14), name="k")
    func = te.create_prim_func([A, te.compute((64,), lambda i: te.sum(A[i, r], axis=r), name="C")])
    shared, alone = tir.Schedule(func), tir.Schedule(func)
    for sch, axis in ((shared, "blockIdx.x"), (alone, "threadIdx.x")):
        sch.bind(sch.get_loops("C")[0], axis)
    _, thread = shared.split(shared.get_loops("C")[1], [None, 256])
    shared.bind(thread, "threadIdx.x")
    assert cycles(shared) < 0.1 * cycles(alone)


def test_figures_of_a_target_take_the_place_of_those_of_its_architecture():
    given = "cuda -arch=sm_86 -multi_processor_count=20 -memory_bandwidth_gbps=200"
    found = figures_of(Target(given + " -clock_rate_mhz=1500"))
    assert (found.multiprocessors, found.bandwidth, found.clock) == (20, 200e9, 1.5e9)
    assert found.lanes == 128
    assert figures_of(Target("cuda -arch=sm_88")) == figures_of(Target("cuda -arch=sm_87"))
    assert figures_of(Target("cuda")) == figures_of(Target("cuda -arch=sm_75"))
