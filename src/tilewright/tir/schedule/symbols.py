"""Random variables: what a schedule hands out, and what they stand for."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.ir.convert import as_expr, as_integer
from tilewright.ir.dtype import INT32
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.ir.folding import DIVISIONS, INTEGER_OPERATIONS
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule.buffer_reference import with_free_variables
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.state import ScheduleState
from tilewright.tir.stmt import Block, BlockRealize, For
from tilewright.tir.substitute import substitute, variables_of

ExprRV = Var
"""A number that was sampled: a variable, so that one may calculate with it."""


class BlockRV:
    """Stands for a block of the scheduled program; `Schedule.get` gives the block."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<block reference {id(self):#x}>"


class LoopRV:
    """Stands for a loop of the scheduled program; `Schedule.get` gives the loop."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<loop reference {id(self):#x}>"


class ComputeLocation(enum.Enum):
    """What a `LoopRV` stands for that is not a loop: where to compute a block."""

    ROOT = "where it is"
    INLINE = "where it is read, by inlining it"


def new_expr_rv() -> Var:
    """A new variable for a sampled number."""
    return Var("v", INT32)


_SMALL: Final = 1 << 31
"""Numbers that are less are the same in all dtypes of indices."""


def value_of(expr: Expr, numbers: Mapping[Any, Any]) -> int | None:
    """The value, if it is plain arithmetic of small numbers.

    None for everything else: for other operators and unknown variables, and where a result may not
    fit into its dtype, or is not defined.

    Args:
        expr: the expression.
        numbers: the values of its variables.
    """
    kind = expr.__class__
    if kind is IntImm:
        return expr.value  # type: ignore[attr-defined]
    if kind is Var:
        found = numbers.get(expr)
        return found if found.__class__ is int else None
    apply = INTEGER_OPERATIONS.get(kind)
    if apply is None:
        return None
    a, b = value_of(expr.a, numbers), value_of(expr.b, numbers)  # type: ignore[attr-defined]
    if a is None or b is None or (b == 0 and kind in DIVISIONS):
        return None
    result = apply(a, b)
    return result if -_SMALL < result < _SMALL else None


class SymbolTable:
    """A dictionary of random variables, which copies share until one of them changes.

    A loop is known by its variable and a block by its key, each with the name of its function.
    """

    def __init__(self) -> None:
        self._values: dict[Any, Any] = {}
        self._shared = False

    def copy(self) -> SymbolTable:
        """An independent copy, in constant time."""
        copy = SymbolTable()
        copy._values = self._values
        copy._shared = self._shared = True
        return copy

    def _own(self) -> None:
        if self._shared:
            self._values, self._shared = dict(self._values), False

    def _set(self, rand_var: Any, value: Any) -> Any:
        if self._shared:
            self._own()
        self._values[rand_var] = value
        return rand_var

    def define(self, name: str, result: Any) -> Any:
        """New random variables for what a primitive returned, in lists as it is.

        Args:
            name: the function that it was applied to.
            result: loops, blocks, places, numbers, lists of them; anything else stays as it is.
        """
        if result.__class__ is For:  # most are
            return self._set(LoopRV(), (name, result.loop_var))
        if isinstance(result, (list, tuple)):
            return [self.define(name, item) for item in result]
        value = _remembered(name, result)
        if value is None:
            return result
        if isinstance(result, ComputeLocation):
            return self._set(LoopRV(), value)
        return self._set(new_expr_rv() if isinstance(result, int) else BlockRV(), value)

    def assign(self, name: str, outputs: Sequence[Any], result: Any) -> None:
        """Let given random variables stand for what a primitive returned.

        Where there are fewer results, such as loops around a block, the variables that are left
        stand for nothing.

        Args:
            name: the function that it was applied to.
            outputs: the random variables.
            result: as of `define`.
        """
        self._own()
        items = result if isinstance(result, (list, tuple)) else [result]
        for output in outputs[len(items) :]:
            self._values.pop(output, None)
        for output, item in zip(outputs, items, strict=False):
            self._values[output] = _remembered(name, item)

    def remove(self, rand_var: Any) -> None:
        """Forget a random variable."""
        if rand_var not in self._values:
            raise ArgumentValueError(f"remove_rv: {rand_var!r} is unknown or was removed")
        self._own()
        del self._values[rand_var]

    def statement(self, rand_var: Any, state: ScheduleState) -> tuple[str, Any]:
        """The function and the statement of a random variable (or the place that it is).

        Raises:
            ArgumentValueError: for one of another schedule.
            ScheduleError: if the statement no longer exists.
        """
        target = self._values.get(rand_var)
        if target is None:
            raise ArgumentValueError(f"{rand_var!r} is unknown in this schedule, or was removed")
        name, identity = target
        if isinstance(identity, ComputeLocation):
            return name, identity
        tree = state.tree(name)
        is_loop = isinstance(rand_var, LoopRV)
        stmt = tree.loop(identity) if is_loop else tree.block(identity)
        if stmt is None:
            what = "loop" if is_loop else "block"
            raise ScheduleError(
                f"The {what} no longer exists in the IRModule: an earlier step replaced it",
                hint="use what that step returned, or look it up again",
            )
        return name, stmt

    def number(self, value: Any) -> int:
        """The value of a number, a sampled `ExprRV`, or an expression over some."""
        if isinstance(value, Var):
            found = self._values.get(value)
            if found is None:
                raise ArgumentValueError(
                    f"the variable {value.name} is not a number of this schedule"
                )
            return found
        if isinstance(value, Expr) and not isinstance(value, IntImm):
            simple = value_of(value, self._values)
            if simple is not None:
                return simple
            known = {v: self._values[v] for v in variables_of(value) if v in self._values}
            numbers = {var: as_expr(number) for var, number in known.items()}
            value = Analyzer().simplify(substitute(value, numbers))
        if isinstance(value, IntImm):
            return int(value.value)
        number = as_integer(value)
        if number is None:
            raise ArgumentError(f"expected an integer or an ExprRV, got {value!r}")
        return number

    def mentions_numbers(self, index_map: IndexMap) -> bool:
        """Whether there are sampled numbers in an index map."""
        return any(var in self._values for var in index_map.free_variables())

    def with_numbers(self, value: Any) -> Any:
        """`value` (an argument, or a list or dictionary) with sampled numbers filled in."""
        if isinstance(value, IndexMap):
            known = {var: self._values.get(var) for var in value.free_variables()}
            found = {var: as_expr(v) for var, v in known.items() if v is not None}
            return with_free_variables(value, found)
        if isinstance(value, Expr):
            known = any(var in self._values for var in variables_of(value))
            return self.number(value) if known else value
        if isinstance(value, (list, tuple)):
            return [self.with_numbers(item) for item in value]
        if isinstance(value, Mapping):
            return {key: self.with_numbers(item) for key, item in value.items()}
        return value


def _remembered(name: str, result: Any) -> Any:
    """What a random variable stands for, from what a primitive returned; None if for nothing."""
    if isinstance(result, For):
        return name, result.loop_var
    if isinstance(result, ComputeLocation):
        return name, result
    if isinstance(result, (Block, BlockRealize)):
        block = result if isinstance(result, Block) else result.block
        return name, block.key
    if isinstance(result, int) and not isinstance(result, bool):
        return result
    return None
