"""Comparing what candidates compute with what they should."""

import time
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from tests.tune.measure import programs

from tilewright.ir.dtype import DType
from tilewright.processes import Child
from tilewright.tune.candidate import ArgInfo
from tilewright.tune.measure.affinity import other_cores
from tilewright.tune.measure.arguments import random_arguments
from tilewright.tune.measure.build_worker import default_build
from tilewright.tune.measure.expectation import Expectation
from tilewright.tune.measure.expected_results import difference, save, summed_terms, tolerance

INFO = [["TENSOR", "float32", [8, 8]], ["TENSOR", "float32", [8, 8]]]


def saved(directory, change, info=INFO):
    """Arguments after a program that changes the last one; they are saved."""
    arguments = random_arguments(info)
    arguments[-1][...] = change(arguments[0].numpy())
    save(arguments, random_arguments(info), directory)
    return arguments


def test_equal_results_agree(tmp_path):
    arguments = saved(tmp_path, lambda a: a + 1)
    assert [file.name for file in tmp_path.iterdir()] == ["argument1.npy"]
    assert difference(arguments, tmp_path, terms=1) is None


def test_rounding_errors_agree_and_others_don_t(tmp_path):
    arguments = saved(tmp_path, lambda a: a + 1)
    arguments[1][...] = arguments[1].numpy() * np.float32(1 + 5e-7)
    assert difference(arguments, tmp_path, terms=1) is None
    arguments[1][3, 4] = arguments[1][3, 4] * 1.0001
    found = difference(arguments, tmp_path, terms=1)
    assert found.startswith("argument 2: 1 of 64 elements differ; the first at [3, 4] is ")
    assert difference(arguments, tmp_path, terms=10_000) is None


def test_a_sum_that_cancels_may_be_off_by_the_scale_of_the_others(tmp_path):
    arguments = saved(tmp_path, lambda a: np.where(a > 0.4, 1e-6, 1.0))
    arguments[1][...] = arguments[1].numpy() + 4e-7
    assert difference(arguments, tmp_path, terms=1) is None


def test_not_a_number_and_infinity_agree_with_themselves(tmp_path):
    special = np.resize(np.array([np.nan, np.inf, -np.inf, 1.0], "float32"), (8, 8))
    arguments = saved(tmp_path, lambda a: special)
    assert difference(arguments, tmp_path, terms=1) is None
    for wrong in (0.0, np.nan, -np.inf):
        arguments[1][0, 1] = wrong
        assert "the first at [0, 1]" in difference(arguments, tmp_path, terms=1)
    arguments[1][0, 1] = np.inf
    arguments[1][0, 3] = np.inf
    assert "the first at [0, 3]" in difference(arguments, tmp_path, terms=1)


@pytest.mark.parametrize("dtype", ["int8", "int32", "bool", "uint8"])
def test_integers_are_equal_or_not(tmp_path, dtype):
    info = [["TENSOR", dtype, [8, 8]]] * 2
    arguments = saved(tmp_path, lambda a: 1 - a, info)
    assert difference(arguments, tmp_path, terms=1000) is None
    arguments[1][0, 0] = not arguments[1][0, 0]
    assert "1 of 64 elements differ" in difference(arguments, tmp_path, terms=1000)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_floats(tmp_path, dtype):
    info = [["TENSOR", dtype, [8, 8]]] * 2
    arguments = saved(tmp_path, lambda a: a + a, info)
    assert difference(arguments, tmp_path, terms=1) is None
    arguments[1][2, 2] = 7
    assert "the first at [2, 2]" in difference(arguments, tmp_path, terms=1)


def test_arguments_that_should_not_change(tmp_path):
    arguments = saved(tmp_path, lambda a: a + 1)
    arguments[0][0, 0] = 9
    assert difference(arguments, tmp_path, 1).startswith("argument 1, which should not change: ")


def test_the_tolerance_grows_with_the_terms_and_the_coarseness():
    assert tolerance(DType("float32"), 100) == pytest.approx(16 * 10 * np.finfo("float32").eps)
    assert tolerance(DType("bfloat16"), 1) == 16 * float(ml_dtypes.finfo("bfloat16").eps)
    assert tolerance(DType("int32"), 100) == 0
    assert tolerance(DType("bool"), 100) == 0


def test_terms_of_sums():
    assert summed_terms(programs.module(programs.add_one)) == 1
    assert summed_terms(programs.module(programs.matmul)) == 300


def test_random_arguments_are_the_same_for_a_seed():
    info = [*INFO, ["TENSOR", "int64", [9]], ["TENSOR", "int8", [50]], ["TENSOR", "bool", [9]]]
    first, second, other = (random_arguments(info, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a.numpy(), b.numpy()) for a, b in zip(first, second, strict=True))
    assert not np.array_equal(first[0].numpy(), other[0].numpy())
    assert all(array.data_ptr() % 64 == 0 for array in first)
    assert set(first[2].numpy()) <= {0, 1}
    assert -8 <= first[3].numpy().min() < 0 < first[3].numpy().max() < 8
    assert abs(first[0].numpy()).max() <= 0.5


def test_large_arguments_repeat(monkeypatch):
    monkeypatch.setattr("tilewright.tune.measure.arguments.PATTERN", 10)
    (array,) = random_arguments([["TENSOR", "float32", [5, 5]]])
    values = array.numpy().reshape(-1)
    np.testing.assert_array_equal(values, np.resize(values[:10], 25))


# --- computing them ---------------------------------------------------------------------------


def expectation_of(func, seconds=20.0):
    info = [argument.as_json() for argument in ArgInfo.from_prim_func(func)]
    return Expectation(programs.module(func), info, other_cores(1), seconds), info


def test_a_program_gives_the_results():
    expected, info = expectation_of(programs.matmul)
    directory = expected.directory()
    assert expected.directory() == directory
    arguments = random_arguments(info)
    default_build(programs.module(programs.matmul), programs.ONE_CORE)(*arguments)
    assert difference(arguments, directory, summed_terms(programs.module(programs.matmul))) is None
    arguments[2][0, 0] = 100
    assert difference(arguments, directory, 300) is not None


def test_a_program_that_takes_too_long_is_scheduled(caplog, monkeypatch):
    caplog.set_level("INFO")
    started = []
    start = Expectation._start

    def spy(self, default_schedule):
        started.append(default_schedule)
        if not default_schedule:  # which never ends
            monkeypatch.setattr(self, "_mod", programs.module(programs.matmul_that_hangs))
        child = start(self, default_schedule)
        monkeypatch.setattr(self, "_mod", programs.module(programs.matmul))
        return child

    monkeypatch.setattr(Expectation, "_start", spy)
    expected, info = expectation_of(programs.matmul, seconds=1.0)
    monkeypatch.setattr(expected, "_seconds", 20.0)
    while not expected.is_there:
        time.sleep(0.05)
    assert started == [False, True]
    directory = expected.directory()
    assert "the program as it is written takes longer than" in caplog.text
    arguments = random_arguments(info)
    default_build(programs.module(programs.matmul), programs.ONE_CORE)(*arguments)
    assert difference(arguments, directory, 300) is None


def test_a_program_that_cannot_run_is_compared_with_nothing(caplog):
    expected, _ = expectation_of(programs.fail)
    assert expected.directory() is None
    assert "candidates are not checked" in caplog.text
    assert "the element is too small" in caplog.text


def test_what_was_computed_is_deleted_in_the_end():
    expected, _ = expectation_of(programs.matmul)
    directory = Path(expected.directory())
    assert list(directory.iterdir())
    expected.close()
    assert not directory.exists()


def test_an_interrupt_while_it_is_waited_for_leaves_it_on_its_way(monkeypatch):
    expected, _ = expectation_of(programs.matmul)
    with monkeypatch.context() as patch:
        patch.setattr(Child, "receive", interrupt)
        with pytest.raises(KeyboardInterrupt):
            expected.directory()
    assert list(Path(expected.directory()).iterdir())


def interrupt(*_):
    raise KeyboardInterrupt
