"""Candidates as arrays of numbers, for models that learn."""

from tilewright.tune.feature.feature_extractor import FeatureExtractor
from tilewright.tune.feature.per_store_feature import PerStoreFeature
from tilewright.tune.feature.random_feature_extractor import RandomFeatureExtractor
