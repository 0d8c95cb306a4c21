"""Lines of AutoTVM that are JSON, but say what no tuner has written: they are refused."""

import json
import random

import pytest
from tests.autotvm.templates import matmul  # noqa: F401, registers it
from tests.tune.database.mutations import mutated

from tilewright import autotvm
from tilewright.autotvm import record
from tilewright.autotvm.conversion import to_tuning_record
from tilewright.autotvm.measure import MeasureInput, MeasureResult
from tilewright.error import RecordError, TVMError


@pytest.fixture(scope="module")
def sound():
    task = autotvm.task.create("tests/matmul", [8, 12, 4], "llvm -num-cores=1")
    measured = MeasureInput(task.target, task, task.config_space.get(5))
    return json.loads(record.encode(measured, MeasureResult((0.5, 0.25), 0, 0.25, 17e8)))


def test_lines_are_used_or_refused(sound):
    refused = used = converted = 0
    for seed in range(1500):
        line = json.dumps(mutated(sound, random.Random(seed)))
        try:
            measured, result = record.decode(line)
        except RecordError:
            refused += 1
            continue
        used += 1
        # What was read can be written, and says the same.
        assert record.decode(record.encode(measured, result))[0] == measured
        try:
            to_tuning_record(measured, result)
            converted += 1
        except TVMError:
            continue
    assert refused > 300
    assert used > converted > 100
