"""The command: compile the collection with two versions, and show what differs."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from tools.replay.collection import Pair, collection, select
from tools.replay.program import STAGES, TARGETS
from tools.replay.report import Difference, difference, show, table
from tools.replay.results import compile_pairs, folder_of, forget_old, missing, read
from tools.replay.sources import CURRENT, Version, find_version
from tools.requirements import ROOT

BUILD = ROOT / "build" / "replay"

EXAMPLES = """
what is compared, in this order:
  {stages}

targets:
  {targets}

examples:
  make replay                                    with the commit where the branch left main
  make replay BASE=HEAD                          with the last commit: what is not committed yet
  make replay BASE=HEAD~3 ARGS="--show 5"        more differences
  python -m tools.replay --only suite 'graph/*'  some programs
  python -m tools.replay --target c --only conv  for one target
  python -m tools.replay --list

A change that is meant to change code differs, too: look at the differences whether they are what
was meant. All texts stay in build/replay, in a folder for each version, for other tools.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare; exits with 1 if anything differs, with 0 if nothing does."""
    parser = _parser()
    options = parser.parse_args(arguments)
    console = Console()
    if not console.is_terminal:
        console = Console(width=110)
    programs = collection()
    try:
        pairs = select(programs, options.only or (), options.target or ())
        base = Version("") if options.list else find_version(options.base)
    except (LookupError, ValueError) as error:
        parser.error(str(error))
    if options.list:
        console.print(_listed(pairs))
        return
    found = compare(base, pairs, options.jobs, options.build, console)
    if found:
        console.print(table(found))
        for item in found[: options.show]:
            show(item, console)
    console.print(f"{len(pairs)} programs and targets, {len(found)} differ")
    sys.exit(bool(found))


def compare(
    base: Version, pairs: Sequence[Pair], jobs: int, build: Path, console: Console
) -> list[Difference]:
    """What differs between a version and the working tree.

    Args:
        base: the version.
        pairs: what is compiled.
        jobs: the number of processes.
        build: the folder for texts, where those of commits are kept.
        console: for the progress.
    """
    folders = [folder_of(base, build), folder_of(CURRENT, build)]
    for folder, version in zip(folders, (base, CURRENT), strict=True):
        if not version.commit:
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
    os.utime(folders[0])
    forget_old(build)
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as progress:
        for version, folder, seed in zip((base, CURRENT), folders, (1, 2), strict=True):
            todo = missing(pairs, folder)
            task = progress.add_task(version.name, total=len(todo))
            start = time.monotonic()
            compile_pairs(
                version, todo, folder, jobs=jobs, hash_seed=seed, done=_advancing(progress, task)
            )
            told = f"{len(todo)} programs compiled in {time.monotonic() - start:.0f} s"
            kept = f", {len(pairs) - len(todo)} known" if len(todo) < len(pairs) else ""
            console.print(f"{version.name}: {told}{kept}", markup=False, highlight=False)
    compared = (difference(pair, *(read(folder, pair) for folder in folders)) for pair in pairs)
    return [item for item in compared if item is not None]


def _advancing(progress: Progress, task: object) -> Callable[[], None]:
    return lambda: progress.advance(task)  # type: ignore[arg-type]


def _listed(pairs: Sequence[Pair]) -> Table:
    """The programs with their targets."""
    targets: dict[str, list[str]] = {}
    for pair in pairs:
        targets.setdefault(pair.program, []).append(pair.target)
    listed = Table(title=f"{len(targets)} programs, {len(pairs)} with targets")
    listed.add_column("program", overflow="fold")
    listed.add_column("targets")
    for name, names in targets.items():
        listed.add_row(name, " ".join(names))
    return listed


def _parser() -> argparse.ArgumentParser:
    epilog = EXAMPLES.format(
        stages=", ".join(STAGES.values()),
        targets="\n  ".join(f"{name:8} {target}" for name, target in TARGETS.items()),
    )
    parser = argparse.ArgumentParser(
        prog="python -m tools.replay",
        description="Compile a collection of programs with two versions, and show what differs.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--base", default="", metavar="COMMIT",
        help="what to compare the working tree with: a commit, or a folder with `src`; by default "
        "the commit where the branch left main",
    )  # fmt: skip
    parser.add_argument(
        "--only", nargs="+", metavar="PATTERN", help="programs by a part of the name, or with *"
    )
    parser.add_argument("--target", nargs="+", metavar="NAME", help="some targets")
    parser.add_argument(
        "--show", type=int, default=1, metavar="N", help="how many differences to print (1)"
    )
    parser.add_argument("--list", action="store_true", help="list the programs and their targets")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="the number of processes (2)")
    parser.add_argument(
        "--build", type=Path, default=BUILD, metavar="FOLDER", help="for texts (build/replay)"
    )
    return parser
