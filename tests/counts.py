"""What random tests have checked, told at the end, and what a worker of pytest-xdist died in.

The main process of pytest-xdist collects no tests, so that this is a plugin of all tests, which
imports nothing large.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from tests.time_limit import LOUD, last_words_of

COUNTS: Counter[str] = Counter()
"""How many random programs each property has been checked with in this process."""

PAIRS, COMPILED, REPLAYED, SMALL = (
    "program and schedule pairs",
    "program and schedule pairs compiled",
    "traces replayed",
    "sizes of 0 and 1",
)
"""What is counted of random schedules, apart from their steps."""

_FROM_WORKERS: Counter[str] = Counter()
_LAST_WORDS: list[tuple[str, str]] = []


def count_program(what: str) -> None:
    """Note that one random program has been checked."""
    COUNTS[what] += 1


def summary(counts: Mapping[str, int]) -> list[str]:
    """A line that tells how many random schedules were checked; none if there were none."""
    if PAIRS not in counts:
        return []
    accepted, refused = (
        sum(n for what, n in counts.items() if what.startswith("step ") and what.endswith(end))
        for end in (": accepted", ": refused")
    )
    return [
        f"{counts[PAIRS]} pairs of a random program and a random schedule: {accepted} steps "
        f"accepted, {refused} refused; {counts.get(COMPILED, 0)} of the results compiled, "
        f"{counts.get(REPLAYED, 0)} traces replayed"
    ]


# --- hooks ----------------------------------------------------------------------------------


@pytest.fixture(scope="session", autouse=True)
def _standard_error(request: pytest.FixtureRequest) -> Any:
    """Let a process that is ended say where it was, though pytest catches what tests print."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        LOUD.append(os.fdopen(os.dup(2), "w"))
    yield
    LOUD.pop().close()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the counts of a worker to the main process."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["programs"] = dict(COUNTS)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    """Collect the counts of a worker that has finished, or the last words of one that died."""
    _FROM_WORKERS.update(getattr(node, "workeroutput", {}).get("programs", {}))
    path = last_words_of(node.gateway.id, node.workerinput["testrunuid"])
    if path.exists():
        if error:
            _LAST_WORDS.append((node.gateway.id, path.read_text()))
        path.unlink()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the counts."""
    for worker, words in _LAST_WORDS:
        terminalreporter.section(f"the worker {worker} died in, or after")
        terminalreporter.write_line(words)
    total = COUNTS + _FROM_WORKERS
    if total:
        terminalreporter.section("random programs")
        for what, count in sorted(total.items()):
            terminalreporter.line(f"{count:8} {what}")
        for line in summary(total):
            terminalreporter.line(line)
