"""Candidates as arrays of numbers."""

from tilewright.tune.feature import *  # noqa: F403
from tilewright.tune.feature import FeatureExtractor

PyFeatureExtractor = FeatureExtractor
