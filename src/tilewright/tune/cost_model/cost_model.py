"""What a cost model is to a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
            known = ", ".join(map(repr, [*CostModel.kinds, "none"]))
            raise ArgumentValueError(f"there is no cost model {kind!r}; known are {known}")
        return CostModel.kinds[kind](*args, **kwargs)
