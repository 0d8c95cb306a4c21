"""Arrays by name in one file."""

import ml_dtypes
import numpy as np
import pytest

import tilewright as tvm
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.runtime import (
    load_param_dict,
    load_param_dict_from_file,
    save_param_dict,
    save_param_dict_to_file,
)


def arrays():
    return {
        "weight": np.arange(6, dtype="float32").reshape(2, 3),
        "transposed": np.arange(6, dtype=ml_dtypes.bfloat16).reshape(2, 3).T,
        "nothing": np.ones((0, 3)),
        "größe": np.array(7, "int64"),
        "mask": tvm.nd.array(np.array([True, False])),
    }


def test_arrays_come_back(tmp_path):
    path = tmp_path / "model.params"
    save_param_dict_to_file(arrays(), path)
    for loaded in (load_param_dict_from_file(path), load_param_dict(save_param_dict(arrays()))):
        assert list(loaded) == list(arrays())
        for name, array in arrays().items():
            assert str(loaded[name].dtype) == str(array.dtype)
            assert loaded[name].shape == array.shape
            values = array if isinstance(array, np.ndarray) else array.numpy()
            np.testing.assert_array_equal(loaded[name].numpy(), values)


def test_the_format_is_the_usual_one():
    """Byte for byte what Apache TVM 0.27 writes for one array of two int64."""
    assert save_param_dict({"b": np.arange(2, dtype="int64")}).hex() == (
        "b79c04054f8de5f70000000000000000"
        "0100000000000000" "010000000000000062" "0100000000000000"
        "3fa1b496f0405edd0000000000000000" "01000000000000000100000000400100"
        "0200000000000000" "1000000000000000" "00000000000000000100000000000000"
    )  # fmt: skip


def test_damaged_content_is_refused():
    content = save_param_dict(arrays())
    for size in range(len(content)):
        with pytest.raises(ArgumentValueError, match="load_param_dict"):
            load_param_dict(content[:size])
    random = np.random.default_rng(0)
    for _ in range(500):  # every other byte may be the value of an element
        damaged = bytearray(content)
        damaged[random.integers(len(damaged))] ^= 1 << int(random.integers(8))
        try:
            load_param_dict(damaged)
        except ArgumentValueError:
            continue


def test_what_is_no_array_is_named():
    with pytest.raises(ArgumentError, match=r"'w' must be an array, got \[1, 2\]"):
        save_param_dict({"w": [1, 2]})
    with pytest.raises(ArgumentError, match="names are strings, got 3"):
        save_param_dict({3: np.ones(2)})
