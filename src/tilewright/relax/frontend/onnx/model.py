"""Whole models of ONNX: their inputs, weights, nodes and outputs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from google.protobuf.message import DecodeError
from onnx import GraphProto, ModelProto, TypeProto, ValueInfoProto, helper

from tilewright.error import ArgumentError, ArgumentValueError, UnsupportedOperatorError
from tilewright.ir.dtype import DType
from tilewright.ir.module import IRModule
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import Constant, RelaxExpr, Tuple, Var
from tilewright.relax.frontend.emitter import number
from tilewright.relax.frontend.onnx.checks import check_model, opsets_of
from tilewright.relax.frontend.onnx.graph import UNKNOWN, Graph
from tilewright.relax.frontend.onnx.sizes import Sizes, identifier
from tilewright.relax.frontend.onnx.tensors import NARROW, dtype_of
from tilewright.relax.frontend.onnx.types import Items
from tilewright.relax.frontend.table import UnsupportedError
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.transform import ConvertToDataflow, DeadCodeElimination, LambdaLift

Source: TypeAlias = "ModelProto | GraphProto | bytes | str | os.PathLike[str]"
MOST_DIMENSIONS = 64
"""Maximum number of dimensions of an input."""


def from_onnx(
    model: Source,
    shape_dict: Mapping[str, Sequence[int | str]] | None = None,
    dtype_dict: str | Mapping[str, str] | None = None,
    opset: int | None = None,
    keep_params_in_input: bool = False,
    sanitize_input_names: bool = True,
) -> IRModule:
    """The graph of a model of ONNX, as function ``main``.

    Dimensions that have names in the model are symbolic sizes of the same names. A single result
    is returned as it is, several as a tuple.

    Args:
        model: the model, its bytes, or the path of its file, which is needed if weights are in
            other files beside it.
        shape_dict: shapes of inputs in place of those that the model declares; extents are numbers
            or names.
        dtype_dict: dtypes of inputs in place of those that the model declares; one for all, or
            one for each name.
        opset: the version of the operators, in place of the one that the model names.
        keep_params_in_input: make the weights the last parameters of the function, with their
            values in its attribute ``params``, from which `detach_params` takes them.
        sanitize_input_names: whether names of inputs become names of programs: other characters
            than letters and digits are replaced by ``_``.

    Raises:
        ArgumentError: if `model` is something else.
        ArgumentValueError: for a model that is not well-formed, or that takes what is outside of
            its folder.
        UnsupportedOperatorError: if there are operators without a counterpart; it lists them all.
    """
    proto, folder = read_model(model, opset)
    check_model(proto)
    builder = BlockBuilder()
    functions = proto.functions
    graph = Graph(builder, opsets_of(proto), functions, folder)
    inputs = _inputs(graph, proto.graph, shape_dict or {}, dtype_dict, sanitize_input_names)
    try:
        weights = _weights(graph, proto.graph, {param.name_hint for param in inputs}) \
            if keep_params_in_input else []  # fmt: skip
    except UnsupportedError as error:
        raise UnsupportedOperatorError(f"a weight of the model: {error}") from None
    attrs: dict[str, Any] = {}
    if keep_params_in_input:
        attrs = {"num_input": len(inputs), "params": [value for _, value in weights]}
    params = [*inputs, *(variable for variable, _ in weights)]
    with builder.function("main", params, attrs=attrs):
        if not keep_params_in_input:
            graph.add_initializers(proto.graph)
        graph.convert_nodes(proto.graph.node)
        graph.problems.check()
        outputs = [_output(graph, value) for value in proto.graph.output]
        result = outputs[0] if len(outputs) == 1 else Tuple(outputs)
        builder.emit_func_output(builder.emit(result))
    module = ConvertToDataflow(min_size=1)(LambdaLift()(builder.finalize()))
    return DeadCodeElimination()(module)


def read_model(model: Source, opset: int | None = None) -> tuple[ModelProto, Path | None]:
    """A model, and the folder where its weights may be.

    Raises:
        ArgumentError: if it is something else.
        ArgumentValueError: if there is no such file, or if it is not a model.
    """
    folder = None
    if isinstance(model, GraphProto):
        model = helper.make_model(model, opset_imports=[helper.make_opsetid("", opset or 0)])
    elif isinstance(model, (str, os.PathLike)):
        path = Path(model)
        folder = path.parent
        try:
            model = path.read_bytes()
        except OSError as error:
            raise ArgumentValueError(f"cannot read {path}: {error.strerror}") from None
    if isinstance(model, (bytes, bytearray)):
        try:
            model = ModelProto.FromString(bytes(model))
        except (DecodeError, ValueError) as error:
            raise ArgumentValueError(f"it is not a model of ONNX: {error}") from None
    if not isinstance(model, ModelProto):
        raise ArgumentError(
            "from_onnx takes a model of ONNX, its bytes or the path of its file, got "
            f"{type(model).__name__}"
        )
    if opset is not None:
        copy = ModelProto()
        copy.CopyFrom(model)
        others = [entry for entry in model.opset_import if entry.domain not in ("", "ai.onnx")]
        del copy.opset_import[:]
        copy.opset_import.extend([helper.make_opsetid("", opset), *others])
        model = copy
    return model, folder


# --- inputs -----------------------------------------------------------------------------------


def _inputs(
    graph: Graph, proto: GraphProto, shapes: Mapping[str, Any],
    dtypes: str | Mapping[str, str] | None, sanitize: bool,
) -> list[Var]:  # fmt: skip
    """The parameters for the inputs that are not weights."""
    weights = {tensor.name for tensor in proto.initializer}
    values = [value for value in proto.input if value.name not in weights]
    for name, given in (("shape_dict", shapes), ("dtype_dict", dtypes)):
        unknown = (
            set(given) - {value.name for value in values} if isinstance(given, Mapping) else ()
        )
        if unknown:
            raise ArgumentValueError(f"{name} names {min(unknown)!r}, which is not an input")
    sizes = Sizes()
    params: list[Var] = []
    names: set[str] = set()
    for value in values:
        dtype = dtypes if isinstance(dtypes, str) else (dtypes or {}).get(value.name)
        info = _declared(sizes, value, shapes.get(value.name), dtype)
        name = identifier(value.name) if sanitize else value.name
        while name in names:
            name += "_"
        names.add(name)
        variable = Var(name, info)
        graph.values[value.name] = variable
        if value.type.tensor_type.elem_type in NARROW:
            graph.bits[variable] = NARROW[value.type.tensor_type.elem_type][1]  # type: ignore[index]
        params.append(variable)
    return params


def _declared(
    sizes: Sizes, value: ValueInfoProto, shape: Sequence[int | str] | None, dtype: str | None
) -> TensorStructInfo:
    """What is known of an input.

    Raises:
        UnsupportedOperatorError: if it is not an array.
    """
    owner = f"the input {value.name[:80]!r}"
    kind = value.type.WhichOneof("value")
    if kind == "optional_type" and value.type.optional_type.elem_type.HasField("tensor_type"):
        tensor = value.type.optional_type.elem_type.tensor_type
    elif kind == "tensor_type":
        tensor = value.type.tensor_type
    else:
        raise UnsupportedOperatorError(f"{owner} is a {kind or 'value without type'}, no tensor")
    try:
        element = DType(dtype) if dtype else DType(dtype_of(tensor.elem_type))
    except UnsupportedError as error:
        raise UnsupportedOperatorError(f"{owner}: {error}") from None
    if shape is None:
        if not tensor.HasField("shape"):
            raise ArgumentValueError(
                f"{owner} has no shape in the model; give its shape in shape_dict"
            )
        shape = [_size(value.name, axis, dim) for axis, dim in enumerate(tensor.shape.dim)]
    if len(shape) > MOST_DIMENSIONS:
        raise ArgumentValueError(f"{owner} has {len(shape)} dimensions")
    return TensorStructInfo([sizes.extent(size, owner) for size in shape], element)


def _size(name: str, axis: int, dim: Any) -> int | str:
    """An extent: the number or name that the model has, or a name of its own."""
    if dim.HasField("dim_value"):
        return dim.dim_value
    return dim.dim_param or f"{identifier(name)}_{axis}"


def _weights(graph: Graph, proto: GraphProto, taken: set[str]) -> list[tuple[Var, Constant]]:
    """Parameters for the weights, and their values."""
    weights: list[tuple[Var, Constant]] = []
    for tensor in proto.initializer:
        value = graph.tensor(tensor)
        if not DType(value.data.dtype).is_float:  # sizes and places, which decide the form
            graph.values[tensor.name] = value
            continue
        name = identifier(tensor.name)
        while name in taken:
            name += "_"
        taken.add(name)
        variable = Var(name, value.struct_info)
        graph.values[tensor.name] = variable
        weights.append((variable, value))
    return weights


# --- outputs ----------------------------------------------------------------------------------


def _output(graph: Graph, value: ValueInfoProto) -> Any:
    """A result of the model, which is as the model declares it.

    Raises:
        UnsupportedOperatorError: if it is neither an array nor a sequence of arrays.
        ArgumentValueError: if the model declares something else.
    """
    result = graph.values[value.name]
    if isinstance(result, Items):
        return Tuple(list(result))
    if not isinstance(result, RelaxExpr) or result is UNKNOWN:
        raise UnsupportedOperatorError(f"the output {value.name[:80]!r} is not an array")
    _check_declared(result.struct_info, value.type, f"the output {value.name[:80]!r}")
    return result


def _check_declared(info: Any, declared: TypeProto, owner: str) -> None:
    if not isinstance(info, TensorStructInfo) or not declared.HasField("tensor_type"):
        return
    tensor = declared.tensor_type
    if tensor.elem_type:
        try:
            wanted = dtype_of(tensor.elem_type)
        except UnsupportedError as error:
            raise UnsupportedOperatorError(f"{owner}: {error}") from None
        if wanted != info.dtype:
            raise ArgumentValueError(f"{owner} is declared as {wanted}, but it is {info.dtype}")
    if not tensor.HasField("shape"):
        return
    extents = [number(extent) for extent in info.extents or ()]
    sizes = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
    fits = len(extents) == len(sizes) and all(
        size is None or not isinstance(extent, int) or extent == size
        for extent, size in zip(extents, sizes, strict=True)
    )
    if not fits:
        raise ArgumentValueError(f"{owner} is declared with shape {sizes}, but it has {extents}")
