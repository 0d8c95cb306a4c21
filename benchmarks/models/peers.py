"""How others run the models: given the module and its inputs, the call to time."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from benchmarks.harness import threads
from benchmarks.suite.work import Call


def eager(model: Any, inputs: Sequence[Any]) -> Call:
    """torch, operator by operator."""
    return partial(model, *inputs)


def compiled(model: Any, inputs: Sequence[Any]) -> Call:
    """`torch.compile` in its default mode."""
    import torch

    return partial(torch.compile(model, dynamic=False, fullgraph=True), *inputs)


def onnx(model: Any, inputs: Sequence[Any]) -> Call:
    """onnxruntime with all its optimisations; inputs and outputs are bound to memory once."""
    return bound_call(onnx_model(model, inputs), [tensor.numpy() for tensor in inputs])


def bound_call(model: str | bytes, inputs: Sequence[np.ndarray]) -> Call:
    """A call of a model, the name of a file or what is in one, which returns its outputs."""
    session = onnx_session(model)
    fed = {put.name: array for put, array in zip(session.get_inputs(), inputs, strict=True)}
    outputs = session.run(None, fed)
    binding = session.io_binding()
    for name, array in fed.items():
        binding.bind_cpu_input(name, array)
    for info, array in zip(session.get_outputs(), outputs, strict=True):
        binding.bind_output(info.name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)

    def call() -> Any:
        session.run_with_iobinding(binding)
        return outputs

    return call


def onnx_session(model: str | bytes, is_optimised: bool = True) -> Any:
    """A session that runs a model, the name of a file or what is in one.

    Args:
        is_optimised: whether its operators may be replaced by others, which may round elsewhere.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if not is_optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = threads.count()
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def onnx_model(model: Any, inputs: Sequence[Any]) -> bytes:
    """The model as torch writes it; its older exporter needs nothing but onnx."""
    import torch

    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, tuple(inputs), stream, dynamo=False)
    return stream.getvalue()


PEERS: Final[dict[str, Callable[[Any, Sequence[Any]], Call]]] = {
    "torch": eager,
    "torch.compile": compiled,
    "onnxruntime": onnx,
}
