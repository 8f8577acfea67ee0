"""Key lists of models people train, from the shapes of their layers: what a parameter server has to place and balance.

A key is one parameter tensor. No weights are needed: the shapes follow from the published architectures, and the totals
below are the published ones, which the tests compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True)
class Key:
    """One parameter tensor of float32."""

    name: str
    """As in torchvision's, or in Hugging Face's, state_dict."""
    shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def size_bytes(self) -> int:
        return FLOAT_BYTES * self.elements


Keys = tuple[Key, ...]


def _pair(name: str, weight: tuple[int, ...]) -> Iterator[Key]:
    """A layer with a bias for each of its outputs, or a normalization with its two vectors."""
    yield Key(f"{name}.weight", weight)
    yield Key(f"{name}.bias", weight[:1])


def _alexnet() -> Iterator[Key]:
    """Krizhevsky, "One weird trick" (2014), the variant of one tower that torchvision has."""
    convolutions = ((0, 64, 3, 11), (3, 192, 64, 5), (6, 384, 192, 3), (8, 256, 384, 3), (10, 256, 256, 3))
    for index, outputs, inputs, width in convolutions:
        yield from _pair(f"features.{index}", (outputs, inputs, width, width))
    yield from _pair("classifier.1", (4096, 256 * 6 * 6))
    yield from _pair("classifier.4", (4096, 4096))
    yield from _pair("classifier.6", (1000, 4096))


VGG16_BLOCKS = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))
"""Channels and convolutions of each block: configuration D of Simonyan and Zisserman (2014), table 1."""


def _vgg16() -> Iterator[Key]:
    index, inputs = 0, 3
    for outputs, count in VGG16_BLOCKS:
        for _ in range(count):
            yield from _pair(f"features.{index}", (outputs, inputs, 3, 3))
            index, inputs = index + 2, outputs  # a ReLU after each
        index += 1  # and a pooling after the block
    yield from _pair("classifier.0", (4096, 512 * 7 * 7))
    yield from _pair("classifier.3", (4096, 4096))
    yield from _pair("classifier.6", (1000, 4096))


RESNET50_STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))
"""Width and bottlenecks of each stage: He et al. (2015), table 1."""
EXPANSION = 4


def _convolution(name: str, normalization: str, outputs: int, inputs: int, width: int) -> Iterator[Key]:
    yield Key(f"{name}.weight", (outputs, inputs, width, width))
    yield from _pair(normalization, (outputs,))


def _resnet50() -> Iterator[Key]:
    yield from _convolution("conv1", "bn1", 64, 3, 7)
    inputs = 64
    for stage, (width, count) in enumerate(RESNET50_STAGES, 1):
        outputs = EXPANSION * width
        for block in range(count):
            at = f"layer{stage}.{block}"
            yield from _convolution(f"{at}.conv1", f"{at}.bn1", width, inputs, 1)
            yield from _convolution(f"{at}.conv2", f"{at}.bn2", width, width, 3)
            yield from _convolution(f"{at}.conv3", f"{at}.bn3", outputs, width, 1)
            if block == 0:
                yield from _convolution(f"{at}.downsample.0", f"{at}.downsample.1", outputs, inputs, 1)
            inputs = outputs
    yield from _pair("fc", (1000, inputs))


BERT_LAYERS, BERT_HIDDEN, BERT_INNER, BERT_WORDS, BERT_POSITIONS = 12, 768, 3072, 30522, 512
"""BERT-base, Devlin et al. (2018), section 3, with the vocabulary of its uncased model."""


def _bert_base() -> Iterator[Key]:
    hidden = BERT_HIDDEN
    for table, rows in (("word", BERT_WORDS), ("position", BERT_POSITIONS), ("token_type", 2)):
        yield Key(f"embeddings.{table}_embeddings.weight", (rows, hidden))
    yield from _pair("embeddings.LayerNorm", (hidden,))
    for layer in range(BERT_LAYERS):
        at = f"encoder.layer.{layer}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            yield from _pair(f"{at}.attention.{part}", (hidden, hidden))
        yield from _pair(f"{at}.attention.output.LayerNorm", (hidden,))
        yield from _pair(f"{at}.intermediate.dense", (BERT_INNER, hidden))
        yield from _pair(f"{at}.output.dense", (hidden, BERT_INNER))
        yield from _pair(f"{at}.output.LayerNorm", (hidden,))
    yield from _pair("pooler.dense", (hidden, hidden))


_MODELS: Mapping[str, Callable[[], Iterator[Key]]] = {
    "resnet50": _resnet50,
    "alexnet": _alexnet,
    "vgg16": _vgg16,
    "bert-base": _bert_base,
}

PUBLISHED_PARAMETERS: Mapping[str, int] = {
    "resnet50": 25_557_032,
    "alexnet": 61_100_840,
    "vgg16": 138_357_544,
    "bert-base": 109_482_240,
}
"""torchvision's pages of pre-trained weights (num_params); for BERT the count of Hugging Face's bert-base-uncased
without a head, which the paper rounds to 110 million."""


def model_names() -> tuple[str, ...]:
    return tuple(_MODELS)


def model_keys(model: str) -> Keys:
    """The keys of a model in the order of its state_dict. ValueError names the models there are."""
    if model not in _MODELS:
        raise ValueError(f"no key list of {model!r}; there are {', '.join(_MODELS)}")
    return tuple(_MODELS[model]())


def parameters(keys: Keys) -> int:
    """How many numbers the keys have in all."""
    return sum(key.elements for key in keys)
