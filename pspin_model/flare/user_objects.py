"""What a configuration names as ``module:name``: operators and element types of the user's."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from pspin_model.flare.elements import ELEMENT_TYPES, ElementType
from pspin_model.machine.config import ConfigError


def found(what: str, name: str) -> Any:
    """The object. Raises ConfigError; ``what`` it is to be goes before the name."""
    module, _, attribute = name.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"{what} {name}: {error}") from None


OURS = {name: ElementType(dtype) for name, dtype in ELEMENT_TYPES.items()}


def element_kind(name: str) -> ElementType:
    """An element type by its name: one of ours, an `ElementType` of the user's, or anything that numpy takes for a
    dtype. Raises ConfigError."""
    if name in OURS:
        return OURS[name]
    if ":" not in name:
        raise ConfigError(f'type = {name!r}: choose one of {", ".join(ELEMENT_TYPES)}, or "module:name"')
    given = found("type", name)
    try:
        made = given if isinstance(given, ElementType) else ElementType(np.dtype(given))
    except TypeError as error:
        raise ConfigError(f"type {name}: {error}") from None
    if wrong := made.problem():
        raise ConfigError(f"type {name} is {wrong}")
    return made


def user_function(name: str) -> Callable[[Any, Any], Any]:
    """An operator. Raises ConfigError."""
    function = found("operator", name)
    if not callable(function):
        raise ConfigError(f"operator {name} is no function")
    return function  # type: ignore[no-any-return]
