"""Functions: those of a model, and operators that the standard defines by others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TypeProto

from tilewright.relax.frontend.onnx.checks import domain_of, schema_of


def function_of(
    node: NodeProto, opsets: Mapping[str, int], types: Sequence[TypeProto]
) -> FunctionProto | None:
    """The definition of an operator by others; None if the standard has none.

    Args:
        node: calls the operator.
        opsets: the version of each domain.
        types: those of the operands, which some definitions depend on.
    """
    schema = schema_of(node, opsets)
    if schema is None:
        return None
    if schema.has_function:
        version = _version(schema.function_opset_versions, opsets[domain_of(node.domain)])
        return _with_opset(schema.get_function_with_opset_version(version), version)
    if schema.has_context_dependent_function:
        versions = schema.context_dependent_function_opset_versions
        version = _version(versions, opsets[domain_of(node.domain)])
        text = schema.get_context_dependent_function_with_opset_version(
            version, node.SerializeToString(), [kind.SerializeToString() for kind in types]
        )
        return _with_opset(text, version) if text else None
    return None


def _version(versions: Sequence[int], version: int) -> int:
    """The opset in which a definition is written: the newest that the model knows, if any."""
    return max((v for v in versions if v <= version), default=min(versions))


def _with_opset(text: bytes | FunctionProto, version: int) -> FunctionProto:
    function = FunctionProto.FromString(text) if isinstance(text, bytes) else text
    if not any(domain_of(opset.domain) == "" for opset in function.opset_import):
        function.opset_import.add(domain="", version=version)
    return function


def bound_nodes(function: FunctionProto, node: NodeProto) -> list[NodeProto]:
    """The nodes of a function with the attributes of a call, and defaults for those it lacks."""
    given = {attribute.name: attribute for attribute in function.attribute_proto}
    schema_defaults = _defaults(function, node)
    given = {**schema_defaults, **given, **{a.name: a for a in node.attribute}}
    return [_bound(inner, given) for inner in function.node]


def _defaults(function: FunctionProto, node: NodeProto) -> dict[str, AttributeProto]:
    """What the standard gives attributes that a call of one of its operators leaves out."""
    opsets = {domain_of(opset.domain): opset.version for opset in function.opset_import}
    schema = schema_of(node, opsets)
    if schema is None:
        return {}
    values = {name: declared.default_value for name, declared in schema.attributes.items()}
    return {name: value for name, value in values.items() if value.name}


def _bound(node: NodeProto, given: Mapping[str, AttributeProto]) -> NodeProto:
    if not any(_refers(attribute) for attribute in node.attribute):
        return node
    result = NodeProto()
    result.CopyFrom(node)
    del result.attribute[:]
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            if attribute.ref_attr_name in given:
                bound = result.attribute.add()
                bound.CopyFrom(given[attribute.ref_attr_name])
                bound.name = attribute.name
            continue
        copy = result.attribute.add()
        copy.CopyFrom(attribute)
        for graph in [copy.g] if copy.HasField("g") else copy.graphs:
            _bind_graph(graph, given)
    return result


def _bind_graph(graph: GraphProto, given: Mapping[str, AttributeProto]) -> None:
    nodes = [_bound(node, given) for node in graph.node]
    del graph.node[:]
    graph.node.extend(nodes)


def _refers(attribute: AttributeProto) -> bool:
    """Whether an attribute, or a node in its graphs, takes an attribute of the function."""
    graphs: list[Any] = [attribute.g] if attribute.HasField("g") else list(attribute.graphs)
    return bool(attribute.ref_attr_name) or any(
        _refers(inner) for graph in graphs for node in graph.node for inner in node.attribute
    )
