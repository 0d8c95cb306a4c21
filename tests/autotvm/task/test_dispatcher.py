"""Which config a template gets."""

import logging
from types import SimpleNamespace

import pytest
from tests.autotvm.templates import matmul

import tilewright as tvm
from tilewright import autotvm, te
from tilewright.autotvm.task.dispatcher import ROOT, ApplyConfig
from tilewright.error import ArgumentError, ArgumentValueError

TARGET = tvm.target.Target("llvm")


@pytest.fixture
def task():
    return autotvm.task.create("tests/matmul", [8, 12, 4], TARGET)


def record(task, index, seconds, error_no=0, target=TARGET):
    measured = SimpleNamespace(task=task, target=target, config=task.config_space.get(index))
    return measured, SimpleNamespace(costs=[seconds, seconds], error_no=error_no)


def inner_tile():
    """The width of the tiles of the schedule that the template makes."""
    with TARGET:
        s, (_, _, C) = matmul(8, 12, 4)
    return te.schedule.InferBound(s)[s[C].leaf_iter_vars[-1]].extent.value


def with_tile(task, x):
    return task.config_space.at([0, [1, 2, 3, 4, 6, 12].index(x), 0])


def test_one_config_for_all(task):
    with ApplyConfig(with_tile(task, 6)):
        assert inner_tile() == 6
        with ApplyConfig(with_tile(task, 3)):
            assert inner_tile() == 3
        assert inner_tile() == 6
    context = ApplyConfig(with_tile(task, 3))
    context.update(TARGET, task.workload, with_tile(task, 2))
    with context:
        assert inner_tile() == 2
    with pytest.raises(ArgumentError, match="expected a config"):
        ApplyConfig(3)


def test_the_fastest_record_counts(task):
    other = autotvm.task.create("tests/matmul", [8, 12, 5], TARGET)
    indices = {x: with_tile(task, x).index for x in (1, 2, 3, 6)}
    records = [
        record(task, indices[2], 2.0),
        record(task, indices[6], 1.0),
        record(task, indices[3], 0.1, error_no=4),
        record(other, indices[1], 0.1),
    ]
    with autotvm.apply_history_best(records):
        assert inner_tile() == 6
    with autotvm.apply_history_best([records[:1], records[2:]]):
        assert inner_tile() == 2
    context = autotvm.apply_history_best(records)
    context.update(TARGET, task.workload, task.config_space.get(indices[1]))
    with context:
        assert inner_tile() == 1


def test_records_of_the_same_target_come_first(task):
    special = tvm.target.Target("llvm -mcpu=skylake-avx512")
    records = [
        record(task, with_tile(task, 2).index, 2.0),
        record(task, with_tile(task, 6).index, 1.0, target=special),
    ]
    with autotvm.apply_history_best(records):
        assert inner_tile() == 2
    with autotvm.apply_history_best(records[1:]):
        assert inner_tile() == 6  # another processor of the same family is better than nothing
    gpu = record(task, with_tile(task, 6).index, 1.0, target=tvm.target.Target("cuda"))
    with autotvm.apply_history_best([gpu]):
        assert inner_tile() == 4  # the fallback


def test_a_target_is_needed(task):
    message = "call the template within `with"
    with (
        autotvm.apply_history_best([record(task, 0, 1.0)]),
        pytest.raises(ArgumentValueError, match=message),
    ):
        matmul(8, 12, 4)
    with pytest.raises(ArgumentError, match="expected records or a file"):
        autotvm.apply_history_best(3)


def test_without_a_record_the_template_chooses(task, caplog):
    with TARGET:
        ROOT.clear_cache(TARGET, task.workload)
    with caplog.at_level(logging.WARNING, "tilewright.autotvm"):
        assert inner_tile() == 4
        assert inner_tile() == 4
    assert [r.message for r in caplog.records] == [
        "no config is known for target llvm and workload ('tests/matmul', 8, 12, 4); the template "
        "gets a fallback config, with which it may be slow"
    ]
    ROOT.update(TARGET, task.workload, with_tile(task, 3))
    assert inner_tile() == 3
    ROOT.clear_cache(TARGET, task.workload)


def test_contexts_of_users(task):
    class Always(autotvm.DispatchContext):
        def _query_inside(self, target, workload):
            asked.append((str(target), workload))
            return answers.pop() if answers else None

    asked, answers = [], [with_tile(task, 6)]
    with Always() as context:
        assert autotvm.DispatchContext.current is context
        assert inner_tile() == 6
        assert inner_tile() == 4
    assert asked == [("llvm", task.workload)] * 2
    assert autotvm.DispatchContext.current is ROOT
    with pytest.raises(NotImplementedError, match="has to define _query_inside"):
        autotvm.DispatchContext().query(None, None)
    with pytest.raises(NotImplementedError, match="does not define update"):
        Always().update(TARGET, task.workload, with_tile(task, 2))


def test_outside_of_templates():
    assert autotvm.get_config().is_fallback
