"""Looking at a graph function while it runs: one step after the other, with a callback."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from tilewright.relax.vm.compile import compile_graphs
from tilewright.relax.vm.emit import SKIP, Observer
from tilewright.relax.vm.function import GraphFunction, graph_function
from tilewright.relax.vm.steps import CallStep, PackedCallStep, Step, in_order
from tilewright.runtime.packed_func import PackedFunc
from tilewright.runtime.registry import register_func, remove_global_func

if TYPE_CHECKING:
    from tilewright.relax.vm.executable import Executable

_numbers: Final = itertools.count()

Callback = Callable[..., Any]
"""Called with a step, whether it comes, and its arrays or symbolic sizes."""


class VMInstrumentReturnKind(enum.IntEnum):
    """What an instrument returns before a step."""

    NO_OP = 0
    """Go on."""
    SKIP_RUN = SKIP
    """Leave the step out."""


class ObservedFunctions:
    """The graph functions of an executable, compiled such that each step can be seen.

    The kernels are those of the executable.
    """

    def __init__(self, executable: Executable, sees_arrays: bool) -> None:
        compiled = executable.compiled
        self._name = f"tilewright.relax.observe{next(_numbers)}"
        self.steps: list[Step] = []
        observers = {}
        for name, program in compiled.graphs.programs.items():
            observers[name] = Observer(self._name, len(self.steps), sees_arrays)
            self.steps += in_order(program.steps)
        observed = compile_graphs(
            executable.mod, compiled.graphs, executable.target, observers, compiled.units
        )
        self._module = observed.runtime_module()
        self._descriptions = compiled.descriptions

    def function(self, name: str) -> PackedFunc | GraphFunction:
        """One of the functions, which runs inside of `calling` only."""
        return graph_function(self._module, name, self._descriptions)

    @contextmanager
    def calling(self, callback: Callback) -> Iterator[None]:
        """Inside, `callback` is called before and after each step."""
        with observing(self._name, self.steps, callback):
            yield


@contextmanager
def observing(name: str, steps: Sequence[Step], callback: Callback) -> Iterator[None]:
    """Inside, the registered function `name` calls `callback` with a step for its number."""

    def observe(number: int, before: bool, *values: Any) -> Any:
        return callback(steps[number], bool(before), *values)

    register_func(name, observe, override=True)
    try:
        yield
    finally:
        remove_global_func(name)


def label_of(step: Step) -> str:
    """What a step is called."""
    assert isinstance(step, (CallStep, PackedCallStep))
    return step.label if isinstance(step, CallStep) else step.name


class InstrumentedFunction:
    """A graph function that tells an instrument about each step.

    The instrument is called as ``instrument(function, name, before_run, return_value, *args)``, as
    users of the virtual machine know it; there is no function value and no return value here, so
    both are None, and the last of `args` are the arrays that the step writes.
    """

    def __init__(self, observed: ObservedFunctions, name: str, instrument: Callback) -> None:
        self._observed, self._instrument = observed, instrument
        self._function = observed.function(name)

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        with self._observed.calling(self._tell):
            return self._function(*args)

    def _tell(self, step: Step, before: bool, *values: Any) -> int:
        answer = self._instrument(None, label_of(step), before, None, *values)
        return int(answer) if answer is not None else VMInstrumentReturnKind.NO_OP
