import numpy as np
import pytest

from tilewright.error import ArgumentValueError
from tilewright.tune.feature import FeatureExtractor, RandomFeatureExtractor


def test_random_features_have_the_sizes_asked_for():
    extractor = FeatureExtractor.create("random", feature_size=7, max_block_num=3, seed=1)
    features = extractor.extract_from(None, [None] * 50)
    assert len(features) == 50
    assert {feature.shape[1] for feature in features} == {7}
    assert {feature.shape[0] for feature in features} == {1, 2, 3}
    again = RandomFeatureExtractor(feature_size=7, max_block_num=3, seed=1)
    for one, other in zip(features, again.extract_from(None, [None] * 50), strict=True):
        assert np.array_equal(one, other)


def test_unknown_extractors_are_named():
    with pytest.raises(ArgumentValueError, match="no feature extractor 'best'; known are"):
        FeatureExtractor.create("best")


def test_an_extractor_without_its_method_says_so():
    class Extractor(FeatureExtractor):
        pass

    with pytest.raises(NotImplementedError, match=r"Extractor does not define extract_from\("):
        Extractor().extract_from(None, [])
