"""Sketches without those that are there already."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tilewright.error import ArgumentValueError
from tilewright.tir.schedule import Schedule


def distinct(sketches: Iterable[Schedule]) -> list[Schedule]:
    """The sketches of which no earlier one has an equal trace.

    Those with the same instructions and other decisions remain: the search begins with the
    decisions of each.
    """
    found: dict[Any, Schedule] = {}
    for sketch in sketches:
        found.setdefault(_key(sketch), sketch)
    return list(found.values())


def _key(sketch: Schedule) -> Any:
    try:
        return json.dumps(sketch.trace.as_json())
    except (ArgumentValueError, TypeError):
        return sketch  # A trace with arguments of other kinds is like no other one.
