"""Files of models of ONNX: as torch exports them, and as onnxruntime quantises them."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np


@dataclass(frozen=True)
class Model:
    """A model, and the inputs that it is measured with.

    Attributes:
        name: unique.
        make: makes the torch module, and its inputs.
    """

    name: str
    make: Callable[[], tuple[Any, tuple[Any, ...]]]


def _of_images(name: str, *shape: int) -> Callable[[], tuple[Any, tuple[Any, ...]]]:
    def make() -> tuple[Any, tuple[Any, ...]]:
        import torch

        from benchmarks.onnx_models import networks

        torch.manual_seed(0)
        return getattr(networks, name)().eval(), (torch.randn(*shape),)

    return make


def _resnet() -> tuple[Any, tuple[Any, ...]]:
    import torch
    from examples.resnet18 import random_resnet18

    return random_resnet18(), (torch.randn(1, 3, 224, 224),)


def _bert() -> tuple[Any, tuple[Any, ...]]:
    from examples.bert import random_bert, random_words

    return random_bert(), random_words(1, 128)


def _decoder() -> tuple[Any, tuple[Any, ...]]:
    import torch

    from benchmarks.onnx_models.networks import Decoder

    torch.manual_seed(0)
    return Decoder().eval(), (torch.randint(0, 8000, (1, 128)),)


MODELS: Final = (
    Model("ResNet-18", _resnet),
    Model("MobileNet-v2", _of_images("MobileNet", 1, 3, 224, 224)),
    Model("ViT-B/16, 2 layers", _of_images("VisionTransformer", 1, 3, 224, 224)),
    Model("U-Net, 96x96", _of_images("UNet", 1, 3, 96, 96)),
    Model("LSTM, 2 layers", _of_images("Recurrent", 1, 32, 128)),
    Model("BERT-base, 2 layers", _bert),
    Model("GPT-2, 2 layers", _decoder),
)

FORMS: Final = ("float32", "QDQ", "QDQ full range", "QOperator", "dynamic")
"""As exported; with `QuantizeLinear` and `DequantizeLinear` around the operators, by 7 bits or by
all 8 bits of the weights; with operators on integers; and with scales for each input."""


def write(model: Model, form: str, folder: Path) -> Path:
    """Write a model in one form, and its inputs as ``inputs.npz``.

    Returns:
        The file of the model.
    """
    exported, prepared = folder / "float32.onnx", folder / "prepared.onnx"
    module, inputs = model.make()
    arrays = [tensor.numpy() for tensor in inputs]
    exported.write_bytes(_exported(module, inputs))
    np.savez(folder / "inputs.npz", *arrays)
    if form == "float32":
        return exported
    from onnxruntime.quantization.shape_inference import quant_pre_process

    quant_pre_process(exported, prepared, skip_symbolic_shape=True)
    result = folder / "quantised.onnx"
    _quantize(prepared, result, form, arrays)
    return result


def _exported(module: Any, inputs: Sequence[Any]) -> bytes:
    import torch

    stream = io.BytesIO()
    names = [f"x{position}" for position in range(len(inputs))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            tuple(inputs),
            stream,  # pyright: ignore[reportArgumentType]
            input_names=names,
            dynamo=False,
            opset_version=17,
        )
    return stream.getvalue()


def _quantize(source: Path, result: Path, form: str, inputs: Sequence[np.ndarray]) -> None:
    from onnxruntime.quantization import (
        CalibrationDataReader,
        QuantFormat,
        quantize_dynamic,
        quantize_static,
    )

    if form == "dynamic":
        quantize_dynamic(source, result, op_types_to_quantize=["MatMul", "Gemm"], reduce_range=True)
        return

    class Inputs(CalibrationDataReader):
        """The inputs of the measurement, from which ranges are learnt, once."""

        left = True

        def get_next(self) -> Any:
            given = {f"x{n}": array for n, array in enumerate(inputs)} if self.left else None
            self.left = False
            return given

    kind = QuantFormat.QOperator if form == "QOperator" else QuantFormat.QDQ
    quantize_static(
        source, result, Inputs(), quant_format=kind, per_channel=True,
        reduce_range="full range" not in form,
    )  # fmt: skip


def steps_of(path: Path) -> list[float | None]:
    """The scale of each result, if it is dequantised; otherwise None."""
    from onnx import load, numpy_helper

    graph = load(path).graph
    values = {tensor.name: tensor for tensor in graph.initializer}
    makers = {name: node for node in graph.node for name in node.output}
    steps: list[float | None] = []
    for output in graph.output:
        node = makers[output.name]
        known = node.op_type == "DequantizeLinear" and node.input[1] in values
        steps.append(float(numpy_helper.to_array(values[node.input[1]])) if known else None)
    return steps
