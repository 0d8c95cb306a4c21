"""What a model must fulfil before it is converted: a file may come from anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto

from tilewright.error import ArgumentValueError

LONGEST_NAME: Final = 4096
"""Maximum number of characters of a name."""
DEEPEST: Final = 16
"""Maximum number of graphs inside of one another."""

_TEXTS: Final = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_MESSAGE)

_VALUES: Final = {
    AttributeProto.FLOAT: "f", AttributeProto.INT: "i", AttributeProto.STRING: "s",
    AttributeProto.TENSOR: "t", AttributeProto.GRAPH: "g", AttributeProto.TYPE_PROTO: "tp",
    AttributeProto.SPARSE_TENSOR: "sparse_tensor",
}  # fmt: skip
_LISTS: Final = {
    AttributeProto.FLOATS: "floats", AttributeProto.INTS: "ints", AttributeProto.STRINGS: "strings",
    AttributeProto.TENSORS: "tensors", AttributeProto.GRAPHS: "graphs",
    AttributeProto.TYPE_PROTOS: "type_protos", AttributeProto.SPARSE_TENSORS: "sparse_tensors",
}  # fmt: skip


def check_model(model: ModelProto) -> None:
    """Refuse a model that is not well-formed.

    Raises:
        ArgumentValueError: if it is not; the message names the node or value.
    """
    if not model.HasField("graph"):
        raise ArgumentValueError("the model has no graph")
    _check_texts(model)
    opsets = opsets_of(model)
    version = opsets.get("")
    newest = onnx.defs.onnx_opset_version()
    if version is None and any(node.domain in ("", "ai.onnx") for node in model.graph.node):
        raise ArgumentValueError("the model does not say which opset it uses (opset_import)")
    if version is not None and not 1 <= version <= newest:
        raise ArgumentValueError(
            f"the model uses opset {version}; the installed package onnx knows those up to {newest}"
        )
    for function in model.functions:
        _check_function(function)
    _check_graph(model.graph, frozenset(), opsets, 0, "the graph")


def _check_texts(message: Any) -> None:
    """Refuse names that are not text, which protobuf gives as bytes."""
    if isinstance(message, TensorProto):  # its elements may be many
        parts: list[Any] = [message.name, *message.external_data]
    else:
        parts = [value for field, value in message.ListFields() if field.type in _TEXTS]
    for part in parts:
        for item in [part] if isinstance(part, (str, bytes, Message)) else part:
            if isinstance(item, Message):
                _check_texts(item)
            elif isinstance(item, bytes):
                raise ArgumentValueError(f"the model has a name that is not text: {item[:80]!r}")


def opsets_of(container: ModelProto | FunctionProto) -> dict[str, int]:
    """The version of each domain of operators.

    Raises:
        ArgumentValueError: for a number that is not a version.
    """
    opsets = {domain_of(opset.domain): opset.version for opset in container.opset_import}
    for domain, version in opsets.items():
        if not 0 < version < 1 << 31:
            raise ArgumentValueError(
                f"the version {version} of the operators of {domain[:80]!r} is none"
            )
    return opsets


def domain_of(name: str) -> str:
    """A domain; the one of the standard has two names."""
    return "" if name == "ai.onnx" else name


def place_of(node: NodeProto) -> str:
    """How messages call a node."""
    if node.name:
        return f"node {node.name[:80]!r}"
    output = next((name for name in node.output if name), "")
    return f"the node of {output[:80]!r}"


def _check_function(function: FunctionProto) -> None:
    owner = f"the function {function.name[:80]!r}"
    defined = _names(function.input, set(), owner)
    _check_nodes(function.node, defined, opsets_of(function), 0, owner)
    _require(function.output, defined, owner)


def _check_graph(
    graph: GraphProto, outer: frozenset[str], opsets: Mapping[str, int], depth: int, owner: str
) -> None:
    if depth > DEEPEST:
        raise ArgumentValueError(f"more than {DEEPEST} graphs are inside of one another")
    if graph.sparse_initializer:
        raise ArgumentValueError(f"{owner} has a sparse tensor, which is not supported")
    defined = _names((value.name for value in graph.input), set(), owner)
    _names((tensor.name for tensor in graph.initializer), set(), owner)
    defined |= {tensor.name for tensor in graph.initializer}
    everything = defined | outer
    _check_nodes(graph.node, everything, opsets, depth, owner, frozenset(defined))
    _require((value.name for value in graph.output), everything, owner)


def _names(names: Iterable[str], defined: set[str], owner: str) -> set[str]:
    """`defined` with more names, each of which is new and not empty."""
    for name in names:
        if not name or len(name) > LONGEST_NAME:
            raise ArgumentValueError(f"{owner} has a value whose name is empty or too long")
        if name in defined:
            raise ArgumentValueError(f"{owner} defines {name[:80]!r} twice")
        defined.add(name)
    return defined


def _require(names: Iterable[str], defined: set[str], owner: str) -> None:
    for name in names:
        if name not in defined:
            raise ArgumentValueError(f"{owner} returns {name[:80]!r}, which nothing defines")


def _check_nodes(
    nodes: Iterable[NodeProto], known: set[str], opsets: Mapping[str, int], depth: int,
    owner: str, own: frozenset[str] | None = None,
) -> None:  # fmt: skip
    """Check nodes in their order; `known` gets what they define.

    Args:
        own: the names that the graph itself defines, which nodes may not define again; by default
            all that are known.
    """
    mine = set(known if own is None else own)
    for node in nodes:
        place = place_of(node)
        for name in node.input:
            if name and name not in known:
                raise ArgumentValueError(
                    f"{place} ({node.op_type[:80]}) takes {name[:80]!r}, which nothing before it "
                    "defines: the nodes are not in order, or they form a cycle"
                )
        _check_attributes(node, place)
        _check_schema(node, place, opsets)
        for attribute in node.attribute:
            for graph in (
                [attribute.g] if attribute.type == AttributeProto.GRAPH else attribute.graphs
            ):
                _check_graph(graph, frozenset(known), opsets, depth + 1, f"a graph of {place}")
        for name in node.output:
            if not name:
                continue
            if name in mine or len(name) > LONGEST_NAME:
                raise ArgumentValueError(f"{owner} defines {name[:80]!r} twice, or it is too long")
            mine.add(name)
            known.add(name)


def _check_attributes(node: NodeProto, place: str) -> None:
    """Each attribute has one value, of the type that it names."""
    seen: set[str] = set()
    for attribute in node.attribute:
        name = attribute.name[:80]
        if attribute.name in seen or not attribute.name:
            raise ArgumentValueError(f"{place} has the attribute {name!r} twice, or without name")
        seen.add(attribute.name)
        if attribute.ref_attr_name:
            continue
        if attribute.type in _VALUES:
            fine = attribute.HasField(_VALUES[attribute.type])
        else:
            fine = attribute.type in _LISTS
        others = [f for kind, f in _LISTS.items() if kind != attribute.type]
        if not fine or any(len(getattr(attribute, field)) for field in others):
            raise ArgumentValueError(f"{place}: the attribute {name!r} has no value of its type")


def _check_schema(node: NodeProto, place: str, opsets: Mapping[str, int]) -> None:
    """The node has as many operands as its operator takes, and only attributes that it has."""
    schema = schema_of(node, opsets)
    if schema is None:
        return
    operator = f"{place}: {node.op_type}"
    counts = (
        ("operands", len(node.input), schema.min_input, schema.max_input),
        ("results", len(node.output), schema.min_output, schema.max_output),
    )
    for what, count, least, most in counts:
        if not least <= count <= most:
            raise ArgumentValueError(f"{operator} has {least} to {most} {what}, not {count}")
    attributes = {attribute.name: attribute for attribute in node.attribute}
    for name, attribute in attributes.items():
        declared = schema.attributes.get(name)
        if declared is None:
            if not name.startswith("__"):
                raise ArgumentValueError(f"{operator} has no attribute {name[:80]!r}")
        elif not attribute.ref_attr_name and int(declared.type.value) != attribute.type:
            raise ArgumentValueError(f"{operator}: the attribute {name!r} has another type")
    for name, declared in schema.attributes.items():
        if declared.required and name not in attributes:
            raise ArgumentValueError(f"{operator} needs the attribute {name!r}")


def schema_of(node: NodeProto, opsets: Mapping[str, int]) -> Any:
    """What the standard says of the operator of a node; None for one that it does not have."""
    domain = domain_of(node.domain)
    version = opsets.get(domain)
    if version is None or not onnx.defs.has(node.op_type, version, domain):
        return None
    return onnx.defs.get_schema(node.op_type, version, domain)
