"""Drop each requirement of the schedule primitives in turn, and see which test fails.

Usage: python -m tools.mutate_requirements [-n JOBS] [--tests PATH] [--write] [module ...]

In a mutant, just one requirement does nothing. The tests that reach it are run until one fails; if
none does, the mutant has survived: either a test is missing, or the requirement is not needed.
`--write` keeps the tables of the modules in docs/schedule/requirements.md.

No file is changed: the code of the function is exchanged in a process of its own, forked from one
that has everything loaded.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.requirements import REQUIRING, ROOT, SOURCE, Requirement, drop, find, note_refusals

TESTS = "tests/tir/schedule"
PAGE = ROOT / "docs" / "schedule" / "requirements.md"
TIMEOUT = 60.0

_LOOP_OF_ITS_OWN = "`…` of … is not bound to a loop of its own over its domain"
NOT_NEEDED: dict[tuple[str, str], str] = {
    (
        "primitives.transform_block_layout",
        "… does not go from 0 over the domain of `…` (`domain is None`)",
    ): "iterators of blocks in programs have domains",
    ("edits.einsum", f"{_LOOP_OF_ITS_OWN} (`item.dom is None`)"): "so have those of an einsum",
    (
        "edits.einsum",
        f"{_LOOP_OF_ITS_OWN} (`extent is None`)",
    ): "nothing is equal to an unknown extent",
    (
        "proofs.initialisation",
        "… does not begin with the start of `…`, where its init runs (`not increasing`)",
    ): "what decreases does not begin with the start of its domain",
    (
        "proofs.producer_fusion",
        "it is not proved that each instance of … reads an element of `…` that … writes: the "
        "others would not run any more "
        "(`not writes_all(tree, producer, read.buffer, scope, [box], analyzer)`)",
    ): "what is not written is found by `require_undisturbed` already",
    (
        "proofs.producer_fusion",
        "… writes `…` and may run between … and …, which would come earlier "
        "(`item.data in inputs`)",
    ): "a block that writes another operand is a second producer, which is refused before",
    (
        "proofs.legality",
        "require_independent(tree, loop)",
    ): "schedules of tensor expressions need it, whose tests are elsewhere",
}
"""Why a requirement may be dropped without a test failing, by module and text."""


# --- running tests ----------------------------------------------------------------------------


class _Outcome:
    """A plugin of pytest: which test runs, and which was the first to fail."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self.current = ""
        self._note = note

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.current = nodeid

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self._note(report.nodeid)


def run_tests(tests: Sequence[str], outcome: _Outcome) -> int:
    """Run tests in this process, without output."""
    import pytest

    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]
        return int(pytest.main([*options, *tests], plugins=[outcome]))


def in_a_process(work: Callable[[Path], None], note: Path) -> int:
    """Start `work` in a forked process, with a file for what it finds; its process id."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work(note)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def reaching_tests(
    found: Sequence[Requirement], tests: str, directory: Path
) -> dict[int, list[str]]:
    """Those of the tests in which a requirement refuses, by its position in `found`."""

    def record(note: Path) -> None:
        reached: dict[int, dict[str, None]] = {}
        outcome = _Outcome(lambda test: None)
        note_refusals(found, lambda n: reached.setdefault(n, {}).setdefault(outcome.current))
        status = run_tests([tests], outcome)
        note.write_text(json.dumps([status, {n: list(tests) for n, tests in reached.items()}]))

    note = directory / "reached"
    _, status = os.waitpid(in_a_process(record, note), 0)
    if status or not note.exists():
        raise SystemExit("the tests cannot be run")
    status, reached = json.loads(note.read_text())
    if status:
        raise SystemExit(f"a test of {tests} fails as it is")
    places = {(found[int(n)].module, found[int(n)].line): tests for n, tests in reached.items()}
    named = {n: places.get((item.module, item.line)) for n, item in enumerate(found)}
    return {n: tests for n, tests in named.items() if tests is not None}


def killing_tests(
    found: Sequence[Requirement], reached: dict[int, list[str]], directory: Path, jobs: int
) -> dict[int, str]:
    """The test that fails without a requirement, by its position; none for a survivor."""
    waiting = [n for n in range(len(found)) if n in reached]
    running: dict[int, tuple[int, float]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            number = waiting.pop(0)
            tests = _nearest_first(found[number], reached[number])
            work = functools.partial(_run_mutant, found[number], tests)
            child = in_a_process(work, directory / str(number))
            running[child] = (number, time.monotonic())
        for child, (number, start) in list(running.items()):
            ended, status = os.waitpid(child, os.WNOHANG)
            if not ended and time.monotonic() - start > TIMEOUT:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                (directory / str(number)).write_text("(it takes too long)")
                ended = child
            if status and not (directory / str(number)).exists():
                (directory / str(number)).write_text("(its process fails)")
            if ended:
                del running[child]
                print(".", end="", file=sys.stderr, flush=True)
        time.sleep(0.01)
    print(file=sys.stderr)
    notes = ((n, directory / str(n)) for n in range(len(found)))
    return {n: note.read_text() for n, note in notes if note.exists()}


def _nearest_first(requirement: Requirement, tests: list[str]) -> list[str]:
    """The tests of the primitive itself before others."""
    name = requirement.module.rpartition(".")[2]
    return sorted(tests, key=lambda test: f"test_{name}.py" not in test)


def _run_mutant(requirement: Requirement, tests: list[str], note: Path) -> None:
    drop(requirement)

    def failed(test: str) -> None:
        if not note.exists():
            note.write_text(test)

    run_tests(tests, _Outcome(failed))


# --- the table --------------------------------------------------------------------------------

HEADING = """# What the schedule primitives require

Each requirement that a primitive checks, and a test that fails when just this check is left out.
The table is made by `python -m tools.mutate_requirements --write`, which drops one check at a time
and runs the tests that reach it.
"""


def tables(found: Sequence[Requirement], killed: dict[int, str]) -> dict[str, str]:
    """A table in Markdown for each module."""
    lines: dict[str, list[str]] = {}
    for number, item in enumerate(found):
        name = item.module.removeprefix("primitives.")
        table = lines.setdefault(name, ["", "| requirement | test |", "|---|---|"])
        table.append(f"| {_cell(item)} | {_verdict(item, killed.get(number))} |")
    return {name: "\n".join([*table, ""]) for name, table in lines.items()}


def page(old: str, new: Mapping[str, str], modules: Sequence[str]) -> str:
    """The page with new tables for some modules and the old ones of others.

    Args:
        old: the page as it was.
        new: tables by the name of the module.
        modules: all names in the order of the page.
    """
    sections = [section.partition("\n")[::2] for section in old.split("\n## ")[1:]]
    known = {name: table.rstrip("\n") + "\n" for name, table in sections} | dict(new)
    kept = [f"## {name}\n{known[name]}" for name in modules if name in known]
    return "\n".join([HEADING, *kept])


def _cell(item: Requirement) -> str:
    text = item.text.replace("|", "\\|")
    return f"`{text}`" if REQUIRING.match(text.partition("(")[0].rpartition(".")[2]) else text


def _verdict(item: Requirement, test: str | None) -> str:
    if test is None:
        return NOT_NEEDED.get((item.module, item.text), "**SURVIVED**")
    file, _, name = test.partition("::")
    return f"`{Path(file).name}::{name.partition('[')[0]}`" if name else test


def main() -> None:
    """Drop requirements and tell which test notices."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=1, help="how many tests to run at once")
    parser.add_argument("--tests", default=TESTS, help="a directory or a file with tests")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    parser.add_argument("modules", nargs="*", help="such as split; by default all")
    options = parser.parse_args()
    os.environ.setdefault("TILEWRIGHT_IR_GUARD", "1")
    os.chdir(ROOT)
    sys.path[:0] = [str(SOURCE), str(ROOT)]
    found = find(options.modules)
    with tempfile.TemporaryDirectory() as name:
        _load(found, options.tests)
        reached = reaching_tests(found, options.tests, Path(name))
        killed = killing_tests(found, reached, Path(name), options.n)
    survivors = [n for n in range(len(found)) if n not in killed]
    for number, item in enumerate(found):
        print(f"{item.module}:{item.line}: {item.text}: {_verdict(item, killed.get(number))}")
    unexplained = [n for n in survivors if (found[n].module, found[n].text) not in NOT_NEEDED]
    print(f"{len(found)} requirements, {len(survivors)} survive, {len(unexplained)} unexplained")
    if options.write:
        order = dict.fromkeys(item.module.removeprefix("primitives.") for item in find([]))
        old = PAGE.read_text() if PAGE.exists() else ""
        PAGE.write_text(page(old, tables(found, killed), list(order)))
    sys.exit(bool(unexplained))


def _load(found: Sequence[Requirement], tests: str) -> None:
    """Load everything that the processes share."""
    import pytest

    for module in {item.module for item in found}:
        importlib.import_module(f"tilewright.tir.schedule.{module}")
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", tests])


if __name__ == "__main__":
    main()
