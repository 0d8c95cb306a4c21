"""Loops whose number of iterations depends on data.

Graphs have branches and calls, but no loops. So a function takes up to ``2 ** power`` steps: it
calls itself for ``power - 1`` and, if the condition still holds, once more. Calls are never nested
deeper than that, however many steps there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from tilewright.ir.arithmetic import equal
from tilewright.ir.convert import const
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, IntImm
from tilewright.ir.expr import Var as Size
from tilewright.relax import op
from tilewright.relax.expr import (
    Call,
    Function,
    If,
    PrimValue,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tilewright.relax.frontend.emitter import Emitter
from tilewright.relax.frontend.table import UnsupportedError
from tilewright.relax.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)

MOST_DOUBLINGS: Final = 62
"""A loop has at most 2 to this power steps."""

Step = Callable[[Sequence[Any]], "tuple[Any, Sequence[Any], Sequence[Any]]"]
"""From the states to the condition for one more step, the new states, and results of this step."""


class UnknownPartError(Exception):
    """Raised in a step or branch of which something cannot be converted, which has been noted."""


def data_dependent_loop(
    graph: Emitter, condition: Any, states: Sequence[Any], step: Step, most: int | None = None
) -> tuple[list[Any], list[Any]]:
    """Steps as long as a condition holds.

    The functions are inside of the one that is being made: `LambdaLift` makes them functions of the
    module.

    Args:
        graph: what it is emitted to.
        condition: whether there is a first step, a scalar of bool.
        states: the arrays that steps change; their extents may change, too, but not their ranks.
        step: emits one step.
        most: the largest number of steps, if it is known.

    Returns:
        The last states; and for each result of a step, those of all steps, stacked.
    """
    loop = _Loop(graph, [_form_of(state) for state in states], step)
    doublings = MOST_DOUBLINGS if most is None else max(most - 1, 0).bit_length()
    power = PrimValue(const(min(doublings, MOST_DOUBLINGS), INT64))
    some = graph.branch(lambda: graph.emit(Call(loop.function, [power, *states])))
    none = graph.branch(lambda: Tuple([condition, *states, *loop.no_rows()]))
    _, last, stacked = loop.parts(graph.emit(If(condition, some, none)))
    return last, stacked


class _Form(NamedTuple):
    """What stays the same of an array: its dtype, and those extents that are not None."""

    dtype: str
    extents: tuple[Expr | None, ...]

    def info(self, known: Sequence[Any] = ()) -> TensorStructInfo:
        """Struct info, where the extents that may change are `known`, or have new names."""
        names = iter(known or [Size("n", INT64) for e in self.extents if e is None])
        return TensorStructInfo([next(names) if e is None else e for e in self.extents], self.dtype)

    def result(self) -> TensorStructInfo:
        """Struct info of what a function returns, which gives no names to extents."""
        is_known = None not in self.extents
        return (
            self.info() if is_known else TensorStructInfo(dtype=self.dtype, ndim=len(self.extents))
        )


def _form_of(value: Any) -> _Form:
    info = value.struct_info
    if not isinstance(info, TensorStructInfo) or info.extents is None or info.dtype is None:
        raise UnsupportedError("what a loop carries along must be an array of known rank")
    return _Form(str(info.dtype), tuple(info.extents))


class _Loop:
    """The function that takes up to ``2 ** power`` steps, given the power and the states.

    It returns the condition for one more step, the states, and the stacked results of its steps.
    """

    def __init__(self, graph: Emitter, states: Sequence[_Form], step: Step) -> None:
        self._graph, self._states = graph, list(states)
        single, found, self._rows = self._single(step)
        while (wider := [*map(self._common, self._states, found)]) != self._states:
            self._states = wider
            single, found, self._rows = self._single(step)
        infos = [part.result() for part in (_CONDITION, *self._states, *self._rows)]
        self._result = TupleStructInfo(infos)
        # Sizes that are known inside of a step are not known outside.
        self.function = self._doubling(graph.emit(single.replace(ret_struct_info=self._result)))

    def no_rows(self) -> list[Any]:
        """The stacked results of no steps."""
        return [
            self._graph.emit(op.zeros([0 if e is None else e for e in row.extents], row.dtype))
            for row in self._rows
        ]

    def parts(self, result: Any, like: Sequence[Any] = ()) -> tuple[Any, list[Any], list[Any]]:
        """The condition, the states and the stacked results that a call returns.

        Args:
            like: other results, which differ in their number of rows only.
        """
        graph = self._graph
        forms = [_CONDITION, *self._states, *self._rows]
        condition, *parts = (graph.emit(TupleGetItem(result, n)) for n in range(len(forms)))
        count = len(self._states)
        states = [self._matched(*pair) for pair in zip(parts[:count], self._states, strict=True)]
        rows = []
        for position, (part, row) in enumerate(zip(parts[count:], self._rows, strict=True)):
            known: list[Any] = []
            if like:
                pairs = zip(like[position].struct_info.extents, row.extents, strict=True)
                known = [extent for extent, fixed in pairs if fixed is None]
                known[0] = Size("rows", INT64)
            rows.append(self._matched(part, row, known))
        return condition, states, rows

    def _single(self, step: Step) -> tuple[Function, list[_Form], list[_Form]]:
        """The function of one step, the forms of its states, and those of stacked results."""
        found: list[_Form] = []
        rows: list[_Form] = []

        def taken(states: Sequence[Var]) -> Any:
            goes_on, changed, results = step(states)
            found.extend(map(_form_of, changed))
            rows.extend(_rows_of(_form_of(result)) for result in results)
            single = [self._graph.emit(op.expand_dims(result, 0)) for result in results]
            return Tuple([goes_on, *changed, *single])

        return self._graph.function(self._parameters(), taken), found, rows

    def _doubling(self, single: Var) -> Var:
        """The function that calls itself, down to `single` steps."""
        graph, power = self._graph, Size("power", INT64)
        params = [Var("power", PrimStructInfo("int64", power)), *self._parameters()]
        taken: list[Any] = [param.struct_info for param in params]
        name = graph.builder.get_unique_name("loop")
        loop = Var(name, FuncStructInfo(taken, self._result))

        def twice(states: Sequence[Var]) -> Any:
            less = PrimValue(power - 1)
            half = graph.emit(Call(loop, [less, *states]))
            goes_on, middle, rows = self.parts(half)

            def again() -> Any:
                result = graph.emit(Call(loop, [less, *middle]))
                if not rows:
                    return result
                condition, last, others = self.parts(result, like=rows)
                pairs = zip(rows, others, strict=True)
                return Tuple([condition, *last, *(graph.emit(op.concat(p, 0)) for p in pairs)])

            return graph.emit(If(goes_on, graph.branch(again), SeqExpr([], half)))

        def whole(params: Sequence[Var]) -> Any:
            states = params[1:]
            once = graph.branch(lambda: graph.emit(Call(single, states)))
            more = graph.branch(lambda: twice(states))
            return graph.emit(If(PrimValue(equal(power, 0)), once, more))

        function = graph.function(params, whole).replace(ret_struct_info=self._result)
        return graph.builder.emit_normalized(VarBinding(loop, function))

    def _parameters(self) -> list[Var]:
        return [Var(f"state_{n}", form.info()) for n, form in enumerate(self._states)]

    def _common(self, form: _Form, other: _Form) -> _Form:
        """The form of both arrays."""
        if form.dtype != other.dtype or len(form.extents) != len(other.extents):
            raise UnsupportedError(
                "a loop that changes the dtype or rank of an array is not supported"
            )
        is_same = self._graph.builder.analyzer.can_prove_equal
        extents = [
            a if a is not None and b is not None and is_same(a, b) else None
            for a, b in zip(form.extents, other.extents, strict=True)
        ]
        return _Form(form.dtype, tuple(extents))

    def _matched(self, value: Any, form: _Form, known: Sequence[Any] = ()) -> Any:
        """A value whose extents have names, unless they are known."""
        is_known = value.struct_info.extents is not None
        return value if is_known else self._graph.builder.match_cast(value, form.info(known))


_CONDITION: Final = _Form("bool", ())


def _rows_of(result: _Form) -> _Form:
    """The form of the stacked results of several steps."""
    return _Form(
        result.dtype, (None, *(e if isinstance(e, IntImm) else None for e in result.extents))
    )
