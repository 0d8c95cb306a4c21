"""Instruments: what watches the passes inside of a `PassContext`.

::

    timing = PassTimingInstrument()
    with tvm.transform.PassContext(instruments=[timing, DumpIR("passes")]):
        module = pipeline(module)
        print(timing.render())
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from tilewright.error import ArgumentError

if TYPE_CHECKING:
    from tilewright.ir.module import IRModule


class PassInfo(NamedTuple):
    """What instruments are told of a pass.

    Attributes:
        opt_level: from which level on a `Sequential` runs it.
        name: its name.
        required: what has to run before it.
    """

    opt_level: int
    name: str
    required: tuple[Any, ...] = ()


class PassInstrument:
    """Base class of instruments: override what you want to be told."""

    def enter_pass_ctx(self) -> None:
        """The ``with`` statement of the context begins."""

    def exit_pass_ctx(self) -> None:
        """It ends."""

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        """Whether the pass runs at all; if an instrument says no, the module stays as it is."""
        del mod, info
        return True

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """A pass is about to transform `mod`."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """A pass has made `mod`; not called for a pass that failed."""

    def run_failed_pass(self, error: BaseException, info: PassInfo) -> None:
        """A pass that was about to run, or another instrument of it, has raised `error`."""


def pass_instrument(cls: type | None = None) -> Any:
    """Make a class with some of the methods of `PassInstrument` an instrument.

    ::

        @pass_instrument
        class Count:
            def __init__(self): self.passes = 0
            def run_before_pass(self, mod, info): self.passes += 1
    """
    if cls is None:
        return pass_instrument
    if not isinstance(cls, type):
        raise ArgumentError(f"pass_instrument: decorate a class, got {cls!r}")
    names = {"__module__": cls.__module__, "__doc__": cls.__doc__, "__qualname__": cls.__qualname__}
    return type(cls.__name__, (cls, PassInstrument), names)


def name_origin(error: BaseException, origin: str) -> None:
    """Put the name of a pass, or of an instrument, in front of the message of its error.

    Only the innermost one is named: those around it are known from the call.
    """
    if getattr(error, "origin", None) is not None or isinstance(error, KeyboardInterrupt):
        return
    text, args = str(error), error.args
    if not args:
        error.args = (origin,)
    elif isinstance(args[0], str):
        error.args = (f"{origin}: {args[0]}", *args[1:])
    add_note = getattr(error, "add_note", None)  # since Python 3.11
    if str(error) == text and add_note is not None:  # the text is not made of the arguments
        add_note(f"raised by {origin}")
    try:
        error.origin = origin  # type: ignore[attr-defined]
    except AttributeError:  # a class with slots
        return


def called(instrument: PassInstrument, method: str, *args: Any) -> Any:
    """The result of a method of an instrument, whose error names it."""
    try:
        return getattr(instrument, method)(*args)
    except BaseException as error:
        name_origin(error, f"{type(instrument).__name__}.{method}")
        raise


def tell_all(instruments: Iterable[PassInstrument], method: str, *args: Any) -> None:
    """Call a method of each instrument; what the first one raises is raised after the last."""
    first_error: BaseException | None = None
    for instrument in instruments:
        try:
            called(instrument, method, *args)
        except BaseException as error:
            first_error = first_error or error
    if first_error is not None:
        raise first_error


class _Timed(NamedTuple):
    name: str
    seconds: float
    inner: list[_Timed]


class PassTimingInstrument(PassInstrument):
    """Measures how long each pass takes; `render` is the table."""

    def __init__(self) -> None:
        self._finished: list[_Timed] = []
        self._open: list[tuple[float, list[_Timed]]] = []

    def enter_pass_ctx(self) -> None:
        self._finished, self._open = [], []

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._open.append((time.perf_counter(), []))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._finish(info.name)

    def run_failed_pass(self, error: BaseException, info: PassInfo) -> None:
        self._finish(f"{info.name} (failed)")

    def _finish(self, name: str) -> None:
        start, inner = self._open.pop()
        around = self._open[-1][1] if self._open else self._finished
        around.append(_Timed(name, time.perf_counter() - start, inner))

    def render(self) -> str:
        """A line for each pass: what it took, and what of that it took itself.

        Passes that ran inside of another one are indented below it.
        """
        total = sum(timed.seconds for timed in self._finished)
        lines = [f"{'total ms':>10} {'own ms':>10}  {'share':>6}  pass"]

        def add(timed: _Timed, depth: int) -> None:
            own = timed.seconds - sum(inner.seconds for inner in timed.inner)
            share = timed.seconds / total if total else 0.0
            times = f"{timed.seconds * 1e3:10.3f} {own * 1e3:10.3f}  {share:6.1%}"
            lines.append(f"{times}  {'  ' * depth}{timed.name}")
            for inner in timed.inner:
                add(inner, depth + 1)

        for timed in self._finished:
            add(timed, 0)
        return "\n".join(lines)


class PrintIRInstrument(PassInstrument):
    """Prints the module before and after passes.

    Args:
        before: whether to print it before a pass.
        after: whether to print it after a pass.
        only: the name of a pass, or several; None for all.
        file: where to print; standard output by default.
    """

    def __init__(
        self,
        before: bool = True,
        after: bool = True,
        only: str | Iterable[str] | None = None,
        file: TextIO | None = None,
    ) -> None:
        self._before, self._after, self._file = before, after, file
        names = (only,) if isinstance(only, str) else only
        self._only = None if names is None else frozenset(names)

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if self._before:
            self._print("before", mod, info)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        if self._after:
            self._print("after", mod, info)

    def _print(self, when: str, mod: IRModule, info: PassInfo) -> None:
        if self._only is None or info.name in self._only:
            print(f"# --- {when} {info.name} ---\n{mod.script()}\n", file=self._file)


def PrintBeforeAll() -> PrintIRInstrument:
    """Prints the module before each pass."""
    return PrintIRInstrument(after=False)


def PrintAfterAll() -> PrintIRInstrument:
    """Prints the module after each pass."""
    return PrintIRInstrument(before=False)


class DumpIR(PassInstrument):
    """Writes the module before and after each pass into files of a directory.

    The files are numbered in the order of the passes: ``003_LegalizeOps_before.py`` and
    ``003_LegalizeOps_after.py``. Passes that run inside of another one have later numbers than it.

    Args:
        directory: where to write; it is made if it is not there.
        script: gives the text of a module; by default its script.
    """

    def __init__(
        self, directory: str | Path, script: Callable[[IRModule], str] | None = None
    ) -> None:
        self._directory, self._script = Path(directory), script or (lambda mod: mod.script())
        self._count = 0
        self._open: list[int] = []

    def enter_pass_ctx(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._open.append(self._count)
        self._count += 1
        self._write("before", mod, info)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._write("after", mod, info)
        self._open.pop()

    def run_failed_pass(self, error: BaseException, info: PassInfo) -> None:
        self._open.pop()

    def _write(self, when: str, mod: IRModule, info: PassInfo) -> None:
        pass_name = re.sub(r"[^\w.-]+", "_", info.name)
        name = f"{self._open[-1]:03d}_{pass_name}_{when}.py"
        (self._directory / name).write_text(self._script(mod) + "\n", encoding="utf-8")
