"""Keep torch.compile out of the process group's methods.

torch._dynamo.disable does that, but importing torch._dynamo costs seconds that a script without torch.compile should
not pay; a process that never imported it cannot be tracing.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


def untraced(method: Callable[_P, _T]) -> Callable[_P, _T]:
    """The method, called without being traced where torch._dynamo is loaded."""
    without_tracing: Callable[_P, _T] | None = None

    @functools.wraps(method)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        nonlocal without_tracing
        if without_tracing is None:
            disable = getattr(sys.modules.get("torch._dynamo"), "disable", None)
            if disable is None:
                return method(*args, **kwargs)
            without_tracing = disable(method)
        return without_tracing(*args, **kwargs)

    call._torchdynamo_disable = True  # type: ignore[attr-defined]
    return call
