"""Describing candidates by numbers, from which a cost model learns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from tilewright.error import ArgumentValueError


class FeatureExtractor:
    """Describes candidates by numbers, from which a cost model learns.

    Users define extractors of their own as subclasses with the method `extract_from`.
    """

    kinds: ClassVar[dict[str, Callable[..., FeatureExtractor]]] = {}
    """What `create` makes, by name."""

    def __init_subclass__(cls, kind: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if kind is not None:
            FeatureExtractor.kinds[kind] = cls

    def extract_from(self, context: Any, candidates: Sequence[Any]) -> list[np.ndarray]:
        """An array for each of `candidates`, with a row for each store of the program.

        Args:
            context: the `TuneContext` of the task.
            candidates: what to describe.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not define extract_from(context, candidates)"
        )

    @staticmethod
    def create(kind: str, *args: Any, **kwargs: Any) -> FeatureExtractor:
        """The extractor of that name.

        Args:
            kind: ``"per-store-feature"`` or ``"random"``.
            args: for the constructor of the extractor.
            kwargs: for the constructor of the extractor.
        """
        if kind not in FeatureExtractor.kinds:
            known = ", ".join(map(repr, sorted(FeatureExtractor.kinds)))
            raise ArgumentValueError(f"there is no feature extractor {kind!r}; known are {known}")
        return FeatureExtractor.kinds[kind](*args, **kwargs)


class RandomFeatureExtractor(FeatureExtractor, kind="random"):
    """Features at random: what a model can learn from them is worth nothing.

    Args:
        feature_size: numbers per store.
        max_block_num: maximum number of stores per candidate.
        seed: of the numbers.
    """

    def __init__(self, *, feature_size: int = 30, max_block_num: int = 5, seed: int = 0) -> None:
        self.feature_size = feature_size
        self.max_block_num = max_block_num
        self.random_state = np.random.default_rng(seed)

    def extract_from(self, context: Any, candidates: Sequence[Any]) -> list[np.ndarray]:
        rows = self.random_state.integers(1, self.max_block_num + 1, len(candidates))
        return [self.random_state.random((int(count), self.feature_size)) for count in rows]
