"""Work that makes many objects that stay, during which Python seldom looks for garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

YOUNG: Final = 100_000
"""Number of new objects after which the garbage collector runs."""


@contextmanager
def lasting_objects() -> Iterator[None]:
    """Within the scope, nearly all objects that are made stay for good, as those of modules do.

    At the end they count as old ones. Otherwise Python would look at all of them at once, which
    takes a tenth of the time of importing them.
    """
    with few_collections():
        yield
        if hasattr(gc, "freeze") and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()


@contextmanager
def few_collections() -> Iterator[None]:
    """Within the scope, Python rarely looks for objects that only refer to each other.

    Compiling and searching make many nodes and keep them for long, and no node refers to what it
    is a part of. Looking for such cycles again and again takes a tenth to a fifth of the time; of
    importing, about a tenth.
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
