"""Property tests by the clock: `make fuzz` gives each of them a share of the time.

In an ordinary run a property test checks a fixed number of examples. With the environment variable
``TILEWRIGHT_FUZZ_SECONDS`` set, only property tests run, each until its share of the time is over;
the variable says how long all of them take together on the workers of pytest. A table at the end
tells what each has checked.

Hypothesis tests need nothing for this. A test that makes its examples itself takes the fixture
`budget`, and draws one example after the other while it lasts::

    def test_random_texts(budget):
        for _ in budget.examples(150):  # so many in an ordinary run
            check(random_text())

``@pytest.mark.budget(3)`` gives a test three times the usual share; so does the line
``pytestmark = pytest.mark.budget(3)`` to all tests of a file.
"""

from __future__ import annotations

import functools
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
from hypothesis.errors import StopTest, UnsatisfiedAssumption

SECONDS = float(os.environ.get("TILEWRIGHT_FUZZ_SECONDS", "0"))
"""How long a run of all property tests takes; 0 for a run of all tests with few examples."""

EXAMPLES_OF_ONE_RUN = 10_000
"""After so many, hypothesis starts anew: it remembers all examples of a run."""


class TimeIsOver(KeyboardInterrupt):
    """Ends a run of hypothesis, which takes it for a person who has seen enough."""


class Budget:
    """How much one test has to do.

    Attributes:
        seconds: how long it should take, None in an ordinary run.
        count: how many examples it has checked.
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.count = 0
        self._start = time.monotonic()

    @property
    def remaining(self) -> float:
        """The seconds that are left of a limited time."""
        return 0.0 if self.seconds is None else self._start + self.seconds - time.monotonic()

    def examples(self, ordinarily: int) -> Iterator[int]:
        """Numbers from 0 on, until the time is over; in an ordinary run, so many."""
        while self.count < ordinarily if self.seconds is None else self.remaining > 0:
            self.count += 1
            yield self.count - 1


BUDGET = pytest.StashKey[Budget]()
SHARE = pytest.StashKey[float]()


@pytest.fixture
def budget(request: pytest.FixtureRequest) -> Budget:
    """How many examples the test should check, or for how long."""
    return _new_budget(request.node)


def _new_budget(item: pytest.Item) -> Budget:
    made = item.stash[BUDGET] = Budget(item.stash.get(SHARE, 0.0) if SECONDS else None)
    return made


# --- choosing tests and dividing the time ---------------------------------------------------


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", "budget(weight): the share of a property test, usually 1")


@pytest.hookimpl(trylast=True)  # after -k and -m
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a run by the clock, keep the property tests and give each its share."""
    if not SECONDS:
        return
    chosen = [item for item in items if _is_property(item)]
    config.hook.pytest_deselected(items=[item for item in items if not _is_property(item)])
    # The longest first: what is left for the end keeps all workers busy.
    items[:] = sorted(chosen, key=_weight, reverse=True)
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    total = sum(map(_weight, items))
    for item in items:
        item.stash[SHARE] = SECONDS * workers * _weight(item) / total


def _is_property(item: pytest.Item) -> bool:
    return _is_hypothesis(item) or "budget" in getattr(item, "fixturenames", ())


def _is_hypothesis(item: pytest.Item) -> bool:
    return getattr(getattr(item, "obj", None), "is_hypothesis_test", False)


def _weight(item: pytest.Item) -> float:
    marker = item.get_closest_marker("budget")
    return marker.args[0] if marker else 1


# --- running --------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a hypothesis test by the clock."""
    if not SECONDS or not _is_hypothesis(pyfuncitem):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    _run_for(_new_budget(pyfuncitem), pyfuncitem.obj, arguments)
    return True


def _run_for(budget: Budget, test: Any, arguments: dict[str, Any]) -> None:
    """Run a hypothesis test until its time is over; a failure is shrunk and raised as always."""
    function, inner = getattr(test, "__func__", test), test.hypothesis.inner_test
    found_failure = False

    @functools.wraps(inner)
    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal found_failure
        # A failure is first made as small as possible, however long that takes.
        if budget.remaining <= 0 and budget.count and not found_failure:
            raise TimeIsOver
        budget.count += 1
        try:
            return inner(*args, **kwargs)
        except (UnsatisfiedAssumption, StopTest):
            raise
        except BaseException:
            found_failure = True
            raise

    settings = function._hypothesis_internal_use_settings
    function._hypothesis_internal_use_settings = hypothesis.settings(
        settings,
        max_examples=EXAMPLES_OF_ONE_RUN,
        # Health checks compare times, which say nothing on a busy machine.
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    test.hypothesis.inner_test = counted
    try:
        while budget.remaining > 0:
            test(**arguments)
    except TimeIsOver:
        pass
    finally:
        function._hypothesis_internal_use_settings = settings
        test.hypothesis.inner_test = inner


# --- reporting ------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Put the number of examples into the report, which finds its way from a worker."""
    if SECONDS and call.when == "call" and BUDGET in item.stash:
        item.user_properties.append(("examples", item.stash[BUDGET].count))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the examples and seconds of every test, its parameters taken together."""
    totals: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
    for reports in terminalreporter.stats.values():
        for report in reports:
            examples = dict(getattr(report, "user_properties", ())).get("examples")
            if examples is not None and report.when == "call":
                total = totals[report.nodeid.partition("[")[0]]
                total[0] += examples
                total[1] += report.duration
    if totals:
        terminalreporter.section("property tests")
        terminalreporter.line("examples  seconds  test")
        for name, (examples, seconds) in sorted(totals.items()):
            terminalreporter.line(f"{int(examples):8} {seconds:8.1f}  {name}")
