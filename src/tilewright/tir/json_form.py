"""Programs as JSON: lists, strings and numbers, no code.

What is read back consists of nodes, made by the constructors of their classes, and of nothing
else: reading executes nothing that the file says. A node is ``{"For": {"loop_var": ...}}``, its
fields by name, those that have their default left out; one that occurs again (a variable, a
buffer) has a number ``"#"``, and ``{"ref": number}`` stands for it. Spans are not kept.
"""

from __future__ import annotations

import base64
import enum
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tilewright.error import ArgumentError, ArgumentValueError, TVMError
from tilewright.ir.comparison import annotation_of
from tilewright.ir.dtype import DType
from tilewright.ir.expr import FloatImm, IntImm, StringImm
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.node import MISSING, Field, Node, Role, node_name, node_of_fields, node_type
from tilewright.ir.op import Op
from tilewright.ir.recursion import pass_on_recursion_error
from tilewright.providers import provider
from tilewright.tir.expr import IterType
from tilewright.tir.stmt import BlockKey, ForKind

_LITERALS: Final[dict[str, Callable[[Any], Any]]] = {
    "DType": DType,
    "ForKind": ForKind.__getitem__,
    "IterType": IterType.__getitem__,
}
"""How fields are read, by annotation."""
_CONSTANTS: Final = (IntImm, FloatImm, StringImm)  # shorter than a reference
_MODULE: Final = "IRModule"
_MALFORMED: Final = (
    TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError
)  # fmt: skip


def to_json(value: Any, arrays: list[Any] | None = None) -> Any:
    """A node, a module, or a container of those, as what `json.dumps` writes.

    Args:
        value: the value.
        arrays: if given, the arrays in it are appended here, and the form has their numbers.

    Raises:
        ArgumentError: for objects that are not data, such as a Python function.
    """
    writer = _Writer(arrays)
    writer.count(value)
    return writer.encoded(value)


def from_json(form: Any, arrays: Sequence[Any] = ()) -> Any:
    """What `to_json` wrote.

    Args:
        form: the form.
        arrays: those that are not in it.

    Raises:
        ArgumentValueError: if it is malformed.
    """
    try:
        return _Reader(arrays).decoded(form)
    except TVMError:
        raise
    except _MALFORMED as error:
        pass_on_recursion_error(error)
        raise ArgumentValueError(f"this is not a program in JSON: {error}") from None


@functools.cache
def _fields(cls: type[Node]) -> Mapping[str, Field]:
    """The arguments of the constructor that are kept, by name."""
    fields = (f for f in cls.__node_fields__ if f.role is not Role.DERIVED and f.name != "span")
    return {field.name: field for field in fields}


@functools.cache
def _required(cls: type[Node]) -> tuple[str, ...]:
    """The names of those that have no default."""
    return tuple(name for name, field in _fields(cls).items() if field.default is MISSING)


@functools.cache
def _literals(cls: type[Node]) -> Mapping[str, Callable[[Any], Any]]:
    """How those are read that are plain strings, and not forms of values of their own."""
    annotations = {name: annotation_of(cls, name) for name in _fields(cls)}
    return {name: _LITERALS[text] for name, text in annotations.items() if text in _LITERALS}


class _Writer:
    """Writes one value.

    Attributes:
        uses: how often each node occurs.
        numbers: of the nodes that were written and occur again.
    """

    def __init__(self, arrays: list[Any] | None = None) -> None:
        self._arrays = arrays
        self.uses: dict[int, int] = {}
        self.numbers: dict[int, int] = {}

    def count(self, value: Any) -> None:
        """Count the nodes in a value."""
        if isinstance(value, (Node, BlockKey)):
            seen = self.uses.get(id(value), 0)
            self.uses[id(value)] = seen + 1
            if not seen and isinstance(value, Node) and not isinstance(value, Op):
                for name in _fields(type(value)):
                    self.count(getattr(value, name))
        elif isinstance(value, (tuple, list)):
            for item in value:
                self.count(item)
        elif isinstance(value, IRModule):
            for part in (value.attrs, value.global_infos, value.functions):
                self.count(part)
        elif isinstance(value, Mapping):
            for item in (*value.keys(), *value.values()):
                self.count(item)

    def encoded(self, value: Any) -> Any:
        """The form of a value."""
        if value is None or value.__class__ in (bool, int):
            return value
        if isinstance(value, DType):
            return {"dtype": str(value)}
        if isinstance(value, str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, tuple):
            return [self.encoded(item) for item in value]
        if isinstance(value, list):
            return {"list": [self.encoded(item) for item in value]}
        if isinstance(value, Op):
            return {"op": value.name}
        if isinstance(value, (Node, BlockKey)):
            return self._node(value)
        if isinstance(value, IRModule):
            return {
                _MODULE: [self.encoded(p) for p in (value.functions, value.attrs, _infos(value))]
            }
        if isinstance(value, Mapping):
            return {"dict": [[self.encoded(k), self.encoded(v)] for k, v in value.items()]}
        if hasattr(value, "tobytes") and hasattr(value, "shape"):
            if self._arrays is not None:
                return {"array": self._array_number(value)}
            data = base64.b64encode(value.tobytes()).decode("ascii")
            return {"array": [str(DType(value.dtype)), list(value.shape), data]}
        if getattr(value, "is_attribute", False) and hasattr(value, "export"):
            return {"target": value.export()}
        raise ArgumentError(f"{value!r} has no form as JSON: it is not data")

    def _array_number(self, value: Any) -> int:
        """The number of an array that is kept elsewhere; the same one has the same number."""
        assert self._arrays is not None
        for number, other in enumerate(self._arrays):
            if other is value:
                return number
        self._arrays.append(value)
        return len(self._arrays) - 1

    def _node(self, value: Node | BlockKey) -> dict[str, Any]:
        number = self.numbers.get(id(value))
        if number is not None:
            return {"ref": number}
        form: dict[str, Any] = {}
        if self.uses[id(value)] > 1 and not isinstance(value, _CONSTANTS):
            form["#"] = self.numbers[id(value)] = len(self.numbers)
        if isinstance(value, Node):
            for name, field in _fields(type(value)).items():
                item = getattr(value, name)
                if not _is_default(field, item):
                    form[name] = self._field(item)
        return {node_name(type(value)): form}

    def _field(self, value: Any) -> Any:
        if isinstance(value, DType):
            return str(value)
        return value.name if isinstance(value, enum.Enum) else self.encoded(value)


def _infos(mod: IRModule) -> dict[str, Any]:
    return {name: tuple(infos) for name, infos in mod.global_infos.items()}


def _is_default(field: Field, value: Any) -> bool:
    default = field.default
    if value is default:
        return True
    # Only of these is `==` known to compare; of expressions it builds a comparison.
    plain = isinstance(value, (bool, int, str)) or (isinstance(value, tuple) and not value)
    return plain and type(value) is type(default) and value == default


class _Reader:
    """Reads one value; `known` has the nodes that are referred to."""

    def __init__(self, arrays: Sequence[Any] = ()) -> None:
        self.arrays = arrays
        self.known: dict[int, Any] = {}
        self._integers: dict[tuple[Any, ...], Any] = {}

    def decoded(self, form: Any) -> Any:
        """The value of a form."""
        if isinstance(form, list):
            return tuple([self.decoded(item) for item in form])
        if not isinstance(form, dict):
            return form
        if len(form) != 1:
            raise ArgumentValueError(f"expected one entry, got {sorted(form)}")
        ((kind, content),) = form.items()
        special = _SPECIAL.get(kind)
        if special is not None:
            return special(self, content)
        return self._integer(content) if kind == "IntImm" else self._node(kind, content)

    def _integer(self, content: dict[str, Any]) -> Any:
        """A number, which most nodes are; equal ones are the same node."""
        key = (content.get("value").__class__, *content.items())  # for Python, 1.0 is 1
        found = self._integers.get(key)
        if found is None:
            found = self._integers[key] = self._node("IntImm", content)
        return found

    def _node(self, kind: str, content: dict[str, Any]) -> Any:
        cls = node_type(kind)
        if cls is None or cls is Op:
            raise ArgumentValueError(f"there is no node class {kind!r}")
        fields, literals = _fields(cls), _literals(cls)
        values: dict[str, Any] = {}
        for name, item in content.items():
            if name in literals:
                values[name] = literals[name](item)
            elif name in fields:
                values[name] = self.decoded(item)
            elif name != "#":
                raise ArgumentValueError(f"{kind} has no field {name!r}")
        missing = [name for name in _required(cls) if name not in values]
        if missing:
            raise ArgumentValueError(f"{kind} lacks {', '.join(missing)}")
        return self._remember(content, node_of_fields(cls, values))

    def _remember(self, content: dict[str, Any], value: Any) -> Any:
        if "#" in content:
            self.known[content["#"]] = value
        return value

    def block_key(self, content: dict[str, Any]) -> BlockKey:
        """What identifies a block."""
        return self._remember(content, BlockKey())

    def reference(self, number: int) -> Any:
        """A node that was read before."""
        return self.known[number]

    def mapping(self, items: list[Any]) -> dict[Any, Any]:
        """A dictionary, from pairs."""
        return {self.decoded(key): self.decoded(value) for key, value in items}

    def module(self, parts: list[Any]) -> IRModule:
        """A module, from functions, attributes and global infos."""
        functions, attrs, infos = map(self.decoded, parts)
        if not all(isinstance(var, GlobalVar) for var in functions):
            raise ArgumentValueError("the functions of a module are named by GlobalVars")
        return IRModule(functions, attrs, infos)


def _array(reader: _Reader, content: list[Any] | int) -> Any:
    import numpy as np

    if isinstance(content, int):
        return reader.arrays[content]
    dtype, shape, data = content
    kind = DType(dtype).numpy
    return np.frombuffer(base64.b64decode(data, validate=True), kind).reshape(shape)


def _float(_: _Reader, text: str) -> float:
    if text not in ("nan", "inf", "-inf"):
        raise ArgumentValueError(f"{text!r} is not a number")
    return float(text)


def _target(_: _Reader, config: dict[str, Any]) -> Any:
    return provider("targets").Target(config)


_SPECIAL: Final[dict[str, Callable[[_Reader, Any], Any]]] = {
    "ref": _Reader.reference,
    "dict": _Reader.mapping,
    "list": lambda reader, items: [reader.decoded(item) for item in items],
    "dtype": lambda _, name: DType(name),
    "float": _float,
    "op": lambda _, name: Op.get(name),
    "array": _array,
    "target": _target,
    "BlockKey": _Reader.block_key,
    _MODULE: _Reader.module,
}
