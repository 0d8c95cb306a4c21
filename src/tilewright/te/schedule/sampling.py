"""Numbers of a schedule that are chosen at random, or by a tuner."""

from __future__ import annotations

from typing import Any

from tilewright.error import TEScheduleError
from tilewright.ir.convert import const
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import Var
from tilewright.te.schedule.relation import domain
from tilewright.tir.expr import IterVar
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.prepare import prepare
from tilewright.tir.schedule.symbols import SymbolTable
from tilewright.tir.schedule.traces.instruction import InstructionKind
from tilewright.tir.schedule.traces.random_state import RandomState
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Block, BlockRealize, Evaluate, For, ForKind, Stmt


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

    def with_numbers(self, value: Any) -> Any:
        """An argument with sampled numbers filled in."""
        if isinstance(value, IterVar):
            return value
        if isinstance(value, (list, tuple)):
            return type(value)(self.with_numbers(item) for item in value)
        return self._symbols.with_numbers(value)

    def choose(self, name: str, arguments: dict[str, Any], decision: Any) -> tuple[Any, Any]:
        """Choose numbers as a sampling of `tir.Schedule` does.

        Args:
            name: of the sampling.
            arguments: by name; a loop is one of a stage.
            decision: what to choose; None to choose at random.

        Returns:
            Variables that stand for the numbers (or one variable), and the decision.
        """
        primitive = InstructionKind.get(name).primitive
        given = {key: self.with_numbers(value) for key, value in arguments.items()}
        body: Stmt = Evaluate(const(0))
        if "loop" in given:
            given["loop"] = body = _loop(name, given["loop"])
        root = BlockRealize((), const(True, BOOL), Block((), (), (), "root", body))
        tree = FunctionTree("main", prepare("main", PrimFunc((), root)))
        try:
            found = primitive.apply(tree, self._random, **given, decision=decision)
        except ScheduleError as error:
            raise TEScheduleError(str(error.raised_by(name, tree, "fast"))) from None
        numbers, taken = found.results
        return self._symbols.define("main", numbers), taken


def _loop(name: str, loop: Any) -> For:
    """A loop of the extent of a loop of a stage."""
    if not isinstance(loop, IterVar) or loop.dom is None:
        raise TEScheduleError(f"{name}: expected a loop of a stage, got {loop!r}")
    dom = domain(loop)
    var = Var(loop.name, loop.dtype)
    return For(var, dom.min, dom.extent, ForKind.SERIAL, Evaluate(const(0)))
