"""Programs in the JSON form of Apache TVM 0.18: a graph of numbered nodes.

The form is ``{"root": 1, "nodes": [...], "b64ndarrays": [...], "attrs": {...}}``. A node has a
``type_key`` and its fields as strings: numbers and dtypes as they are, everything else as the
number of a node. Node 0 is None. Reading makes nodes and executes nothing.

Only tensor programs are read and written: functions, statements, expressions, index maps, and
modules of these.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tilewright.error import ArgumentError, ArgumentValueError, TVMError
from tilewright.ir.comparison import annotation_of
from tilewright.ir.dtype import DType, PointerType, PrimType
from tilewright.ir.expr import Expr, FloatImm, IntImm, Var
from tilewright.ir.module import BaseFunc, GlobalVar, IRModule
from tilewright.ir.node import MISSING, Field, Node, Role, node_name, node_of_fields, node_type
from tilewright.ir.op import Op
from tilewright.tir.expr import IterType
from tilewright.tir.stmt import ForKind

_LITERALS: Final[Mapping[str, Callable[[str], Any]]] = {
    "DType": DType,
    "int": int,
    "float": float,
    "ForKind": lambda text: ForKind(int(text)),
    "IterType": lambda text: IterType(int(text)),
}
_BUFFER_TYPES: Final = {"1": "", "2": "auto_broadcast"}
_DATA_ALIGNMENT: Final = 64
"""The alignment in bytes of a buffer for which nothing was asked."""

_LANES_ARE_NODES_SINCE: Final = (0, 16)
_PLAIN: Final = ("IntImm", "FloatImm", "Range", "GlobalVar", "PrimType", "PointerType")
"""Type keys without ``tir.``."""

_MALFORMED: Final = (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError)


def is_node_graph(form: Any) -> bool:
    """Whether a JSON object is of this form."""
    return isinstance(form, dict) and "root" in form and "nodes" in form


def from_node_graph(form: Any) -> Any:
    """The node, module or container of these that a graph says.

    Raises:
        ArgumentValueError: if it is malformed, or has nodes that are not part of tensor programs.
    """
    if not is_node_graph(form):
        raise ArgumentValueError("this is not a graph of nodes: it has no root")
    try:
        return _Reader(form).value(form["root"])
    except TVMError:
        raise
    except _MALFORMED as error:
        raise ArgumentValueError(f"malformed graph of nodes: {error!r}") from None


def to_node_graph(value: Any) -> dict[str, Any]:
    """A node, a module, or a container of those as a graph of nodes, for `json.dumps`.

    Raises:
        ArgumentError: for what has no such form.
    """
    writer = _Writer()
    root = writer.number(value)
    return {
        "root": root,
        "nodes": writer.nodes(),
        "b64ndarrays": [],
        "attrs": {"tvm_version": "0.18.0"},
    }


@functools.cache
def _fields(cls: type[Node]) -> tuple[tuple[Field, Callable[[str], Any] | None], ...]:
    """The fields of a class that the form has, and how each is read; None for a node."""
    return tuple(
        (field, _LITERALS.get(annotation_of(cls, field.name)))
        for field in cls.__node_fields__
        if field.role is not Role.DERIVED and field.name not in ("span", "key")
    )


class _Reader:
    """Reads the nodes of a graph, each one once.

    Attributes:
        made: the values of nodes by number.
    """

    def __init__(self, form: Mapping[str, Any]) -> None:
        self.nodes: Sequence[Mapping[str, Any]] = form["nodes"]
        version = form.get("attrs", {}).get("tvm_version", "0.18.0")
        self._version = tuple(int(part) for part in version.split(".")[:2])
        self.made: dict[int, Any] = {0: None}

    def value(self, root: int) -> Any:
        """The value of a node, made after those that it consists of."""
        begun: set[int] = set()
        stack = [root]
        while stack:
            number = stack[-1]
            missing = [part for part in self._parts(number) if part not in self.made]
            if not missing:
                self.made.setdefault(number, self._make(self.nodes[number]))
                stack.pop()
            elif number in begun:
                raise ArgumentValueError(f"node {number} is a part of itself")
            else:
                begun.add(number)
                stack += missing
        return self.made[root]

    def _parts(self, number: int) -> list[int]:
        """The numbers of the nodes that a node consists of."""
        if number in self.made:
            return []
        if not 0 <= number < len(self.nodes):
            raise ArgumentValueError(f"there is no node {number}")
        node = self.nodes[number]
        if "data" in node:
            return node["data"]
        key, attrs = node["type_key"], node.get("attrs", {})
        cls = _class(key)
        if cls is None:
            names: Sequence[str] = _PARTS.get(key, ())
        else:
            names = [f.name for f, literal in _fields(cls) if self._literal(f, literal) is None]
        return [int(attrs[name]) for name in names if name in attrs]

    def _literal(
        self, field: Field, literal: Callable[[str], Any] | None
    ) -> Callable[[str], Any] | None:
        """How a field is read; None for a node."""
        if field.name == "buffer_type":
            return _BUFFER_TYPES.__getitem__
        if field.name == "lanes" and self._version >= _LANES_ARE_NODES_SINCE:
            return None
        return literal

    def _make(self, node: Mapping[str, Any]) -> Any:
        key, attrs = node["type_key"], node.get("attrs", {})
        cls = _class(key)
        if cls is not None:
            return self._node(cls, key, attrs)
        if key not in _MAKERS:
            raise ArgumentValueError(f"{key} is not a part of a tensor program")
        return _MAKERS[key](self, node, attrs)

    def _node(self, cls: type[Node], key: str, attrs: Mapping[str, str]) -> Any:
        values: dict[str, Any] = {}
        for field, usual in _fields(cls):
            if field.name in attrs:
                text, literal = attrs[field.name], self._literal(field, usual)
                value = self.made[int(text)] if literal is None else literal(text)
                if value is not None or field.default is MISSING:
                    values[field.name] = value
        if key in _ADAPTERS:
            _ADAPTERS[key](values)
        return node_of_fields(cls, values)

    def items(self, node: Mapping[str, Any]) -> dict[Any, Any]:
        """The content of a map: with its keys, or with keys and values by turns."""
        data = [self.made[number] for number in node.get("data", ())]
        if "keys" in node:
            return dict(zip(node["keys"], data, strict=True))
        return dict(zip(data[::2], data[1::2], strict=True))

    def module(self, attrs: Mapping[str, str]) -> IRModule:
        """A module."""
        functions = self.made[int(attrs["functions"])]
        if not all(isinstance(var, GlobalVar) for var in functions):
            raise ArgumentValueError("the functions of a module are named by GlobalVars")
        return IRModule(functions, self.made[int(attrs.get("attrs", 0))] or {})


def _class(key: str) -> type[Node] | None:
    name = key.removeprefix("tir.")
    if key.startswith("tir.") == (name in _PLAIN) or name == "Op":
        return None
    return node_type(name)


_PARTS: Final = {"DictAttrs": ("__dict__",), "IRModule": ("functions", "attrs")}

_MAKERS: Final[Mapping[str, Callable[[_Reader, Any, Any], Any]]] = {
    "": lambda reader, node, attrs: None,
    "Array": lambda reader, node, attrs: tuple(reader.made[n] for n in node.get("data", ())),
    "Map": lambda reader, node, attrs: reader.items(node),
    "runtime.String": lambda reader, node, attrs: node.get("repr_str", ""),
    "Op": lambda reader, node, attrs: Op.get(node["repr_str"]),
    "DictAttrs": lambda reader, node, attrs: reader.made[int(attrs["__dict__"])],
    "IRModule": lambda reader, node, attrs: reader.module(attrs),
    "TupleType": lambda reader, node, attrs: None,
}


def _plain_lanes(values: dict[str, Any]) -> None:
    if isinstance(values["lanes"], IntImm):
        values["lanes"] = values["lanes"].value


def _without_scalar_type(values: dict[str, Any]) -> None:
    """The type of a scalar is its dtype."""
    if not isinstance(values.get("type_annotation"), PointerType):
        values.pop("type_annotation", None)


def _without_defaults(values: dict[str, Any]) -> None:
    """What a buffer has there where nothing was asked for."""
    offset = values.get("elem_offset")
    if isinstance(offset, IntImm) and offset.value == 0:
        del values["elem_offset"]
    if values.get("data_alignment") == _DATA_ALIGNMENT:
        del values["data_alignment"]


_ADAPTERS: Final[Mapping[str, Callable[[dict[str, Any]], None]]] = {
    "tir.Var": _without_scalar_type,
    "tir.SizeVar": _without_scalar_type,
    "tir.Buffer": _without_defaults,
    "tir.Ramp": _plain_lanes,
    "tir.Broadcast": _plain_lanes,
}


@dataclasses.dataclass
class _Record:
    """A node that has no class here."""

    type_key: str
    fields: Mapping[str, Any]


_VOID: Final = _Record("TupleType", {"fields": (), "span": None})


def _module_record(mod: IRModule) -> _Record:
    return _Record(
        "IRModule",
        {
            "functions": mod.functions,
            "global_var_map_": {var.name_hint: var for var in mod.functions},
            "attrs": _Record("DictAttrs", {"__dict__": mod.attrs}) if mod.attrs else None,
            "global_infos": {},
            "source_map": _Record("SourceMap", {"source_map": {}}),
            # Versions before 0.18 look for these.
            "global_type_var_map_": {},
            "type_definitions": {},
        },
    )


def _constant(value: float) -> IntImm | FloatImm:
    if isinstance(value, bool):
        return IntImm(DType("bool"), int(value))
    if isinstance(value, int):
        return IntImm(DType("int32" if -(2**31) <= value < 2**31 else "int64"), value)
    return FloatImm(DType("float32"), value)


class _Writer:
    """Numbers values, and writes one node for each."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._values: list[Any] = [None]

    def number(self, value: Any) -> int:
        """The number of a value; one that occurs again has the same one."""
        if value is None:
            return 0
        key = value if isinstance(value, str) else id(value)
        if key not in self._numbers:
            self._numbers[key] = len(self._values)
            self._values.append(value)
        return self._numbers[key]

    def nodes(self) -> list[dict[str, Any]]:
        """The nodes; those that a node consists of are numbered while it is written."""
        found: list[dict[str, Any]] = []
        while len(found) < len(self._values):
            found.append(self._written(self._values[len(found)]))
        return found

    def _written(self, value: Any) -> dict[str, Any]:
        if value is None:
            return {"type_key": ""}
        if isinstance(value, str):
            return {"type_key": "runtime.String", "repr_str": value}
        if isinstance(value, (bool, int, float)):
            return self._written(_constant(value))
        if isinstance(value, (tuple, list)):
            return {"type_key": "Array", "data": [self.number(item) for item in value]}
        if isinstance(value, Mapping):
            return self._map(value)
        if isinstance(value, IRModule):
            value = _module_record(value)
        if isinstance(value, _Record):
            attrs = {name: str(self.number(item)) for name, item in value.fields.items()}
            return {"type_key": value.type_key, "attrs": attrs}
        if isinstance(value, Op):
            return {"type_key": "Op", "repr_str": value.name}
        if isinstance(value, Node):
            return self._node(value)
        raise ArgumentError(f"{value!r} has no form in a graph of nodes")

    def _map(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        if value and all(isinstance(key, str) for key in value):
            numbers = [self.number(item) for item in value.values()]
            return {"type_key": "Map", "keys": list(value), "data": numbers}
        data = [self.number(part) for item in value.items() for part in item]
        return {"type_key": "Map", "data": data}

    def _node(self, value: Node) -> dict[str, Any]:
        name = node_name(type(value))
        attrs: dict[str, str] = {"span": "0"}
        for field, literal in _fields(type(value)):
            item = getattr(value, field.name)
            if field.name == "buffer_type":
                attrs[field.name] = next(k for k, own in _BUFFER_TYPES.items() if own == item)
            elif field.name == "data_alignment":
                attrs[field.name] = str(item or _DATA_ALIGNMENT)
            elif literal is None or field.name == "lanes":
                attrs[field.name] = str(self.number(item))
            else:
                attrs[field.name] = str(item.value if isinstance(item, enum.Enum) else item)
        if isinstance(value, Expr):
            attrs.setdefault("dtype", str(value.dtype))
        if isinstance(value, Var) and value.type_annotation is None:
            attrs["type_annotation"] = str(self.number(PrimType(value.dtype)))
        if isinstance(value, BaseFunc):
            attrs["attrs"] = str(self.number(_Record("DictAttrs", {"__dict__": value.attrs})))
            attrs["ret_type"] = str(self.number(_VOID))
        if isinstance(value, (BaseFunc, GlobalVar)):
            attrs |= dict.fromkeys(("_checked_type_", "struct_info_", "virtual_device_"), "0")
        return {"type_key": name if name in _PLAIN else f"tir.{name}", "attrs": attrs}
