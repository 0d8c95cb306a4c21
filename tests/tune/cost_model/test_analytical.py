from typing import NamedTuple

import pytest
from tests.tune.feature import programs

from tilewright import te, tir
from tilewright.target import Target
from tilewright.tune.cost_model import AnalyticalModel, CostModel
from tilewright.tune.cost_model.memory_traffic import MemoryTraffic
from tilewright.tune.cost_model.processor import ADDRESSES, Cache
from tilewright.tune.feature.read_program import read_program

TARGET = Target("llvm -mcpu=skylake-avx512 -num-cores=1")


class Context(NamedTuple):
    target: Target


class Candidate(NamedTuple):
    sch: tir.Schedule


def ranked(*schedules, target=TARGET):
    """The positions of the schedules, the fastest first, as the model has them."""
    scores = AnalyticalModel().predict(Context(target), [Candidate(sch) for sch in schedules])
    return sorted(range(len(schedules)), key=lambda position: -scores[position])


def elementwise(m=512, n=512, transform=lambda sch, i, j: None, formula=lambda x: x + 1.0):
    A = te.placeholder((m, n), name="A")
    B = te.compute((m, n), lambda i, j: formula(A[i, j]), name="B")
    sch = tir.Schedule(te.create_prim_func([A, B]))
    transform(sch, *sch.get_loops("B"))
    return sch


def last_vectorized(sch, i, j):
    sch.vectorize(sch.split(j, [None, 16])[1])


def rows_vectorized(sch, i, j):
    sch.reorder(j, i)
    sch.vectorize(sch.split(i, [None, 16])[1])


def of_columns(sch, i, j):
    sch.reorder(j, i)


def matmul(m, n, k, rows=6, vectors=4, packs=True, panels=1):
    return programs.tiled_matmul(
        m, n, k, rows=rows, lanes=16, vectors=vectors, panels=panels, packs=packs
    )


def test_neighbours_are_faster_than_distant_elements():
    assert ranked(elementwise(), elementwise(transform=of_columns)) == [0, 1]
    assert ranked(
        elementwise(transform=last_vectorized), elementwise(transform=rows_vectorized)
    ) == [0, 1]


def test_vectors_are_faster_than_scalars():
    def scalar(sch, i, j):
        sch.unroll(sch.split(j, [None, 4])[1])

    def formula(x):
        return te.exp(x) / (x + 2.0)

    vectors = elementwise(64, 64, last_vectorized, formula)
    scalars = elementwise(64, 64, scalar, formula)
    assert ranked(scalars, vectors) == [1, 0]


def test_full_vectors_are_faster_than_parts():
    def narrow(sch, i, j):
        sch.vectorize(sch.split(j, [None, 4])[1])

    assert ranked(
        elementwise(64, 64, narrow, te.exp), elementwise(64, 64, last_vectorized, te.exp)
    ) == [1, 0]


def test_tiles_in_registers_are_faster_than_spilled_and_than_none():
    fits, spilled = matmul(240, 256, 256), matmul(240, 256, 256, rows=24)
    plain = tir.Schedule(programs.matmul(240, 256, 256))
    assert ranked(plain, spilled, fits) == [2, 1, 0]


def test_a_tile_that_hides_latency_is_faster_than_one_sum():
    one = matmul(240, 256, 256, rows=1, vectors=1)
    assert ranked(one, matmul(240, 256, 256)) == [1, 0]


def test_panels_are_packed_where_rows_are_a_page_apart():
    assert ranked(matmul(960, 1024, 1024, packs=False), matmul(960, 1024, 1024, panels=4)) == [1, 0]


def test_panels_of_rows_a_page_apart_take_longer():
    scores = [
        AnalyticalModel().predict(Context(TARGET), [Candidate(matmul(960, n, 1024, packs=False))])
        for n in (1024, 1024 + 64)
    ]
    assert scores[0] < scores[1]  # although it has less to do


def test_vectors_that_reach_into_the_next_row_stay_in_no_register():
    wide, narrow = (
        programs.tiled_matmul(12, 20, 256, rows=3, lanes=lanes, vectors=1, panels=1, packs=False)
        for lanes in (32, 4)
    )
    assert ranked(wide, narrow) == [1, 0]


def test_conditions_of_loads_take_time():
    A = te.placeholder((512, 512), name="A")

    def program(inside):
        B = te.compute((512, 512), lambda i, j: inside(A, i, j), name="B")
        sch = tir.Schedule(te.create_prim_func([A, B]))
        last_vectorized(sch, *sch.get_loops("B"))
        return sch

    plain = program(lambda A, i, j: A[i, j])
    guarded = program(
        lambda A, i, j: te.if_then_else(te.all(i >= 1, i < 511, j >= 1, j < 511), A[i, j], 0.0)
    )
    assert ranked(guarded, plain) == [1, 0]


def test_panels_are_not_packed_where_everything_is_near():
    assert ranked(matmul(60, 64, 64), matmul(60, 64, 64, packs=False)) == [1, 0]


def test_panels_that_fit_the_cache_are_faster_than_larger_ones():
    small, large = matmul(960, 1024, 4096, panels=1), matmul(960, 1024, 4096, panels=16)
    assert ranked(large, small) == [1, 0]


def test_fused_rows_are_faster_than_whole_matrices():
    func = programs.softmax_function(4096, 1024).with_attr("tir.reassociate", True)
    fused, apart = programs.row_by_row(func), tir.Schedule(func)
    for sch in (fused, apart):
        for block in ("E", "Y"):
            sch.vectorize(sch.split(sch.get_loops(block)[-1], [None, 16])[1])
    assert ranked(apart, fused) == [1, 0]


def test_cores_share_a_parallel_loop():
    def parallel(sch, i, j):
        last_vectorized(sch, i, j)
        sch.parallel(i)

    def inner_parallel(sch, i, j):
        sch.parallel(j)

    four = Target("llvm -mcpu=skylake-avx512 -num-cores=4")
    serial = elementwise(transform=last_vectorized, formula=te.exp)
    shared = elementwise(transform=parallel, formula=te.exp)
    started_often = elementwise(transform=inner_parallel, formula=te.exp)
    assert ranked(started_often, serial, shared, target=four) == [2, 1, 0]


def test_a_narrower_machine_wants_smaller_tiles():
    large, small = matmul(240, 256, 256, rows=6, vectors=4), matmul(240, 256, 256, 6, vectors=1)
    assert ranked(small, large) == [1, 0]
    # Two registers for each of those vectors, and half as many registers.
    assert ranked(large, small, target=Target("llvm -mcpu=haswell -num-cores=1")) == [1, 0]


def test_bound_threads_are_faster_than_one():
    def bound(sch, i, j):
        sch.bind(i, "blockIdx.x")
        sch.bind(j, "threadIdx.x")

    def crosswise(sch, i, j):
        sch.bind(j, "blockIdx.x")
        sch.bind(i, "threadIdx.x")

    cuda = Target("nvidia/nvidia-a100")
    schedules = [elementwise(), elementwise(transform=crosswise), elementwise(transform=bound)]
    assert ranked(*schedules, target=cuda) == [2, 1, 0]


CACHES = (Cache(1 << 12, 64, 1.0, 4096), Cache(1 << 16, 64, 1.0), ADDRESSES)


def moved(func, name):
    """Lines of the nearest and the next cache that an access of the last store moves."""
    program = read_program(func)
    traffic = MemoryTraffic(program, CACHES)
    *_, statement = program.statements()
    (stream,) = (s for s in traffic.streams[statement] if s.access.memory.buffer.name == name)
    return [round(lines) for lines in stream.moved[:2]]


def test_what_fits_is_moved_once():
    # A row of A (64 bytes) stays in the first cache, all of it in the second.
    assert moved(programs.matmul(64, 32, 16), "A") == [64, 0]


def test_what_does_not_fit_is_moved_again():
    # All of B (64 x 1024 floats) is read for each of the 4 rows, line by line in every column.
    lines = [4 * 1024 * 64, 4 * 64 * 64]
    assert moved(programs.matmul(4, 1024, 64), "B") == pytest.approx(lines, rel=0.01)


def test_the_model_is_created_by_name_and_has_nothing_to_remember(tmp_path):
    model = CostModel.create("analytical")
    assert isinstance(model, AnalyticalModel)
    model.save(str(tmp_path / "model.json"))
    model.load(str(tmp_path / "model.json"))
    model.update(Context(TARGET), [], [])
    assert model.predict(Context(TARGET), []).shape == (0,)


@pytest.mark.parametrize("name", ["matmul", "transposed", "convolution", "softmax"])
def test_scores_are_the_same_every_time(name):
    made = getattr(programs, name)
    sch = tir.Schedule(made(8, 8, 8)) if name == "matmul" else made()
    first, second = AnalyticalModel().predict(Context(TARGET), [Candidate(sch)] * 2)
    assert first == second
