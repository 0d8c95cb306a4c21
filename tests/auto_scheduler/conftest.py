"""A task that was tuned for a moment, and its log."""

import shutil

import pytest
from tests.auto_scheduler.programs import matmul_task, quick_options

from tilewright.auto_scheduler import SketchPolicy, XGBModel


@pytest.fixture(scope="session")
def tuned_once(tmp_path_factory):
    """The task, the log, and the policy after the search."""
    log = tmp_path_factory.mktemp("logs") / "matmul.json"
    task = matmul_task()
    policy = SketchPolicy(task, XGBModel(), seed=1)
    task.tune(quick_options(log), search_policy=policy)
    return task, log, policy


@pytest.fixture
def tuned(tuned_once, tmp_path):
    """The task, and a log of its own for a test."""
    task, log, _ = tuned_once
    return task, shutil.copy(log, tmp_path / "matmul.json")
