"""What functions of `R` that stand for statements give to the parser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tilewright.error import ArgumentError, DiagnosticError
from tilewright.relax.expr import Binding, RelaxExpr, Var, as_relax
from tilewright.relax.script.annotations import as_struct_info
from tilewright.relax.script.context import require_graph
from tilewright.relax.struct_info import StructInfo
from tilewright.script.constructs.function import constant_attributes


class Emission(NamedTuple):
    """A value that is bound to a variable even where it is only named, with its annotation."""

    value: Any
    struct_info: StructInfo | None = None


class Cast(NamedTuple):
    """A value with more precise struct info after a check at run time."""

    value: RelaxExpr
    struct_info: StructInfo


class DataflowFrame:
    """``R.dataflow()``, which opens a dataflow block in a ``with``."""


class IfFrame(NamedTuple):
    """``R.If(condition)``, which holds ``R.Then()`` and ``R.Else()``."""

    condition: Any


class BranchFrame(NamedTuple):
    """``R.Then()`` or ``R.Else()``."""

    name: str


class ReturnedValue(NamedTuple):
    """The result of the function, with which it ends."""

    value: Any


def If(condition: Any) -> IfFrame:
    """A branch, as `if` is, which contains ``with R.Then():`` and ``with R.Else():``."""
    require_graph("R.If")
    return IfFrame(condition)


def Then() -> BranchFrame:
    """The branch of `If` for a condition that holds."""
    require_graph("R.Then")
    return BranchFrame("Then")


def Else() -> BranchFrame:
    """The branch of `If` for a condition that does not hold."""
    require_graph("R.Else")
    return BranchFrame("Else")


def dataflow() -> DataflowFrame:
    """A block of bindings without effects: ``with R.dataflow():``; `output` ends it."""
    require_graph("R.dataflow")
    return DataflowFrame()


def output(*variables: Var) -> None:
    """End a dataflow block with the variables that can be used after it."""
    block = require_graph("R.output").function.dataflow
    if block is None:
        raise DiagnosticError("R.output belongs at the end of `with R.dataflow():`")
    block.results = list(variables)


def emit(value: Any, annotate_struct_info: Any = None) -> Emission:
    """Bind a value to a variable.

    Args:
        value: the value.
        annotate_struct_info: declared struct info; by default that of the value.
    """
    require_graph("R.emit")
    known = None if annotate_struct_info is None else as_struct_info(annotate_struct_info)
    return Emission(as_relax(value), known)


def emit_te(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Emission:
    """Bind the result of a tensor program that computes ``func(*args, **kwargs)``.

    The program becomes a function of the module.

    Args:
        func: makes tensors of tensors, such as a function of `tilewright.topi`.
        *args: its arguments.
        **kwargs: more arguments, and ``primfunc_name_hint``, the name of the tensor program.
    """
    builder = require_graph("R.emit_te")
    if builder.module is None:
        raise DiagnosticError(
            "R.emit_te adds a tensor program to the module: put the function into a class with "
            "@I.ir_module"
        )
    return Emission(builder.blocks.call_te(func, *args, **kwargs))


def match_cast(value: Any, struct_info: Any) -> Cast:
    """`value`, which is checked to have `struct_info` when the program runs.

    Symbolic sizes that occur in it first, after ``m = T.int64()``, are defined by the value.
    """
    require_graph("R.match_cast")
    converted = as_relax(value)
    if not isinstance(converted, RelaxExpr):
        raise ArgumentError(f"R.match_cast: this is not a value: {value!r}")
    return Cast(converted, as_struct_info(struct_info))


def emit_match_cast(value: Any, struct_info: Any) -> Cast:
    """`match_cast`."""
    return match_cast(value, struct_info)


def emit_var_binding(binding: Binding) -> Var:
    """Append a binding that was made outside of the script; its variable."""
    if not isinstance(binding, Binding):
        raise ArgumentError(f"R.emit_var_binding expects a binding, got {binding!r}")
    return require_graph("R.emit_var_binding").blocks.emit_normalized(binding)


# --- the function ----------------------------------------------------------------------------


def func_attr(attrs: Mapping[str, Any]) -> None:
    """Set attributes of the function."""
    builder = require_graph("R.func_attr")
    builder.function.set_attrs(constant_attributes(attrs, "R.func_attr"))


def func_name(name: str) -> None:
    """Set the name under which the function is exported."""
    function = require_graph("R.func_name").function
    if not isinstance(name, str):
        raise ArgumentError(f"R.func_name expects a text, got {name!r}")
    function.set_attrs({"global_symbol": name})


def func_ret_value(value: Any) -> ReturnedValue:
    """End the function with its result, as `return` does."""
    require_graph("R.func_ret_value")
    return ReturnedValue(value)


def func_ret_struct_info(ret_sinfo: Any) -> None:
    """Say what the function returns, instead of an annotation."""
    function = require_graph("R.func_ret_struct_info").function
    if function.ret_struct_info is not None:
        raise DiagnosticError("the struct info of the result is given twice")
    function.ret_struct_info = as_struct_info(ret_sinfo)
