"""Printers of calls: of operators by the functions of `tilewright.relax.op`, and of functions.

An operator is written as ``R.name(...)`` only where that function, given what is written, makes
the same call again; where it does not, all parts of the node are written (``R.Call``).
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tilewright.error import TVMError
from tilewright.ir.expr import FloatImm, IntImm
from tilewright.ir.expr import StringImm as TextImm
from tilewright.ir.module import VDevice
from tilewright.ir.op import Op
from tilewright.ir.structural import structural_equal
from tilewright.relax.expr import Call, ExternFunc, Function, Tuple
from tilewright.relax.op.table import OPERATORS
from tilewright.relax.script.operators import function_of
from tilewright.relax.script.printer.values import device_text, is_opaque, python_tuple, relax_call
from tilewright.relax.struct_info import TupleStructInfo
from tilewright.script.printer.core import ATOM, EXPRESSIONS, Printer, Rendered, prints, quoted


class _Argument(NamedTuple):
    """An argument of a Python function: its value, its text, and its name if that is written."""

    value: Any
    text: str
    keyword: str | None = None


@prints(EXPRESSIONS, Call)
def _call(p: Printer, node: Call) -> Rendered:
    if isinstance(node.op, Op):
        arguments = None if p.options.verbose_expr else _written_arguments(p, node)
        if arguments is not None:
            name = node.op.name.removeprefix("relax.")
            return f"{p.options.relax_prefix}.{name}({_joined(arguments)})", ATOM
        return _node(p, node, quoted(node.op.name))
    if isinstance(node.op, ExternFunc):
        return _packed(p, node, node.op)
    if node.attrs or node.sinfo_args or isinstance(node.op, Function):
        return _node(p, node, p.expr(node.op))
    arguments = ", ".join([p.expr(argument) for argument in node.args])
    return f"{p.operand(node.op, ATOM)}({arguments})", ATOM


def _node(p: Printer, node: Call, callee: str) -> Rendered:
    """The node itself, field by field."""
    parts = [callee, python_tuple([p.expr(argument) for argument in node.args])]
    if node.attrs:
        parts.append(f"attrs={p.dictionary(node.attrs)}")
    if node.sinfo_args:
        parts.append(f"sinfo_args={python_tuple([p.expr(info) for info in node.sinfo_args])}")
    return relax_call(p, "Call", parts)


def _packed(p: Printer, node: Call, callee: ExternFunc) -> Rendered:
    """The call of a function that is found by name."""
    parts = [_callee(p, callee), *(p.expr(argument) for argument in node.args)]
    if node.sinfo_args:
        parts.append(f"sinfo_args={python_tuple([p.expr(info) for info in node.sinfo_args])}")
    for name, value in node.attrs.items():
        plain = _plain(value)
        if not name.isidentifier() or name in ("func", "sinfo_args") or plain is None:
            return _node(p, node, p.expr(callee))
        parts.append(f"{name}={_text(p, plain)}")
    return relax_call(p, "call_packed", parts)


def _callee(p: Printer, function: Any) -> str:
    if isinstance(function, ExternFunc) and is_opaque(function):
        return p.mark(function, quoted(function.global_symbol))
    return p.expr(function)


# --- operators -------------------------------------------------------------------------------


def _written_arguments(p: Printer, node: Call) -> list[_Argument] | None:
    """The arguments with which the operator's function makes `node`; None if there are none."""
    function = function_of(node.op.name)  # type: ignore[union-attr]
    entry = OPERATORS.get(node.op)  # type: ignore[arg-type]
    if function is None or entry is None:
        return None
    signature = _parameters(function)
    arguments = _operands(p, node, entry.arguments, signature)
    if arguments is None:
        return None
    if node.sinfo_args:
        by_position = [a for a in arguments if a.keyword is None]
        given = _given_struct_info(p, node, signature)
        arguments = [*by_position, given, *arguments[len(by_position) :]]
    attributes = [
        _Argument(plain, _text(p, plain), name)
        for name, plain in ((name, _plain(value)) for name, value in node.attrs.items())
    ]
    if _gives(function, arguments, node):
        return arguments
    if not _gives(function, [*arguments, *attributes], node):
        return None
    # Each that is the default, or follows from the others, is left out.
    for attribute in reversed(attributes):
        fewer = [other for other in attributes if other is not attribute]
        if _gives(function, [*arguments, *fewer], node):
            attributes = fewer
    return [*arguments, *attributes]


@functools.cache
def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def _operands(
    p: Printer, node: Call, names: tuple[str, ...], signature: Mapping[str, inspect.Parameter]
) -> list[_Argument] | None:
    """The operands: by position as long as the function takes them in this order, then by name."""
    parameters = list(signature.values())
    kinds = [parameter.kind for parameter in parameters]
    is_variable = inspect.Parameter.VAR_POSITIONAL in kinds
    variable = kinds.index(inspect.Parameter.VAR_POSITIONAL) if is_variable else len(kinds)
    found: list[_Argument] = []
    for position, value in enumerate(node.args):
        if not parameters:
            return None
        parameter = parameters[min(position, len(parameters) - 1, variable)]
        keyword = None
        name = names[min(position, len(names) - 1)]
        rest = node.args[position:]
        if parameter.kind is not inspect.Parameter.VAR_POSITIONAL:
            is_operand = parameter.name not in node.attrs and parameter.name not in _STRUCT_INFO
            if position >= len(parameters) or not is_operand or (found and found[-1].keyword):
                keyword = name.removesuffix("*")
                if keyword not in signature:
                    return None
            if name.endswith("*") and len(rest) > 1:
                several = tuple(map(_as_written, rest))
                text = python_tuple([p.expr(argument) for argument in rest])
                return [*found, _Argument(several, text, keyword)]
        if position == 0 and isinstance(value, ExternFunc) and is_opaque(value):
            found.append(_Argument(value.global_symbol, _callee(p, value), keyword))
        else:
            found.append(_Argument(_as_written(value), p.expr(value), keyword))
    return found


_STRUCT_INFO = ("out_sinfo", "sinfo_args")
"""The parameters for struct info that is part of a call."""


def _as_written(argument: Any) -> Any:
    """The Python value that the text of an argument evaluates to."""
    if isinstance(argument, Tuple) and argument.fields:
        return tuple(map(_as_written, argument.fields))
    return argument


def _given_struct_info(
    p: Printer, node: Call, signature: Mapping[str, inspect.Parameter]
) -> _Argument:
    """The argument for struct info that is part of the call."""
    if "out_sinfo" not in signature or len(node.sinfo_args) != 1:
        text = python_tuple([p.expr(info) for info in node.sinfo_args])
        return _Argument(node.sinfo_args, text, "sinfo_args")
    (info,) = node.sinfo_args
    if isinstance(info, TupleStructInfo) and len(info.fields) > 1:
        text = p.mark(info, f"[{', '.join([p.expr(field) for field in info.fields])}]")
        return _Argument(list(info.fields), text, "out_sinfo")
    return _Argument(info, p.expr(info), "out_sinfo")


def _gives(function: Any, arguments: list[_Argument], node: Call) -> bool:
    """Whether `function` makes `node` of these arguments."""
    positional = [argument.value for argument in arguments if argument.keyword is None]
    keywords = {a.keyword: a.value for a in arguments if a.keyword is not None}
    try:
        made = function(*positional, **keywords)
    except (TVMError, TypeError, ValueError, AttributeError):
        return False
    return (
        isinstance(made, Call)
        and made.op is node.op
        and len(made.args) == len(node.args)
        and all(map(structural_equal, made.args, node.args))
        and structural_equal(dict(made.attrs), dict(node.attrs))
        and structural_equal(made.sinfo_args, node.sinfo_args)
    )


def _joined(arguments: list[_Argument]) -> str:
    return ", ".join([a.text if a.keyword is None else f"{a.keyword}={a.text}" for a in arguments])


# --- attributes ------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    """An attribute as the Python value that a user would write."""
    if isinstance(value, (IntImm, FloatImm, TextImm)):
        is_bool = isinstance(value, IntImm) and value.dtype.is_bool
        return bool(value.value) if is_bool else value.value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value


def _text(p: Printer, value: Any) -> str:
    """The text of what `_plain` gives."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, VDevice):
        return device_text(p, value)
    if isinstance(value, list):
        return f"[{', '.join([_text(p, item) for item in value])}]"
    return p.value(value)
