"""Models that torch has exported, and their quantised forms, give what onnxruntime gives."""

import io
import warnings

import numpy as np
import onnxruntime
import pytest
import torch
from examples.bert import random_bert, random_words
from tests.relax.frontend.onnx.models import run
from tests.relax.frontend.torch.architectures import (
    Mobile,
    Recurrent,
    UNet,
    VisionTransformer,
    residual,
)

from tilewright.transform import PassContext


class Decoder(torch.nn.Module):
    """A language model that sees what comes before each word."""

    def __init__(self, words=50, size=24, heads=3):
        super().__init__()
        self.words, self.places = torch.nn.Embedding(words, size), torch.nn.Embedding(16, size)
        self.block = torch.nn.TransformerEncoderLayer(
            size, heads, 4 * size, activation="gelu", batch_first=True, norm_first=True
        )

    def forward(self, words):
        length = words.shape[1]
        x = self.words(words) + self.places(torch.arange(length)[None])
        mask = torch.full((length, length), float("-inf")).triu(1)
        return self.block(x, src_mask=mask) @ self.words.weight.T


def exported(model, inputs, *names):
    """The file that torch writes; `names` are those of the dynamic sizes of each input."""
    parameters = [f"x{position}" for position in range(len(inputs))]
    axes = dict(zip(parameters, [dict(enumerate(names))] * len(inputs), strict=True))
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model.eval(), tuple(inputs), stream, input_names=parameters, dynamic_axes=axes,
            dynamo=False, opset_version=17,
        )  # fmt: skip
    return stream.getvalue()


def expected(file, arrays):
    """What onnxruntime computes."""
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    names = [parameter.name for parameter in session.get_inputs()]
    return session.run(None, dict(zip(names, arrays, strict=True)))


def apart(file, arrays):
    """The largest difference of any result."""
    results = run(file, *arrays)
    results = results if isinstance(results, list) else [results]
    pairs = zip(results, expected(file, arrays), strict=True)
    return max(np.abs(ours - theirs).max() for ours, theirs in pairs)


def image(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (residual, (2, 3, 32, 32)),
        (Mobile, (2, 3, 16, 16)),
        (VisionTransformer, (2, 3, 8, 8)),
        (UNet, (2, 1, 8, 8)),
        (Recurrent, (2, 5, 3)),
    ],
)
def test_networks_of_any_batch(make, shape):
    torch.manual_seed(0)
    x = image(*shape)
    file = exported(make(), [torch.from_numpy(x)], "batch")
    assert apart(file, [image(3, *shape[1:])]) < 1e-4


def test_encoder_of_any_batch_and_sequence():
    torch.manual_seed(0)
    model = random_bert(layers=1, hidden=24, heads=3, words=50, positions=16)
    words = [x.clamp(max=49) for x in random_words(2, 7)]
    file = exported(model, words, "batch", "sequence")
    others = [x.clamp(max=49).numpy() for x in random_words(3, 5)]
    assert apart(file, others) < 1e-4


def test_decoder_of_any_batch():
    torch.manual_seed(0)
    words = torch.randint(0, 50, (2, 7))
    file = exported(Decoder(), [words], "batch")
    assert apart(file, [words[:1].numpy()]) < 1e-4


# --- quantised ------------------------------------------------------------------------------


@pytest.fixture
def network(tmp_path):
    """The file of a small network, prepared for the quantiser."""
    from onnxruntime.quantization.shape_inference import quant_pre_process

    torch.manual_seed(0)
    path, prepared = tmp_path / "model.onnx", tmp_path / "prepared.onnx"
    path.write_bytes(exported(Mobile(), [torch.from_numpy(image(1, 3, 16, 16))]))
    quant_pre_process(path, prepared)
    return prepared


class Images:
    """Inputs from which the quantiser learns ranges."""

    def __init__(self):
        self._left = 4

    def get_next(self):
        self._left -= 1
        random = np.random.default_rng(self._left)
        x = random.standard_normal((1, 3, 16, 16)).astype("float32")
        return {"x0": x} if self._left else None


# With `reduce_range`, as sums of products of 8 bits overflow in onnxruntime without.


@pytest.mark.parametrize(("form", "per_channel"), [("QDQ", True), ("QOperator", False)])
def test_statically_quantised(network, tmp_path, form, per_channel):
    from onnx import load, numpy_helper
    from onnxruntime.quantization import QuantFormat, quantize_static

    path = tmp_path / "quantised.onnx"
    quantize_static(
        network, path, Images(), quant_format=QuantFormat[form], per_channel=per_channel,
        reduce_range=True,
    )  # fmt: skip
    model = load(path)
    scales = {tensor.name: tensor for tensor in model.graph.initializer}
    last = next(n for n in reversed(model.graph.node) if n.op_type == "DequantizeLinear")
    step = float(numpy_helper.to_array(scales[last.input[1]]))
    x = image(1, 3, 16, 16)
    assert apart(path.read_bytes(), [x]) <= step * 1.001
    if form == "QDQ":
        with PassContext(disabled_pass=["FakeQuantizationToInteger"]):
            assert apart(path.read_bytes(), [x]) <= step * 1.001


def test_dynamically_quantised(network, tmp_path):
    from onnxruntime.quantization import quantize_dynamic

    path = tmp_path / "quantised.onnx"
    quantize_dynamic(network, path, op_types_to_quantize=["MatMul", "Gemm"], reduce_range=True)
    assert apart(path.read_bytes(), [image(1, 3, 16, 16)]) < 1e-4
