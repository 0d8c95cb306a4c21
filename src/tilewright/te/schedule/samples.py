"""The numbers that a schedule samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tilewright.error import TEScheduleError
from tilewright.ir.convert import const
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.te.schedule.relation import domain
from tilewright.tir.expr import IterVar
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.state import prepare
from tilewright.tir.schedule.symbols import SymbolTable
from tilewright.tir.schedule.traces.instruction import InstructionKind
from tilewright.tir.schedule.traces.random_choices import RandomState
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Block, BlockRealize, Evaluate

if TYPE_CHECKING:
    from tilewright.tir.schedule import schedule as tir_schedule


class Samples:
    """The sampled numbers of a schedule, by the variables that stand for them."""

    def __init__(self) -> None:
        self._symbols, self._random = SymbolTable(), RandomState()

    def copy(self) -> Samples:
        """The same numbers, and other random choices from now on."""
        twin = Samples()
        twin._symbols, twin._random = self._symbols.copy(), RandomState(self._random.fork_seed())
        return twin

    def seed(self, seed: int) -> None:
        """Seed the random choices; -1 for a seed from the system."""
        self._random = RandomState(None if seed == -1 else seed)

    def take(self, numbers: Mapping[Var, int]) -> None:
        """Let variables stand for numbers that were sampled elsewhere."""
        self._symbols.assign(_NOTHING.name, list(numbers), list(numbers.values()))

    def with_numbers(self, value: Any) -> Any:
        """An argument with sampled numbers filled in."""
        if isinstance(value, IterVar):
            return value
        if isinstance(value, (list, tuple)):
            return type(value)(self.with_numbers(item) for item in value)
        return self._filled_in(value)

    def _filled_in(self, value: Any) -> Any:
        return self._symbols.with_numbers(value)

    def choose(
        self, name: str, arguments: dict[str, Any], decision: Any, extent: Expr | None = None
    ) -> tuple[Any, Any]:
        """Choose numbers as a sampling of `tir.Schedule` does; a loop is one of a stage.

        Without a decision they are chosen at random. `extent` is that of the loop in terms of
        sampled numbers. Returns variables that stand for the numbers (or one variable), and the
        decision.
        """
        given = {key: self.with_numbers(value) for key, value in arguments.items()}
        if "loop" in given:
            number = _extent(name, given["loop"])
            found = self.with_numbers(extent)
            given["loop"] = extent if found.__class__ is int and found == number else number
        try:
            return self._chosen(name, given, decision)
        except ScheduleError as error:
            raise TEScheduleError(str(error.raised_by(name, None, "fast"))) from None

    def _chosen(self, name: str, given: dict[str, Any], decision: Any) -> tuple[Any, Any]:
        given = {key: self.with_numbers(value) for key, value in given.items()}
        found = InstructionKind.get(name).primitive.apply(
            _NOTHING, self._random, **given, decision=decision
        )
        numbers, taken = found.results
        return self._symbols.define(_NOTHING.name, numbers), taken


class SharedSamples(Samples):
    """The sampled numbers of a `tir.Schedule`, in which a schedule of tensors samples its own.

    Attributes:
        owner: the schedule.
    """

    def __init__(self, owner: tir_schedule.Schedule) -> None:
        self.owner = owner

    def copy(self) -> Samples:
        """The same; copies of a schedule of tensors sample nothing."""
        return self

    def seed(self, seed: int) -> None:
        """Seed the random choices; -1 for a seed from the system."""
        self.owner.seed(seed)

    def _filled_in(self, value: Any) -> Any:
        return self.owner.with_numbers(value)

    def _chosen(self, name: str, given: dict[str, Any], decision: Any) -> tuple[Any, Any]:
        numbers = self.owner.apply(name, given, decision)
        return numbers, self.owner.trace.get_decision(self.owner.trace.insts[-1])


def _nothing() -> FunctionTree:
    root = Block((), (), (), "root", Evaluate(const(0)))
    realize = BlockRealize((), const(True, BOOL), root)
    return FunctionTree("main", prepare("main", PrimFunc((), realize)))


_NOTHING: Final = _nothing()
"""A function without loops, in which numbers are sampled."""


def _extent(name: str, loop: Any) -> int:
    """The number of iterations of a loop of a stage; a number as it is."""
    if type(loop) is int and loop >= 1:
        return loop
    if not isinstance(loop, IterVar) or loop.dom is None:
        raise TEScheduleError(f"{name}: expected a loop of a stage, got {loop!r}")
    extent = domain(loop).extent
    if not isinstance(extent, IntImm):
        raise TEScheduleError(
            f"{name}: the extent of loop `{loop.name}` is symbolic, so that there is no perfect "
            "tile of it"
        )
    return extent.value
