"""The backend of `torch.compile`::

    model = torch.compile(model, backend="tilewright")

TorchDynamo gives graphs of calls of torch, one for each part of a function between what it cannot
follow. Each is compiled as a model with its weights as constants, so that they are packed once.
When weights have changed, which their version counters tell, it is compiled again.
"""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Final, NamedTuple

import torch
from torch._dynamo.exc import UserError, UserErrorType
from torch.fx import GraphModule

from tilewright.error import ArgumentError, TVMError, UnsupportedOperatorError, did_you_mean
from tilewright.relax.frontend.torch.captured import (
    CapturedProgram,
    Output,
    Roles,
    export,
    roles_of,
)
from tilewright.relax.frontend.torch.program import convert
from tilewright.relax.vm import VirtualMachine, build
from tilewright.runtime.ndarray import ALIGNMENT
from tilewright.target import Target

_logger = logging.getLogger(__name__)

MOST_VERSIONS: Final = 4
"""Number of times that a graph is compiled for weights, numbers and sizes that are constants."""


class Options(NamedTuple):
    """Options of ``torch.compile(..., options={...})``.

    Attributes:
        target: what to compile for; this machine by default.
        database: with schedules of tuned kernels, a `tilewright.tune.database.Database`.
        fallback: whether torch itself runs what cannot be compiled; otherwise that is an error.
    """

    target: str | Target | None = None
    database: Any = None
    fallback: bool = True

    @classmethod
    def of(cls, options: Mapping[str, Any] | None) -> Options:
        """Options from those of `torch.compile`.

        Raises:
            ArgumentError: for an option that does not exist.
        """
        for name in options or {}:
            if name not in cls._fields:
                raise ArgumentError(
                    f"torch.compile: the backend tilewright has no option {name!r}"
                    + did_you_mean(name, cls._fields, f"; it has {', '.join(cls._fields)}")
                )
        return cls(**(options or {}))


def compile_graph(
    graph: GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., Any]:
    """Compile a graph that TorchDynamo has captured: what `torch.compile` calls.

    Where gradients are asked for, and where an operator has no counterpart, torch runs the graph
    itself, and one line of the log says so.

    Args:
        graph: the graph.
        example_inputs: what it is called with first.
        options: see `Options`.
        mode: kept for programs that name one; it has no effect.

    Raises:
        ArgumentError: for an option that does not exist.
        UnsupportedOperatorError: for what cannot be compiled, if the option ``fallback`` is off.
    """
    del mode
    chosen = Options.of(options)
    reason = _reason_against(example_inputs)
    if reason is None:
        return CompiledGraph(graph, example_inputs, chosen)
    if not chosen.fallback:
        raise ArgumentError(f"torch.compile: {reason}")
    _leave_to_torch(graph, reason)
    return graph.forward


def _reason_against(arguments: Sequence[Any]) -> str | None:
    """Why a graph with these arguments is not compiled; None if it is."""
    tensors = [argument for argument in arguments if isinstance(argument, torch.Tensor)]
    elsewhere = {str(tensor.device) for tensor in tensors if tensor.device.type != "cpu"}
    if elsewhere:
        return f"it has tensors on {', '.join(sorted(elsewhere))}"
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return "it needs gradients; call the model under torch.inference_mode()"
    return None


def _leave_to_torch(graph: GraphModule, reason: str) -> None:
    calls = sum(node.op.startswith("call") for node in graph.graph.nodes)
    _logger.warning(
        "torch.compile: torch itself runs a graph of %d calls: %s", calls, " ".join(reason.split())
    )


class CompiledGraph:
    """A captured graph as native code.

    It is compiled when it is called first, as `torch.export` cannot trace while TorchDynamo does,
    and again when what it takes as constant has changed. After `MOST_VERSIONS` times weights become
    arguments, and torch itself runs what depends on other constants.

    Args:
        graph: the graph.
        examples: what it was captured for.
        options: see `Options`.
    """

    def __init__(self, graph: GraphModule, examples: Sequence[Any], options: Options) -> None:
        self._graph, self._options = graph, options
        self._roles = roles_of(graph, examples)
        self._is_dynamic = True
        self._constants = Constants([], [])
        self._versions = 0
        self._run: Callable[[Sequence[Any]], Any] = self._run_by_torch

    def __call__(self, *arguments: Any) -> Any:
        if self._versions == 0 or not self._constants_of(arguments).equal(self._constants):
            self._prepare(arguments)
        return self._run(arguments)

    def _prepare(self, arguments: Sequence[Any]) -> None:
        """Compile for these constants, or let torch run the graph from now on."""
        self._versions += 1
        if self._versions > MOST_VERSIONS:
            self._roles = self._roles.with_inputs(self._roles.weights)
        try:
            if self._versions > MOST_VERSIONS + 1:
                raise UnsupportedOperatorError("it depends on numbers that change between calls")
            self._compile(arguments)
        except Exception as error:  # torch.export raises errors of many kinds
            if not self._options.fallback:
                raise
            self._leave_to_torch(error)

    def _leave_to_torch(self, error: Exception) -> None:
        reason = str(error) if isinstance(error, TVMError) else f"torch.export: {error}"
        _leave_to_torch(self._graph, reason)
        self._roles, self._is_dynamic = Roles((), (), {}, ()), True  # there are no constants
        self._constants, self._run = Constants([], []), self._run_by_torch

    def _run_by_torch(self, arguments: Sequence[Any]) -> Any:
        return self._graph(*arguments)

    def _compile(self, arguments: Sequence[Any]) -> None:
        captured = self._captured(arguments)
        self._roles = captured.roles  # weights that the graph changes are none
        self._constants = self._constants_of(arguments)
        database = self._options.database
        with nullcontext() if database is None else database:
            executable = build(convert(captured.program), self._options.target)
        self._run = CompiledProgram(VirtualMachine(executable)["main"], captured)

    def _captured(self, arguments: Sequence[Any]) -> CapturedProgram:
        if self._is_dynamic:
            try:
                return export(self._graph, self._roles, arguments, dynamic=True)
            except UserError as error:
                if error.error_type is not UserErrorType.CONSTRAINT_VIOLATION:
                    raise
            self._is_dynamic = False  # what it computes is for one size only
        return export(self._graph, self._roles, arguments, dynamic=False)

    def _constants_of(self, arguments: Sequence[Any]) -> Constants:
        roles = self._roles
        weights = [arguments[position] for position in roles.weights]
        values: list[Any] = [(weight._version, weight.data_ptr()) for weight in weights]
        values += [_number(arguments[position]) for position in roles.numbers]
        if not self._is_dynamic:
            values += [arguments[position].shape for position in roles.tensors]
        return Constants(weights, values)


class Constants(NamedTuple):
    """What compiled code is valid for.

    Attributes:
        weights: the tensors, which live as long as the code does.
        values: their versions and addresses, numbers, and shapes where sizes are constants.
    """

    weights: list[torch.Tensor]
    values: list[Any]

    def equal(self, other: Constants) -> bool:
        """Whether these are the same."""
        return self.values == other.values and all(map(operator.is_, self.weights, other.weights))


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, torch.Tensor) else value


class CompiledProgram:
    """Native code that is called like the captured graph.

    Args:
        function: what the program has become.
        captured: the program.
    """

    def __init__(self, function: Callable[..., Any], captured: CapturedProgram) -> None:
        self._function = function
        self._tensors = captured.roles.tensors
        self._outputs = captured.outputs
        returned = [output for output in captured.outputs if output.kind != "change"]
        self._shared = [
            (position, output)
            for position, output in enumerate(returned)
            if output.kind == "shared"
        ]

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        inputs = [_as_input(arguments[position]) for position in self._tensors]
        results = iter(self._function(*inputs))
        values: list[Any] = []
        for output in self._outputs:
            if output.kind == "result":
                values.append(torch.from_dlpack(next(results)))
            elif output.kind == "change":
                arguments[output.source].copy_(torch.from_dlpack(next(results)))
            else:
                values.append(_other(output, arguments, results))
        for position, output in self._shared:
            values[position] = values[output.source].as_strided(*output.view)
        return tuple(values)


def _as_input(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor as compiled code takes it: it is copied only if its memory is not laid out so."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor.is_contiguous() and not tensor.is_neg() and not tensor.is_conj():
        return tensor if tensor.data_ptr() % ALIGNMENT == 0 else tensor.clone()
    return tensor.resolve_neg().resolve_conj().contiguous()


def _other(output: Output, arguments: Sequence[Any], results: Any) -> Any:
    """A result that is not a new tensor."""
    if output.kind == "constant":
        return output.source
    if output.kind == "argument":
        next(results)
        return arguments[output.source]
    if output.kind == "shared":
        next(results)
        return None  # it is made when the other result is known
    if output.kind == "view":
        next(results)
        return arguments[output.source].as_strided(*output.view)
    return int(next(results))
