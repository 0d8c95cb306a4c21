"""Limits of a tuning run."""

from __future__ import annotations

import pytest

from tilewright.tune.scheduler.budget import Budget


@pytest.mark.parametrize(
    ("trials", "per_iter", "tasks", "size"),
    [
        (64, 64, 1, 16), (1000, 64, 1, 64), (6, 64, 1, 6), (64, 64, 8, 8), (64, 64, 16, 4),
        (3, 64, 10, 1), (64, 4, 1, 4), (20, 64, 1, 8),
    ],
)  # fmt: skip
def test_the_size_of_a_batch(trials, per_iter, tasks, size):
    assert Budget(trials, None, per_iter).batch_size(tasks) == size


def test_a_limit_of_each_task_makes_batches_smaller():
    assert Budget(1000, 40, 64).batch_size(2) == 10
