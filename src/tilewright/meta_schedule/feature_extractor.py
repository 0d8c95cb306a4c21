"""Candidates as arrays of numbers."""

from tilewright.tune.feature import (
    FeatureExtractor,
    PerStoreFeature,
    RandomFeatureExtractor,
)

PyFeatureExtractor = FeatureExtractor

__all__ = [
    "FeatureExtractor",
    "PerStoreFeature",
    "PyFeatureExtractor",
    "RandomFeatureExtractor",
]
