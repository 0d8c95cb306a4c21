"""All strategies: what they hand out is legal, new, within the budget, and repeats by its seed."""

import pytest
from tests.tir.schedule.checking import assert_equal_results, results_of
from tests.tune.programs import matmul, scale_and_shift
from tests.tune.search.fakes import Tuning, tile

import tilewright as tvm
from tilewright.error import ArgumentValueError, TuningError
from tilewright.schedule_rules.eligible import marked_as_scheduled
from tilewright.tir import Schedule
from tilewright.tune.candidate import TensorInfo
from tilewright.tune.context import TuneContext
from tilewright.tune.search import (
    DropletSearch,
    EvolutionarySearch,
    GeneticSearch,
    GridSearch,
    LocalRefinement,
    ReplayFunc,
    ReplayTrace,
    SearchStrategy,
)

SMALL = {
    "population_size": 16,
    "init_min_unmeasured": 4,
    "genetic_num_iters": 1,
    "genetic_max_fail_count": 2,
    "max_fail_count": 2,
}


def strategies():
    return [
        EvolutionarySearch(**SMALL),
        ReplayTrace(max_fail_count=30),
        ReplayFunc(max_fail_count=30),
        GridSearch(),
        LocalRefinement(max_fail_count=30),
        GeneticSearch(population_size=6, elite_count=2, max_fail_count=30),
        DropletSearch(),
    ]


@pytest.fixture(params=strategies(), ids=lambda strategy: type(strategy).__name__)
def strategy(request):
    return request.param.clone()


def ends_early(strategy):
    """Whether a strategy ends where no neighbour is faster."""
    return isinstance(strategy, DropletSearch)


def few(sch):
    """12 candidates."""
    i, _, _ = sch.get_loops("C")
    sch.split(i, sch.sample_perfect_tile(i, 2, -1))
    steps = sch.sample_categorical([0, 16, 64], [1, 1, 1])
    sch.annotate(sch.get_block("C"), "pragma_auto_unroll_max_step", steps)


def by_tile(sch):
    return 1.0 + sch.trace.as_json()[1][0][1][1]


def test_candidates_compute_the_same(strategy):
    found = Tuning(strategy, matmul, trials=6, batch=4)
    assert len(found.trials) == 6
    expected = results_of(matmul)
    for sch in found.trials:
        assert_equal_results(expected, results_of(sch.mod["main"]))
        assert sch.state.checked
    for candidate in found.candidates:
        assert candidate.args_info == [
            TensorInfo("float32", s) for s in ((8, 12), (12, 16), (8, 16))
        ]


def test_the_trace_of_a_candidate_makes_it(strategy):
    found = Tuning(strategy, matmul, trials=3, batch=4)
    for sch in found.trials:
        assert sch.trace.insts[-1].kind.name == "enter_postproc"
        again = Schedule(marked_as_scheduled(found.context.mod))
        sch.trace.apply_to_schedule(again)
        tvm.ir.assert_structural_equal(again.mod, sch.mod)


def test_nothing_is_measured_twice(strategy):
    found = Tuning(strategy, matmul, trials=30, batch=7)
    assert len(set(found.decisions)) == len(found.trials)
    assert len(found.trials) == 30 or ends_early(strategy)


def test_small_spaces_are_exhausted(strategy):
    found = Tuning(strategy, matmul, few, trials=1000, batch=5, seconds=by_tile)
    assert len(found.trials) == len(set(found.decisions))
    assert len(found.trials) == 12 or ends_early(strategy)


def test_the_seed_repeats_a_run(strategy):
    one, again = (Tuning(strategy.clone(), matmul, trials=12, seed=5) for _ in range(2))
    assert one.decisions == again.decisions
    if not isinstance(strategy, GridSearch):
        assert Tuning(strategy.clone(), matmul, trials=12, seed=6).decisions != one.decisions


def test_failures_end_nothing(strategy):
    found = Tuning(
        strategy, matmul, few, trials=99, batch=4, seconds=by_tile, fails=lambda sch: True
    )
    assert len(found.trials) == 12


def test_refused_candidates_cost_no_trial(strategy):
    def parallel_or_not(sch):
        """Half of the candidates run the sum in parallel, which is refused."""
        _, j, k = sch.get_loops("C")
        sch.split(j, sch.sample_perfect_tile(j, 2, -1))
        depth = sch.sample_categorical([1, 12], [1, 1])
        sch.parallel(sch.split(k, [None, depth])[1])

    found = Tuning(strategy, matmul, parallel_or_not, trials=99, batch=4, seconds=lambda sch: 1.0)
    # With one step, a loop may be parallel.
    assert len(found.trials) == 5 or ends_early(strategy)
    assert {decisions[1] for decisions in found.decisions} == {0}
    if not isinstance(strategy, ReplayFunc):
        assert found.refusals["parallel"] >= (2 if ends_early(strategy) else 5)


def test_the_budget_is_kept(strategy):
    assert len(Tuning(strategy, matmul, trials=10, batch=4).trials) == 10
    assert Tuning(strategy, matmul, trials=0).trials == []


def test_users_define_strategies():
    class First(SearchStrategy):
        def initialize_with_tune_context(self, context):
            self.context = context

        def pre_tuning(self, max_trials, num_trials_per_iter, design_spaces, *_):
            self.left = list(design_spaces)

        def generate_measure_candidates(self):
            return [self.left.pop()] if self.left else None

        def notify_runner_results(self, candidates, results):
            self.results = list(results)

    first = First()
    context = TuneContext(matmul, target="llvm", space_generator=tile, search_strategy=first)
    context.pre_tuning(4)
    assert len(context.generate_measure_candidates()) == 1
    assert context.generate_measure_candidates() is None


def test_wrong_use_is_explained(strategy):
    context = TuneContext(matmul, target="llvm", space_generator=tile, search_strategy=strategy)
    with pytest.raises(TuningError, match="call pre_tuning first"):
        context.generate_measure_candidates()
    with pytest.raises(ArgumentValueError, match="num_trials_per_iter"):
        context.pre_tuning(4, 0)
    with pytest.raises(TuningError, match="has no sketches"):
        context.pre_tuning(4, 4, [])


def test_created_by_name():
    for name, kind in [
        ("evolutionary", EvolutionarySearch),
        ("replay-trace", ReplayTrace),
        ("random", ReplayTrace),
        ("replay-func", ReplayFunc),
        ("grid", GridSearch),
        ("local", LocalRefinement),
        ("genetic", GeneticSearch),
        ("droplet", DropletSearch),
    ]:
        assert type(SearchStrategy.create(name)) is kind


def test_grid_enumerates_in_order():
    found = Tuning(GridSearch(), matmul, trials=50, batch=16)
    assert found.decisions == sorted(found.decisions)
    # The last decisions change first.
    assert len({decisions[:2] for decisions in found.decisions}) == 3


def test_functions_may_ask_what_they_sampled():
    def tile_or_not(sch):
        if sch.get(sch.sample_categorical([0, 1], [1, 1])):
            i, _, _ = sch.get_loops("C")
            sch.split(i, sch.sample_perfect_tile(i, 2, -1))

    found = Tuning(ReplayFunc(), matmul, tile_or_not, trials=99, seconds=lambda sch: 1.0)
    assert len(found.trials) == 5
    fixed = Tuning(ReplayTrace(), matmul, tile_or_not, trials=99, seconds=lambda sch: 1.0)
    assert len(fixed.trials) < 5


def test_several_sketches_take_part(strategy):
    def both(sch):
        other = sch.copy()
        tile(sch)
        few(other)
        return [sch, other]

    found = Tuning(strategy, matmul, both, trials=24, batch=8, seconds=lambda sch: 1.0)
    assert {len(decisions) for decisions in found.decisions} == {2, 4}


def test_places_of_blocks_are_searched(strategy):
    def place(sch):
        block = sch.get_block("B")
        sch.compute_at(block, sch.sample_compute_location(block))

    found = Tuning(strategy, scale_and_shift, place, trials=9, seconds=lambda sch: 1.0)
    assert {decision for (decision,) in found.decisions} == {-1, -2, 0, 1}
