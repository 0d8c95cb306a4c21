"""Runs programs of the collection with the compiler that it finds, each in a process of its own.

Its input is lines of JSON with the name of a program and of a target; it prints the line again when
the texts are in the folder. So nothing that a program leaves behind, and no crash, changes the
texts of another one.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.replay.collection import collection
from tools.replay.program import Program, Texts
from tools.replay.record import texts_of

TIME_LIMIT = 120.0
"""Seconds of one program, after which it is ended."""

TYPICAL = ("te/product, cached", "graph/matmul, add, relu", "space/column sums 4096x4096")
"""Programs that load what others load, too."""

MANY = 10
"""From so many programs on it pays to compile these first."""


def place(folder: Path, program: str, target: str) -> Path:
    """Where the texts of a compilation are."""
    return folder / program / target


def save(texts: Texts, path: Path) -> None:
    """Write texts so that they are there completely, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as name:
        new = Path(name) / "new"
        new.mkdir()
        for stage, text in texts.items():
            (new / stage).write_text(text, encoding="utf-8")
        new.rename(path)


def start(program: Program, targets: Sequence[str], folder: Path) -> int:
    """Start a process that compiles a program for targets and saves the texts; its id."""
    child = os.fork()
    if child:
        return child
    try:
        for target in targets:
            save(texts_of(program, target), place(folder, program.name, target))
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def run_all(todo: Mapping[str, Sequence[str]], folder: Path, jobs: int) -> None:
    """Compile programs, each for some targets, `jobs` of them at a time."""
    programs = collection()
    waiting = list(todo)[::-1]
    running: dict[int, tuple[str, float]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            name = waiting.pop()
            running[start(programs[name], todo[name], folder)] = name, time.monotonic()
        child, status = os.waitpid(-1, os.WNOHANG)
        if child:
            name, _ = running.pop(child)
            for target in todo[name]:
                if not place(folder, name, target).exists():
                    text = f"the process ended with status {status}\n"
                    save({"error.txt": text}, place(folder, name, target))
                print(json.dumps([name, target]), flush=True)
            continue
        for child, (_, begin) in running.items():
            if time.monotonic() - begin > TIME_LIMIT:
                os.kill(child, signal.SIGKILL)
        time.sleep(0.002)


def warm_up() -> None:
    """Compile a few programs, so that the processes share what is loaded."""
    programs = collection()
    for name in TYPICAL:
        for target in programs[name].targets:
            texts_of(programs[name], target)


def main() -> None:
    """Compile what the input names."""
    parser = argparse.ArgumentParser(description="Compile programs of the collection.")
    parser.add_argument("folder", type=Path, help="for the texts")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    options = parser.parse_args()
    todo: dict[str, list[str]] = {}
    for name, target in map(json.loads, sys.stdin):
        todo.setdefault(name, []).append(target)
    if len(todo) >= MANY:
        warm_up()
    gc.freeze()
    run_all(todo, options.folder, options.jobs)


if __name__ == "__main__":
    main()
