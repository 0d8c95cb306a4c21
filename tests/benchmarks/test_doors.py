"""How the front doors are compared: small workloads, few trials."""

import argparse

import numpy as np
import pytest
from benchmarks.doors import command
from benchmarks.doors.child import AGAIN, DEFAULT, Row, checked_call
from benchmarks.doors.lines import PACKAGES, code_lines
from benchmarks.doors.templates import halves, small_image_conv2d
from benchmarks.doors.workloads import FUNCTIONS, SMALL, WORKLOADS
from benchmarks.harness.child import relative_error

import tilewright as tvm
from tilewright import autotvm

TARGET = "llvm -num-cores=1"


def test_a_workload_through_all_front_doors(capsys):
    command.main(["--quick", "--only", "softmax", "--trials", "2"])
    text = capsys.readouterr().out
    for name in (DEFAULT, AGAIN, "meta_schedule", "auto_scheduler", "autotvm", "numpy", "torch"):
        assert name in text
    assert "softmax 32x64, " not in text.replace("softmax 32x64, torch: torch is not installed", "")
    assert "lines without blank ones" in text


@pytest.mark.parametrize("name", SMALL)
def test_templates_and_numpy_compute_the_workload(name):
    workload = SMALL[name]
    inputs = workload.work.inputs(np.random.default_rng(0))
    reference = workload.work.reference(*(x.astype("float64") for x in inputs))
    assert relative_error(workload.peers()["numpy"](*inputs)(), reference) < 1e-5
    task = autotvm.task.create(workload.function, list(workload.sizes), TARGET)
    space = task.config_space
    for index in (next(space.indices()), space.get_rand_index()):
        module = tvm.build(*task.instantiate(space.get(index)), TARGET)
        result = np.full(reference.shape, np.nan, "float32")
        module(*inputs, result)
        assert relative_error(result, reference) < 1e-5


def test_the_workloads():
    assert [workload.function for workload in WORKLOADS.values()] == [*FUNCTIONS]
    assert "matmul 1024x1024x1024" in WORKLOADS
    with pytest.raises(SystemExit):
        command.main(["--only", "nothing like that"])


def test_an_image_without_a_part_of_a_vector_is_refused():
    with tvm.target.Target(TARGET), pytest.raises(ValueError, match="a part of one"):
        small_image_conv2d(16, 16, 16)


def test_a_vector_is_folded_by_halves():
    assert halves(16) == [16, 8, 4]
    assert halves(4) == [4]


def test_a_wrong_result_is_not_timed():
    row = Row("meta_schedule")
    assert checked_call(row, lambda _: lambda: np.ones(3), np.ones(3), 1e-5) is not None
    assert checked_call(row, lambda _: lambda: np.ones(3), np.zeros(3), 1e-5) is None
    assert row.problem.startswith("WRONG RESULT")


def test_a_child_that_is_out_of_time():
    options = argparse.Namespace(
        quick=True, trials=2, threads=1, rounds=None, seconds=0.01
    )  # fmt: skip
    (row,) = command.measure("softmax 32x64", options)
    assert "no result after" in row.problem
    assert command.as_table({"softmax 32x64": [row]}, 1).row_count == 1


def test_noise_is_what_the_default_schedule_is_off_from_itself():
    quiet, noisy = [0.999, 1.0, 1.001], [0.95, 1.0, 1.05]
    slower = [0.97, 0.98, 0.98]
    assert command.no_slower([1.2, 1.3, 1.3], quiet)
    assert not command.no_slower(slower, quiet)
    assert command.no_slower(slower, noisy)


def test_lines_of_code(capsys):
    source = (
        '"""A module."""\n\n# why\nx = 1  # one\n"""About x."""\ny = (\n    2,\n)\nz = """a\nb"""\n'
    )
    assert code_lines(source) == 6
    command.main(["--lines"])
    text = capsys.readouterr().out
    assert all(package in text for package in PACKAGES)
    assert "default schedule" not in text
