"""The usual ways in which other packages do the same computation, for the table of a work's peers.

Each function here takes the computation and returns what `Work.peers` holds: given the inputs, the
call to time. Results are written into memory that is there before, where the package can do that.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import threads
from benchmarks.suite.work import Call


def numpy_peer(function: Callable[..., np.ndarray]) -> Callable[..., Call]:
    """`function` of the inputs and of ``out=``, if it takes that: ``numpy_peer(np.matmul)``."""

    def prepare(*inputs: np.ndarray) -> Call:
        if not _takes_out(function):
            return partial(function, *inputs)
        return partial(function, *inputs, out=function(*inputs))

    return prepare


def torch_peers(function: Callable[..., Any]) -> dict[str, Callable[..., Call]]:
    """Both ways of torch: ``"torch"`` calls the operators, ``"torch.compile"`` compiles them.

    `function` gets the module `torch`, the inputs as tensors, and ``out=`` if it takes that:
    ``lambda torch, a, b, out=None: torch.matmul(a, b, out=out)``.
    """
    return {"torch": torch_peer(function), "torch.compile": torch_compiled_peer(function)}


def torch_peer(function: Callable[..., Any]) -> Callable[..., Call]:
    """`function` called as it is, in inference mode."""

    def prepare(*inputs: np.ndarray) -> Call:
        torch, operands = _torch(inputs)
        if not _takes_out(function):
            return partial(function, torch, *operands)
        return partial(function, torch, *operands, out=function(torch, *operands))

    return prepare


def torch_compiled_peer(function: Callable[..., Any]) -> Callable[..., Call]:
    """`function` compiled by `torch.compile` in its default mode, in inference mode."""

    def prepare(*inputs: np.ndarray) -> Call:
        torch, operands = _torch(inputs)

        compiled = torch.compile(partial(function, torch), dynamic=False, fullgraph=True)
        out = {"out": function(torch, *operands)} if _takes_out(function) else {}
        return partial(compiled, *operands, **out)

    return prepare


def onnx_peer(
    operator: str | Callable[[Any], Sequence[Any]],
    constants: Sequence[int] = (),
    opset: int = 20,
    **attributes: Any,
) -> Callable[..., Call]:
    """A model run by onnxruntime, its inputs and outputs bound to memory once.

    Args:
        operator: of a model of one node; or a function that makes the nodes from `onnx.helper`,
            from the inputs ``"x0"``, ``"x1"``, ... to the output ``"y"``.
        constants: positions of inputs that are weights: constants of the model, which
            onnxruntime may bring into another layout beforehand.
        opset: version of the operators.
        attributes: of the single node.
    """

    def prepare(*inputs: np.ndarray) -> Call:
        import onnxruntime

        model = _onnx_model(operator, inputs, constants, opset, attributes)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads.count()
        options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        fed = {f"x{p}": array for p, array in enumerate(inputs) if p not in constants}
        (output,) = session.run(None, fed)
        binding = session.io_binding()
        for name, array in fed.items():
            binding.bind_cpu_input(name, array)
        # Into memory of ours: a call then needs no more than the run.
        binding.bind_output("y", "cpu", 0, output.dtype, output.shape, output.ctypes.data)

        def call() -> np.ndarray:
            session.run_with_iobinding(binding)
            return output

        return call

    return prepare


def _onnx_model(
    operator: str | Callable[[Any], Sequence[Any]],
    inputs: Sequence[np.ndarray],
    constants: Sequence[int],
    opset: int,
    attributes: dict[str, Any],
) -> bytes:
    import onnx
    from onnx import helper, numpy_helper

    if callable(operator):
        nodes = operator(helper)
    else:
        names = [f"x{position}" for position in range(len(inputs))]
        nodes = [helper.make_node(operator, names, ["y"], **attributes)]
    graph = helper.make_graph(
        nodes,
        "work",
        [
            helper.make_tensor_value_info(
                f"x{position}", helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for position, array in enumerate(inputs)
            if position not in constants
        ],
        [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(inputs[position], f"x{position}") for position in constants],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model).SerializeToString()


def _torch(inputs: Sequence[np.ndarray]) -> tuple[Any, list[Any]]:
    """The module, set to this process's number of threads, and the inputs as tensors."""
    import torch

    torch.set_num_threads(threads.count())
    # For the whole process, as entering it for every call would cost a microsecond.
    torch.autograd.grad_mode.inference_mode(True).__enter__()
    return torch, tensors(torch, inputs)


def tensors(torch: Any, inputs: Sequence[np.ndarray]) -> list[Any]:
    """Arrays as tensors of the same memory; numpy has no bfloat16, so the bits of it are passed."""
    return [
        torch.from_numpy(array)
        if array.dtype.kind != "V"
        else torch.from_numpy(array.view("int16")).view(getattr(torch, str(array.dtype)))
        for array in inputs
    ]


def _takes_out(function: Callable[..., Any]) -> bool:
    """Whether the result can be written to memory that is there already."""
    if isinstance(function, np.ufunc):
        return True
    return "out" in inspect.signature(function).parameters
