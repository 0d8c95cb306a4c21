"""The inputs of a torch program: those of the model, and its weights."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch.export.graph_signature import (
    ConstantArgument,
    InputKind,
    InputSpec,
    SymIntArgument,
    TensorArgument,
)

from tilewright.error import DTypeError, UnsupportedOperatorError
from tilewright.relax.expr import Constant, Var
from tilewright.relax.frontend.fourier import Complex
from tilewright.relax.frontend.torch.graph import UNKNOWN, Graph
from tilewright.relax.frontend.torch.sizes import dimension_names
from tilewright.relax.frontend.torch.tensors import constant_of, dtype_of
from tilewright.relax.sizes import UPPER_BOUNDS, defined_sizes_of
from tilewright.relax.struct_info import PrimStructInfo, TensorStructInfo


class Weight(NamedTuple):
    """A weight that is a parameter."""

    variable: Var
    value: Constant


class Parameters(NamedTuple):
    """The parameters of the graph function, in this order.

    Attributes:
        inputs: those of the program.
        state: buffers that the program changes.
        weights: other tensors of the model, if they are to be parameters.
    """

    inputs: list[Var]
    state: list[Var]
    weights: list[Weight]


def bind_placeholders(
    graph: Graph, program: torch.export.ExportedProgram, keep_params_as_input: bool
) -> Parameters:
    """Give each placeholder of the program a value."""
    inputs, state, weights = [], [], []
    changed = {*program.graph_signature.buffers_to_mutate.values()}
    changed |= {*program.graph_signature.parameters_to_mutate.values()}
    constants: dict[Any, Constant] = {}
    nodes = [node for node in program.graph.nodes if node.op == "placeholder"]
    names = dimension_names(node.meta.get("val") for node in nodes)
    taken = {node.name for node in nodes}
    graph.sizes.names = {key: name for key, name in names.items() if name not in taken}
    define_sizes(graph, nodes)
    for node, spec in zip(nodes, program.graph_signature.input_specs, strict=True):
        if spec.kind is InputKind.USER_INPUT:
            graph.values[node] = input_of(graph, node, spec)
            if isinstance(graph.values[node], Var):
                inputs.append(graph.values[node])
            elif isinstance(spec.arg, SymIntArgument):
                size = graph.values[node]
                inputs.append(Var(node.name, PrimStructInfo("int64", size)))
            continue
        if spec.kind is InputKind.TOKEN:  # the order of effects, which nothing here has
            graph.values[node] = UNKNOWN
            continue
        if not node.users:  # such as a count of the batches that training has seen
            continue
        if spec.target in changed:
            graph.values[node] = Var(node.name, graph.struct_info_of(node.meta["val"]))
            state.append(graph.values[node])
            continue
        tensor = weight_of(program, spec)
        if tensor.is_complex():
            graph.values[node] = Complex(*map(constant_of, (tensor.real, tensor.imag)))
            continue
        weight = constant_of(tensor)
        if keep_params_as_input and spec.kind is not InputKind.CONSTANT_TENSOR:
            variable = Var(node.name, graph.struct_info_of(node.meta["val"]))
            weights.append(Weight(variable, weight))
            graph.values[node] = variable
        else:
            graph.values[node] = constants.setdefault(_place_of(weight), weight)
    return Parameters(inputs, state, weights)


def _place_of(weight: Constant) -> tuple[Any, ...]:
    """What is the same for layers that share a weight, which is one constant then."""
    return weight.data.data_ptr(), weight.data.shape, weight.data.dtype


def define_sizes(graph: Graph, nodes: list[torch.fx.Node]) -> None:
    """Make the variables of sizes that are extents of an input by themselves."""
    for node in nodes:
        for size in getattr(node.meta["val"], "shape", [node.meta["val"]]):
            if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                graph.sizes.convert(size)


def require_shapes(graph: Graph, nodes: Iterable[torch.fx.Node]) -> None:
    """Bind inputs to variables of the shapes that torch knows, where parameters tell less."""
    for node in nodes:
        value = graph.values.get(node)
        if isinstance(value, Var) and not graph.same_shape(value, graph.shape_in_torch(node)):
            info = graph.struct_info_of(node.meta["val"])
            graph.values[node] = graph.builder.match_cast(value, info)


def require_definitions(graph: Graph, inputs: list[Var]) -> None:
    """Check that each symbolic size is an extent of an input, or an input.

    Raises:
        UnsupportedOperatorError: if one is not.
    """
    infos = [param.struct_info for param in inputs]
    defined = {size.name for info in infos if info for size in defined_sizes_of(info)}
    missing = [size.name for size in graph.sizes.variables.values() if size.name not in defined]
    if missing:
        shapes = ", ".join(f"{param.name_hint}: {param.struct_info!r}" for param in inputs)
        raise UnsupportedOperatorError(
            f"the size {missing[0]} of the program is not an extent of an input by itself "
            f"({shapes}); give torch.export.export such an extent as a Dim of its own"
        )


def input_of(graph: Graph, node: torch.fx.Node, spec: InputSpec) -> Any:
    """The value of an input: a parameter, or what it was when the program was exported."""
    if isinstance(spec.arg, TensorArgument):
        fake = node.meta["val"]
        extents = graph.sizes.declared(node.name, fake.shape)
        return Var(node.name, TensorStructInfo(extents, _dtype_of(f"input {node.name}", fake)))
    if isinstance(spec.arg, ConstantArgument):
        return spec.arg.value
    return graph.sizes.convert(node.meta["val"])


def _dtype_of(name: str, tensor: torch.Tensor) -> str:
    try:
        return dtype_of(tensor.dtype)
    except DTypeError as error:
        raise UnsupportedOperatorError(f"{name} of the program: {error}") from None


def weight_of(program: torch.export.ExportedProgram, spec: InputSpec) -> torch.Tensor:
    """The tensor of the model that an input of the program stands for.

    Raises:
        UnsupportedOperatorError: if it is not a tensor.
    """
    name = spec.target or ""
    value = program.state_dict.get(name, program.constants.get(name))
    if not isinstance(value, torch.Tensor):
        raise UnsupportedOperatorError(
            f"the program takes {name}, which is a {type(value).__name__}; only tensors can be "
            "part of a model"
        )
    if not value.is_complex():
        _dtype_of(f"the weight {name}", value)
    return value


def bounds(graph: Graph, program: torch.export.ExportedProgram) -> dict[str, dict[str, int]]:
    """The largest values of symbolic sizes for which the program is valid, as an attribute."""
    variables = graph.sizes.variables
    upper = {
        variables[str(symbol)].name: int(limits.upper)
        for symbol, limits in program.range_constraints.items()
        if str(symbol) in variables and limits.upper.is_Integer
    }
    ranges = {symbol: limits.upper for symbol, limits in program.range_constraints.items()}
    for name, (symbol, factor, rest) in graph.sizes.largest.items():
        if getattr(ranges.get(symbol), "is_Integer", False):
            upper[name] = factor * int(ranges[symbol]) + rest
    return {UPPER_BOUNDS: upper} if upper else {}
