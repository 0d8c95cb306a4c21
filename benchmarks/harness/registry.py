"""Which works there are."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from fnmatch import fnmatch
from typing import NamedTuple

import benchmarks.suite
from benchmarks.suite.work import Work


class Entry(NamedTuple):
    """A work and the family it is of."""

    family: str
    work: Work


def entries() -> list[Entry]:
    """All works, by family.

    Raises:
        ValueError: if two works have the same name.
    """
    found: dict[str, Entry] = {}
    for module in pkgutil.iter_modules(benchmarks.suite.__path__):
        if module.name == "__main__":
            continue
        works = getattr(importlib.import_module(f"benchmarks.suite.{module.name}"), "WORKS", ())
        for work in works:
            if work.name in found:
                raise ValueError(
                    f"the families {found[work.name].family} and {module.name} both have a work "
                    f"{work.name!r}"
                )
            found[work.name] = Entry(module.name, work)
    return list(found.values())


def select(all_entries: Sequence[Entry], patterns: Sequence[str]) -> list[Entry]:
    """The entries that a pattern names: a family, a part of a work's name, or one with ``*``.

    Raises:
        ValueError: if a pattern names nothing.
    """
    if not patterns:
        return list(all_entries)
    chosen: set[str] = set()
    for pattern in patterns:
        names = [entry.work.name for entry in all_entries if _matches(entry, pattern)]
        if not names:
            raise ValueError(f"no family and no work matches {pattern!r}")
        chosen.update(names)
    return [entry for entry in all_entries if entry.work.name in chosen]


def _matches(entry: Entry, pattern: str) -> bool:
    pattern = pattern.lower()
    name = entry.work.name.lower()
    return entry.family == pattern or pattern in name or fnmatch(name, pattern)
