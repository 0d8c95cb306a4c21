"""Configs as data, and as numbers for models."""

import json

import numpy as np
import pytest

from tilewright.autotvm.task.space import ConfigEntity, ConfigSpace
from tilewright.error import RecordError


@pytest.fixture
def space():
    found = ConfigSpace()
    axes = [found.axis(4), found.axis(6)]
    found.define_split("tile", axes[0], num_outputs=3)
    found.define_reorder("order", axes, "all")
    found.define_annotate("how", axes, "try_unroll_vec")
    found.define_annotate("cache", axes, "locate_cache", num_anchor=1)
    found.define_knob("value", [1, 2.5, "text", None, True, (8, (4, 2))])
    return found


def test_round_trip(space):
    for index in range(0, space.range_length, 7):
        config = space.get(index)
        form = json.loads(json.dumps(config.to_json_dict()))
        read = ConfigEntity.from_json_dict(form)
        assert read == config
        assert hash(read) == hash(config)
        assert read.index == index
        assert space.positions(read) == space.point2knob(index)
        assert read.to_json_dict() == config.to_json_dict()
    assert space.get(0) != space.get(1)


def test_the_form(space):
    assert space.get(1).to_json_dict() == {
        "index": 1,
        "code_hash": None,
        "entity": [
            ["tile", "sp", [-1, 2, 1]],
            ["order", "re", [0, 1]],
            ["how", "an", ["none", "none"]],
            ["cache", "an", [0]],
            ["value", "ot", 1],
        ],
    }
    assert str(space.get(0)) == (
        "[('tile', [-1, 1, 1]), ('order', [0, 1]), ('how', ['none', 'none']), ('cache', [0]), "
        "('value', 1)],None,0"
    )


def test_features(space):
    length = {len(space.get(index).get_flatten_feature()) for index in range(space.range_length)}
    assert len(length) == 1
    features = space.get(1).get_flatten_feature()
    assert features.dtype == np.float32
    assert features[:5].tolist() == [-1, 2, 1, 0, 1]
    assert features[-2:].tolist() == [0, 1]
    assert space.get(0).get_other_option() == {"value": 1}


@pytest.mark.parametrize(
    "form",
    [
        None,
        3,
        {},
        {"entity": 3},
        {"entity": [["tile", "sp"]]},
        {"entity": [["tile", "xx", [1]]]},
        {"entity": [["tile", ["sp"], [1]]]},
        {"entity": [["tile", "sp", ["__import__('os')"]]]},
        {"entity": [["tile", "re", [0, 2]]]},
        {"entity": [["tile", "an", "none"]]},
        {"entity": [["tile", "ot", {"a": 1}]]},
        {"index": "zero", "entity": []},
    ],
)
def test_malformed_configs(form):
    with pytest.raises(RecordError):
        ConfigEntity.from_json_dict(form)
