"""Models of torchvision, timm and transformers with random weights, and their inputs."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple


class Work(NamedTuple):
    """A model in evaluation mode, and what it is called with."""

    model: Any
    arguments: tuple[Any, ...] = ()
    options: Mapping[str, Any] = {}

    def call(self, model: Any) -> Any:
        """The outputs of `model`, which is this one or made of it."""
        return model(*self.arguments, **self.options)


@dataclass(frozen=True)
class Entry:
    """A model that can be made.

    Attributes:
        package: where it comes from.
        name: its name there.
        make: makes it, without a look at the network.
    """

    package: str
    name: str
    make: Callable[[], Work]

    @property
    def title(self) -> str:
        """A unique name."""
        return f"{self.package} {self.name}"

    def work(self) -> Work:
        """The model; its weights and inputs are the same in each process."""
        import torch

        torch.manual_seed(0)
        work = self.make()
        with torch.no_grad():
            for weight in work.model.parameters():
                if not weight.any():  # results of a last layer of zeros would all be equal
                    weight.normal_(std=0.02)
        return work._replace(model=work.model.eval())


# --- images -----------------------------------------------------------------------------------


def image(size: int = 224) -> Any:
    """One image with three channels."""
    import torch

    return torch.randn(1, 3, size, size)


@functools.cache
def _torchvision() -> Any:
    """The package; none of the models needs its own operators, which may be for another torch."""
    import torch

    library = torch.library.Library("torchvision", "FRAGMENT")
    try:
        module = importlib.import_module("torchvision")
    except RuntimeError:  # it describes operators that it could not load
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor boxes, Tensor scores, float threshold) -> Tensor")
        module = importlib.import_module("torchvision")
        module.operators = library  # they are there for as long as the library is
    return module


def _of_torchvision(name: str, size: int, options: Mapping[str, Any]) -> Work:
    torchvision = _torchvision()
    return Work(torchvision.models.get_model(name, weights=None, **options), (image(size),))


def _of_timm(name: str) -> Work:
    _torchvision()  # timm imports it
    import timm

    model = timm.create_model(name, pretrained=False)
    return Work(model, (image(model.default_cfg["input_size"][-1]),))


_WITHOUT_TRAINING: Final = {"aux_logits": False, "init_weights": False}
_TORCHVISION: Final[tuple[tuple[str, int, Mapping[str, Any]], ...]] = (
    ("alexnet", 224, {}),
    ("convnext_tiny", 224, {}),
    ("densenet121", 224, {}),
    ("efficientnet_b0", 224, {}),
    ("googlenet", 224, _WITHOUT_TRAINING),
    ("inception_v3", 299, _WITHOUT_TRAINING),
    ("mnasnet0_5", 224, {}),
    ("mobilenet_v2", 224, {}),
    ("mobilenet_v3_small", 224, {}),
    ("regnet_y_400mf", 224, {}),
    ("resnet18", 224, {}),
    ("resnet50", 224, {}),
    ("shufflenet_v2_x1_0", 224, {}),
    ("squeezenet1_1", 224, {}),
    ("swin_t", 224, {}),
    ("vgg11_bn", 224, {}),
    ("vit_b_32", 224, {}),
    ("lraspp_mobilenet_v3_large", 224, {"weights_backbone": None}),
)
_TIMM: Final = (
    "coat_tiny", "convmixer_768_32", "crossvit_tiny_240", "deit_tiny_patch16_224", "dla34",
    "edgenext_xx_small", "efficientformer_l1", "ghostnet_100", "levit_128s", "mixer_s32_224",
    "mobilevit_xxs", "pit_ti_224", "poolformer_s12", "repvgg_a0", "resmlp_12_224",
    "xcit_nano_12_p16_224",
)  # fmt: skip


# --- text, sound, and both --------------------------------------------------------------------


def words(count: int = 32) -> Any:
    """One sequence of words."""
    import torch

    return torch.randint(0, 900, (1, count))


def _of_transformers(
    model: str, config: str, options: Mapping[str, Any], call: Callable[[], Work]
) -> Work:
    _torchvision()  # transformers imports it, if it is there
    package: Any = importlib.import_module("transformers")
    made = getattr(package, model)(getattr(package, config)(**options))
    return call()._replace(model=made)


def _read() -> Work:
    return Work(None, (words(),))


def _continue() -> Work:
    return Work(None, (words(),), {"use_cache": False})


def _translate() -> Work:
    inputs = {"input_ids": words(), "decoder_input_ids": words(8), "use_cache": False}
    return Work(None, (), inputs)


def _listen() -> Work:
    import torch

    spectrum, told = torch.randn(1, 80, 3000), words(8)
    return Work(None, (spectrum,), {"decoder_input_ids": told, "use_cache": False})


def _hear() -> Work:
    import torch

    return Work(None, (torch.randn(1, 8000),))


def _see() -> Work:
    return Work(None, (image(128),))


def _compare() -> Work:
    return Work(None, (words(16), image()))


_LAYERS: Final = {"num_hidden_layers": 2}
_SMALL: Final = {
    **_LAYERS, "vocab_size": 1000, "hidden_size": 512, "intermediate_size": 1024,
    "num_attention_heads": 8,
}  # fmt: skip
_GROUPED: Final = {**_SMALL, "num_key_value_heads": 4}
_TRANSFORMERS: Final[tuple[tuple[str, str, Mapping[str, Any], Callable[[], Work]], ...]] = (
    ("AlbertModel", "AlbertConfig", {**_SMALL, "hidden_size": 768}, _read),
    ("BartForConditionalGeneration", "BartConfig",
     {"encoder_layers": 2, "decoder_layers": 2, "d_model": 256, "encoder_ffn_dim": 512,
      "decoder_ffn_dim": 512, "vocab_size": 1000}, _translate),
    ("BertModel", "BertConfig", _LAYERS, _read),
    ("CLIPModel", "CLIPConfig",
     {"text_config": dict(_LAYERS), "vision_config": dict(_LAYERS)}, _compare),
    ("DebertaV2Model", "DebertaV2Config",
     {**_SMALL, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]}, _read),
    ("DistilBertModel", "DistilBertConfig", {"n_layers": 2}, _read),
    ("ElectraModel", "ElectraConfig", _LAYERS, _read),
    ("GPT2LMHeadModel", "GPT2Config", {"n_layer": 2}, _continue),
    ("GPTNeoXForCausalLM", "GPTNeoXConfig", _SMALL, _continue),
    ("LlamaForCausalLM", "LlamaConfig", _GROUPED, _continue),
    ("MambaForCausalLM", "MambaConfig",
     {**_LAYERS, "vocab_size": 1000, "hidden_size": 256}, _continue),
    ("MistralForCausalLM", "MistralConfig", _GROUPED, _continue),
    ("OPTForCausalLM", "OPTConfig", {**_LAYERS, "vocab_size": 1000}, _continue),
    ("PhiForCausalLM", "PhiConfig", _SMALL, _continue),
    ("Qwen2ForCausalLM", "Qwen2Config", _GROUPED, _continue),
    ("RobertaModel", "RobertaConfig", _LAYERS, _read),
    ("SegformerForSemanticSegmentation", "SegformerConfig", {}, _see),
    ("T5ForConditionalGeneration", "T5Config", {"num_layers": 2, "vocab_size": 1000}, _translate),
    ("Wav2Vec2Model", "Wav2Vec2Config",
     {**_LAYERS, "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 512}, _hear),
    ("WhisperModel", "WhisperConfig", {"encoder_layers": 2, "decoder_layers": 2}, _listen),
)  # fmt: skip

ENTRIES: Final = (
    *(Entry("torchvision", row[0], partial(_of_torchvision, *row)) for row in _TORCHVISION),
    *(Entry("timm", name, partial(_of_timm, name)) for name in _TIMM),
    *(Entry("transformers", row[0], partial(_of_transformers, *row)) for row in _TRANSFORMERS),
)
"""All models. The packages are imported when a model is made."""
