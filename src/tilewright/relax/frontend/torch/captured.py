"""Graphs that TorchDynamo has captured, as programs of `torch.export`.

TorchDynamo gives a graph of calls of torch with everything that the graph needs as a placeholder:
the weights of the model and its buffers, tensors, and sizes that differ between calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch.export import Dim
from torch.export.graph_signature import (
    ConstantArgument,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.fx import GraphModule, Node

from tilewright.error import UnsupportedOperatorError
from tilewright.relax.frontend.torch.program import simplified


class Extent(NamedTuple):
    """Where a size is found: an extent of a tensor."""

    tensor: int
    """The position of the tensor among the placeholders."""
    axis: int


class Roles(NamedTuple):
    """What the placeholders of a captured graph are; each is in one of the fields.

    Attributes:
        weights: positions of tensors that stay the same from call to call, as a rule.
        tensors: positions of other tensors.
        sizes: sizes that are extents of tensors, by position.
        numbers: positions of numbers, and of tensors of which only the number in them is used.
    """

    weights: tuple[int, ...]
    tensors: tuple[int, ...]
    sizes: dict[int, Extent]
    numbers: tuple[int, ...]

    def with_inputs(self, changing: Sequence[int]) -> Roles:
        """These, where some of the weights are like other tensors."""
        rest = tuple(position for position in self.weights if position not in changing)
        return self._replace(weights=rest, tensors=(*self.tensors, *changing))


def placeholders(graph: GraphModule) -> list[Node]:
    """What a graph takes."""
    return [node for node in graph.graph.nodes if node.op == "placeholder"]


def roles_of(graph: GraphModule, examples: Sequence[Any]) -> Roles:
    """What the placeholders of `graph` are, by the arguments that it was captured for."""
    nodes = placeholders(graph)
    weights, tensors, numbers = [], [], []
    for position, (node, example) in enumerate(zip(nodes, examples, strict=True)):
        if not isinstance(example, torch.Tensor) or _is_read_only_as_number(node, example):
            numbers.append(position)
        elif hasattr(example, "_dynamo_static_input_type") and not example.is_inference():
            weights.append(position)
        else:
            tensors.append(position)
    extents = {
        size.node.expr: Extent(position, axis)
        for position in tensors
        for axis, size in enumerate(_shape(nodes[position]))
        if is_symbolic(size)
    }
    sizes = {}
    for position in numbers:
        value = nodes[position].meta.get("example_value")
        if is_symbolic(value) and value.node.expr in extents:
            sizes[position] = extents[value.node.expr]
    rest = tuple(position for position in numbers if position not in sizes)
    return Roles(tuple(weights), tuple(tensors), sizes, rest)


def is_symbolic(size: Any) -> bool:
    """Whether a size of TorchDynamo is not a number.

    Some become numbers once the graph is complete.
    """
    return isinstance(size, torch.SymInt) and not size.node.expr.is_number


def _is_read_only_as_number(node: Node, example: torch.Tensor) -> bool:
    """Whether a tensor is a number that TorchDynamo takes not to be a constant."""
    return example.ndim == 0 and all(
        user.op == "call_method" and user.target == "item" for user in node.users
    )


def _shape(node: Node) -> Sequence[Any]:
    """The extents that TorchDynamo knows of a tensor, symbolic where they differ between calls."""
    return getattr(node.meta.get("example_value"), "shape", ())


class Program(torch.nn.Module):
    """A captured graph as a module that takes its tensors only, and has its weights as buffers."""

    def __init__(self, graph: GraphModule, roles: Roles, arguments: Sequence[Any]) -> None:
        super().__init__()
        self.graph, self.roles = graph, roles
        self.constants = {position: arguments[position] for position in roles.numbers}
        for position in roles.weights:
            self.register_buffer(buffer_name(position), arguments[position].detach())

    def forward(self, *tensors: torch.Tensor) -> Any:
        values: dict[int, Any] = dict(zip(self.roles.tensors, tensors, strict=True))
        values |= self.constants
        for position in self.roles.weights:
            values[position] = getattr(self, buffer_name(position))
        for position, (tensor, axis) in self.roles.sizes.items():
            values[position] = values[tensor].shape[axis]
        return self.graph(*(values[position] for position in range(len(values))))


def buffer_name(position: int) -> str:
    """The name that a weight has as a buffer of a `Program`."""
    return f"weight_{position}"


class Output(NamedTuple):
    """Where a result of a graph comes from, or goes to.

    Attributes:
        kind: ``"result"``, ``"number"``, ``"constant"``, ``"argument"`` for one that is given back
            as it is, ``"view"`` for a part of an argument, ``"shared"`` for a part of another
            result, or ``"change"`` of an argument.
        source: the value of a constant, or the position of the argument or of the other result.
        view: size, stride and offset of a view.
    """

    kind: str
    source: Any = None
    view: tuple[Any, ...] = ()


class CapturedProgram(NamedTuple):
    """A captured graph as a program.

    Attributes:
        program: what is converted.
        roles: of the arguments.
        outputs: of the program, changes first.
    """

    program: torch.export.ExportedProgram
    roles: Roles
    outputs: tuple[Output, ...]


def export(
    graph: GraphModule, roles: Roles, arguments: Sequence[Any], *, dynamic: bool
) -> CapturedProgram:
    """The program of a captured graph.

    Args:
        graph: the graph.
        roles: of its placeholders.
        arguments: what it was called with.
        dynamic: whether sizes that TorchDynamo takes to differ between calls are symbolic.

    Raises:
        UnsupportedOperatorError: for results that share memory in a way that is not supported.
    """
    with torch.inference_mode(False), torch.no_grad():
        tensors = tuple(_plain(arguments[position]) for position in roles.tensors)
        shapes = [_dynamic_axes(graph, position) if dynamic else {} for position in roles.tensors]
        module = Program(graph, roles, arguments)
        captured = torch.export.export(
            module, tensors, dynamic_shapes=(tuple(shapes),), strict=False
        )
    program = simplified(captured)
    names = program.graph_signature.buffers_to_mutate.values()
    changed = [position for position in roles.weights if buffer_name(position) in names]
    if changed:  # they are not constant
        return export(graph, roles.with_inputs(changed), arguments, dynamic=dynamic)
    views = _shared_memory(captured, roles)
    return CapturedProgram(program, roles, tuple(_outputs(program, roles, views)))


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor that is not a parameter and was not made in inference mode."""
    return tensor.clone() if tensor.is_inference() else tensor.detach()


def _dynamic_axes(graph: GraphModule, position: int) -> dict[int, Any]:
    shape = _shape(placeholders(graph)[position])
    return {axis: Dim.DYNAMIC for axis, size in enumerate(shape) if is_symbolic(size)}


def _sources(program: torch.export.ExportedProgram, roles: Roles) -> dict[str, int]:
    """The positions of arguments by the names of the program's placeholders."""
    signature = program.graph_signature
    positions = dict(zip(signature.user_inputs, roles.tensors, strict=True))
    for name, buffer in signature.inputs_to_buffers.items():
        positions[name] = int(buffer.rpartition("_")[2])
    return positions  # type: ignore[return-value]


def _shared_memory(program: torch.export.ExportedProgram, roles: Roles) -> list[Output | None]:
    """For each result whether it is an argument, or a part of one, or of another result.

    Raises:
        UnsupportedOperatorError: for a view of a dynamic shape, and for results that share memory
            which none of them is all of.
    """
    sources = _sources(program, roles)
    arguments = {
        _memory(node): (node, sources[node.name])
        for node in program.graph.nodes
        if node.op == "placeholder" and node.name in sources
    }
    results = [node for spec, node in _results(program) if spec.kind is OutputKind.USER_OUTPUT]
    found: list[Output | None] = []
    for position, node in enumerate(results):
        memory = _memory(node)
        if memory is not None and memory in arguments:
            argument, source = arguments[memory]
            found.append(_part(node, argument, source))
            continue
        whole = position if memory is None else _largest(results, memory)
        found.append(None if whole == position else _shared(node, results[whole], whole))
    return found


def _largest(results: Sequence[Any], memory: Any) -> int:
    """The first of the largest results that share memory."""
    sharing = [n for n, node in enumerate(results) if _memory(node) == memory]
    return max(sharing, key=lambda n: results[n].meta["val"].numel())


def _shared(node: Node, whole: Node, position: int) -> Output:
    """A result that is a part of the one at `position`."""
    value, base = node.meta["val"], whole.meta["val"]
    view = _layout(value)
    if not base.is_contiguous() or not _is_constant((*_layout(base), *view)):
        raise UnsupportedOperatorError("two results share memory that no result is all of")
    offset = view[2] - base.storage_offset()
    last = offset + sum((e - 1) * s for e, s in zip(value.shape, value.stride(), strict=True))
    if value.dtype is not base.dtype or offset < 0 or last >= base.numel():
        raise UnsupportedOperatorError("two results share memory that no result is all of")
    return Output("shared", position, (view[0], view[1], offset))


def _results(program: torch.export.ExportedProgram) -> Iterator[tuple[OutputSpec, Any]]:
    """What the program gives, changes of arguments first."""
    (output,) = (node for node in program.graph.nodes if node.op == "output")
    return zip(program.graph_signature.output_specs, output.args[0], strict=True)


def _memory(node: Any) -> Any:
    """A key that is equal for tensors in the same memory; None for anything but tensors."""
    value = node.meta.get("val") if isinstance(node, Node) else None
    return value.untyped_storage()._cdata if isinstance(value, torch.Tensor) else None


def _layout(value: torch.Tensor) -> tuple[Any, ...]:
    """The shape, the strides and the offset of a tensor."""
    return tuple(value.shape), value.stride(), value.storage_offset()


def _is_constant(sizes: Sequence[Any]) -> bool:
    return all(
        _is_constant(size) if isinstance(size, tuple) else isinstance(size, int) for size in sizes
    )


def _part(node: Node, argument: Node, position: int) -> Output:
    value, whole = node.meta["val"], argument.meta["val"]
    view = _layout(value)
    if node is argument or view == _layout(whole):
        return Output("argument", position)
    if not _is_constant(view):
        raise UnsupportedOperatorError("a result is a view of an argument, of a dynamic shape")
    if value.dtype is not whole.dtype:
        raise UnsupportedOperatorError("a result is a view of an argument, of another dtype")
    return Output("view", position, view)


def _outputs(
    program: torch.export.ExportedProgram, roles: Roles, views: Sequence[Output | None]
) -> Iterator[Output]:
    sources, shared = _sources(program, roles), iter(views)
    for spec, _ in _results(program):
        if spec.kind is not OutputKind.USER_OUTPUT:
            yield Output("change", sources[str(spec.target)])
            continue
        view = next(shared)
        if view is not None:
            yield view
        elif isinstance(spec.arg, ConstantArgument):
            yield Output("constant", spec.arg.value)
        else:
            yield Output("result" if isinstance(spec.arg, TensorArgument) else "number")
