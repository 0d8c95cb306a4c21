"""Candidates as arrays of numbers, for models that learn."""

from tilewright.tune.feature.feature_extractor import FeatureExtractor, RandomFeatureExtractor
from tilewright.tune.feature.per_store_feature import PerStoreFeature
