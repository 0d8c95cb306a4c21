"""Numbers without any meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.tune.feature.feature_extractor import FeatureExtractor


class RandomFeatureExtractor(FeatureExtractor, kind="random"):
    """Features at random: what a model can learn from them is worth nothing.

    Args:
        feature_size: numbers per store.
        max_block_num: stores per candidate, at the most.
        seed: of the numbers.
    """

    def __init__(self, *, feature_size: int = 30, max_block_num: int = 5, seed: int = 0) -> None:
        self.feature_size = feature_size
        self.max_block_num = max_block_num
        self.random_state = np.random.default_rng(seed)

    def extract_from(self, context: Any, candidates: Sequence[Any]) -> list[np.ndarray]:
        rows = self.random_state.integers(1, self.max_block_num + 1, len(candidates))
        return [self.random_state.random((int(count), self.feature_size)) for count in rows]
