"""Key lists from layer shapes."""

from __future__ import annotations

import pytest

from tests.evidence.model_keys import PUBLISHED_PARAMETERS, model_keys, model_names, parameters

TENSORS = {"resnet50": 161, "alexnet": 16, "vgg16": 32, "bert-base": 199}


@pytest.mark.parametrize("model", model_names())
def test_a_models_keys_add_up_to_the_published_total(model: str) -> None:
    keys = model_keys(model)
    assert parameters(keys) == PUBLISHED_PARAMETERS[model]
    assert len({key.name for key in keys}) == len(keys) == TENSORS[model]


def test_shapes_are_those_of_the_published_layers() -> None:
    shapes = {model: {key.name: key.shape for key in model_keys(model)} for model in model_names()}
    assert shapes["resnet50"]["layer4.2.conv3.weight"] == (2048, 512, 1, 1)
    assert shapes["resnet50"]["layer2.0.downsample.0.weight"] == (512, 256, 1, 1)
    assert shapes["vgg16"]["features.28.weight"] == (512, 512, 3, 3)
    assert shapes["vgg16"]["classifier.0.weight"] == (4096, 25088)
    assert shapes["alexnet"]["features.3.weight"] == (192, 64, 5, 5)
    assert shapes["bert-base"]["encoder.layer.11.intermediate.dense.weight"] == (3072, 768)


def test_a_model_without_a_key_list_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"'lenet'; there are resnet50, alexnet"):
        model_keys("lenet")
