"""Loops whose number of iterations depends on data.

Graphs have branches and calls, but no loops. So one function does one step if a condition holds,
the next one calls it twice, the one after calls that twice, and so on: 40 functions do up to
2 ** 40 steps, and return as soon as the condition does not hold. Calls are never nested deeper than
that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from tilewright.ir.dtype import INT64
from tilewright.ir.expr import IntImm
from tilewright.ir.expr import Var as Size
from tilewright.relax import op
from tilewright.relax.expr import Call, Function, If, SeqExpr, Tuple, TupleGetItem, Var
from tilewright.relax.frontend.emitter import Emitter
from tilewright.relax.frontend.table import UnsupportedError
from tilewright.relax.struct_info import TensorStructInfo

MOST_DOUBLINGS: Final = 40
"""More iterations than 2 to this power would take days."""

Step = Callable[[Sequence[Any]], "tuple[Any, Sequence[Any], Sequence[Any]]"]
"""From the states to the condition for one more step, the new states, and results of this step."""


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
    forms = [_form_of(state) for state in states]
    while True:
        single, found, rows = _single_step(graph, forms, step)
        wider = [_common(*pair) for pair in zip(forms, found, strict=True)]
        if wider == forms:
            break
        forms = wider
    function = graph.emit(single)
    doublings = MOST_DOUBLINGS if most is None else max(most - 1, 0).bit_length()
    for _ in range(min(doublings, MOST_DOUBLINGS)):
        function = graph.emit(_twice(graph, function, forms, rows))
    _, last, stacked = _call(graph, function, [condition, *states], forms, rows)
    return last, stacked


class _Form(NamedTuple):
    """What stays the same of an array: its dtype, and those extents that are not None."""

    dtype: str
    extents: tuple[Any, ...]

    def variable(self, name: str) -> Var:
        """A parameter of this form."""
        return Var(name, self.info([]))

    def info(self, known: Sequence[Any]) -> TensorStructInfo:
        """Struct info, where the extents that may change are `known`, or have new names."""
        names = iter(known)
        extents = [Size("n", INT64) if e is None else e for e in self.extents]
        if known:
            extents = [next(names) if e is None else e for e in self.extents]
        return TensorStructInfo(extents, self.dtype)


def _form_of(value: Any) -> _Form:
    info = value.struct_info
    if not isinstance(info, TensorStructInfo) or info.extents is None or info.dtype is None:
        raise UnsupportedError("what a loop carries along must be an array of known rank")
    extents = (e.value if isinstance(e, IntImm) else e for e in info.extents)
    return _Form(str(info.dtype), tuple(extents))


def _common(form: _Form, other: _Form) -> _Form:
    """The form of both arrays."""
    if form.dtype != other.dtype or len(form.extents) != len(other.extents):
        raise UnsupportedError("a loop that changes the dtype or rank of an array is not supported")
    pairs = zip(form.extents, other.extents, strict=True)
    return _Form(form.dtype, tuple(a if a is b or a == b else None for a, b in pairs))


_CONDITION: Final = _Form("bool", ())


def _function(
    graph: Emitter, forms: Sequence[_Form], body: Callable[[Sequence[Var]], Any]
) -> Function:
    """A function of a condition and the states."""
    params = (_CONDITION.variable("condition"), *(form.variable("state") for form in forms))
    builder = graph.builder
    builder.begin_scope(params)
    try:
        result = body(params)
    finally:
        blocks = builder.end_scope()
    return Function(params, SeqExpr(blocks, result), is_pure=True)


def _branch(graph: Emitter, body: Callable[[], Sequence[Any]]) -> SeqExpr:
    """A branch, whose results are a tuple."""
    graph.builder.begin_scope()
    try:
        results = [graph.emit(value) for value in body()]
    finally:
        blocks = graph.builder.end_scope()
    return SeqExpr(blocks, Tuple(results))


def _single_step(
    graph: Emitter, forms: Sequence[_Form], step: Step
) -> tuple[Function, list[_Form], list[_Form]]:
    """The function of one step, the forms of its states, and those of its results."""
    found: list[_Form] = []
    rows: list[_Form] = []

    def taken(states: Sequence[Any]) -> Sequence[Any]:
        goes_on, changed, results = step(states)
        found.extend(_form_of(state) for state in changed)
        rows.extend(_rows_of(result) for result in results)
        return [goes_on, *changed, *(op.expand_dims(result, 0) for result in results)]

    def whole(params: Sequence[Var]) -> Any:
        then = _branch(graph, lambda: taken(params[1:]))
        empty = [
            op.zeros([0 if extent is None else extent for extent in row.extents], row.dtype)
            for row in rows
        ]
        other = _branch(graph, lambda: [*params, *empty])
        return graph.emit(If(params[0], then, other))

    return _function(graph, forms, whole), found, rows


def _rows_of(result: Any) -> _Form:
    """The form of the stacked results of several steps."""
    dtype, extents = _form_of(result)
    return _Form(dtype, (None, *(e if isinstance(e, int) else None for e in extents)))


def _twice(
    graph: Emitter, function: Any, forms: Sequence[_Form], rows: Sequence[_Form]
) -> Function:
    """The function that does what another one does, twice if the condition still holds then."""

    def whole(params: Sequence[Var]) -> Any:
        goes_on, states, results = _call(graph, function, params, forms, rows)

        def again() -> Sequence[Any]:
            condition, last, others = _call(
                graph, function, [goes_on, *states], forms, rows, like=results
            )
            pairs = zip(results, others, strict=True)
            return [condition, *last, *(op.concat(pair, 0) for pair in pairs)]

        then = _branch(graph, again)
        other = _branch(graph, lambda: [goes_on, *states, *results])
        return graph.emit(If(goes_on, then, other))

    return _function(graph, forms, whole)


def _call(
    graph: Emitter, function: Any, arguments: Sequence[Any], forms: Sequence[_Form],
    rows: Sequence[_Form], like: Sequence[Any] = (),
) -> tuple[Any, list[Any], list[Any]]:  # fmt: skip
    """The condition, the states and the results after some steps.

    Args:
        like: other results, which differ in their number of rows only.
    """
    called = graph.emit(Call(function, arguments))
    condition, *parts = (
        graph.emit(TupleGetItem(called, position)) for position in range(1 + len(forms) + len(rows))
    )
    states = [
        _matched(graph, part, form.info([])) for part, form in zip(parts, forms, strict=False)
    ]
    results = []
    for position, (part, row) in enumerate(zip(parts[len(forms) :], rows, strict=True)):
        known: list[Any] = []
        if like:
            extents = like[position].struct_info.extents
            changing = [e for e, fixed in zip(extents, row.extents, strict=True) if fixed is None]
            known = [Size("rows", INT64), *changing[1:]]
        results.append(_matched(graph, part, row.info(known)))
    return condition, states, results


def _matched(graph: Emitter, value: Any, info: TensorStructInfo) -> Any:
    """A value with the extents of `info`, unless they are known."""
    extents = value.struct_info.extents
    return value if extents is not None else graph.builder.match_cast(value, info)
