"""All programs for devices, and in which groups they are compiled and run together."""

from __future__ import annotations

from tests.target.codegen.device import (
    atomic_programs,
    memory,
    operators,
    programs,
    reductions,
)
from tests.target.codegen.device.programs import PROGRAMS, Program

MODULES = (programs, reductions, memory, operators, atomic_programs)

GROUPS: dict[str, list[str]] = {
    module.__name__.rpartition(".")[2]: [
        name for name, make in PROGRAMS.items() if make.__module__ == module.__name__
    ]
    for module in MODULES
}
"""The names of the programs of each module."""


def programs_of(group: str) -> dict[str, Program]:
    """The programs of a group by name."""
    return {name: PROGRAMS[name]() for name in GROUPS[group]}
