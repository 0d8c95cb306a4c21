"""The genetic algorithm: generations, the elite, mutations."""

import statistics

import pytest
from tests.tune.programs import matmul
from tests.tune.search.fakes import RANDOM_TRIALS, Tuning, decisions_of, tile

from tilewright.error import ArgumentValueError
from tilewright.tune.search import GeneticSearch

FASTEST = 1e-3


def test_fewer_trials_than_random():
    needed = [
        Tuning(
            GeneticSearch(population_size=16, elite_count=4), matmul, trials=360, seed=seed,
            until=FASTEST,
        ).trials_until(FASTEST)
        for seed in range(5)
    ]  # fmt: skip
    assert statistics.median(needed) * 1.5 < RANDOM_TRIALS


def test_a_generation_may_take_several_batches():
    strategy = GeneticSearch(population_size=10)
    batches = []
    original = strategy._generation

    def generation(run):
        batches.append(run.trials)
        return original(run)

    strategy._generation = generation
    Tuning(strategy, matmul, trials=30, batch=4)
    assert batches == [0, 10, 20]


def test_children_have_decisions_of_their_parents():
    found = Tuning(
        GeneticSearch(population_size=20, mutation_prob=0.0, elite_count=0), matmul,
        trials=30, batch=20,
    )  # fmt: skip
    first, second = found.decisions[:20], found.decisions[20:]
    genes = [{decisions[n] for decisions in first} for n in range(4)]
    inherited = [all(child[n] in genes[n] for n in range(4)) for child in second]
    # One that is known gets another decision.
    assert sum(inherited) >= len(inherited) / 2


def test_the_cost_model_is_not_asked():
    class Silent:
        def predict(self, context, candidates):
            raise AssertionError

    assert len(Tuning(GeneticSearch(), matmul, trials=12, cost_model=Silent()).trials) == 12


def test_failed_candidates_have_no_children():
    found = Tuning(
        GeneticSearch(population_size=20, mutation_prob=0.0), matmul, tile, trials=60, batch=20,
        fails=lambda sch: decisions_of(sch)[3] != 0,
    )  # fmt: skip
    shares = [sum(d[3] == 0 for d in found.decisions[n : n + 20]) for n in (0, 20, 40)]
    assert shares[0] < shares[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"population_size": 0}, "GeneticSearch: population_size is at least 1, got 0"),
        ({"elite_count": -1}, "elite_count is at least 0, got -1"),
        ({"mutation_prob": 2}, "mutation_prob is from 0 to 1, got 2"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ArgumentValueError, match=message):
        GeneticSearch(**arguments)
