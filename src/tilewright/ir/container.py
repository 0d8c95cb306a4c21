"""The classes that programs ask for to tell sequences and maps of nodes; there are no others here.

Fields of nodes are Python's tuples and mappings, and lists and dictionaries are accepted for them.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from typing import Any


class Array(ABC):  # noqa: B024 (only for isinstance)
    """Any list or tuple: ``isinstance(call.args, Array)``."""

    def __new__(cls, values: Any = ()) -> Any:
        """A tuple of `values`."""
        return tuple(values)


class Map(ABC):  # noqa: B024
    """Any mapping: ``isinstance(func.attrs, Map)``."""

    def __new__(cls, values: Any = ()) -> Any:
        """A dictionary of `values`."""
        return dict(values)


Array.register(tuple)
Array.register(list)
Map.register(Mapping)
