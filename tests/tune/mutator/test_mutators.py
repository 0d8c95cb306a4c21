"""Mutators: what they change, that it applies, and that nothing else changes."""

import math

import pytest
from tests.tune import programs

from tilewright.error import ArgumentValueError
from tilewright.tir import Schedule, Trace
from tilewright.tune.context import TuneContext
from tilewright.tune.mutator import (
    MutateComputeLocation,
    MutateDecision,
    MutateParallel,
    MutateThreadBinding,
    MutateTileSize,
    MutateUnroll,
    Mutator,
)
from tilewright.tune.workload import normalized

matmul, scale_and_shift = normalized(programs.matmul), normalized(programs.scale_and_shift)

SEEDS = range(40)


def tiled():
    sch = Schedule(matmul, seed=1)
    block = sch.get_block("C")
    i, j, _ = sch.get_loops(block)
    sch.split(i, sch.sample_perfect_tile(i, 3, 4, decision=[2, 2, 2]))
    lanes = sch.sample_categorical([4, 8, 16], [1, 1, 0], decision=0)
    sch.split(j, [None, lanes])
    steps = sch.sample_categorical([0, 16, 64], [1, 1, 1], decision=1)
    sch.annotate(block, "pragma_auto_unroll_max_step", steps)
    return sch


def computed_somewhere():
    sch = Schedule(scale_and_shift, seed=1)
    block = sch.get_block("B")
    sch.compute_at(block, sch.sample_compute_location(block, decision=0))
    return sch


def initialized(mutator, mod, target="llvm -num-cores=2"):
    context = TuneContext(mod, target=target)
    mutator.initialize_with_tune_context(context)
    return mutator


def changed(mutator, trace, mod):
    """The decisions that a mutator comes to, each checked to apply and to leave others alone."""
    found = set()
    for seed in SEEDS:
        other = mutator.apply(trace, seed)
        assert str(other) == str(mutator.apply(trace, seed)), "not repeated by its seed"
        pairs = zip(trace.as_json()[1], other.as_json()[1], strict=True)
        differences = [(one[0], tuple_of(two[1])) for one, two in pairs if one != two]
        assert len(differences) == 1
        found.add(differences[0])
        other.apply_to_schedule(Schedule(mod))
    return found


def tuple_of(decision):
    return tuple(decision) if isinstance(decision, list) else decision


def test_tile_sizes():
    trace = tiled().trace
    before = str(trace)
    found = changed(MutateTileSize(), trace, matmul)
    assert str(trace) == before
    tiles = {decision for _, decision in found if isinstance(decision, tuple)}
    # One factor of 2 moved; the innermost one stays within its limit of 4.
    assert tiles == {(1, 4, 2), (4, 1, 2), (1, 2, 4), (2, 1, 4), (4, 2, 1), (2, 4, 1)}
    assert all(math.prod(tile) == 8 for tile in tiles)
    # Candidates of no probability are not taken, and the number that an annotation is about is not
    # the size of a tile.
    assert {decision for _, decision in found if isinstance(decision, int)} == {1}


def test_tiles_with_an_inner_part_keep_its_divisor():
    sch = Schedule(matmul, seed=1)
    _, j, _ = sch.get_loops("C")
    sch.split(j, sch.sample_partitioned_tile(j, 3, 1, 4, decision=[4, 2, 2]))
    tiles = {decision for _, decision in changed(MutateTileSize(), sch.trace, matmul)}
    assert (2, 4, 2) in tiles
    assert all(tile[1] * tile[2] % 4 == 0 for tile in tiles)


def test_unrolling():
    trace = tiled().trace
    assert {decision for _, decision in changed(MutateUnroll(), trace, matmul)} == {0, 2}
    assert MutateUnroll().apply(computed_somewhere().trace, 1) is None


def test_locations():
    mutator = initialized(MutateComputeLocation(), scale_and_shift)
    found = changed(mutator, computed_somewhere().trace, scale_and_shift)
    assert {decision for _, decision in found} == {-1, -2, 1}
    assert mutator.apply(tiled().trace, 1) is None
    assert mutator.clone().apply(computed_somewhere().trace, 1) is None, "knows no program yet"


def test_threads():
    sch = Schedule(scale_and_shift, seed=1)
    _, j = sch.get_loops("B")
    threads = sch.sample_categorical([2, 4, 8], [1, 1, 1], decision=0)
    _, inner = sch.split(j, [None, threads])
    assert MutateThreadBinding().apply(sch.trace, 1) is None
    sch.bind(inner, "threadIdx.x")
    assert {
        decision for _, decision in changed(MutateThreadBinding(), sch.trace, scale_and_shift)
    } == {1, 2}


def parallel(value):
    sch = Schedule(matmul, seed=1)
    sch.annotate(sch.get_block("root"), "meta_schedule.parallel", value)
    i, j, k = sch.get_loops("C")
    sch.reorder(i, j, k)
    return sch.trace


def annotated(trace):
    (inst,) = [inst for inst in trace if inst.kind.name == "annotate"]
    return inst.arguments["ann_val"]


def test_parallel_jobs():
    mutator = initialized(MutateParallel(max_jobs_per_core=64), matmul)
    found = {annotated(mutator.apply(parallel(16), seed)) for seed in SEEDS}
    # The outermost loops have 8, 16 and 12 iterations; 8 of them are what 16 allows.
    assert found == {1, 128}
    assert {annotated(mutator.apply(parallel(1), seed)) for seed in SEEDS} == {8, 128}
    few = initialized(MutateParallel(max_jobs_per_core=4), matmul)
    assert {annotated(few.apply(parallel(1), seed)) for seed in SEEDS} == {8}


def test_parallel_jobs_may_be_left_alone():
    assert initialized(MutateParallel(-1), matmul).apply(parallel(16), 1) is None
    assert initialized(MutateParallel(16), matmul).apply(tiled().trace, 1) is None
    with pytest.raises(ArgumentValueError, match="max_jobs_per_core"):
        MutateParallel(0)


def test_any_decision():
    mutator = initialized(MutateDecision(), matmul)
    found = changed(mutator, tiled().trace, matmul)
    assert {position for position, _ in found} == {2, 4, 6}
    assert (4, 1) in found
    assert {decision for position, decision in found if position == 6} == {0, 2}
    # Also tiles that are far away.
    far = {tuple_of(mutator.apply(tiled().trace, n).as_json()[1][0][1]) for n in range(300)}
    assert {(8, 1, 1), (1, 8, 1), (2, 2, 2)} <= far
    places = initialized(MutateDecision(), scale_and_shift)
    found = changed(places, computed_somewhere().trace, scale_and_shift)
    assert {decision for _, decision in found} == {-1, -2, 1}


def test_nothing_to_decide():
    empty = Schedule(matmul).trace
    for mutator in Mutator.create("llvm"):
        assert initialized(mutator, matmul).apply(empty, 1) is None
    assert MutateDecision().apply(Trace(), 1) is None


def test_mutators_of_targets():
    kinds = {type(mutator).__name__: weight for mutator, weight in Mutator.create("llvm").items()}
    assert kinds["MutateTileSize"] == 0.9
    assert kinds["MutateParallel"] == 0.02
    (mine,) = [m for m in Mutator.create("llvm") if isinstance(m, MutateParallel)]
    assert mine.max_jobs_per_core == 16
    assert any(isinstance(mutator, MutateThreadBinding) for mutator in Mutator.create("cuda"))
    assert Mutator.create("llvm").keys().isdisjoint(Mutator.create("llvm"))
