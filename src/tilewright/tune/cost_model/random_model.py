"""Scores without any meaning."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.tune.cost_model.cost_model import CostModel


class RandomModel(CostModel, kind="random"):
    """Scores at random: what a search with a model is to be compared with.

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
