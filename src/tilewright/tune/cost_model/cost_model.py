"""`CostModel`: predictions of how fast a candidate will be; and models without predictions."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tilewright.error import ArgumentValueError


class CostModel:
    """Predicts which candidates are fast, and may learn from those that were measured.

    Users define models of their own as subclasses with the four methods.
    """

    kinds: ClassVar[dict[str, Callable[..., CostModel]]] = {}
    """What `create` makes, by name."""

    def __init_subclass__(cls, kind: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if kind is not None:
            CostModel.kinds[kind] = cls

    def load(self, path: str) -> None:
        """Take over what `save` wrote to the file `path`."""
        raise NotImplementedError(f"{type(self).__name__} does not define load(path)")

    def save(self, path: str) -> None:
        """Write what was learned to the file `path`."""
        raise NotImplementedError(f"{type(self).__name__} does not define save(path)")

    def update(self, context: Any, candidates: Sequence[Any], results: Sequence[Any]) -> None:
        """Learn from measurements.

        Args:
            context: the `TuneContext` of the task.
            candidates: what was measured.
            results: a `RunnerResult` for each.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not define update(context, candidates, results)"
        )

    def predict(self, context: Any, candidates: Sequence[Any]) -> np.ndarray:
        """A score for each of `candidates`; the higher, the faster.

        Scores of one task can be compared with each other, those of different tasks cannot.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not define predict(context, candidates)"
        )

    @staticmethod
    def create(kind: str, *args: Any, **kwargs: Any) -> CostModel | None:
        """The model of that name.

        Args:
            kind: ``"xgb"``, ``"mlp"``, ``"analytical"``, ``"random"``, or ``"none"`` for no model
                at all: None.
            args: for the constructor of the model.
            kwargs: for the constructor of the model.
        """
        if kind == "none":
            return None
        if kind not in CostModel.kinds:
            known = ", ".join(map(repr, [*sorted(CostModel.kinds), "none"]))
            raise ArgumentValueError(f"there is no cost model {kind!r}; known are {known}")
        return CostModel.kinds[kind](*args, **kwargs)


class RandomModel(CostModel, kind="random"):
    """Random scores: the baseline for searches with a model.

    Args:
        seed: of the scores; by default others every time.
        path: a file that `save` wrote, to go on where that model was.
        max_range: scores are below.
    """

    def __init__(
        self, *, seed: int | None = None, path: str | None = None, max_range: int = 100
    ) -> None:
        self.max_range = max_range
        self.random_state = np.random.default_rng(seed)
        if path is not None:
            self.load(path)

    def load(self, path: str) -> None:
        self.random_state.bit_generator.state = json.loads(Path(path).read_text())

    def save(self, path: str) -> None:
        Path(path).write_text(json.dumps(self.random_state.bit_generator.state))

    def update(self, context: Any, candidates: Sequence[Any], results: Sequence[Any]) -> None:
        pass

    def predict(self, context: Any, candidates: Sequence[Any]) -> np.ndarray:
        return self.random_state.random(len(candidates)) * self.max_range


class MLPModel(CostModel, kind="mlp"):
    """A name from TVM: there is no such model here, and the error says what to use."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise ArgumentValueError(
            'the cost model "mlp" is not part of this package; use "xgb", which learns from as few '
            'measurements as a tuning run makes (pip install "tilewright[tune]"), or a subclass of '
            "CostModel of your own"
        )
