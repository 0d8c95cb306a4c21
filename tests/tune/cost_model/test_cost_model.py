import numpy as np
import pytest

from tilewright.error import ArgumentValueError
from tilewright.tune.cost_model import CostModel, RandomModel


def test_random_scores_depend_on_the_seed_alone():
    candidates = [object()] * 5
    first = RandomModel(seed=1).predict(None, candidates)
    assert first.shape == (5,)
    assert np.array_equal(first, RandomModel(seed=1).predict(None, candidates))
    assert not np.array_equal(first, RandomModel(seed=2).predict(None, candidates))
    assert ((first >= 0) & (first < 100)).all()


def test_a_random_model_goes_on_where_it_was_saved(tmp_path):
    path = str(tmp_path / "model.json")
    model = RandomModel(seed=3)
    model.predict(None, [None] * 3)
    model.save(path)
    expected = model.predict(None, [None] * 4)
    assert np.array_equal(expected, RandomModel(path=path).predict(None, [None] * 4))


def test_models_are_created_by_name():
    model = CostModel.create("random", seed=1, max_range=2)
    assert isinstance(model, RandomModel)
    assert model.max_range == 2
    assert CostModel.create("none") is None
    with pytest.raises(ArgumentValueError, match=r"no cost model 'best'; known are 'analytical', "):
        CostModel.create("best")


@pytest.mark.parametrize(
    ("method", "arguments"),
    [("load", [""]), ("save", [""]), ("update", [None, [], []]), ("predict", [None, []])],
)
def test_a_model_without_a_method_says_which(method, arguments):
    class Model(CostModel):
        pass

    with pytest.raises(NotImplementedError, match=rf"Model does not define {method}\("):
        getattr(Model(), method)(*arguments)


def test_what_there_is_in_place_of_a_perceptron():
    with pytest.raises(ArgumentValueError, match='"xgb", which learns from as few measurements'):
        CostModel.create("mlp")
