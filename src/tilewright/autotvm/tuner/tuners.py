"""The tuners by the names that programs know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tilewright.autotvm.task.task import Task
from tilewright.autotvm.tuner.knob_feature import KnobFeature
from tilewright.autotvm.tuner.tuner import Tuner
from tilewright.error import ArgumentError, require_at_least, require_one_of
from tilewright.tune.cost_model import CostModel, XGBModel
from tilewright.tune.feature import FeatureExtractor, PerStoreFeature
from tilewright.tune.search import (
    DropletSearch,
    EvolutionarySearch,
    GeneticSearch,
    GridSearch,
    ReplayTrace,
    SearchStrategy,
)


class RandomTuner(Tuner):
    """Measures random configs, none of them twice.

    Args:
        task: the task.
        seed: of the random choices; by default another one every time.
    """

    def make_strategy(self) -> SearchStrategy:
        """Random decisions."""
        return ReplayTrace()


class GridSearchTuner(Tuner):
    """Measures all configs in order, for small spaces.

    Args:
        task: the task.
        seed: not used.
    """

    def make_strategy(self) -> SearchStrategy:
        """All decisions in order."""
        return GridSearch()


class GATuner(Tuner):
    """A genetic algorithm on measured times; see `tilewright.tune.search.GeneticSearch`.

    Args:
        task: the task.
        pop_size: number of configs of a generation.
        elite_num: number of the fastest configs that remain parents.
        mutation_prob: how often a knob of a child is set anew.
        seed: of the random choices; by default another one every time.
    """

    def __init__(
        self,
        task: Task,
        pop_size: int = 100,
        elite_num: int = 3,
        mutation_prob: float = 0.1,
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__(task, seed=seed)
        self._search = GeneticSearch(
            population_size=pop_size, elite_count=elite_num, mutation_prob=mutation_prob
        )

    def make_strategy(self) -> SearchStrategy:
        """Generations."""
        return self._search.clone()


_FEATURES: Final[dict[str, type[FeatureExtractor]]] = {
    "itervar": PerStoreFeature,
    "curve": PerStoreFeature,
    "knob": KnobFeature,
}
"""What describes configs to the cost model."""

_LOSSES: Final = ("reg", "rank", "rank-binary")


class XGBTuner(Tuner):
    """Measures what a cost model says is fast, which learns from what was measured.

    The search is `tilewright.tune.search.EvolutionarySearch`, and the model
    `tilewright.tune.cost_model.XGBModel`.

    Args:
        task: the task.
        plan_size: maximum number of configs that are measured before the model learns again.
        feature_type: what the model sees of a config: ``"knob"`` for the values of the knobs,
            ``"itervar"`` or ``"curve"`` for the loops and accesses of the program.
        loss_type: ``"reg"``, ``"rank"`` or ``"rank-binary"``, for compatibility: the model
            predicts logarithms of speeds, whose order is what counts.
        num_threads: number of threads that training may use; by default 1.
        optimizer: ``"sa"``, for compatibility.
        diversity_filter_ratio: not used; configs of a batch that are almost alike come last.
        log_interval: number of trees after which the training logs a line.
        seed: of the random choices; by default another one every time.
    """

    def __init__(
        self,
        task: Task,
        plan_size: int = 64,
        feature_type: str = "itervar",
        loss_type: str = "reg",
        num_threads: int | None = None,
        optimizer: str = "sa",
        diversity_filter_ratio: float | None = None,
        log_interval: int = 50,
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__(task, seed=seed)
        del diversity_filter_ratio
        for name, value, known in (
            ("feature_type", feature_type, [*_FEATURES]),
            ("loss_type", loss_type, _LOSSES),
            ("optimizer", optimizer, ("sa",)),
        ):
            require_one_of(f"XGBTuner: {name}", value, known)
        require_at_least("XGBTuner: plan_size", plan_size, 1)
        self.batch_size = plan_size
        self._model: dict[str, Any] = {
            "num_tuning_cores": num_threads,
            "verbose_eval": log_interval,
        }
        self._feature = _FEATURES[feature_type]

    def make_strategy(self) -> SearchStrategy:
        """What the model likes."""
        return EvolutionarySearch()

    def make_cost_model(self) -> CostModel:
        """A model that has learned nothing."""
        return XGBModel(extractor=self._feature(), **self._model)


REACH: Final = 2
"""Steps of knobs within which no config may be faster before coordinate descent ends."""


class DropletTuner(Tuner):
    """Goes downhill from a config, one knob at a time; see `tilewright.tune.search.DropletSearch`.

    Args:
        task: the task.
        start_position: for each knob the position of its value in the first config; by default
            that is a random one.
        pvalue: the probability of a difference by chance, up to which a config counts as faster.
        seed: of the random choices; by default another one every time.
    """

    def __init__(
        self,
        task: Task,
        start_position: Sequence[int] | None = None,
        pvalue: float = 0.05,
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__(task, seed=seed)
        self._search = DropletSearch(start_position, pvalue, reach=REACH)
        if start_position is not None:
            self._require_config(start_position)

    def make_strategy(self) -> SearchStrategy:
        """Coordinate descent."""
        return self._search.clone()

    def _require_config(self, position: Sequence[int]) -> None:
        dims = self.task.config_space.dims
        fits = len(position) == len(dims)
        if not fits or not all(0 <= at < size for at, size in zip(position, dims, strict=True)):
            raise ArgumentError(
                f"DropletTuner: start_position has a position for each knob of {self.task.name!r}, "
                f"whose numbers of values are {dims}; got {list(position)}"
            )
