"""What a text may use that is not trusted: the script namespaces, and little of Python.

A text may come from anywhere, so evaluating it must not run code that its author chose. Its values
are those of the script namespaces and the ones that the caller gives, and it can do three things
with them that could lead elsewhere, all of which are checked here:

* attributes: by allow-list, so that no module, class or function is reached through another value;
* builtins: those of `BUILTINS`, none of which looks into objects or calls what it is given;
* repetition: a budget limits the elements of all lists and strings, and the calls of macros and
  lambdas, since a short text could ask for more than a machine has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any, Final

from tilewright.error import ArgumentError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr
from tilewright.ir.node import Node, Role
from tilewright.ir.op import Op
from tilewright.script.constructs.blocks import Axis
from tilewright.script.constructs.buffers import BufferFunction
from tilewright.script.constructs.function import MetaVar
from tilewright.script.parser import scope
from tilewright.script.parser.scope import MISSING, RangeValue
from tilewright.tir.buffer import Buffer, BufferRegion

TRUST: Final = "if the text is your own, parse it with from_source(..., trusted=True)"

BUDGET: Final = 2_000_000
"""Elements and calls that a text may use beyond its own length."""

LONGEST_RANGE: Final = 1_000_000
"""Numbers of a range that a text may have as Python values; loops may be longer."""


class BoundedRange(RangeValue):
    """``range(...)`` in a text."""

    __slots__ = ()

    def python(self) -> range:
        values = super().python()
        if values[LONGEST_RANGE:]:
            raise ArgumentError(f"a range of more than {LONGEST_RANGE} numbers; {TRUST}")
        return values


_ITERATING: Final = (
    all, any, dict, enumerate, list, max, min, reversed, set, sorted, str, sum, tuple, zip,
)  # fmt: skip
_OTHERS: Final = (abs, bool, divmod, float, int, len, slice)

BUILTINS: Final[Mapping[str, Any]] = MappingProxyType(
    dict.fromkeys(scope.BUILTINS, MISSING)
    | {value.__name__: value for value in (*_ITERATING, *_OTHERS)}
    | {"range": BoundedRange}
)
"""The builtins that a text may use; the others are `MISSING`."""

_PACKAGE: Final = "tilewright."

_METHODS: Final[Sequence[tuple[type, frozenset[str]]]] = (
    (Axis, frozenset({"R", "S", "opaque", "reduce", "remap", "scan", "spatial"})),
    (BufferFunction, frozenset()),
    (Buffer, frozenset({"access_ptr", "ndim", "offset_of", "scope", "vload", "vstore"})),
    (BufferRegion, frozenset()),
    (Expr, frozenset({"astype", "dtype", "equal"})),
    (DType, frozenset({"bits", "lanes"})),
    (MetaVar, frozenset({"value"})),
)
"""Attributes that a text may use of values, besides the fields of IR nodes."""


class ScriptPackage:
    """What ``tilewright`` or ``tvm`` stands for in a text: a package of script namespaces alone."""

    def __init__(self, name: str, members: Mapping[str, Any]) -> None:
        self.name, self.members = name, members

    def __repr__(self) -> str:
        return self.name


def script_package(namespaces: Mapping[str, Any]) -> ScriptPackage:
    """The package as a text sees it, with the script namespaces by name."""
    from tilewright.script.parser.text import ir_module, macro, prim_func

    members = {**namespaces, "ir_module": ir_module, "macro": macro, "prim_func": prim_func}
    parser = ScriptPackage("tilewright.script.parser", members)
    script = ScriptPackage("tilewright.script", {**members, "parser": parser})
    return ScriptPackage("tilewright", {**namespaces, "script": script})


class Allowance:
    """How much a text may still ask for.

    Args:
        length: of the text, which may hold the data of a model.
    """

    def __init__(self, length: int) -> None:
        self._left = BUDGET + length

    def spend(self, amount: int) -> None:
        """Use up some of it.

        Raises:
            ArgumentError: if it is used up.
        """
        self._left -= amount
        if self._left < 0:
            raise ArgumentError(f"the text asks for too many elements or calls; {TRUST}")

    def pay_for(self, value: Any) -> Any:
        """Use up the number of elements of a list or string with all that is in it; gives it."""
        if isinstance(value, (str, list, tuple, set, dict, RangeValue)):
            self.spend(len(value))
        if isinstance(value, (list, tuple, set)):
            for item in value:
                self.pay_for(item)
        elif isinstance(value, dict):
            self.pay_for([*value.keys(), *value.values()])
        return value

    def check_call(self, function: Any, arguments: Sequence[Any], keywords: Any) -> None:
        """Check a call before it is made.

        Raises:
            ArgumentError: if it is one that a text may not make.
        """
        from tilewright.script.parser.decorators import FunctionDecorator
        from tilewright.script.parser.macro import Macro, MacroDecorator
        from tilewright.script.parser.text import ModuleDecorator

        self.spend(1)
        if isinstance(function, (FunctionDecorator, MacroDecorator, ModuleDecorator)):
            if arguments or keywords.keys() & {"f", "func", "function", "mod"}:
                raise ArgumentError(f"{function!r} takes options only, and decorates a definition")
        elif isinstance(function, Macro):
            self.spend(len(function.node.body))
        elif any(function is builtin for builtin in _ITERATING):
            for value in arguments:
                self.pay_for(value)
            if function is sum and not all(
                isinstance(v, (int, float, Expr)) for v in arguments[1:]
            ):
                raise ArgumentError("sum adds numbers")


def attribute(value: Any, name: str) -> Any:
    """``value.name``, if a text may use it.

    Raises:
        ArgumentError: if not.
        AttributeError: if there is no such attribute.
    """
    if name.startswith("_"):
        raise ArgumentError(f"`{name}` is not accessible in a script")
    if isinstance(value, ScriptPackage):
        if name in value.members:
            return value.members[name]
        raise ArgumentError(f"{value!r} has no `{name}` that a text may use; {TRUST}")
    if is_namespace(value):
        found = getattr(value, name)
        if is_of_scripts(found):
            return found
    elif _readable(value, name):
        return getattr(value, name)
    elif isinstance(value, Node) and not hasattr(type(value), name):
        raise AttributeError(name)
    raise ArgumentError(f"a text may not use the attribute `{name}` of {_kind(value)}; {TRUST}")


def is_namespace(value: Any) -> bool:
    """Whether a value is `T`, `R` or `I`, or a namespace of operators in `R`."""
    if isinstance(value, ModuleType):
        return value.__name__ in {f"{_PACKAGE}script.{name}" for name in ("ir", "relax", "tir")}
    return bool(getattr(type(value), "is_script_namespace", False))


def is_of_scripts(value: Any) -> bool:
    """Whether a name of a namespace is meant for scripts, and not just imported there."""
    if isinstance(value, ModuleType):
        return False
    if isinstance(value, type):
        return issubclass(value, Node) and value is not Op
    home = getattr(value, "__module__", None) or type(value).__module__
    return home.startswith(_PACKAGE)


def _readable(value: Any, name: str) -> bool:
    if any(isinstance(value, kind) and name in names for kind, names in _METHODS):
        return True
    if not isinstance(value, Node) or name == "span":
        return False
    fields = {f.name for f in type(value).__node_fields__ if f.role is not Role.DERIVED}
    code = (FunctionType, MethodType, ModuleType, type)
    return name in fields and not isinstance(getattr(value, name), code)


def _kind(value: Any) -> str:
    if isinstance(value, ModuleType):
        return f"the module {value.__name__}"
    return f"a value of {type(value).__name__}"
