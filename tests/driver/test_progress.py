"""The bar for work that takes a while."""

import io
import sys
from types import ModuleType

from tilewright.driver import progress


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


def test_a_bar_is_shown_in_terminals_and_only_for_what_takes_a_while(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(progress.with_bar("abc", "compiling", 3)) == ["a", "b", "c"]
    assert sys.stderr.getvalue() == ""
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    assert list(progress.with_bar("abc", "compiling", 3)) == ["a", "b", "c"]
    assert "compiling" in sys.stderr.getvalue()


def test_a_bar_in_a_notebook(monkeypatch):
    shown = []

    class Handle:
        update = staticmethod(shown.append)

    ipython = ModuleType("IPython.display")
    ipython.display, ipython.HTML = lambda html, display_id: Handle(), str
    monkeypatch.setitem(sys.modules, "IPython.display", ipython)
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    assert list(progress.with_bar("abc", "compiling", 3)) == ["a", "b", "c"]
    assert "compiling" in shown[-1]
    assert "100%" in shown[-1]


def test_no_bar_elsewhere(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    assert list(progress.with_bar([1, 2], "compiling", 2)) == [1, 2]
    assert sys.stderr.getvalue() == ""


def test_the_bar_is_removed_when_the_work_fails(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    items = progress.with_bar("abc", "compiling", 3)
    next(items)
    items.close()
    assert sys.stderr.getvalue().endswith("\x1b[2K")
