"""A picture below a notebook's cell that is replaced while work goes on."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rich.console import RenderableType

REFRESHES: Final = 4
"""Number of times per second that a display is drawn anew, at most."""


class NotebookDisplay:
    """An output of a notebook's cell that is replaced, by IPython alone.

    `rich.live.Live` needs ipywidgets for that, and shows nothing without.

    Args:
        render: makes what is shown.
    """

    def __init__(self, render: Callable[[], RenderableType]) -> None:
        self._render = render
        self._handle: Any = None
        self._shown = 0.0

    def start(self) -> None:
        """Show it below the cell."""
        from IPython.display import display  # pyright: ignore

        self._handle = display(self._html(), display_id=True)

    def refresh(self) -> None:
        """Replace it, but not too often."""
        if time.monotonic() - self._shown >= 1 / REFRESHES:
            self._replace()

    def stop(self) -> None:
        """Replace it for the last time."""
        self._replace()

    def _replace(self) -> None:
        self._handle.update(self._html())
        self._shown = time.monotonic()

    def _html(self) -> Any:
        from IPython.display import HTML  # pyright: ignore
        from rich.console import Console

        paper = Console(file=io.StringIO(), record=True, width=100, force_jupyter=False)
        paper.print(self._render())
        frame = '<pre style="font-family: monospace; line-height: 1.2">{code}</pre>'
        return HTML(paper.export_html(inline_styles=True, code_format=frame))
