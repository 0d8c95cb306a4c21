"""Letting Python look for garbage less often."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

YOUNG: Final = 100_000
"""So many more objects than before are made before it looks."""


@contextmanager
def few_collections() -> Iterator[None]:
    """Within the scope, Python rarely looks for objects that only refer to each other.

    A search makes hundreds of programs a second and keeps many of them, in which nothing refers
    to what it is a part of. Looking for such cycles again and again takes a fifth of the time.
    """
    before = gc.get_threshold()
    if not gc.isenabled() or not 0 < before[0] < YOUNG:
        yield
        return
    gc.set_threshold(YOUNG, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
