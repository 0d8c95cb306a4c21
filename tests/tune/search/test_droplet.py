"""Coordinate descent: where it starts, where it goes, and where it ends."""

import pytest
from tests.tune.programs import matmul
from tests.tune.search.fakes import BEST, RANDOM_TRIALS, Tuning, decisions_of, seconds_of, tile

from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.tune.context import TuneContext
from tilewright.tune.database import MemoryDatabase, TuningRecord
from tilewright.tune.measure import RunnerResult
from tilewright.tune.search import DropletSearch

BEST_DECISIONS = tuple(tuple(d) if isinstance(d, list) else d for d in BEST)
FAR = [[1, 8], [16, 1], [1, 12], 2]


def test_it_goes_downhill_and_ends_in_the_valley():
    found = Tuning(DropletSearch(FAR), matmul, trials=360, batch=8)
    assert found.decisions[0] == ((1, 8), (16, 1), (1, 12), 2)
    assert min(found.seconds) == seconds_of(found.trials[found.decisions.index(BEST_DECISIONS)])
    assert len(found.trials) * 3 < RANDOM_TRIALS


def test_a_larger_batch_has_neighbours_of_neighbours():
    found = Tuning(DropletSearch(FAR), matmul, trials=24, batch=24)
    assert len(found.trials) == 24
    assert found.trials_until(min(found.seconds)) > 8


def test_the_neighbours_of_a_candidate_are_one_step_away():
    found = Tuning(DropletSearch([[2, 4], [4, 4], [2, 6], 1]), matmul, trials=100, batch=99,
                   until=2.0)  # fmt: skip
    steps = {(1, 8), (4, 2)}
    assert found.decisions[1:9] == [
        *(((rows), (4, 4), (2, 6), 1) for rows in sorted(steps)),
        *((((2, 4)), columns, (2, 6), 1) for columns in ((2, 8), (8, 2))),
        *(((2, 4), (4, 4), depth, 1) for depth in ((1, 12), (4, 3), (6, 2))),
        ((2, 4), (4, 4), (2, 6), 0),
    ]


def test_the_reach_says_how_much_is_tried_around_the_last_candidate():
    start = [list(d) if isinstance(d, tuple) else d for d in BEST_DECISIONS]
    near, far = (
        Tuning(DropletSearch(start, reach=reach), matmul, trials=360, batch=4).decisions
        for reach in (1, 2)
    )
    assert len(near) < len(far) < 360
    assert set(near) < set(far)
    assert near[0] == far[0] == BEST_DECISIONS


def test_differences_by_chance_do_not_count():
    def run(spread):
        """The trials where repetitions of each candidate differ by a part of its time."""
        context = TuneContext(
            matmul, target="llvm -num-cores=1", space_generator=tile, rand_state=1,
            search_strategy=DropletSearch(FAR),
        )  # fmt: skip
        context.pre_tuning(360, 8)
        trials = 0
        while (batch := context.generate_measure_candidates()) is not None:
            trials += len(batch)
            times = [seconds_of(candidate.sch) for candidate in batch]
            results = [RunnerResult([t * (1 - spread), t, t * (1 + spread)]) for t in times]
            context.notify_runner_results(batch, results)
        return trials

    assert run(0.9) < run(0.001)


def test_what_fails_is_passed_over():
    found = Tuning(
        DropletSearch(FAR), matmul, trials=360, batch=4,
        fails=lambda sch: decisions_of(sch)[3] == 2,
    )  # fmt: skip
    assert found.decisions[found.seconds.index(min(found.seconds))] == BEST_DECISIONS


def test_the_fastest_sketch_goes_on():
    def sketches(sch):
        other = sch.copy()
        tile(sch)
        i, _, _ = other.get_loops("C")
        other.split(i, other.sample_perfect_tile(i, 2, -1, decision=[8, 1]))
        return [sch, other]

    def seconds(sch):
        return 1.0 + len(decisions_of(sch))

    found = Tuning(DropletSearch(), matmul, sketches, trials=99, seconds=seconds)
    assert sorted(len(decisions) for decisions in found.decisions) == [1, 1, 1, 1, 4]


def test_a_search_goes_on_from_what_a_database_has():
    database = MemoryDatabase()
    first = Tuning(DropletSearch(FAR), matmul, trials=16, batch=8)
    workload = database.commit_workload(matmul)
    for sch, seconds in zip(first.trials, first.seconds, strict=True):
        database.commit_tuning_record(
            TuningRecord(sch.trace, workload, [seconds], "llvm -num-cores=1")
        )
    second = Tuning(DropletSearch(FAR), matmul, trials=360, batch=8, database=database)
    assert set(first.decisions).isdisjoint(second.decisions)
    assert BEST_DECISIONS in {*first.decisions, *second.decisions}


def test_bad_arguments_are_refused():
    with pytest.raises(ArgumentValueError, match="pvalue is between 0 and 1, got 5"):
        DropletSearch(pvalue=5)
    with pytest.raises(ArgumentValueError, match="DropletSearch: reach is at least 1, got 0"):
        DropletSearch(reach=0)
    with pytest.raises(ArgumentError, match="start_position is a list of decisions, got 'first'"):
        DropletSearch("first")
    for start in ([[1, 8], [16, 1]], [[1, 8], [16, 1], [1, 12], 7]):
        with pytest.raises(ArgumentValueError, match=r"is not a candidate .* have \[4\] decisions"):
            Tuning(DropletSearch(start), matmul, trials=8)
