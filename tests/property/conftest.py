"""Tells at the end how many random programs ran (also with several pytest workers)."""

from collections import Counter

from tests.property.harness import COUNTS

_FROM_WORKERS = Counter()


def pytest_sessionfinish(session):
    """Send the counts of a worker to the main process."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["programs"] = dict(COUNTS)


def pytest_testnodedown(node):
    """Collect the counts of a worker that has finished."""
    _FROM_WORKERS.update(getattr(node, "workeroutput", {}).get("programs", {}))


def pytest_terminal_summary(terminalreporter):
    """Print the counts."""
    total = COUNTS + _FROM_WORKERS
    if total:
        terminalreporter.section("random programs")
        for what, count in sorted(total.items()):
            terminalreporter.line(f"{count:8} {what}")
