"""Describing configs by the values of their knobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.autotvm.template_step import config_of
from tilewright.tune.feature import FeatureExtractor


class KnobFeature(FeatureExtractor):
    """The values of the knobs of a config, in one row; it does not look at the program."""

    def extract_from(self, context: Any, candidates: Sequence[Any]) -> list[np.ndarray]:
        """An array of one row for each candidate."""
        del context
        configs = [config_of(candidate.sch.trace)[1] for candidate in candidates]
        return [config.get_flatten_feature()[None].astype(np.float64) for config in configs]
