"""A bar for work that takes a while, such as compiling the kernels of a large model."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterator
from typing import Final, TypeVar

T = TypeVar("T")

PATIENCE: Final = 1.0
"""Seconds after which a bar is shown: what is quick needs none."""


def with_bar(items: Collection[T], doing: str) -> Iterator[T]:
    """The items one after the other.

    While they are worked on, a bar is shown on standard error, if that is a terminal, and it takes
    more than `PATIENCE`. It is gone at the end.

    Args:
        items: the items.
        doing: what is done with them, such as ``"compiling"``.
    """
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    begin, shown = time.monotonic(), False
    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(doing, total=len(items))
    try:
        for item in items:
            if not shown and time.monotonic() - begin > PATIENCE:
                bar.start()
                shown = True
            yield item
            bar.advance(task)
    finally:
        if shown:
            bar.stop()
