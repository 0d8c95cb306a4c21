"""Configs for templates that were not tuned."""

from types import SimpleNamespace

import pytest

from tilewright.autotvm.task.space import ConfigSpace, FallbackConfigEntity
from tilewright.error import ArgumentValueError


def defined(kind, length, parts=3):
    cfg = kind()
    cfg.define_split("tile", cfg.axis(length), num_outputs=parts)
    cfg.define_knob("unroll", [0, 1])
    return cfg


def fallback(length, parts=3):
    return defined(FallbackConfigEntity, length, parts)


@pytest.mark.parametrize(
    ("length", "limits", "sizes"),
    [
        (128, [-1, 8, 4], [4, 8, 4]),
        (49, [-1, 8, 4], [7, 7, 1]),
        (12, [-1, -1, 5], [1, 3, 4]),
        (12, [2, 2, 2], [1, 2, 2]),
    ],
)
def test_limits_of_splits(length, limits, sizes):
    cfg = fallback(length)
    assert cfg.is_fallback
    assert cfg["tile"].size == [-1, 1, 1]
    cfg.fallback_split("tile", limits)
    assert cfg["tile"].size == sizes
    assert str(cfg) == f"[('tile', {sizes}), ('unroll', 0)],None"


@pytest.mark.parametrize(
    ("name", "limits"), [("tile", [-1, 4]), ("unroll", [-1]), ("x", [-1, 1, 1])]
)
def test_wrong_limits(name, limits):
    with pytest.raises(ArgumentValueError, match="not a knob of define_split and a limit for each"):
        fallback(16).fallback_split(name, limits)


def test_a_limit_is_positive():
    with pytest.raises(ArgumentValueError, match="positive, or -1"):
        fallback(16).fallback_split("tile", [-1, 0, 2])


def record(length, sizes, unroll=1):
    space = defined(ConfigSpace, length)
    tiles = [entity.size for entity in space.space_map["tile"].entities]
    config = space.get(tiles.index(sizes) + unroll * len(tiles))
    return SimpleNamespace(config=config), SimpleNamespace(costs=[1.0])


def test_the_most_similar_record_counts():
    cfg = fallback(48)
    cfg.fallback_with_reference_log([record(49, [-1, 7, 7]), record(64, [-1, 4, 8])])
    assert cfg["tile"].size == [2, 3, 8]
    assert cfg["unroll"].val == 1


def test_records_of_other_templates_do_not_count():
    cfg = fallback(48)
    other = ConfigSpace()
    other.define_knob("unroll", [1])
    cfg.fallback_with_reference_log([(SimpleNamespace(config=other.get(0)), None)])
    assert cfg["tile"].size == [-1, 1, 1]
