"""Whole programs of torch: their inputs, weights, calls and outputs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Final

import torch
from torch._ops import HigherOrderOperator
from torch.export.graph_signature import OutputKind
from torch.fx import GraphModule

from tilewright.error import ArgumentError, UnsupportedOperatorError
from tilewright.garbage import few_collections
from tilewright.ir.module import IRModule
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import Constant, PrimValue, RelaxExpr, Tuple, Var, const
from tilewright.relax.frontend.fourier import Complex
from tilewright.relax.frontend.torch.fused_layers import FUSED_LAYERS
from tilewright.relax.frontend.torch.graph import CHECKS, Graph
from tilewright.relax.frontend.torch.inputs import (
    bind_placeholders,
    bounds,
    require_definitions,
    require_shapes,
)
from tilewright.relax.frontend.torch.table import has_converter
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.transform import ConvertToDataflow, LambdaLift

INLINED: Final = frozenset({"wrap_with_set_grad_enabled", "wrap_with_autocast"})
"""Calls of a part of the program with other settings, which decomposition puts in place."""

CHANGES: Final = (
    OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION, OutputKind.USER_INPUT_MUTATION,
)  # fmt: skip
"""Outputs that are not results."""


@few_collections()
def from_exported_program(
    exported_program: torch.export.ExportedProgram,
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
    keep_state_as_input: bool = False,
    random_seed: int | str | None = None,
) -> IRModule:
    """The graph of a program that `torch.export.export` has captured, as function ``main``.

    Sizes that are dynamic in the program are symbolic in the graph. Weights share the memory of
    the model; nested inputs and outputs are flat, in the order of torch's pytrees.

    Args:
        exported_program: the program; put the model into evaluation mode before it is exported.
        keep_params_as_input: make the weights the last parameters of the function, with their
            values in its attribute ``params``, from which `detach_params` takes them.
        unwrap_unit_return_tuple: return a single output as it is, not as a tuple of one.
        no_bind_return_tuple: return the tuple of outputs without binding it to a variable.
        keep_state_as_input: allow a program that changes buffers or inputs. The buffers are
            parameters behind the inputs, and what all of these become is returned behind the
            outputs: the names in the attribute ``state`` are those of the parameters, in the order
            of the last results.
        random_seed: the seed of random numbers, 64 bits, or ``"input"``: then the parameter
            ``seed``, an int64 without dimensions, comes behind the inputs and the state. Numbers
            are a function of the seed, of the position of the call in the program and of the
            element's: the same in each call with the same seed, and not those of torch.

    Raises:
        ArgumentError: if `exported_program` is something else, or the seed is.
        UnsupportedOperatorError: if there are operations without a counterpart; it lists them all.
    """
    if not isinstance(exported_program, torch.export.ExportedProgram):
        raise ArgumentError(
            "from_exported_program takes what torch.export.export(model, inputs) returns, got "
            f"{type(exported_program).__name__}"
        )
    program = simplified(exported_program)
    if not keep_state_as_input:
        refuse_effects(program)
    return convert(
        program,
        is_state_last=True,
        random_seed=random_seed,
        keep_params_as_input=keep_params_as_input,
        unwrap_unit_return_tuple=unwrap_unit_return_tuple,
        no_bind_return_tuple=no_bind_return_tuple,
    )


def convert(
    program: torch.export.ExportedProgram,
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
    is_state_last: bool = False,
    random_seed: int | str | None = None,
) -> IRModule:
    """The graph of a program that is simplified; see `from_exported_program`.

    What the program changes, buffers and inputs, comes first among the outputs, as it does in
    torch, or last.
    """
    builder = BlockBuilder()
    seed = _seed(random_seed)
    graph = Graph(builder, seed)
    inputs, state, weights = bind_placeholders(graph, program, keep_params_as_input)
    graph.sizes.is_complete = True
    require_definitions(graph, inputs)
    params = [*inputs, *state, *([seed] if isinstance(seed, Var) else [])]
    attrs: dict[str, Any] = {}
    if keep_params_as_input:
        attrs = {"num_input": len(params), "params": [weight.value for weight in weights]}
    params += [weight.variable for weight in weights]
    attrs |= bounds(graph, program)
    if is_state_last and (names := changed_parameters(program)):
        attrs["state"] = names
    # A dataflow block has no branches; around branches such blocks are made afterwards.
    branches = any(isinstance(node.target, HigherOrderOperator) for node in calls(program))
    emit = builder.emit if branches else builder.emit_output
    with builder.function("main", params, attrs=attrs):
        with nullcontext() if branches else builder.dataflow():
            require_shapes(graph, (n for n in program.graph.nodes if n.op == "placeholder"))
            graph.convert_calls(program.graph)
            graph.problems.check()
            changed, returned = results(graph, program)
            outputs = [*returned, *changed] if is_state_last else [*changed, *returned]
            single = unwrap_unit_return_tuple and len(outputs) == 1
            value = outputs[0] if single else Tuple(outputs)
            if single or not no_bind_return_tuple:
                value = emit(value)
            else:
                value = Tuple([emit(output) for output in outputs])
        builder.emit_func_output(value)
    module = builder.finalize()
    return ConvertToDataflow(min_size=1)(LambdaLift()(module)) if branches else module


def _seed(random_seed: int | str | None) -> Var | Constant | None:
    """The seed as an array without dimensions."""
    if random_seed == "input":
        return Var("seed", TensorStructInfo((), "int64"))
    if random_seed is None:
        return None
    if not isinstance(random_seed, int) or not -(2**63) <= random_seed < 2**63:
        raise ArgumentError(
            f'random_seed is an integer of 64 bits, "input" or None, got {random_seed!r}'
        )
    return const(random_seed, "int64")


# --- what is converted ------------------------------------------------------------------------


def simplified(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """The program without changes in place, and without operators that have no conversion.

    Operators that have one stay whole, though torch could decompose them: ``linear`` says more
    than a product with a transposed matrix.
    """
    if all(_is_known(node) and not _is_decomposed_first(node) for node in calls(program)):
        return program
    rules = {**torch.export.default_decompositions(), **FUSED_LAYERS}
    return decomposed(
        program, {target: rule for target, rule in rules.items() if not has_converter(target)}
    )


def decomposed(program: torch.export.ExportedProgram, rules: Any) -> torch.export.ExportedProgram:
    """The program after decomposition by rules, in which nothing is changed in place."""
    with warnings.catch_warnings():
        # torch copies trees of its own, and warns itself of how it does that.
        warnings.filterwarnings("ignore", ".*LeafSpec", FutureWarning)
        return program.run_decompositions(rules)


def calls(program: torch.export.ExportedProgram) -> Iterator[torch.fx.Node]:
    """All calls of the program, and of the programs that are parts of it."""
    parts = (part for part in program.graph_module.modules() if isinstance(part, GraphModule))
    return (node for part in parts for node in part.graph.nodes if node.op == "call_function")


def _is_decomposed_first(node: torch.fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    is_vectorization = getattr(node.target, "__module__", "").startswith("torch._functorch")
    return (
        str(node.target) in INLINED
        or is_vectorization  # of torch.vmap
        or (schema is not None and schema.is_mutable)
    )


def _is_known(node: torch.fx.Node) -> bool:
    is_operator = isinstance(node.target, torch._ops.OpOverload)
    return (
        not is_operator
        or has_converter(node.target)
        or str(node.target).rpartition(".")[0] in (*CHECKS, "aten.sym_size")
    )


def refuse_effects(program: torch.export.ExportedProgram) -> None:
    """Refuse programs that change buffers or inputs.

    Raises:
        UnsupportedOperatorError: if this is one.
    """
    changed = [
        f"{spec.target} ({'buffer' if spec.kind is OutputKind.BUFFER_MUTATION else 'input'})"
        for spec in program.graph_signature.output_specs
        if spec.kind in CHANGES
    ]
    if changed:
        raise UnsupportedOperatorError(
            f"the program changes its state: {', '.join(changed)}. Functions here have no state; "
            "call model.eval() before the export, or make the state inputs and outputs by "
            "keep_state_as_input=True."
        )


def changed_parameters(program: torch.export.ExportedProgram) -> list[str]:
    """The names of the parameters for buffers and inputs that the program changes."""
    signature = program.graph_signature
    names = {spec.target: spec.arg.name for spec in signature.input_specs if spec.target}
    changed = (spec.target for spec in signature.output_specs if spec.kind in CHANGES)
    return [names.get(target, target) for target in changed if target]


# --- outputs ----------------------------------------------------------------------------------


def results(
    graph: Graph, program: torch.export.ExportedProgram
) -> tuple[list[RelaxExpr], list[RelaxExpr]]:
    """What the program changes, and its outputs without those that are None.

    Raises:
        UnsupportedOperatorError: if an output is not a tensor or number.
    """
    (output,) = (node for node in program.graph.nodes if node.op == "output")
    changed: list[RelaxExpr] = []
    returned: list[RelaxExpr] = []
    specs = program.graph_signature.output_specs
    for argument, spec in zip(output.args[0], specs, strict=True):
        if spec.kind is OutputKind.TOKEN:  # the order of effects, which nothing here has
            continue
        value = graph.argument(argument)
        values = changed if spec.kind in CHANGES else returned
        if isinstance(value, str):
            raise UnsupportedOperatorError(
                f"output {len(values)} of the program is {value!r}; only tensors and numbers can be"
            )
        if isinstance(value, Complex):
            raise UnsupportedOperatorError(
                f"output {len(values)} of the program has complex numbers; return "
                "torch.view_as_real of it"
            )
        if value is not None:
            values.append(value if isinstance(value, RelaxExpr) else PrimValue(value))
    return changed, returned


def from_fx(
    model: GraphModule,
    input_info: Sequence[tuple[Sequence[int], str]],
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
) -> IRModule:
    """The graph of a model that `torch.fx.symbolic_trace` has traced, as function ``main``.

    The model is exported for inputs of these shapes, as it behaves in evaluation; for dynamic sizes
    export it yourself and call `from_exported_program`.

    Args:
        model: the traced model; another module of torch is taken, too.
        input_info: the shape and the dtype of each input, such as ``[((1, 784), "float32")]``.
        keep_params_as_input: see `from_exported_program`, as for the others.
        unwrap_unit_return_tuple: return a single output as it is.
        no_bind_return_tuple: return the tuple of outputs without binding it to a variable.

    Raises:
        ArgumentError: for a model that is none, or information that is not a constant shape and
            dtype.
        UnsupportedOperatorError: if there are operations without a counterpart; it lists them all.
    """
    if not isinstance(model, torch.nn.Module):
        raise ArgumentError(f"from_fx: expected a traced model, got {type(model).__name__}")
    examples = tuple(_example(position, info) for position, info in enumerate(input_info))
    with torch.no_grad(), _in_evaluation(model):
        program = torch.export.export(model, examples)
    return from_exported_program(
        program,
        keep_params_as_input=keep_params_as_input,
        unwrap_unit_return_tuple=unwrap_unit_return_tuple,
        no_bind_return_tuple=no_bind_return_tuple,
    )


def _example(position: int, info: Any) -> torch.Tensor:
    """An input of this shape and dtype."""
    owner = f"from_fx: input_info[{position}]"
    if not isinstance(info, (tuple, list)) or len(info) != 2:
        raise ArgumentError(f"{owner} is a pair of a shape and a dtype, got {info!r}")
    shape, name = info
    dtype = getattr(torch, str(name), None)
    if not isinstance(dtype, torch.dtype):
        raise ArgumentError(f"{owner}: torch has no dtype {name!r}")
    try:
        sizes = [int(size) for size in shape]
    except TypeError:
        raise ArgumentError(
            f"{owner}: expected constant sizes, got {shape!r}; for dynamic ones call "
            "from_exported_program(torch.export.export(model, inputs, dynamic_shapes=...))"
        ) from None
    return torch.zeros(sizes, dtype=dtype)


@contextmanager
def _in_evaluation(model: torch.nn.Module) -> Iterator[None]:
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode
