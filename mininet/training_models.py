"""Models of training.py, for scikit-learn's digits: little and much to send for what there is to compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import nn

from hostagent.cli.demo.training import cnn

WIDTH = 512


def dense() -> nn.Sequential:
    """300,554 parameters, 1.2 MB: each is used once for an image, where a convolution's are at every pixel."""
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(64, WIDTH),
        nn.ReLU(),
        nn.Linear(WIDTH, WIDTH),
        nn.ReLU(),
        nn.Linear(WIDTH, 10),
    )


MODELS: Mapping[str, Callable[[], nn.Module]] = {"cnn": cnn, "dense": dense}
