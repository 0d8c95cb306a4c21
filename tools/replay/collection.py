"""All programs of the collection."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from fnmatch import fnmatch
from typing import NamedTuple

import tools.replay.programs
from tools.replay.program import TARGETS, Program


class Pair(NamedTuple):
    """A program, and the target that it is compiled for."""

    program: str
    target: str


def collection() -> dict[str, Program]:
    """The programs by name; each module of `tools.replay.programs` has a family, or several.

    Raises:
        ValueError: if two programs have the same name.
    """
    found: dict[str, Program] = {}
    for module in pkgutil.iter_modules(tools.replay.programs.__path__):
        name = f"tools.replay.programs.{module.name}"
        for program in importlib.import_module(name).PROGRAMS:
            if program.name in found or program.name.count("/") != 1:
                raise ValueError(f"{name}: the name {program.name!r} is taken, or has no family")
            found[program.name] = program
    return found


def select(
    programs: dict[str, Program], patterns: Sequence[str], targets: Sequence[str]
) -> list[Pair]:
    """The pairs of which a pattern names the program: a part of its name, or one with ``*``.

    Args:
        programs: the collection.
        patterns: none for all programs.
        targets: names of targets; none for all.

    Raises:
        ValueError: if a pattern or a target names nothing.
    """
    for target in targets:
        if target not in TARGETS:
            raise ValueError(f"there is no target {target!r}; there are {', '.join(TARGETS)}")
    for pattern in patterns:
        if not any(_matches(name, pattern) for name in programs):
            raise ValueError(f"no program matches {pattern!r}; --list shows all")
    return [
        Pair(name, target)
        for name, program in programs.items()
        if not patterns or any(_matches(name, pattern) for pattern in patterns)
        for target in program.targets
        if not targets or target in targets
    ]


def _matches(name: str, pattern: str) -> bool:
    return pattern.lower() in name.lower() or fnmatch(name.lower(), pattern.lower())
