"""Conversion of the nodes of a graph of ONNX, one after the other."""

from __future__ import annotations

import inspect
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TensorProto, helper

from tilewright.error import ArgumentValueError, TVMError
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import Call, Constant, RelaxExpr
from tilewright.relax.frontend.onnx.checks import domain_of, place_of, schema_of
from tilewright.relax.frontend.onnx.evaluation import evaluated
from tilewright.relax.frontend.onnx.functions import bound_nodes, function_of
from tilewright.relax.frontend.onnx.operands import MOST_ELEMENTS, Operands
from tilewright.relax.frontend.onnx.sizes import identifier
from tilewright.relax.frontend.onnx.table import (
    ADVICE,
    CONVERTERS,
    OLDEST_VERSIONS,
)
from tilewright.relax.frontend.onnx.tensors import NARROW, array_of
from tilewright.relax.frontend.onnx.types import type_of
from tilewright.relax.frontend.table import Converter, Problems, UnsupportedError
from tilewright.relax.struct_info import TensorStructInfo

UNKNOWN: Final = object()
"""The value of a node that cannot be converted, and of those that need it."""
MOST_NODES: Final = 200_000
"""Maximum number of nodes, with those of functions each time they are called."""
_MISTAKES: Final = (
    ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError,
)  # fmt: skip
"""What conversions run into if attributes and operands are not what the standard says."""


class Graph(Operands):
    """A graph function while it is made from a graph of ONNX.

    Attributes:
        values: what each name stands for: an array, a list for a sequence, `EMPTY` for an optional
            value that is not there, or `UNKNOWN`.
        opsets: the version of each domain of operators, in the function that is being converted.
        bits: how many bits the integers of an array have, if they fill no bytes.
        node: the node that is being converted.
        folder: where files of elements may be.
    """

    def __init__(
        self, builder: BlockBuilder, opsets: Mapping[str, int],
        functions: Iterable[FunctionProto] = (), folder: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(builder)
        self.values: ChainMap[str, Any] = ChainMap()
        self.opsets = opsets
        self.functions = {(domain_of(f.domain), f.name, f.overload): f for f in functions}
        self.problems = Problems(ADVICE)
        self.node: NodeProto = NodeProto()
        self.folder = folder
        self.bits: dict[RelaxExpr, int] = {}
        self._count = 0
        self._calls: list[str] = []

    # --- what conversions use -------------------------------------------------------------

    @property
    def name_hint(self) -> str:
        """The name of the first result of the node."""
        name = next((name for name in self.node.output if name), "")
        return identifier(name) if len(name) <= 80 else ""

    @property
    def version(self) -> int:
        """The version of the operator that is being converted."""
        schema = schema_of(self.node, self.opsets)
        return schema.since_version if schema else 1

    def result_count(self) -> int:
        """The number of results that the node names."""
        return len(self.node.output)

    def has_result(self, position: int) -> bool:
        """Whether somebody wants a result of the node."""
        return position < len(self.node.output) and bool(self.node.output[position])

    # --- graphs ---------------------------------------------------------------------------

    def convert_nodes(self, nodes: Iterable[NodeProto]) -> None:
        """Convert nodes; what cannot be is noted, and the search for more goes on."""
        outer = self.node
        for node in nodes:
            self._count += 1
            if self._count > MOST_NODES:
                raise TooLargeError(f"the model has more than {MOST_NODES} nodes")
            self.node = node
            self._convert(node)
        self.node = outer

    def convert_graph(self, graph: GraphProto, operands: Sequence[Any]) -> list[Any]:
        """The results of a graph that is a part of a node, which sees the values around it."""
        self.values = self.values.new_child()
        try:
            self.add_initializers(graph)
            names = [value.name for value in graph.input]
            self.values.update(zip(names, operands, strict=False))
            self.convert_nodes(graph.node)
            return [self.values[value.name] for value in graph.output]
        finally:
            self.values = self.values.parents

    def add_initializers(self, graph: GraphProto) -> None:
        """Give the constants of a graph their values."""
        for tensor in graph.initializer:
            try:
                self.values[tensor.name] = self.tensor(tensor)
            except UnsupportedError as error:
                self.problems.add("initializer", str(error), f"{tensor.name[:80]!r}")
                self.values[tensor.name] = UNKNOWN

    def tensor(self, tensor: TensorProto) -> Constant:
        """A tensor of the model."""
        value = Constant(np.asarray(array_of(tensor, self.folder), order="C"))
        if tensor.data_type in NARROW:
            self.bits[value] = NARROW[tensor.data_type][1]  # type: ignore[index]
        return value

    def _convert(self, node: NodeProto) -> None:
        try:
            operands = [self.values[name] if name else None for name in node.input]
            # A node with graphs needs what these take, too; their nodes find that out.
            if any(value is UNKNOWN for value in operands):
                self._require_conversion(node)
                results: Sequence[Any] = [UNKNOWN] * len(node.output)
            else:
                results = self._results(node, operands)
        except TooLargeError:
            raise
        except (UnsupportedError, TVMError) as error:
            results = self._problem(node, str(error))
        except _MISTAKES as error:
            results = self._problem(node, f"it is malformed: {type(error).__name__}: {error}")
        # What has no result is refused where it is used.
        missing = [UNKNOWN] * (len(node.output) - len(results))
        for name, value in zip(node.output, [*results, *missing], strict=False):
            if name:
                self.values[name] = value

    def _problem(self, node: NodeProto, reason: str) -> list[Any]:
        place = place_of(node) + (
            f", in {' of '.join(reversed(self._calls))}" if self._calls else ""
        )
        self.problems.add(operator_name(node), reason, place)
        return [UNKNOWN] * len(node.output)

    def _require_conversion(self, node: NodeProto) -> None:
        if CONVERTERS.get(operator_name(node)) is None and not self._has_function(node):
            raise UnsupportedError("there is no conversion of this operator")

    def _has_function(self, node: NodeProto) -> bool:
        if (domain_of(node.domain), node.op_type, node.overload) in self.functions:
            return True
        schema = schema_of(node, self.opsets)
        return schema is not None and (schema.has_function or schema.has_context_dependent_function)

    def _results(self, node: NodeProto, operands: Sequence[Any]) -> Sequence[Any]:
        """The results of a node, whose operands are known."""
        function = self.functions.get((domain_of(node.domain), node.op_type, node.overload))
        if function is not None:
            return self._call(function, node, operands)
        attributes = {a.name: attribute_value(a) for a in node.attribute}
        known = [self.elements(v) if isinstance(v, RelaxExpr) else None for v in operands]
        if domain_of(node.domain) == "" and operands and all(k is not None for k in known):
            folded = evaluated(node.op_type, known, attributes, MOST_ELEMENTS)
            if folded is not None:
                # That a size is at least 0 decides many comparisons.
                simplify = self.builder.analyzer.simplify
                return [self._array(result.simplified(simplify)) for result in folded]
        converter = CONVERTERS.get(operator_name(node))
        if converter is None or self.version < OLDEST_VERSIONS.get(operator_name(node), 1):
            return self._expanded(node, operands)
        values = self._converted(converter, operands, attributes)
        results = values if isinstance(values, list) else [values]
        return [self._finished(value) for value in results]

    def _converted(
        self, converter: Converter, operands: Sequence[Any], attributes: dict[str, Any]
    ) -> Any:
        """What a conversion makes of the operands and attributes of the node."""
        given = list(operands)
        while given and given[-1] is None:
            given.pop()
        try:
            inspect.signature(converter).bind(self, *given, **attributes)
        except TypeError:
            raise UnsupportedError("these operands and attributes are not supported") from None
        return converter(self, *given, **attributes)

    def _finished(self, value: Any) -> Any:
        if isinstance(value, Call):
            value = self.emit(value)
        if isinstance(value, RelaxExpr) and isinstance(value.struct_info, TensorStructInfo):
            return self.named(value)
        return value

    # --- functions ------------------------------------------------------------------------

    def _expanded(self, node: NodeProto, operands: Sequence[Any]) -> Sequence[Any]:
        """The results of an operator that the standard defines by others."""
        types = [type_of(value) for value in operands]
        function = function_of(node, self.opsets, types)
        if function is None:
            if CONVERTERS.get(operator_name(node)) is not None:
                raise UnsupportedError(f"version {self.version} of it is not supported")
            raise UnsupportedError("there is no conversion of this operator")
        return self._call(function, node, operands)

    def _call(
        self, function: FunctionProto, node: NodeProto, operands: Sequence[Any]
    ) -> Sequence[Any]:
        key = f"{function.domain}.{function.name}"
        if key in self._calls:
            raise UnsupportedError("it is a function that calls itself")
        outer, opsets, caller = self.values, self.opsets, self.node
        given = [*operands, *[None] * (len(function.input) - len(operands))]
        self._calls.append(key)
        self.values = ChainMap(dict(zip(function.input, given, strict=False)))
        own = {domain_of(opset.domain): opset.version for opset in function.opset_import}
        self.opsets = {**opsets, **own}
        try:
            self.convert_nodes(bound_nodes(function, node))
            return [self.values.get(name, UNKNOWN) for name in function.output]
        finally:
            self.values, self.opsets, self.node = outer, opsets, caller
            self._calls.pop()


class TooLargeError(ArgumentValueError):
    """Raised for a model that would take too much to convert."""


def operator_name(node: NodeProto) -> str:
    """The name of the operator of a node in the table of conversions."""
    domain = domain_of(node.domain)
    return f"{domain}.{node.op_type}" if domain else node.op_type


def attribute_value(attribute: AttributeProto) -> Any:
    """The value of an attribute; texts as such, tensors and graphs as they are in the model."""
    value = helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if attribute.type == AttributeProto.STRINGS:
        return [item.decode("utf-8", "replace") for item in value]
    return list(value) if attribute.type in (AttributeProto.INTS, AttributeProto.FLOATS) else value
