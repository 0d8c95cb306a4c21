"""A bar for work that takes a while, such as compiling the kernels of a large model."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from tilewright.driver.notebook_display import NotebookDisplay

T = TypeVar("T")

PATIENCE: Final = 1.0
"""Seconds after which a bar is shown: what is quick needs none."""


def with_bar(items: Iterable[T], doing: str, total: int) -> Iterator[T]:
    """The items one after the other.

    If that takes more than `PATIENCE`, a bar is shown: on standard error, if that is a terminal,
    until the end; or below the cell of a notebook.

    Args:
        items: the items.
        doing: what is done with them, such as ``"compiling"``.
        total: how many there are.
    """
    if not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield from items
        return
    begin, shown = time.monotonic(), False
    progress = Progress(console=console, transient=True)
    task = progress.add_task(doing, total=total)
    bar = NotebookDisplay(progress.get_renderable) if console.is_jupyter else progress
    try:
        for item in items:
            if not shown and time.monotonic() - begin > PATIENCE:
                bar.start()
                shown = True
            yield item
            progress.advance(task)
            if shown:
                bar.refresh()
    finally:
        if shown:
            bar.stop()
