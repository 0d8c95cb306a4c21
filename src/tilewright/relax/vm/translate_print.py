"""R.print and R.assert_op as steps.

Where this package is loaded, Python makes the texts. Elsewhere, as in a C program, compiled code
does: numbers and shapes are shown, and of arrays the dtype and the extents.
"""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

from tilewright.ir.convert import const
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import Expr
from tilewright.relax.expr import Call
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.vm.steps import (
    ArrayValue,
    BranchStep,
    CheckStep,
    KeptValue,
    LiteralValue,
    NotCompilableError,
    PackedCallStep,
    PrintStep,
    ShapeValue,
    Step,
    TupleValue,
    Value,
)
from tilewright.relax.vm.translate_values import as_argument, unpack
from tilewright.runtime.printing import FAIL, FAILED, PRINT
from tilewright.tir.op.objects import has_packed

if TYPE_CHECKING:
    from tilewright.relax.vm.translate import Translation


def translate_print(to: Translation, call: Call) -> Value:
    """The value of a call of R.print, after its steps were added."""
    form, values = str(call.attrs["format"]), list(map(to.value, call.args))
    text, numbers = _printf(form, values)
    to.steps.append(_by_python(to, PRINT, form, values, PrintStep(text + "\n", numbers)))
    return TupleValue(())


def translate_assert(to: Translation, call: Call) -> Value:
    """The value of a call of R.assert_op, after its steps were added."""
    form = str(call.attrs["format"])
    condition, *values = map(to.value, call.args)
    if isinstance(condition, KeptValue):
        condition = unpack(to, condition.slot, TensorStructInfo((), BOOL), to.where)
    if not isinstance(condition, (ArrayValue, Expr)):
        raise NotCompilableError("the condition of an assertion is neither an array nor a scalar")
    text, numbers = _printf(form, values)
    failure = CheckStep(const(False), "AssertionError", text or FAILED, numbers)
    failed = _by_python(to, FAIL, form, values, failure)
    to.steps.append(BranchStep(condition, [], [failed]))
    return TupleValue(())


def _by_python(
    to: Translation, name: str, form: str, values: list[Value], otherwise: Step
) -> BranchStep:
    """Let a function of this package work with a text, if the process has it."""
    step = BranchStep(has_packed(name), [], [otherwise])
    outer, to.steps = to.steps, step.then_steps
    # The function keeps no arrays, so they need not be values.
    passed = [v if isinstance(v, ArrayValue) else as_argument(to, v) for v in values]
    call = PackedCallStep(name, (LiteralValue(form), *passed), frozenset())
    to.steps.append(call)
    to.steps = outer
    return step


def _printf(form: str, values: list[Value]) -> tuple[str, tuple[Expr, ...]]:
    """A printf format, and the numbers in it."""
    numbers: list[Expr] = []
    if not form:
        return " ".join(_shown(value, numbers) for value in values), tuple(numbers)
    text, position = "", 0
    for literal, field, _, _ in string.Formatter().parse(form):
        text += literal.replace("%", "%%")
        if field is not None:
            text += _shown(values[int(field or position)], numbers)
            position += not field
    return text, tuple(numbers)


def _shown(value: Value, numbers: list[Expr]) -> str:
    if isinstance(value, Expr):
        numbers.append(value)
        return "%g" if value.dtype.is_float else "%lld"
    if isinstance(value, ShapeValue):
        return f"({', '.join(_shown(extent, numbers) for extent in value.extents)})"
    if isinstance(value, TupleValue):
        return f"({', '.join(_shown(field, numbers) for field in value.fields)})"
    if isinstance(value, ArrayValue):
        extents = ", ".join(_shown(extent, numbers) for extent in value.extents)
        return f"<{value.dtype!s}[{extents}]>"
    known = isinstance(value, LiteralValue)
    return str(value.value).replace("%", "%%") if known else "<value>"
