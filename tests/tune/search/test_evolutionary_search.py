"""Evolutionary search finds the best with few trials, and what it measures first."""

import statistics

import pytest
from tests.tune.programs import matmul
from tests.tune.search.fakes import RANDOM_TRIALS, Tuning, Vague, decisions_of, seconds_of, tile

from tilewright.error import ArgumentValueError
from tilewright.tir import Schedule
from tilewright.tune.candidate import MeasureCandidate
from tilewright.tune.cost_model import CostModel
from tilewright.tune.database import MemoryDatabase, TuningRecord
from tilewright.tune.mutator import MutateUnroll, Mutator
from tilewright.tune.search import EvolutionarySearch, LocalRefinement, ReplayTrace

FEW = {"population_size": 24, "init_min_unmeasured": 8, "genetic_num_iters": 2}
FASTEST = 1e-3


def trials_needed(make, **options):
    """The median number of trials until the fastest candidate is found."""
    found = [
        Tuning(make(), matmul, trials=360, seed=seed, until=FASTEST, **options) for seed in range(3)
    ]
    return statistics.median(tuning.trials_until(FASTEST) for tuning in found)


def test_far_fewer_trials_than_random():
    needed = trials_needed(lambda: EvolutionarySearch(**FEW), cost_model=Vague())
    assert needed * 4 < RANDOM_TRIALS


def test_measurements_lead_where_there_is_no_model():
    assert trials_needed(lambda: EvolutionarySearch(**FEW)) * 2 < RANDOM_TRIALS


def test_refining_the_best_leads_there():
    assert trials_needed(lambda: LocalRefinement(num_starts=4)) * 3 < RANDOM_TRIALS


def two_sketches(sch):
    other = sch.copy()
    i, _, _ = other.get_loops("C")
    other.split(i, other.sample_perfect_tile(i, 2, -1, decision=[8, 1]))
    tile(sch)
    again = sch.copy()
    return [sch, other, again]


def test_the_first_batch_begins_with_the_sketches_own_decisions():
    def sketches(sch):
        i, j, _ = sch.get_loops("C")
        found = []
        for rows, columns in ((2, 4), (8, 1)):
            copy = sch.copy()
            copy.split(i, copy.sample_perfect_tile(i, 2, -1, decision=[8 // rows, rows]))
            copy.split(j, copy.sample_perfect_tile(j, 2, -1, decision=[16 // columns, columns]))
            found.append(copy)
        other = sch.copy()
        other.split(j, other.sample_perfect_tile(j, 2, -1, decision=[8, 2]))
        return [*found, other]

    found = Tuning(
        EvolutionarySearch(**FEW), matmul, sketches, trials=8, batch=8, seconds=lambda sch: 1.0
    )
    # Two of the sketches differ in their decisions only: they are one, with two starts.
    own = [((4, 2), (4, 4)), ((1, 8), (16, 1)), ((8, 2),)]
    assert set(found.decisions[:3]) == set(own)


def test_what_is_left_of_a_space_is_enumerated_over_several_batches():
    found = Tuning(EvolutionarySearch(**FEW, max_fail_count=0), matmul, trials=1000, batch=7)
    assert len(set(found.decisions)) == len(found.decisions) == 360


class Fond(CostModel):
    """Likes one sketch only."""

    def predict(self, context, candidates):
        return [float(len(decisions_of(candidate.sch))) for candidate in candidates]


def test_a_first_batch_has_something_of_all_sketches():
    found = Tuning(
        EvolutionarySearch(**FEW),
        matmul,
        two_sketches,
        trials=8,
        batch=8,
        cost_model=Fond(),
        seconds=lambda sch: 1.0,
    )
    counts = [len(decisions) for decisions in found.decisions]
    assert 2 <= counts.count(1) < 8


def test_a_model_decides_what_is_measured():
    found = Tuning(EvolutionarySearch(**FEW), matmul, trials=24, cost_model=Vague())
    liked = [rows == (4, 2) and columns == (2, 8) for rows, columns, _, _ in found.decisions[4:]]
    assert sum(liked) >= 8


def records(database, trace_of, seconds, mod):
    workload = database.commit_workload(mod)
    for trace, time in zip(trace_of, seconds, strict=True):
        database.commit_tuning_record(TuningRecord(trace, workload, [time], "llvm -num-cores=1"))


def test_what_a_database_has_is_not_measured_again():
    database = MemoryDatabase()
    first = Tuning(ReplayTrace(), matmul, trials=16, seed=1)
    forms = [sch.trace.as_json() for sch in first.trials]
    records(database, forms, first.seconds, matmul)
    second = Tuning(ReplayTrace(), matmul, trials=16, seed=1, database=database)
    assert set(first.decisions).isdisjoint(second.decisions)


def test_a_search_goes_on_from_what_a_database_has():
    database = MemoryDatabase()
    first = Tuning(LocalRefinement(), matmul, trials=60, seed=1)
    # One that is a step away from the fastest, which is then among its neighbours.
    near = next(n for n, time in enumerate(first.seconds) if time == 2 * FASTEST)
    records(database, [first.trials[near].trace], [first.seconds[near]], matmul)
    second = Tuning(LocalRefinement(), matmul, trials=30, seed=2, database=database)
    assert second.trials_until(FASTEST) <= 16


def test_repeated_records_count_once():
    database = MemoryDatabase()
    first = Tuning(ReplayTrace(), matmul, trials=3, seed=1)
    traces = [sch.trace for sch in first.trials]
    records(database, traces, [3e-3, 2e-3, 1e-3], matmul)
    records(database, traces[2:] * 2, [4e-3, 5e-3], matmul)
    second = Tuning(LocalRefinement(), matmul, trials=0, seed=2, database=database)
    search = second.context.search_strategy
    second.context.pre_tuning(8, 8, None, database)
    assert [i.seconds for i in search.run.best_measured(9)] == [1e-3, 2e-3, 3e-3]


def test_records_of_other_targets_do_not_count():
    database = MemoryDatabase()
    first = Tuning(ReplayTrace(), matmul, trials=8, seed=1)
    workload = database.commit_workload(matmul)
    for sch, time in zip(first.trials, first.seconds, strict=True):
        target = "llvm -num-cores=1 -mcpu=nocona"
        database.commit_tuning_record(TuningRecord(sch.trace, workload, [time], target))
    second = Tuning(ReplayTrace(), matmul, trials=8, seed=1, database=database)
    assert second.decisions == first.decisions


def test_generations_of_small_batches_and_long_traces_are_smaller():
    class Counting(CostModel):
        sizes = ()

        def predict(self, context, candidates):
            self.sizes = [*self.sizes, len(candidates)]
            return [0.0] * len(candidates)

    def long(sch):
        tile(sch)
        for _ in range(200):
            sch.annotate(sch.get_block("C"), "note", 1)

    largest = []
    for space, batch in ((tile, 16), (tile, 128), (long, 128)):
        model = Counting()
        search = EvolutionarySearch(population_size=160, genetic_num_iters=0)
        Tuning(search, matmul, space, trials=batch, batch=batch, cost_model=model, until=1.0)
        largest.append(max(model.sizes))
    small, usual, of_long_traces = largest
    assert small <= 64
    assert of_long_traces <= 64
    assert 100 < usual <= 160


def test_mutators_of_users_are_used():
    class Counting(MutateUnroll):
        calls = 0

        def apply(self, trace, random_state=None):
            Counting.calls += 1
            return super().apply(trace, random_state)

    Tuning(EvolutionarySearch(**FEW), matmul, trials=16, mutator_probs={Counting(): 1.0})
    assert Counting.calls > 20


def test_a_mutator_that_makes_nonsense_is_survived():
    class Broken(Mutator):
        def apply(self, trace, random_state=None):
            insts = trace.insts
            return type(trace)([*insts, insts[1]], trace.decisions)

    found = Tuning(EvolutionarySearch(**FEW), matmul, trials=12, mutator_probs={Broken(): 1.0})
    assert len(found.trials) == 12


def test_a_model_must_score_all():
    class Short(CostModel):
        def predict(self, context, candidates):
            return [1.0]

    with pytest.raises(ArgumentValueError, match="predict gave 1 scores"):
        Tuning(EvolutionarySearch(**FEW), matmul, trials=8, cost_model=Short())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("eps_greedy", 2),
        ("population_size", 0),
        ("genetic_mutate_prob", -1),
        ("max_fail_count", -1),
    ],
)
def test_bad_options_are_refused(name, value):
    with pytest.raises(ArgumentValueError, match=name):
        EvolutionarySearch(**{name: value})


def test_candidates_are_those_of_records():
    found = Tuning(EvolutionarySearch(**FEW), matmul, trials=4)
    (candidate, *_) = found.candidates
    assert isinstance(candidate, MeasureCandidate)
    record = TuningRecord(candidate.sch.trace, MemoryDatabase().commit_workload(matmul), [1.0])
    assert isinstance(record.schedule(), Schedule)
    assert seconds_of(record.schedule()) == found.seconds[0]
