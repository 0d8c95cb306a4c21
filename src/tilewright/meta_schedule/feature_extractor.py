"""Candidates as arrays of numbers."""

from tilewright.tune.feature import FeatureExtractor, RandomFeatureExtractor

PyFeatureExtractor = FeatureExtractor

__all__ = ["FeatureExtractor", "PyFeatureExtractor", "RandomFeatureExtractor"]
