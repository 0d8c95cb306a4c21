"""Tells at the end how many random programs ran, and on what a worker died (with pytest-xdist)."""

import os
from collections import Counter

import pytest
from tests.property.harness import COUNTS
from tests.property.schedule_fuzz import summary
from tests.property.time_limit import LOUD, last_words_of

_FROM_WORKERS = Counter()
_LAST_WORDS = []


@pytest.fixture(scope="session", autouse=True)
def _standard_error(request):
    """Let a process that is ended say where it was, though pytest catches what tests print."""
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        LOUD.append(os.fdopen(os.dup(2), "w"))
    yield
    LOUD.pop().close()


def pytest_sessionfinish(session):
    """Send the counts of a worker to the main process."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["programs"] = dict(COUNTS)


def pytest_testnodedown(node, error):
    """Collect the counts of a worker that has finished, or the last words of one that died."""
    _FROM_WORKERS.update(getattr(node, "workeroutput", {}).get("programs", {}))
    path = last_words_of(node.gateway.id, node.workerinput["testrunuid"])
    if path.exists():
        if error:
            _LAST_WORDS.append((node.gateway.id, path.read_text()))
        path.unlink()


def pytest_terminal_summary(terminalreporter):
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
