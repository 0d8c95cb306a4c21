"""Random numbers: the generator beside one in Python, and the moments of distributions."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te, topi
from tilewright.error import DTypeError

SEED = -0x123456789ABCDEF


def numbers(function, shape, seed=SEED):
    """What a function of the seed gives."""
    s = te.placeholder((), "int64", name="seed")
    result = function(s)
    built = tvm.build(te.create_prim_func([s, result]), target="llvm")
    array = np.empty(shape, str(result.dtype))
    built(np.array(seed, "int64"), array)
    return array


def philox(counter, key):
    """The words that the paper defines."""
    key = [key % 2**32, key >> 32 & 0xFFFFFFFF]
    for _ in range(10):
        a, b = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [
            (b >> 32) ^ counter[1] ^ key[0], b % 2**32, (a >> 32) ^ counter[3] ^ key[1], a % 2**32
        ]  # fmt: skip
        key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
    return counter


def test_words():
    assert philox([0] * 4, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]  # published
    words = numbers(lambda s: topi.random_words(s, 9, 2**32 - 5), (3, 4))
    assert words.tolist() == [philox([n, 0, 2**32 - 5, 0], SEED) for n in range(3)]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_moments(dtype):
    unit = numbers(lambda s: topi.random_uniform(s, (200, 50), 1, dtype), (200, 50))
    assert 0 <= unit.min() < unit.max() < 1
    assert len(np.unique(unit)) > (1000 if dtype == "float16" else 9900)
    unit = unit.astype("float64")
    assert abs(unit.mean() - 1 / 2) < 0.02
    assert abs(unit.var() - 1 / 12) < 0.005
    normal = numbers(lambda s: topi.random_normal(s, (10000,), 2, dtype), 10000).astype("float64")
    for power, moment in ((1, 0), (2, 1), (3, 0), (4, 3)):
        assert abs((normal**power).mean() - moment) < 0.3
    assert abs(np.corrcoef(normal[1:], normal[:-1])[0, 1]) < 0.05


def test_integers():
    found = numbers(lambda s: topi.random_integers(s, (7000,), 0, -3, 4, "int32"), 7000)
    values, counts = np.unique(found, return_counts=True)
    assert values.tolist() == [-3, -2, -1, 0, 1, 2, 3]
    assert (abs(counts - 1000) < 150).all()


def test_a_seed_is_an_integer():
    with pytest.raises(DTypeError, match="the seed is an integer, got float32"):
        topi.random_words(te.placeholder((), "float32"), 4)
