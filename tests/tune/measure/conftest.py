"""A builder and a runner for all tests here, and no processes left behind."""

import pytest

from tilewright.tune.measure import EvaluatorConfig, LocalBuilder, LocalRunner


@pytest.fixture(scope="session")
def builder():
    made = LocalBuilder(max_workers=2)
    yield made
    made.close()


@pytest.fixture(scope="session")
def runner():
    made = LocalRunner(timeout_sec=60, evaluator_config=EvaluatorConfig(3, 1, 4))
    yield made
    made.close()
