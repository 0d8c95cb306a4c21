"""Every error class that Tilewright raises for a mistake of its user, and checks of arguments.

They all derive from `TVMError`, and from the built-in class that a Python programmer would catch
(`ValueError`, `TypeError`, ...), so that both habits work::

    try:
        func(a, b)
    except ValueError:        # or tilewright.TVMError
        ...
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Final

_PACKAGE: Final = os.path.dirname(__file__)
_SHELL: Final = os.path.join("IPython", "core", "interactiveshell")
"""Where notebooks run cells."""


def did_you_mean(name: object, known: Iterable[str], otherwise: str = "") -> str:
    """The end of a message about an unknown name: ``"; did you mean 'relu'?"``.

    Args:
        name: what the user wrote.
        known: the names that there are.
        otherwise: what it is if none of them is close.
    """
    if str(name).startswith("_"):  # which debuggers and test runners look for in each module
        return otherwise
    import difflib

    close = difflib.get_close_matches(str(name), list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else otherwise


def require_one_of(what: str, value: object, known: Iterable[object]) -> None:
    """Refuse an argument that is not one of some values.

    Args:
        what: the function and its argument, for the message.
        value: the argument.
        known: the values that it may have.

    Raises:
        ArgumentValueError: if it has another one.
    """
    values = list(known)
    if value not in values:
        *others, last = map(repr, values)
        listed = f"{', '.join(others)} or {last}" if others else last
        raise ArgumentValueError(f"{what} is {listed}, got {value!r}")


def require_at_least(what: str, value: float, least: int) -> None:
    """Refuse a number that is too small.

    Args:
        what: the function and its argument, for the message.
        value: the argument.
        least: its minimum.

    Raises:
        ArgumentValueError: if it is less.
    """
    if value < least:
        raise ArgumentValueError(f"{what} is at least {least}, got {value!r}")


def require_fraction(what: str, value: float) -> None:
    """Refuse a number that is not from 0 to 1, as `require_at_least` one that is too small."""
    if not 0 <= value <= 1:
        raise ArgumentValueError(f"{what} is from 0 to 1, got {value!r}")


def _name_of_cell(filename: str) -> str:
    """How IPython calls the file of a frame: ``Cell In[3]`` for a cell of a notebook."""
    import sys

    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    name = shell.compile.format_code_name(filename) if shell is not None else None
    return " ".join(name) if name else f'File "{filename}"'


class TVMError(RuntimeError):
    """Base class of all errors that this package raises on purpose."""

    def _render_traceback_(self) -> list[str]:
        """The lines that notebooks show: frames of the user, and the message."""
        import traceback

        hidden = () if isinstance(self, InternalError) else (_PACKAGE,)
        frames = [
            frame
            for frame in traceback.extract_tb(self.__traceback__)
            if not frame.filename.startswith(hidden) and _SHELL not in frame.filename
        ]
        lines = [
            line.replace(f'File "{frame.filename}"', _name_of_cell(frame.filename))
            for frame, line in zip(frames, traceback.format_list(frames), strict=True)
        ]
        return [*lines, f"{type(self).__name__}: {self}"]


class InternalError(TVMError):
    """Something that should be impossible happened: a defect of Tilewright, not of the program."""


class DiagnosticError(TVMError):
    """A mistake in a script, shown with the source line and a caret."""


class ScriptError(DiagnosticError, SyntaxError):
    """TVMScript text that does not parse; `str()` shows file, line, caret and what was expected."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class VerifyError(TVMError, ValueError):
    """An IR tree is malformed; the message names the node and the rule that it breaks.

    Attributes:
        rule: the rule alone.
        span: where the statement was written, a `tilewright.ir.Span`; None if that is not known.
    """

    rule: str = ""
    span: Any = None


class StructuralMismatchError(TVMError, ValueError):
    """Two IR trees differ; the message holds the path of the first difference."""


class NestingError(TVMError, ValueError):
    """A program whose expressions or statements nest too deeply to be looked at."""


class ShapeError(TVMError, ValueError):
    """Extents, ranks or strides that do not fit together."""


class StructInfoError(TVMError, ValueError):
    """A graph operation whose arguments do not fit it.

    Attributes:
        span: where the operation is in the user's source, if that is known.
    """

    def __init__(self, message: str, span: Any = None) -> None:
        super().__init__(f"{span}: {message}" if span is not None else message)
        self.span = span


class UnsupportedOperatorError(TVMError, NotImplementedError):
    """A model of another framework with operations that have no counterpart; all are listed."""


class DTypeError(TVMError, TypeError):
    """A data type that is unknown, or two that cannot be combined."""


class ArgumentError(TVMError, TypeError):
    """A call whose arguments have the wrong number or kind."""


class ArgumentValueError(TVMError, ValueError):
    """A call whose argument has the right kind and a value that cannot be used."""


class DeviceError(TVMError, ValueError):
    """A device that does not exist, or that this build cannot use."""


class AllocationError(TVMError, MemoryError):
    """Memory for an array or for the workspace of a function cannot be had."""


class ProgramAssertionError(TVMError, AssertionError):
    """An assertion of a tensor program failed while it ran."""


class ExportError(TVMError, ValueError):
    """A module that cannot be written to, or loaded from, a file."""


class TargetError(TVMError, ValueError):
    """A target that is unknown, malformed, or not supported by this build."""


class CodegenError(TVMError):
    """A valid program that a backend cannot express; the message says what and for which target."""


class LoweringError(TVMError, ValueError):
    """A program that cannot be lowered as written; the message says which loop or block and why."""


class BoundsError(TVMError, IndexError):
    """An access outside of a buffer, found when a program is built or by a check while it runs.

    Attributes:
        span: where the statement was written, a `tilewright.ir.Span`; None if that is not known.
    """

    span: Any = None


class TEScheduleError(TVMError, ValueError):
    """A TE schedule primitive applied where it does not apply."""


class InterpreterError(TVMError):
    """The reference interpreter met an access out of bounds or an unbound variable."""


class UnknownNameError(TVMError, KeyError):
    """A function, operator or attribute name that is not registered."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class InstantiationError(TVMError, ValueError):
    """A template and a config from which no schedule can be made; the message says why.

    Attributes:
        reason: why in a few words, by which refused candidates are counted.
    """

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class RecordError(TVMError, ValueError):
    """A tuning record, or a line of a record file, that cannot be used; the message says why."""


class DatabaseError(TVMError, OSError):
    """A record file that cannot be read or written; what is in memory is not lost by it."""


class TuningError(TVMError):
    """Tuning cannot go on: nothing runs, or a part of the tuner failed; the message says why."""
