"""Search policies: the space of a task, and how it is searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from tilewright.auto_scheduler.cost_model import RandomModel
from tilewright.auto_scheduler.search_callback import SearchCallback
from tilewright.auto_scheduler.search_task import SearchTask
from tilewright.auto_scheduler.tuning_options import TuningOptions
from tilewright.error import ArgumentError, ArgumentValueError, did_you_mean
from tilewright.tune.candidate import ArgInfo, MeasureCandidate
from tilewright.tune.context import TuneContext
from tilewright.tune.cost_model import CostModel
from tilewright.tune.database import MemoryDatabase
from tilewright.tune.options import Space
from tilewright.tune.search import EvolutionarySearch
from tilewright.tune.search.candidate_maker import Individual
from tilewright.tune.search.evolution import Breeding, evolve
from tilewright.tune.search.search_run import SearchRun
from tilewright.tune.space import SpaceGenerator, SpaceGeneratorUnion
from tilewright.tune.tuning import run_tasks


class SearchPolicy:
    """How a task is searched.

    Args:
        task: the task.
        program_cost_model: chooses the candidates to measure; None for no idea.
        strategy: chooses them together with the model.
        seed: of all random choices; None for another one every time.
        verbose: 0 for no table of the state of the search.
        init_search_callbacks: called once before the search begins.

    Attributes:
        spaces: make the sketches; callbacks may add some.
        known: the records of what was measured before.
        context: the task as the tuner knows it, with `spaces` and the strategy.
    """

    def __init__(
        self,
        task: SearchTask,
        program_cost_model: CostModel | None,
        strategy: EvolutionarySearch,
        seed: int | None,
        verbose: int,
        init_search_callbacks: Sequence[SearchCallback] | None,
    ) -> None:
        if not isinstance(task, SearchTask):
            raise ArgumentError(f"{type(self).__name__}: expected a SearchTask, got {task!r}")
        self.task, self.cost_model, self.verbose = task, program_cost_model, verbose
        self.spaces: list[Space] = [self._space]
        self.known = MemoryDatabase()
        self.context = TuneContext(
            task.compute_dag.func,
            target=task.target,
            task_name=task.workload_key,
            rand_state=-1 if seed is None else seed,
            search_strategy=strategy,
            title=task.desc,
        )
        for callback in init_search_callbacks or ():
            if not isinstance(callback, SearchCallback):
                raise ArgumentError(
                    f"{type(self).__name__}: init_search_callbacks are SearchCallbacks such as "
                    f"PreloadMeasuredStates, got {callback!r}"
                )
            callback.apply(self)
        generators = [SpaceGenerator.create(space) for space in self.spaces]
        self.context.space_generator = (
            generators[0] if len(generators) == 1 else SpaceGeneratorUnion(generators)
        )
        self.context.initialize()

    _space: Space = "post-order-apply"

    @property
    def search_task(self) -> SearchTask:
        """The task, by the name that functions of custom sketch rules know."""
        return self.task

    def search(self, options: TuningOptions) -> None:
        """Measure candidates, as many as the options say.

        Raises:
            TuningError: if not a single one ran; it says why.
            TargetError: for a target whose code does not run on this machine.
        """
        given = options.for_tuner(self.cost_model, self.known, [self.task.target])
        given = replace(given, progress=given.progress and self.verbose > 0)
        run_tasks([self.context], [1.0], None, given)


class SketchPolicy(SearchPolicy):
    """Searches the space that the rules of the tuner make, see `EvolutionarySearch`.

    Args:
        task: the task.
        program_cost_model: chooses the candidates to measure; by default at random.
        params: of the search, by the names of `DEFAULT_PARAMS`. The names that are about
            the structure of tilings mean nothing here: rules make the space.
        seed: of all random choices; None for another one every time.
        verbose: 0 for no table of the state of the search.
        init_search_callbacks: called once before the search begins, such as
            `PreloadMeasuredStates`.

    Raises:
        ArgumentValueError: for an unknown parameter.
    """

    DEFAULT_PARAMS: Final[Mapping[str, float]] = {
        "eps_greedy": 0.05,
        "sample_init_min_population": 50,
        "sample_init_use_measured_ratio": 0.2,
        "evolutionary_search_population": 512,
        "evolutionary_search_num_iters": 4,
        "evolutionary_search_mutation_prob": 0.85,
    }

    def __init__(
        self,
        task: SearchTask,
        program_cost_model: CostModel | None = None,
        params: Mapping[str, Any] | None = None,
        seed: int | None = None,
        verbose: int = 1,
        init_search_callbacks: Sequence[SearchCallback] | None = None,
    ) -> None:
        model = RandomModel(seed=seed) if program_cost_model is None else program_cost_model
        self.params = {**self.DEFAULT_PARAMS, **_checked(params or {})}
        strategy = EvolutionarySearch(
            **{name: self.params[key] for key, name in _OF_SEARCH.items()}
        )
        super().__init__(task, model, strategy, seed, verbose, init_search_callbacks)
        self._run: SearchRun | None = None
        self._individuals: dict[int, Individual] = {}

    # --- step by step -------------------------------------------------------------------------

    def generate_sketches(self, print_for_debug: bool = False) -> list[MeasureCandidate]:
        """The sketches of the space, with the decisions that come first.

        Args:
            print_for_debug: print their programs.
        """
        args_info = ArgInfo.from_prim_func(self.task.compute_dag.func)
        sketches = self.context.generate_design_space()
        if print_for_debug:
            for number, sch in enumerate(sketches):
                print(f"Sketch #{number}:\n{sch.mod.script()}")
        return [MeasureCandidate(sch, args_info) for sch in sketches]

    def sample_initial_population(self) -> list[MeasureCandidate]:
        """The sketches, and candidates with random decisions."""
        run = self._begun()
        size = int(self.params["sample_init_min_population"])
        individuals = run.own_decisions()
        individuals += islice(run.random_ones(ATTEMPTS), max(size - len(individuals), 0))
        return self._candidates(individuals)

    def evolutionary_search(
        self, init_populations: Sequence[Any], out_size: int
    ) -> list[MeasureCandidate]:
        """The candidates that the cost model says are fast, the best first.

        Args:
            init_populations: candidates to start from, or schedules of the program.
            out_size: how many are wanted, at most.
        """
        run = self._begun()
        population = [found for item in init_populations if (found := self._individual(item))]
        run.score(population)
        breeding = Breeding(
            int(self.params["evolutionary_search_num_iters"]),
            self.params["evolutionary_search_mutation_prob"],
            ATTEMPTS,
        )
        size = int(self.params["evolutionary_search_population"])
        return self._candidates(evolve(run, population, size, breeding)[:out_size])

    def _begun(self) -> SearchRun:
        if self._run is None:
            sketches = self.context.generate_design_space()
            self._run = SearchRun(self.context, sketches, self.cost_model, self.known)
        return self._run

    def _candidates(self, individuals: Sequence[Individual]) -> list[MeasureCandidate]:
        self._individuals.update((id(i.candidate), i) for i in individuals)
        return [individual.candidate for individual in individuals]

    def _individual(self, item: Any) -> Individual | None:
        found = self._individuals.get(id(item))
        if found is None:
            run = self._begun()
            found = run.maker.make(*run.book.add(getattr(item, "sch", item)), run.seed())
        return found


ATTEMPTS: Final = 10
"""Number of candidates that are refused or known already, after which no more are tried."""

_OF_SEARCH: Final = {
    "eps_greedy": "eps_greedy",
    "sample_init_min_population": "init_min_unmeasured",
    "sample_init_use_measured_ratio": "init_measured_ratio",
    "evolutionary_search_population": "population_size",
    "evolutionary_search_num_iters": "genetic_num_iters",
    "evolutionary_search_mutation_prob": "genetic_mutate_prob",
}
"""The parameters of `EvolutionarySearch`."""

_OF_RULES: Final = (
    "cpu_multi_level_tiling_structure", "gpu_multi_level_tiling_structure",
    "max_innermost_split_factor", "max_vectorize_size", "disable_change_compute_location",
    "retry_search_one_round_on_empty",
)  # fmt: skip
"""Parameters of other systems that make no difference here."""


def _checked(params: Mapping[str, Any]) -> dict[str, Any]:
    for name in params:
        if name in _OF_RULES:
            raise ArgumentValueError(
                f"SketchPolicy: {name!r} means nothing here, rules make the space. To change "
                "them, tune by tilewright.meta_schedule with PostOrderApply(sch_rules=...)"
            )
        if name not in _OF_SEARCH:
            hint = did_you_mean(name, _OF_SEARCH, f"; known are {', '.join(_OF_SEARCH)}")
            raise ArgumentValueError(f"SketchPolicy: there is no parameter {name!r}{hint}")
    return dict(params)


class EmptyPolicy(SearchPolicy):
    """Measures the program as it is written, and the default schedule.

    Args:
        task: the task.
        init_search_callbacks: called once before.
    """

    def __init__(
        self, task: SearchTask, init_search_callbacks: Sequence[SearchCallback] | None = None
    ) -> None:
        super().__init__(task, None, EvolutionarySearch(), None, 1, init_search_callbacks)

    @staticmethod
    def _space(sch: Any) -> None:
        """Leave a schedule as it is."""
        del sch
